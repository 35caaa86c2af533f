"""Intervals in a file: JSON of released numbers and their guarantee, never code.

The file keeps the released matrices, so that contrasts and other levels can be asked for later; it
holds nothing that was not paid for. Its first field is the digest of the rest, by which a changed
file is found; files of the first format had none.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from privet._checks import number_between
from privet._types import Array
from privet._untrusted import SEAL, parsed_json, read_whole, unsealed
from privet.errors import DataError, PrivetError
from privet.inference.intervals import FORMAT, JOINT, Intervals
from privet.inference.mixture import confidence_level
from privet.inference.released_model import NamedDirections, ParameterLayout
from privet.inference.uncertainty import Caution, FitNoise, Uncertainty, WiderUncertainty
from privet.mechanisms.matrix import NoisyMatrices, Weighing
from privet.mechanisms.shaped import noise_from_facts
from privet.noise import Noise
from privet.noise.cone_noise import half_vector, symmetric
from privet.privacy.guarantee import guarantee_from_json, released_digest

#: as files were before they carried their digest; read, never written
FIRST_FORMAT = "privet-intervals-1"
LARGEST = 256 << 20
#: squares and products of such numbers are still numbers
BEYOND = 1e100
#: units in the last place between an entry of a matrix and what its half-vector gives back
FARTHEST = 4
CONSTRUCTIONS = {kind.construction: kind for kind in (Uncertainty, WiderUncertainty)}


def load_intervals(path: str | os.PathLike[str]) -> Intervals:
    """Read what ``Intervals.save`` wrote; anything else is refused with a sentence.

    Parameters
    ----------
    path : path-like
        The JSON file.

    Returns
    -------
    Intervals
        As they were saved; a file keeps no map of the columns, so that decision values of points
        cannot be asked for where the model has one.
    """
    text = read_whole(path, LARGEST)
    try:
        record = parsed_json(text)
        if record.get("format") not in (FIRST_FORMAT, FORMAT):
            raise DataError("This is not a file of intervals that this Privet reads.")
        if record["format"] == FORMAT or SEAL in record:
            record = unsealed(text)
        found = _build(record)
        _ = found.std_error  # kept by the object: a file whose matrices cannot be used ends here
    except PrivetError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise DataError(
            "The file of intervals is not readable: it was changed after it was written, or it is "
            "another file. Restore it from a copy."
        ) from error
    return found


def intervals_digest(found: Intervals) -> str:
    """The name of these intervals in the entry of a ledger; the same at every level.

    SHA-256 of the released matrices, of the parameters that they are about, and of the claim.
    """
    about = found.uncertainty
    numbers = {
        "theta": about.theta.tolist(),
        "hessian": half_vector(about.released.hessian).tolist(),
        "covariance": half_vector(about.released.covariance).tolist(),
    }
    return released_digest("intervals", found.guarantee.event, numbers)


def _build(record: dict[str, Any]) -> Intervals:
    theta = _finite(np.array(record["theta"], dtype=np.float64))
    directions = _finite(np.array(record["directions"], dtype=np.float64))
    names = tuple(map(str, record["table"]["name"]))
    lengths = {len(names), len(record["units"]), len(record["stretch"])}
    if theta.ndim != 1 or directions.shape != (len(names), len(theta)) or len(lengths) > 1:
        raise DataError("The file of intervals does not fit together.")
    if record["joint"] not in ("", *JOINT):
        raise DataError("The file of intervals names an unknown joint method.")
    layout = _layout(record["geometry"])
    return Intervals(
        NamedDirections(
            names,
            tuple(map(str, record["units"])),
            directions,
            str(record["target"]),
            tuple(map(float, record["stretch"])),
        ),
        confidence_level(record["level"]),
        _uncertainty(record, theta, layout.caution),
        layout,
        guarantee_from_json(record["guarantee"]),
        str(record["joint"]),
    )


def _uncertainty(record: dict[str, Any], theta: Any, caution: Caution) -> Uncertainty:
    kept, fit, side = record["matrices"], record["fit_noise"], len(theta)
    pair = [_finite(np.array(kept[name], dtype=np.float64)) for name in ("hessian", "covariance")]
    if any(matrix.shape != (side * (side + 1) // 2,) for matrix in pair):
        raise DataError("The file of intervals does not fit together.")
    released = NoisyMatrices(
        _matrix(pair[0], side),
        _matrix(pair[1], side),
        Weighing(_size(kept["eta"]), _size(kept["sensitivity"])),
        _noise(kept["noise"], side * (side + 1)),
    )
    return CONSTRUCTIONS[record["construction"]](
        theta,
        released,
        _size(record["regularization"]),
        int(_size(record["n"])),
        FitNoise(str(fit["mechanism"]), _noise(fit["main"], side), _size(fit["gap_sd"])),
        int(record["seed"]),
        caution,
    )


def _matrix(half: Array, side: int) -> Array:
    """The matrix whose ``half_vector`` is exactly this: a file that is saved again is the same.

    The root of 2 and that of 1/2 are rounded, and so are both products: together by less than four
    units in the last place. Who sees one off takes the release for another one.
    """
    near = symmetric(half, side)
    found = below = above = near
    for _ in range(FARTHEST):
        below, above = np.nextafter(below, -np.inf), np.nextafter(above, np.inf)
        for other in (below, above):
            found = np.where(_differs(found, half), other, found)
    return np.where(_differs(found, half), near, found)


def _differs(matrix: Array, half: Array) -> Any:
    """Where the matrix has another half-vector than this."""
    return symmetric((half_vector(matrix) != half).astype(np.float64), len(matrix)) > 0.0


def _noise(facts: dict[str, Any], dimension: int) -> Noise:
    """The law that was drawn from; its dimension is known, and a draw would ask for its memory."""
    if facts["dimension"] != dimension:
        raise DataError("The file of intervals does not fit together.")
    _size(facts["scale"])
    return noise_from_facts(facts)


def _size(value: Any) -> float:
    return number_between("A number in the file of intervals", value, 0.0, BEYOND)


def _layout(record: dict[str, Any]) -> ParameterLayout:
    return ParameterLayout(
        scores=_finite(np.array(record["scores"], dtype=np.float64)),
        columns=tuple(map(str, record["columns"])),
        bound=float(record["bound"]),
        # before the constant could be declared it was the norm bound
        constant=record.get("constant", record["bound"]) if record["intercept"] else None,
        classes=tuple(map(str, record["classes"])),
        kind=str(record["kind"]),
        inputs=int(record["inputs"]),
        steps=tuple(map(float, record["steps"])),
        given=str(record["given"]),
        lost_map=bool(record["mapped"]),
    )


def _finite(values: Array) -> Array:
    """``values``, refused where a file does not hold numbers of any use."""
    if not (np.abs(values) <= BEYOND).all():
        raise DataError("The file of intervals holds numbers that are not finite.")
    return values
