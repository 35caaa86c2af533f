"""Intervals in a file: JSON of released numbers and their guarantee, never code.

The file keeps the released matrices, so that contrasts and other levels can be asked for later; it
holds nothing that was not paid for.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from privet._types import Array
from privet.errors import DataError, PrivetError
from privet.inference.intervals import FORMAT, JOINT, Intervals, confidence_level
from privet.inference.released_model import NamedDirections, ParameterLayout
from privet.inference.uncertainty import FitNoise, Uncertainty, WiderUncertainty
from privet.mechanisms.matrix import NoisyMatrices, Weighing, half_vector, symmetric
from privet.noise import NOISES, Noise
from privet.privacy.guarantee import guarantee_from_json, released_digest

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
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        if record.get("format") != FORMAT:
            raise DataError("This is not a file of intervals that this Privet reads.")
        return _build(record)
    except PrivetError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError("The file of intervals is not readable.") from error


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
    return Intervals(
        NamedDirections(
            names,
            tuple(map(str, record["units"])),
            directions,
            str(record["target"]),
            tuple(map(float, record["stretch"])),
        ),
        confidence_level(record["level"]),
        _uncertainty(record, theta),
        _layout(record["geometry"]),
        guarantee_from_json(record["guarantee"]),
        str(record["joint"]),
    )


def _uncertainty(record: dict[str, Any], theta: Any) -> Uncertainty:
    kept, fit, side = record["matrices"], record["fit_noise"], len(theta)
    pair = [_finite(np.array(kept[name], dtype=np.float64)) for name in ("hessian", "covariance")]
    released = NoisyMatrices(
        _matrix(pair[0], side),
        _matrix(pair[1], side),
        Weighing(float(kept["eta"]), float(kept["sensitivity"])),
        _noise(kept["noise"]),
    )
    return CONSTRUCTIONS[record["construction"]](
        theta,
        released,
        float(record["regularization"]),
        int(record["n"]),
        FitNoise(str(fit["mechanism"]), _noise(fit["main"]), float(fit["gap_sd"])),
        int(record["seed"]),
    )


def _matrix(half: Array, side: int) -> Array:
    """The matrix whose ``half_vector`` is exactly this: a file that is saved again is the same."""
    found = symmetric(half, side)
    for toward in (-np.inf, np.inf):
        wrong = symmetric((half_vector(found) != half).astype(np.float64), side) > 0.0
        found = np.where(wrong, np.nextafter(symmetric(half, side), toward), found)
    return found


def _noise(facts: dict[str, Any]) -> Noise:
    return NOISES[facts["kind"]](float(facts["scale"]), int(facts["dimension"]))


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
    """``values``, refused where a file does not hold numbers."""
    if not np.isfinite(values).all():
        raise DataError("The file of intervals holds numbers that are not finite.")
    return values
