"""The plain data of a released file: JSON and arrays, read without the library that wrote it."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from privet._untrusted import parsed_json, read_whole
from privet.errors import DataError

#: the most that a file may have, in bytes
LARGEST = 1 << 30
MAGIC = b"PRIVET\x01\n"
Record = dict[str, Any]
NEIGHBORS = "neighbours"  # as files have always spelled it
#: the order in which a model file holds its arrays, before those of its own map
_FIRST = ("coef_", "intercept_")


@dataclass(frozen=True)
class FileFacts:
    """What a file says: its kind, its header and its lines, and what its guarantee says."""

    kind: str  # model, intervals, evaluation or answers
    header: Record
    lines: tuple[Record, ...] = ()
    arrays: dict[str, array[float]] = field(default_factory=dict)
    numbers: int = 0  # in all arrays of a model together, by the length of the file

    @property
    def guarantee(self) -> Record:
        """The promise."""
        promise: Record = self.header["guarantee"]
        return promise

    @property
    def event(self) -> Record:
        """What was charged."""
        event: Record = self.header["guarantee"]["event"]
        return event

    @property
    def parameters(self) -> Record:
        """What the user declared."""
        declared: Record = self.header.get("parameters") or self.header.get("declarations") or {}
        return declared

    @property
    def constants(self) -> Record:
        """Public numbers of the design beside the event; older files have none."""
        return dict(self.guarantee.get("constants", {}))

    @property
    def grids(self) -> tuple[int, ...]:
        """The exponents of the grids that the sentence on numerics names, in its order."""
        return tuple(int(found) for found in re.findall(r"2\^(-?\d+)", self.guarantee["numerics"]))


def read_facts(path: Path) -> FileFacts:
    """The facts of a model, of intervals, of an evaluation or of answers."""
    return parsed_facts(read_whole(path, LARGEST), path.name)


def parsed_facts(raw: bytes, name: str = "This") -> FileFacts:
    """The facts of what such a file holds."""
    try:
        if raw.startswith(MAGIC):
            return _model(raw)
        return _text(raw)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise DataError(
            f"{name} is not a file of released numbers that can be recomputed."
        ) from error


def _model(raw: bytes) -> FileFacts:
    start = len(MAGIC) + 8
    size = int.from_bytes(raw[len(MAGIC) : start], "little")
    header = parsed_json(raw[start : start + size])
    shapes = header["arrays"]
    values = array("d")
    body = raw[start + size : -32]  # behind them: the digest
    values.frombytes(body)
    arrays, place = {}, 0
    for name in _FIRST:  # of the others only the shapes are needed
        count = prod(shapes[name])
        arrays[name] = values[place : place + count]
        place += count
    return FileFacts("model", header, arrays=arrays, numbers=len(values))


def _text(raw: bytes) -> FileFacts:
    try:
        record = parsed_json(raw)
    except ValueError:
        lines = [parsed_json(line.partition(b"\t")[0]) for line in raw.split(b"\n") if line]
        if _family(lines[0]) != "privet-answers":
            raise ValueError("lines that are not those of answers") from None
        return FileFacts("answers", lines[0], tuple(lines[1:]))
    kinds = {"privet-intervals": "intervals", "privet-evaluation": "evaluation"}
    return FileFacts(kinds[_family(record)], record)


def _family(record: Record) -> str:
    """The format without its version: later versions keep these facts."""
    return re.sub(r"-\d+$", "", record["format"])
