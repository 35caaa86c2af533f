"""The transcript: what an interactive predictor has said so far.

It holds queries, answers, and nothing about the rows. It is public. It answers repeated queries by
itself; to answer new ones a predictor needs the rows again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from privet._files import write_paid
from privet.answers.records import (
    FORMAT,
    AnsweredBatch,
    Key,
    Record,
    batch_from_json,
    key_of,
    read,
    text_of,
    understood,
    write,
)
from privet.errors import DataError
from privet.privacy.guarantee import Guarantee, guarantee_from_json


@dataclass
class Transcript:
    """Declarations, guarantee, and every answer given, in order.

    ``query in transcript`` and ``transcript[query]`` look up one answer, ``len`` counts them.

    Parameters
    ----------
    declarations : dict
        What the release was declared with; a predictor that resumes must say the same.
    guarantee : Guarantee
        The promise for all answers together.
    batches : list of AnsweredBatch
        Queries that were answered together, with their answers.
    state, path, digest, lines, left, identity, place, resumed :
        Counters of the mechanism, and how the release is told from others and from its copies.
    """

    declarations: Record
    guarantee: Guarantee
    batches: list[AnsweredBatch] = field(default_factory=list)
    state: Record = field(default_factory=dict)  # public counters of the mechanism, as of now
    path: str | None = None  # the journal it was read from
    digest: str = ""
    lines: int = 0  # of the journal, up to that digest
    left: int | None = None  # when the journal last changed, by the system; None: not known
    identity: str = ""  # of the release; random, so that no two are taken for one another
    place: str = ""  # of its journal; empty where it keeps none
    resumed: int = 0  # how often the rows were taken again
    _known: dict[Key, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for batch in self.batches:
            self._note(batch)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, query: Any) -> bool:
        return key_of(query) in self._known

    def __getitem__(self, query: Any) -> float:
        return self._known[key_of(query)]

    def unanswered(self, queries: Any) -> list[int]:
        """Positions of queries that were never asked, each once."""
        seen: dict[Key, int] = {}
        for i, query in enumerate(queries):
            if query not in self:
                seen.setdefault(key_of(query), i)
        return list(seen.values())

    def add(self, batch: AnsweredBatch, state: Record) -> None:
        """Note answers that are about to be given."""
        self.batches.append(batch)
        self.state = state
        self._note(batch)

    def _note(self, batch: AnsweredBatch) -> None:
        for query, answer in zip(batch.queries, batch.answers, strict=True):
            self._known.setdefault(key_of(query), float(answer))

    def header(self) -> Record:
        """The first line of a file."""
        return {
            "format": FORMAT,
            "model": "InteractivePredictor",
            "identity": self.identity,
            "place": self.place,
            "declarations": self.declarations,
            "guarantee": self.guarantee.to_json(),
        }

    def records(self) -> Iterator[Record]:
        """All lines of a file; the counters go with the last batch."""
        yield self.header()
        for batch in self.batches:
            yield batch.to_json()
        yield self.counters()

    def counters(self) -> Record:
        """The mechanism's public counters, and how often the rows were taken again."""
        return {"state": self.state, "resumed": self.resumed}

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the transcript, all or nothing; an earlier state of it is replaced.

        Any other file of that name is replaced with ``overwrite`` only.
        """
        if overwrite or self._continues(path):
            write(path, self.records())
        else:
            write_paid(path, text_of(self.records())[0], overwrite=False)

    def _continues(self, path: str | os.PathLike[str]) -> bool:
        """Whether the file holds the beginning of this transcript."""
        try:
            found = load_transcript(path)
        except (OSError, DataError):
            return False
        mine = [batch.to_json() for batch in self.batches[: len(found.batches)]]
        earlier = mine == [batch.to_json() for batch in found.batches]
        return bool(self.identity) and found.identity == self.identity and earlier


def load_transcript(path: str | os.PathLike[str]) -> Transcript:
    """Read what ``Transcript.save`` or a journal wrote; refuses anything else.

    Parameters
    ----------
    path : str or path
        A transcript, or the journal of a predictor.

    Returns
    -------
    Transcript
    """
    records, digest = read(path)
    head, *rest = records
    if head.get("model") != "InteractivePredictor":
        raise DataError("The file holds another model's release, not a transcript.")
    with understood():
        batches = [batch_from_json(record) for record in rest if "queries" in record]
        states = [record["state"] for record in rest if "state" in record]
        return Transcript(
            declarations=dict(head["declarations"]),
            guarantee=guarantee_from_json(head["guarantee"]),
            batches=batches,
            state=dict(states[-1]) if states else {},
            path=os.fspath(path),
            digest=digest,
            lines=len(records),
            identity=str(head.get("identity", "")),
            place=str(head.get("place", "")),
            resumed=max((int(record.get("resumed", 0)) for record in rest), default=0),
        )
