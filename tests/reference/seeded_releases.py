"""Numbers that every release published with a seed, kept so that a rebuilt house can be held to it.

    python -m tests.reference.seeded_releases              adds the numbers of new releases
    python -m tests.reference.seeded_releases NAME ...     computes those of these again

They are computed again only where a change of the noise, the bounds or the arithmetic is wanted,
and then the changelog says so under *Guarantees*.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from tests.laws.releases import RELEASES

SEED = 20
KEPT = Path(__file__).with_name("seeded_releases.json")


def numbers(name: str) -> dict[str, Any]:
    """What a release publishes, as nested lists."""
    return {key: array.tolist() for key, array in RELEASES[name](SEED).numbers.items()}


def kept() -> dict[str, dict[str, Any]]:
    """The reference numbers by release."""
    found: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def worst(found: Any, expected: Any) -> float:
    """The largest difference in units of a step: a millionth of the largest number.

    A release is rounded to a grid a million times finer than its noise, and another order of a sum
    may move it by one step of that grid.
    """
    one, two = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if one.shape != two.shape:
        return float("inf")
    step = 1e-6 * max(float(np.abs(two).max(initial=0.0)), 1e-9)
    return float(np.abs(one - two).max(initial=0.0)) / step


def renewed(again: Collection[str]) -> dict[str, dict[str, Any]]:
    """The kept numbers, with those of new releases and of the ones to compute ``again``."""
    known = kept()
    assert set(again) <= set(RELEASES), f"no such releases: {sorted(set(again) - set(RELEASES))}"
    return {
        name: known[name] if name in known and name not in again else numbers(name)
        for name in RELEASES
    }


if __name__ == "__main__":
    found = renewed(sys.argv[1:])
    lines = [f"{json.dumps(name)}: {json.dumps(found[name])}" for name in found]
    text = "{\n" + ",\n".join(lines) + "\n}"
    KEPT.write_text(text + "\n", encoding="utf-8")
