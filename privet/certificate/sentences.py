"""The sentences that a promise relies on: a closed list, each with its condition and its numbers.

A theorem starts from declarations. What is public by assertion only, and whose word a bound is, is
told among the assumptions of a file. Each sentence there must be one of this list, whole; must be
called for by what the file declares; and must repeat its numbers. Each that is called for must be
there. So nothing is left out, turned round or promised beside the claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from privet.certificate.declared_rows import FULL_LENGTH
from privet.certificate.file_facts import FileFacts
from privet.certificate.promised_unit import SHOWN
from privet.certificate.search_numbers import is_search
from privet.certificate.told_facts import (
    Due,
    Meant,
    answers_of,
    classes_known,
    confirmed,
    confirmed_names,
    declares,
    declares_as,
    domain_numbers,
    full_norm,
    has_own_map,
    is_of_numbers,
    is_plain,
    is_stepped,
    kernel_name,
    kernel_size,
    map_numbers,
    may_be_net,
    maybe,
    norm_told,
    of_fit,
    of_kind,
    of_schema,
    on_training,
    own_loss,
    paid_where,
    person,
    point_count,
    public_validation,
    ridge_weights,
    schema_columns,
    step_names,
    streamed,
    target,
    weighs_classes,
    width,
)
from privet.certificate.verdicts import Number, agreed, left_open

LABEL, LENGTH, POINTS = "label", "length", "points"
#: A tolerance is told with three digits, all else with six.
ROUGHLY = 0.006
N = r"([0-9][0-9.,]*(?:e[+-]?[0-9]+)?|-[0-9.]+(?:e[+-]?[0-9]+)?)"
_GIVEN = r"[a-z][a-z_0-9]*=-?[0-9][0-9.e+-]*"
KERNEL = rf"([A-Z][a-z]+)\({_GIVEN}(?:, {_GIVEN})*\)"


@dataclass(frozen=True)
class Sentence:
    """Words, the groups of which are numbers or names that the file declares elsewhere too."""

    words: str
    due: Due
    repeats: Callable[[FileFacts], tuple[Meant, ...]] = lambda facts: ()
    room: float = SHOWN
    group: str = ""


# -- the list --------------------------------------------------------------------------------------

_TABLE = (
    Sentence("the number of rows", of_kind("evaluation")),
    Sentence(
        "the number of rows and columns( and the columns' names)?",
        lambda facts: facts.kind != "evaluation",
        lambda facts: (
            (" and the columns' names" if facts.header["feature_names"] else "",)
            if facts.kind == "model"
            else (None,)
        ),
    ),
    Sentence(
        "each column's range, clipped to the declared column_bounds",
        declares_as("standardize", "private"),
    ),
    Sentence(
        f"each row, clipped to Euclidean norm {N} and brought to norm 1",
        of_fit(lambda facts: facts.parameters.get("standardize") in FULL_LENGTH),
        full_norm,
        group=LENGTH,
    ),
    Sentence(
        f"each row's {N} columns, put into the declared domain of {N} blocks "
        r"\(numbers within bounds, groups of categories\)",
        declares("domain"),
        domain_numbers,
        group=LENGTH,
    ),
    Sentence(
        f"each row's features, clipped to Euclidean norm {N}",
        of_fit(is_plain),
        norm_told,
        group=LENGTH,
    ),
    Sentence(
        rf"the feature map \({N} features, clipped to Euclidean norm {N}\), made without the rows "
        "as asserted by the user",
        declares("features"),
        map_numbers,
        group=LENGTH,
    ),
    Sentence(f"the kernel, {KERNEL}", of_fit(has_own_map), lambda facts: (kernel_name(facts),)),
    Sentence("the column weights", declares("column_weights")),
    Sentence(
        f"{N} random features of norm 1, drawn without looking at the rows",
        of_fit(lambda facts: "frequencies_" in facts.header["arrays"]),
        lambda facts: (width(facts),),
        group=LENGTH,
    ),
    Sentence(
        f"{N} public points, declared public by the user; {N} features of Euclidean norm at most "
        f"{N}",
        of_fit(
            lambda facts: has_own_map(facts) and facts.parameters.get("public_points") is not None
        ),
        lambda facts: (point_count(facts), width(facts), kernel_size(facts, root=True)),
        group=LENGTH,
    ),
    Sentence(
        "the sums over the ([0-9,]+) rows, which were read by ([A-Za-z, ]+): every pass over the "
        "table or a part of it counted the rows and compared a keyed digest of their cells, in "
        "their order, with the first pass, which misses a change with a probability below 2\\^-64"
        f"(?:; the gradient was certified to norm {N}, computed with rounding errors of at most "
        f"{N})?",
        lambda facts: None if facts.kind == "model" else maybe(facts),
        streamed,
        ROUGHLY,
    ),
)
_LABELS = (
    Sentence(
        "the set of classes, read from the labels and declared public by the user",
        classes_known(lambda declared: isinstance(declared, str)),
        group=LABEL,
    ),
    Sentence(
        r"the coding of the two classes \(0/1 or false/true\)",
        classes_known(lambda declared: declared is None),
        group=LABEL,
    ),
    Sentence(
        "the set of classes",
        classes_known(lambda declared: isinstance(declared, dict)),
        group=LABEL,
    ),
    Sentence(
        f"the target's interval, from {N} to {N}; values outside are clipped",
        of_fit(lambda facts: "target_bounds" in facts.parameters),
        target,
        group=LABEL,
    ),
    Sentence("the target's interval", is_of_numbers, group=LABEL),
)
_ASSERTED = (
    Sentence(
        "the center of the regularization: public, or released and paid for before, as asserted by "
        "the user",
        declares("center"),
    ),
    Sentence(
        "the public rows for whitening, which nothing protects, as asserted by the user",
        declares("public_rows"),
    ),
    Sentence("the class weights", weighs_classes),
    Sentence("the centers of the components", declares("centers")),
    Sentence(
        "the loss (.+) is code of the user's: that it is convex, with gradients of at most "
        f"{N}, curvature of at most {N} and rank of at most {N}, is its author's word; {N} pairs "
        "of scores and target were tried, and none was found to contradict it",
        of_fit(lambda facts: facts.header["model"] == "PrivateERM"),
        own_loss,
    ),
    Sentence(
        f"the {N} weights of the ridge",
        of_fit(lambda facts: ridge_weights(facts) != (None,)),
        ridge_weights,
    ),
    Sentence(
        f"the list of {N} candidates",
        of_fit(lambda facts: is_search(facts.event)),
        lambda facts: (facts.constants.get("candidates"),),
    ),
    Sentence(
        "the validation rows, which nothing protects, as asserted by the user",
        of_fit(public_validation),
    ),
    Sentence(
        f"the schema: bounds, categories and classes of {N} columns and the label, named without "
        "looking at the rows",
        of_schema(bool),
        schema_columns,
    ),
    Sentence(
        "bounds, categories or classes of (.+), which were read from the data and taken over by a "
        "person: no guarantee covers what they tell of the rows",
        of_schema(lambda schema: bool(confirmed(schema))),
        confirmed_names,
    ),
    Sentence(
        "that the column (.+) says whose row it is, the same value in all rows of a person and "
        "another for everybody else: at most ([a-z0-9]+ rows? of a person counts?), and for a "
        "person with all of them the guarantee is "
        r"[a-z]+ = [0-9.e+-]+(?:, delta = [0-9.e+-]+| \((?:zero-concentrated|Gaussian)\))?",
        of_schema(lambda schema: "person" in schema),
        person,
    ),
    Sentence(
        r"that each step before the model \((.+)\) maps a row without looking at the others, by "
        "constants that were named without looking at the rows",
        of_kind("model", is_stepped),
        step_names,
    ),
)
_OTHERS = (
    Sentence(
        "the released model itself: its coefficients (were paid for by the fit, and are not again "
        "here|are paid for here together with the matrices, and what pays for the gap to its "
        "minimum is in its own file)",
        of_kind("intervals"),
        paid_where,
    ),
    Sentence(
        "that the rows are those the model was trained on: only their number was compared",
        of_kind("intervals"),
    ),
    Sentence("the released model itself", of_kind("evaluation")),
    Sentence("the set of groups", of_kind("evaluation", lambda f: "groups" in f.header["counts"])),
    Sentence(
        "that each step of the pipeline before the model maps a row without looking at the others, "
        "and learned nothing from private rows",
        lambda facts: None if facts.kind == "evaluation" else False,
    ),
    Sentence("the values are on training rows: optimistic", of_kind("evaluation", on_training)),
    Sentence(
        "that the rows are not the training rows, as the user declared",
        of_kind("evaluation", lambda facts: False if on_training(facts) else None),
    ),
    Sentence(
        rf"the kernel {KERNEL}, K\(x, x\) at most {N}",
        of_kind("answers"),
        lambda facts: (kernel_name(facts), kernel_size(facts, root=False)),
        group=LENGTH,
    ),
    Sentence(
        f"{N} public points, declared public by the user",
        answers_of("SemiInteractiveClassifier"),
        lambda facts: (point_count(facts),),
        group=POINTS,
    ),
    Sentence(
        f"a net of {N} public points, declared public by the user",
        of_kind("answers", may_be_net),
        lambda facts: (None,),
        group=POINTS,
    ),
    Sentence(
        f"a net of declared spacing with {N} points",
        of_kind("answers", may_be_net),
        lambda facts: (None,),
        group=POINTS,
    ),
)
SENTENCES = (*_TABLE, *_LABELS, *_ASSERTED, *_OTHERS)
_WORDS = [re.compile(each.words, re.DOTALL) for each in SENTENCES]
#: No sentence of a release is longer than this, but for names that the file has elsewhere too.
LONGEST = 1 << 16


def sentence_numbers(facts: FileFacts) -> Iterator[Number]:
    """Whether the list is that of the declarations, and whether its numbers are theirs."""
    dues = [each.due(facts) for each in SENTENCES]
    told = [_place(str(each), dues) for each in facts.guarantee["assumptions"]]
    strange, places = None in told, [place for place in told if place is not None]
    missing = any(due and place not in places for place, due in enumerate(dues))
    groups = {SENTENCES[place].group for place in places}
    if strange or missing or len(set(places)) < len(places) or not groups >= _groups(facts):
        told_so = "the list of what the promise relies on is not the one that its declarations have"
        yield left_open("total", "assumptions", told_so)
        return
    wrong = [
        place
        for place, words in zip(places, facts.guarantee["assumptions"], strict=True)
        if not _repeats(SENTENCES[place], _WORDS[place], str(words), facts)
    ]
    yield agreed("total", "assumptions", not wrong, "must repeat the declared numbers and names")


def _place(words: str, dues: list[bool | None]) -> int | None:
    """Which sentence of the list this is; None for one that is not there, or not called for."""
    if len(words) > LONGEST:
        return None
    return next(
        (
            place
            for place, due in enumerate(dues)
            if due is not False and _WORDS[place].fullmatch(words)
        ),
        None,
    )


def _groups(facts: FileFacts) -> set[str]:
    """Of these there must be one, whichever."""
    if facts.kind == "evaluation":
        return {LABEL}
    points = facts.kind == "answers" and facts.header["model"] == "NonInteractiveClassifier"
    named = points and facts.header["kernel"]["name"] != "linear"
    return {LABEL, LENGTH} | ({POINTS} if named else set())


def _repeats(sentence: Sentence, pattern: re.Pattern[str], words: str, facts: FileFacts) -> bool:
    found = pattern.fullmatch(words)
    meant = sentence.repeats(facts)
    if found is None:
        return False
    return all(
        _is_meant(told, one, sentence.room)
        for told, one in zip(found.groups(), meant, strict=False)
    )


def _is_meant(told: str | None, meant: Meant, room: float) -> bool:
    if meant is None or told is None:
        return meant is None or meant == "" or not isinstance(meant, str)
    if isinstance(meant, str):
        return told == meant
    whole = isinstance(meant, int) or float(meant).is_integer()
    number = float(told.replace(",", ""))
    return abs(number - meant) <= (SHOWN if whole else room) * abs(meant)
