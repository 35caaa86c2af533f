"""Evaluations in files: JSON of released numbers and their guarantee, never code.

The first field of a file is the digest of the rest, by which a changed file is found; files of the
first version had none.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from privet._checks import is_number, number_between
from privet._untrusted import SEAL, parsed_json, read_whole, unsealed
from privet.errors import DataError
from privet.evaluation.released_evaluation import (
    ERRORS,
    FORMAT,
    R_SQUARED,
    VERSION,
    Evaluation,
    Measure,
)
from privet.privacy.guarantee import guarantee_from_json

#: as files were before they carried their digest; read, never written
UNSEALED = 1
LARGEST = 64 << 20
#: counts of classes down and of classes or bins across
CROSSED = ("confusion", "ranks", "calibration")
NOT_ONE = (
    "This is not an evaluation that this Privet wrote, or it was changed since: privet evaluate "
    "--out writes one."
)


def read_evaluation(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The record in a file that ``dumps`` wrote; refused where one bit of it was changed."""
    text = read_whole(path, LARGEST)
    try:
        record = parsed_json(text)
        before = record["version"] == UNSEALED and SEAL not in record
        return dict(record) if before else unsealed(text)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(NOT_ONE) from error


def evaluation_from_json(record: Any) -> Evaluation:
    """The inverse of ``Evaluation.to_json``; refuses anything else with a sentence."""
    try:
        if record["format"] != FORMAT or record["version"] not in (UNSEALED, VERSION):
            raise ValueError("another format")
        found = Evaluation(
            n=int(record["n"]),
            level=number_between("level", record["level"], 0.5, 0.9999),
            measures=tuple(_measure(each, record["classes"]) for each in record["measures"]),
            counts={str(name): _counts(table) for name, table in record["counts"].items()},
            classes=tuple(record["classes"]),
            guarantee=guarantee_from_json(record["guarantee"]),
            on_training_rows=bool(record["on_training_rows"]),
        )
        if not found.measures or any(
            is_number(found.counts.get(name, [[]])[0]) for name in CROSSED
        ):
            raise ValueError("no measures, or not a table of rows")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(NOT_ONE) from error
    return found


def _counts(table: Any) -> list[Any]:
    """A list of numbers or of such lists, none of them empty."""
    if not isinstance(table, list) or len({is_number(each) for each in table}) != 1:
        raise ValueError("not a table")
    return [each if is_number(each) else _counts(each) for each in table]


def _measure(record: dict[str, Any], classes: list[Any]) -> Measure:
    told = record["estimate"]
    found = Measure(
        str(record["measure"]),
        str(record["of"]),
        None if told is None else float(told),
        float(record["lower"]),
        float(record["upper"]),
    )
    low, high = _range(found.measure, classes)
    if not low <= found.lower <= found.upper <= high:
        raise ValueError("not an interval")
    return found


def _range(measure: str, classes: list[Any]) -> tuple[float, float]:
    """What a measure can be: a share, an error in the target's units, or R^2, which has no floor.

    The classes of a regression are the ends of its target's interval.
    """
    if measure in ERRORS:
        low, high = classes
        return 0.0, float(high) - float(low)
    return (-sys.float_info.max if measure == R_SQUARED else 0.0), 1.0
