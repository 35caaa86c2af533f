"""What an interactive predictor has said so far: queries, answers, and nothing about the rows.

A transcript is public. It answers repeated queries by itself; to answer new ones a predictor needs
the rows again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.answers.records import FORMAT, Record, queries_in, queries_out, read, understood, write
from privet.errors import DataError
from privet.privacy.guarantee import Guarantee, guarantee_from_json

Key = Any


def key_of(query: Any) -> Key:
    """What makes two queries the same: equal numbers (zero has no sign), or equal objects."""
    if isinstance(query, np.ndarray):
        return (query + 0.0).tobytes()
    return query


@dataclass(frozen=True)
class Batch:
    """Queries that were answered together, with one public mark each.

    The mark says which queries the next answers depend on: those that a function release keeps,
    those at which a sparse vector corrected its guess.
    """

    queries: Any
    answers: Array
    marked: NDArray[np.bool_]

    def to_json(self) -> Record:
        """Plain values."""
        return {
            "queries": queries_out(self.queries),
            "answers": self.answers.tolist(),
            "marked": self.marked.tolist(),
        }


def batch_from_json(record: Record) -> Batch:
    """The inverse of ``Batch.to_json``."""
    queries = queries_in(record["queries"])
    answers = np.array(record["answers"], dtype=np.float64)
    marked = np.array(record["marked"], dtype=bool)
    if not len(queries) == len(answers) == len(marked) or not np.isfinite(answers).all():
        raise DataError("A batch of the transcript does not have one answer for each query.")
    return Batch(queries, answers, marked)


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
    batches : list of Batch
        Queries that were answered together, with their answers.
    state, path, digest, identity, place, resumed :
        Counters of the mechanism, and how the release is told from others and from its copies.
    """

    declarations: Record
    guarantee: Guarantee
    batches: list[Batch] = field(default_factory=list)
    state: Record = field(default_factory=dict)  # public counters of the mechanism, as of now
    path: str | None = None  # the journal it was read from
    digest: str = ""
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

    def add(self, batch: Batch, state: Record) -> None:
        """Note answers that are about to be given."""
        self.batches.append(batch)
        self.state = state
        self._note(batch)

    def _note(self, batch: Batch) -> None:
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the transcript, all or nothing."""
        write(path, self.records())


def load_transcript(path: str | os.PathLike[str]) -> Transcript:
    """Read what ``Transcript.save`` or a journal wrote; refuses anything else."""
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
            identity=str(head.get("identity", "")),
            place=str(head.get("place", "")),
            resumed=max((int(record.get("resumed", 0)) for record in rest), default=0),
        )
