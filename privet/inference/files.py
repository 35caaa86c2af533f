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

from privet._files import write_whole
from privet.errors import DataError, PrivetError
from privet.inference.geometry import Geometry, Named
from privet.inference.intervals import JOINT, Intervals, confidence_level, finite
from privet.inference.variance import FitNoise, Uncertainty
from privet.inference.wang2018 import WiderUncertainty
from privet.mechanisms.matrix import NoisyMatrices, Weighing, half_vector, symmetric
from privet.noise import NOISES, Noise
from privet.privacy.guarantee import guarantee_from_json

FORMAT = "privet-intervals-1"
_KINDS = {"default": Uncertainty, "wang2018": WiderUncertainty}


def to_json(intervals: Intervals) -> dict[str, Any]:
    """Plain values: the table for readers, and what it was made of."""
    about = intervals.uncertainty
    names = {kind: name for name, kind in _KINDS.items()}
    geometry = intervals.geometry
    return {
        "format": FORMAT,
        "level": intervals.level,
        "joint": intervals.joint,
        "target": intervals.named.target,
        "table": intervals.columns(),
        "guarantee": intervals.guarantee.to_json(),
        "directions": intervals.named.directions.tolist(),
        "units": list(intervals.units),
        "stretch": list(intervals.named.stretch),
        "construction": names[type(about)],
        "theta": about.theta.tolist(),
        "regularization": about.regularization,
        "n": about.n,
        "seed": about.seed,
        "fit_noise": {
            "mechanism": about.noise.mechanism,
            "main": about.noise.main.facts(),
            "gap_sd": about.noise.gap_sd,
        },
        "matrices": {
            "hessian": half_vector(about.released.hessian).tolist(),
            "covariance": half_vector(about.released.covariance).tolist(),
            "eta": about.released.weighing.eta,
            "sensitivity": about.released.weighing.sensitivity,
            "noise": about.released.noise.facts(),
        },
        "geometry": {
            "scores": geometry.scores.tolist(),
            "columns": list(geometry.columns),
            "bound": geometry.bound,
            "intercept": geometry.intercept,
            "classes": list(geometry.classes),
            "kind": geometry.kind,
            "inputs": geometry.inputs,
            "steps": list(geometry.steps),
            "given": geometry.given,
            "mapped": geometry.lost_map or geometry.feature_map is not None,
        },
    }


def write(intervals: Intervals, path: str | os.PathLike[str]) -> None:
    """Write ``to_json`` to a file."""
    write_whole(path, content(intervals), mode=0o644)


def content(intervals: Intervals) -> str:
    """What the file of intervals holds."""
    return json.dumps(to_json(intervals), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def load_intervals(path: str | os.PathLike[str]) -> Intervals:
    """Read what ``Intervals.save`` wrote; refuses anything else with a sentence."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        if record.get("format") != FORMAT:
            raise DataError("This is not a file of intervals that this Privet reads.")
        return _build(record)
    except PrivetError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError("The file of intervals is not readable.") from error


def _build(record: dict[str, Any]) -> Intervals:
    theta = finite(np.array(record["theta"], dtype=np.float64))
    directions = finite(np.array(record["directions"], dtype=np.float64))
    names = tuple(map(str, record["table"]["name"]))
    lengths = {len(names), len(record["units"]), len(record["stretch"])}
    if theta.ndim != 1 or directions.shape != (len(names), len(theta)) or len(lengths) > 1:
        raise DataError("The file of intervals does not fit together.")
    if record["joint"] not in ("", *JOINT):
        raise DataError("The file of intervals names an unknown joint method.")
    return Intervals(
        Named(
            names,
            tuple(map(str, record["units"])),
            directions,
            str(record["target"]),
            tuple(map(float, record["stretch"])),
        ),
        confidence_level(record["level"]),
        _uncertainty(record, theta),
        _geometry(record["geometry"]),
        guarantee_from_json(record["guarantee"]),
        str(record["joint"]),
    )


def _uncertainty(record: dict[str, Any], theta: Any) -> Uncertainty:
    kept, fit, side = record["matrices"], record["fit_noise"], len(theta)
    pair = [finite(np.array(kept[name], dtype=np.float64)) for name in ("hessian", "covariance")]
    released = NoisyMatrices(
        symmetric(pair[0], side),
        symmetric(pair[1], side),
        Weighing(float(kept["eta"]), float(kept["sensitivity"])),
        _noise(kept["noise"]),
    )
    return _KINDS[record["construction"]](
        theta,
        released,
        float(record["regularization"]),
        int(record["n"]),
        FitNoise(str(fit["mechanism"]), _noise(fit["main"]), float(fit["gap_sd"])),
        int(record["seed"]),
    )


def _noise(facts: dict[str, Any]) -> Noise:
    return NOISES[facts["kind"]](float(facts["scale"]), int(facts["dimension"]))


def _geometry(record: dict[str, Any]) -> Geometry:
    return Geometry(
        scores=finite(np.array(record["scores"], dtype=np.float64)),
        columns=tuple(map(str, record["columns"])),
        bound=float(record["bound"]),
        intercept=bool(record["intercept"]),
        classes=tuple(map(str, record["classes"])),
        kind=str(record["kind"]),
        inputs=int(record["inputs"]),
        steps=tuple(map(float, record["steps"])),
        given=str(record["given"]),
        lost_map=bool(record["mapped"]),
    )
