"""Small tables for the tests of the three ways of answering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def table(n: int = 150, d: int = 3) -> tuple[Array, NDArray[np.int_]]:
    """Rows whose product of two columns decides the class."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, d))
    return x, (x[:, 0] * x[:, 1] + 0.2 * rng.normal(size=n) > 0).astype(int)


def queries(k: int = 40, d: int = 3) -> Array:
    """Places that are no training rows."""
    return np.random.default_rng(12).normal(size=(k, d))


def holds_a_row(text: str, x: Array) -> bool:
    """Whether a file's text quotes a number of the table."""
    return any(repr(float(value)) in text for value in x.ravel())


def longest_list(path: Path) -> int:
    """The longest list of anything in a file of records."""
    import json

    def longest(value: Any) -> int:
        if isinstance(value, dict):
            return max([longest(part) for part in value.values()], default=0)
        if isinstance(value, list):
            return max([len(value), *(longest(part) for part in value)])
        return 0

    return max(longest(json.loads(line.split("\t")[0])) for line in path.read_text().splitlines())
