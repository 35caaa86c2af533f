"""Files of released numbers, one JSON record a line: data, never code, and safe to append to.

    record <tab> SHA-256(previous digest + record)

A line that was changed, removed or reordered is found. A last line without its end is what a
crash leaves while it was written, before anybody saw what it holds: it is dropped.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from privet._files import canonical, write_whole
from privet._types import Array
from privet._untrusted import parsed_json, read_whole
from privet.errors import DataError, DeclarationError
from privet.privacy.event import Event
from privet.privacy.guarantee import released_digest

FORMAT = "privet-answers-1"
GENESIS = hashlib.sha256(FORMAT.encode()).hexdigest()
Record = dict[str, Any]
#: of a file: tens of millions of answers
LARGEST = 1 << 30
PUT_BACK = (
    "The journal is not as it was left: it was put back from a copy, moved or given other rights. "
    "Answers that were given since the copy was made would be given again with other noise. If "
    "there are none, say so with resume(..., newest=True)."
)


def line(record: Record, previous: str) -> tuple[str, str]:
    """The text of a record and the digest that the next one builds on."""
    text = canonical(record)
    digest = hashlib.sha256((previous + text).encode()).hexdigest()
    return f"{text}\t{digest}\n", digest


def write(
    path: str | os.PathLike[str],
    records: Iterable[Record],
    *,
    replace: bool = True,
    durable: bool = True,
) -> str:
    """All records in a new file, all or nothing; returns the last digest."""
    text, digest = text_of(records)
    write_whole(path, text, replace=replace, durable=durable)
    return digest


def text_of(records: Iterable[Record]) -> tuple[str, str]:
    """The text of a file of these records, and the last digest."""
    digest, lines = GENESIS, []
    for record in records:
        text, digest = line(record, digest)
        lines.append(text)
    return "".join(lines), digest


@contextmanager
def at_end(path: str | os.PathLike[str], previous: str, left: int | None) -> Iterator[BinaryIO]:
    """The file, alone and at its end, for one more line; it must end where ``previous`` says.

    It is as it was ``left``, by the time of its last change, else it was put back meanwhile. That
    is asked once it is open for writing: a layered file system makes its own copy of it then.
    """
    with open(path, "r+b") as file:
        _lock(file)
        changed = os.fstat(file.fileno()).st_ctime_ns
        end = _whole_lines(file)
        file.seek(max(end - 65, 0))
        if file.read() != f"{previous}\n".encode():
            raise DataError(
                "The journal was changed by another process since it was opened. Two predictors "
                "must not answer from one transcript: resume from the journal as it is now."
            )
        if left not in (None, changed):
            raise DataError(PUT_BACK)
        yield file


def _whole_lines(file: Any) -> int:
    """Cut off what a crash left of a line: it was not answered, and the lock is held."""
    end = int(file.seek(0, os.SEEK_END))
    file.seek(max(end - 1, 0))
    if file.read(1) not in (b"", b"\n"):
        file.seek(0)
        end = file.read().rfind(b"\n") + 1
        file.truncate(end)
    return end


def _lock(file: Any) -> None:
    """Alone with the file until it is closed, where the system can do that."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def read(path: str | os.PathLike[str]) -> tuple[list[Record], str]:
    """The records of an intact file and the last digest."""
    place = Path(path)
    # an unfinished last line was not answered, or is being written just now: it does not count
    body, end, _ = read_whole(place, LARGEST).rpartition(b"\n")
    records, digest = list[Record](), GENESIS
    for raw in body.split(b"\n") if end else []:
        text, _, sealed = raw.partition(b"\t")
        if not records and len(sealed) != len(GENESIS):
            raise DataError(
                f"{place.name} is not a file that Privet wrote, or its beginning was changed since."
            )
        digest = hashlib.sha256(digest.encode() + text).hexdigest()
        if sealed.decode("ascii", "replace") != digest:
            raise DataError(f"{place.name} is damaged: it was changed after it was written.")
        records.append(_parsed(text, place.name))
    if not records or records[0].get("format") != FORMAT:
        raise DataError(f"{place.name} is not a file of released answers that this Privet reads.")
    return records, digest


def digests(path: str | os.PathLike[str]) -> set[str]:
    """The digest of every whole line."""
    lines = read_whole(path, LARGEST).split(b"\n")[:-1]
    return {line.rpartition(b"\t")[2].decode("ascii", "replace") for line in lines}


def _parsed(text: bytes, name: str) -> Record:
    try:
        return dict(parsed_json(text))
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} holds something that is not a record.") from error


@contextmanager
def understood() -> Iterator[None]:
    """An intact file that holds something else than expected is refused with a sentence."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("The file is intact but not one that this Privet reads.") from error


def labels_out(classes: NDArray[Any]) -> list[Any]:
    """The two classes as plain values: text, numbers or truth values."""
    return [str(label) if classes.dtype.kind == "O" else label for label in classes.tolist()]


def labels_in(values: Any) -> NDArray[Any]:
    """The inverse of ``labels_out``; numpy finds the type, a file declares none."""
    plain = isinstance(values, list) and len(values) == 2
    if not plain or not all(isinstance(value, str | bool | int | float) for value in values):
        raise DataError("The file does not name two classes.")
    return np.array(values)


def queries_out(queries: Any) -> list[Any]:
    """Rows of numbers or strings as plain values; Python writes floats so that they come back."""
    if isinstance(queries, np.ndarray):
        return list(queries.tolist())
    if not all(isinstance(query, str) for query in queries):
        raise DeclarationError("Only rows of numbers and strings can be written to a file.")
    return list(queries)


def queries_in(values: list[Any]) -> NDArray[np.float64] | list[str]:
    """The inverse of ``queries_out``."""
    if all(isinstance(value, str) for value in values):
        return [str(value) for value in values]
    return np.array(values, dtype=np.float64)


# -- what an interactive predictor has said so far ----------------------------------------------

Key = Any


def key_of(query: Any) -> Key:
    """What makes two queries the same: equal numbers (zero has no sign), or equal objects."""
    if isinstance(query, np.ndarray):
        return (query + 0.0).tobytes()
    return query


@dataclass(frozen=True)
class AnsweredBatch:
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


def batch_from_json(record: Record) -> AnsweredBatch:
    """The inverse of ``AnsweredBatch.to_json``."""
    queries = queries_in(record["queries"])
    answers = np.array(record["answers"], dtype=np.float64)
    marked = np.array(record["marked"], dtype=bool)
    if not len(queries) == len(answers) == len(marked) or not np.isfinite(answers).all():
        raise DataError("A batch of the transcript does not have one answer for each query.")
    return AnsweredBatch(queries, answers, marked)


def answers_digest(
    name: str, classes: list[Any], points: list[Any], weights: list[float], event: Event
) -> str:
    """The name of a released expansion in the entry of a ledger: which class, where, how much.

    Points belong to it: some releases draw them, or tell a whole weight vector by one.
    """
    told = {"model": name, "classes": classes, "points": points, "weights": weights}
    return released_digest("answers", event, told)
