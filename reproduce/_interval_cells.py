"""The settings of ``interval_grid.py``, and which half of them each is in."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from _interval_tables import idle

from privet import ZCDP, LinearSVC, LogisticRegression, PureDP
from privet.domain import Box

#: replicates of a cell, of one with a million rows, and of either end with columns without effect
MANY, FEW, LARGE = 400, 100, 1_000_000
MORE, SMALL = 1600, 10_000


@dataclass(frozen=True)
class Cell:
    """One setting; ``budget`` is an epsilon or a rho."""

    data: str
    d: int
    n: int
    loss: str
    kind: str  # "pure" or "rho"
    budget: float

    @property
    def replicates(self) -> int:
        """How often it is repeated."""
        without = len(idle(self.data, self.d))
        if self.n <= SMALL or self.n == LARGE:
            return MORE if without else (FEW if self.n == LARGE else MANY)
        return MANY

    @property
    def key(self) -> str:
        """A name for the file of results."""
        return "|".join(str(value) for value in asdict(self).values())

    @property
    def chooses(self) -> bool:
        """Whether constants may be chosen on it: the first bit of its name's SHA-256 is zero."""
        return hashlib.sha256(self.key.encode()).digest()[0] < 128

    @property
    def classes(self) -> int:
        """Of the labels."""
        return 3 if self.loss == "softmax" else 2

    def asked(self) -> PureDP | ZCDP:
        """The budget for the fit and its intervals together."""
        return PureDP(self.budget) if self.kind == "pure" else ZCDP(self.budget)

    def model(self) -> Any:
        """With its defaults."""
        domain = Box(4, 0.5) if self.data == "adult4box" else None
        if self.loss == "Huber":
            return LinearSVC(insecure_seed=0, domain=domain)
        return LogisticRegression(insecure_seed=0, classes=range(self.classes), domain=domain)


def grid() -> list[Cell]:
    """Every cell, in an order that leaves a fair sample wherever a run is stopped."""
    return sorted(dict.fromkeys(_cells()), key=lambda cell: zlib.crc32(cell.key.encode()))


def _cells() -> Iterator[Cell]:
    for data, d in (("even", 1), ("skewed", 1), ("adult4", 4), ("skewed", 4), ("constant", 5)):
        for n, budget in ((500, 4.0), (2000, 8.0), (8000, 0.5), (8000, 8.0)):
            yield Cell(data, d, n, "logistic", "pure", budget)
    for data, d in (("even", 1), ("adult4", 4), ("constant", 5), ("correlated", 10)):
        for n, budget in ((500, 0.5), (2000, 2.0), (10_000, 0.01)):
            yield Cell(data, d, n, "logistic", "rho", budget)
    for data, d in (("even", 1), ("skewed", 4), ("adult4", 4), ("onehot", 8), ("correlated", 6)):
        for n, kind, budget in ((2000, "pure", 6.0), (8000, "rho", 0.05)):
            yield Cell(data, d, n, "Huber", kind, budget)
    for data, d in (("even", 2), ("correlated", 3), ("onehot", 8), ("constant", 5)):
        for n, kind, budget in ((2000, "pure", 8.0), (4000, "rho", 0.5)):
            yield Cell(data, d, n, "softmax", kind, budget)
    yield from (Cell("adult4box", 4, n, "logistic", "pure", 8.0) for n in (2000, 8000))
    for n, kind, budget in ((2000, "pure", 8.0), (8000, "rho", 0.1)):
        yield from (Cell("adult6", 6, n, loss, kind, budget) for loss in ("logistic", "Huber"))
    yield from _many_columns()
    yield from _many_rows()


def _many_columns() -> Iterator[Cell]:
    for data, d in (("correlated", 10), ("skewed", 10), ("even", 20), ("onehot", 20)):
        for kind, budget in (("pure", 8.0), ("rho", 0.2)):
            yield Cell(data, d, 10_000, "logistic", kind, budget)
    for loss, kind, budget in (
        ("logistic", "pure", 4.0),
        ("logistic", "rho", 0.1),
        ("Huber", "rho", 1.0),
    ):
        yield Cell("forest10", 10, 20_000, loss, kind, budget)
    yield Cell("correlated", 20, 20_000, "Huber", "rho", 0.5)
    for data, d, kind, budget in (
        ("even", 40, "pure", 8.0),
        ("onehot", 40, "rho", 0.2),
        ("constant", 40, "rho", 2.0),
        ("adult37", 37, "rho", 0.2),
    ):
        yield Cell(data, d, 20_000, "logistic", kind, budget)


def _many_rows() -> Iterator[Cell]:
    n = 100_000
    for data, d in (("adult4", 4), ("constant", 5), ("forest10", 10)):
        for kind, budget in (("pure", 0.5), ("rho", 0.01)):
            yield Cell(data, d, n, "logistic", kind, budget)
    yield Cell("even", 20, n, "logistic", "pure", 4.0)
    yield Cell("correlated", 20, n, "logistic", "rho", 0.1)
    yield Cell("correlated", 6, n, "Huber", "pure", 1.0)
    for data, d in (("adult4", 4), ("skewed", 4), ("forest10", 10)):
        for kind, budget in (("pure", 0.5), ("rho", 0.01)):
            yield Cell(data, d, LARGE, "logistic", kind, budget)
    yield Cell("correlated", 6, LARGE, "Huber", "pure", 0.5)
    yield Cell("even", 20, LARGE, "logistic", "rho", 0.01)
    yield Cell("even", 40, LARGE, "logistic", "rho", 0.1)
