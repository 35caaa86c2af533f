"""Rows: the one operation that every algorithm is written in.

An algorithm never sees a table. It hands a *kernel* to ``rows.sum`` and receives the sum of the
kernel over blocks of rows; a block answers three linear questions about itself. That is enough for
every risk, gradient, Hessian and covariance in Privet, it never copies the table, and it is the
same whether the rows are in memory, in a file or on other machines.

A wrong sum breaks privacy in silence, so the engines are a closed list inside this package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from privet._types import Array, Targets
from privet.rows.scratch import scratch

#: what a kernel returns for one block: arrays that are added up over blocks
Parts = tuple[Array, ...]
Kernel = Callable[..., Parts]
#: numbers up to which a new array costs less than to look for a used one
FEW = 1 << 12


class Block(ABC):
    """A few rows ``X_b`` (r x m), known only through the linear maps that algorithms need."""

    @abstractmethod
    def scores(self, weights: Array) -> Array:
        """``X_b W^T`` for ``W`` of shape (k, m): (r, k)."""

    @abstractmethod
    def pull(self, residuals: Array) -> Array:
        """``G^T X_b`` for ``G`` of shape (r, k): (k, m)."""

    @abstractmethod
    def gram(self, weights: Array) -> Array:
        """``X_b^T diag(w) X_b`` for ``w`` of shape (r,), of any sign: (m, m)."""

    @abstractmethod
    def lengths(self) -> Array:
        """The Euclidean norm of each row, shape (r,)."""

    def pull_squares(self, weights: Array) -> Array:
        """``V^T (X_b o X_b)``, the diagonals of ``gram``, for ``V`` of shape (r, k): (k, m)."""
        return np.array([np.diag(self.gram(column)) for column in weights.T])

    def rough(self) -> Block:
        """The same rows in single precision if that is faster: scores and pulls to 1e-6 or so."""
        return self


class Rows(ABC):
    """``n`` rows of ``m`` columns with their targets."""

    n: int
    m: int

    @abstractmethod
    def blocks(self, stride: int = 1) -> Iterator[tuple[Block, Targets]]:
        """All rows with their targets in a fixed order; ``stride > 1``: about one in ``stride``."""

    def rough(self) -> Rows:
        """The same rows with rough blocks: for directions, which a certificate never rests on."""
        return RoughRows(self)

    def sum(self, kernel: Kernel, *args: Any, stride: int = 1) -> Parts:
        """Add up ``kernel(block, targets, *args)`` over the blocks.

        With ``stride > 1`` only about one row in ``stride`` is visited: a cheap model of the whole
        for preconditioners, which a certificate never rests on.
        """
        return tuple(total.value for total in self.totals(kernel, *args, stride=stride))

    def totals(self, kernel: Kernel, *args: Any, stride: int = 1) -> list[Compensated]:
        """The sums with what they have lost, for whoever adds them to others."""
        totals: list[Compensated] = []
        for block, targets in self.blocks(stride):
            parts = kernel(block, targets, *args)
            totals = totals or [Compensated(np.shape(part)) for part in parts]
            for total, part in zip(totals, parts, strict=True):
                total.add(part)
        if not totals:
            raise ValueError("Rows must hold at least one row.")
        return totals

    def aim(self, tolerance: float) -> None:
        """Hear which gradient norm is to be reached; for engines that show their progress."""
        del tolerance

    def note(self, gradients: Array) -> None:
        """Hear how far it is, shape (k, p); that is private and for the curator's eyes only."""
        del gradients


class RoughRows(Rows):
    """Rows whose blocks are made rough as they are visited; nothing is kept."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self.n, self.m = rows, rows.n, rows.m

    def blocks(self, stride: int = 1) -> Iterator[tuple[Block, Targets]]:
        """The blocks of the rows, made rough."""
        for block, targets in self._rows.blocks(stride):
            signs = targets.dtype.kind == "f"  # codes of classes stay as they are
            yield block.rough(), targets.astype(np.float32) if signs else targets


class Compensated:
    """A sum that loses two roundings however many parts it has and however they are grouped.

    What rounding loses must be paid for with noise, so a plain sum over the many blocks of a large
    table would cost accuracy. Each addition's error is computed exactly (Knuth's two-sum) and the
    errors are added up beside the sum (Neumaier 1974). With ``A`` the sum of the parts' sizes each
    error is at most ``u A``, and adding ``N`` of them loses at most ``N u N u A``, less than
    ``u A`` for up to ``2^26`` parts; the last addition loses ``u A`` more. Merging two sums keeps
    both numbers of either, so that sums of sums lose no more.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._sum = np.zeros(shape)
        self._errors = np.zeros(shape)
        self._empty = True

    @property
    def value(self) -> Array:
        """The sum with its errors; an infinite one has none."""
        return np.where(np.isfinite(self._sum), self._sum + self._errors, self._sum)

    def add(self, part: Array) -> None:
        """Add one block's part."""
        if self._empty:  # nothing is lost yet
            self._sum += part
            self._empty = False
            return
        if self._sum.size <= FEW:
            total, self._sum = self._sum, self._sum + part
            added = self._sum - total
            self._errors += (total - (self._sum - added)) + (part - added)
            return
        work = scratch((3, *self._sum.shape), np.float64)
        grown, added, lost = (work[i, ...] for i in range(3))
        np.add(self._sum, part, out=grown)
        np.subtract(grown, self._sum, out=added)
        # (sum - (grown - added)) + (part - added), without an array for each step
        np.subtract(grown, added, out=lost)
        np.subtract(self._sum, lost, out=lost)
        np.subtract(part, added, out=added)
        lost += added
        self._errors += lost
        self._sum[...] = grown

    def merge(self, other: Compensated) -> None:
        """Add another sum with its errors: the grouping of the parts does not matter."""
        self.add(other._sum)
        self._errors += other._errors
