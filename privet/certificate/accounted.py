"""Everything in a file is accounted for: paid by its event, declared, or told twice alike.

A recomputation says whether the numbers of an event fit each other. It is worth something only
where the event covers what the file holds: a stage left out, a table without its part or a key that
nobody reads would be released for nothing. What is here is no arithmetic but a comparison of lists,
in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from privet.certificate.cited_words import word_numbers
from privet.certificate.event_shapes import whole_numbers
from privet.certificate.file_facts import FileFacts
from privet.certificate.known_keys import unknown_keys
from privet.certificate.model_contents import (
    array_contents,
    fit_contents,
    label_contents,
    preparation_contents,
)
from privet.certificate.other_contents import (
    answer_contents,
    evaluation_contents,
    interval_contents,
)
from privet.certificate.promised_unit import unit_numbers
from privet.certificate.search_numbers import is_search
from privet.certificate.sentences import sentence_numbers
from privet.certificate.sound_numbers import sound_numbers
from privet.certificate.verdicts import Number, agreed, left_open

#: Formats and versions of files; a model's is in its first bytes.
FORMATS = {
    ("privet-evaluation", 1),
    ("privet-evaluation", 2),
    ("privet-intervals-1", None),
    ("privet-intervals-2", None),
    ("privet-answers-1", None),
}
Check = Callable[[FileFacts], Iterator[Number]]


def key_numbers(facts: FileFacts) -> Iterator[Number]:
    """No key of the file is left unread."""
    strange = sorted(set(unknown_keys(facts)))
    told = [facts.header.get(name) for name in ("format", "version")]
    if facts.kind != "model" and tuple(told) not in FORMATS:
        strange.append("format")
    if strange:
        some = ", ".join(strange[:5])
        yield left_open("file", "keys", f"the file says something that is not known here: {some}")
    else:
        yield agreed("file", "keys", True, "all are known and read")


def _model_fit(facts: FileFacts) -> Iterator[Number]:
    """A search's own event has no parts; the fit that it chose is looked at with its numbers."""
    if not is_search(facts.event):
        yield from fit_contents(facts)


EVERY: tuple[Check, ...] = (
    key_numbers,
    sound_numbers,
    unit_numbers,
    whole_numbers,
    word_numbers,
    sentence_numbers,
)
CONTENTS: dict[str, tuple[Check, ...]] = {
    "model": (_model_fit, array_contents, label_contents, preparation_contents),
    "evaluation": (evaluation_contents,),
    "intervals": (interval_contents,),
    "answers": (answer_contents,),
}


def checks(facts: FileFacts) -> tuple[Check, ...]:
    """Every comparison for a file of this kind."""
    return EVERY + CONTENTS[facts.kind]
