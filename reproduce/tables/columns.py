"""How raw columns become rows of norm 1: declared bounds, edges and categories, never measured.

An encoding is a dictionary from raw columns to ``Column`` values. Each encoded row is divided by
its own norm, a function of that row alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array

Columns = dict[str, NDArray[Any]]


class Column(ABC):
    """How one raw column becomes encoded columns; holds declarations only."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """A name for each encoded column."""

    @abstractmethod
    def encode(self, values: NDArray[Any]) -> Array:
        """Encoded columns in [0, 1], shape (n, len(names))."""


@dataclass(frozen=True)
class Number(Column):
    """``(v - low)/(high - low)``, clipped to [0, 1]; on a logarithmic scale for heavy tails."""

    low: float
    high: float
    logarithm: bool = False

    def names(self) -> tuple[str, ...]:
        """One column."""
        return ("log",) if self.logarithm else ("value",)

    def encode(self, values: NDArray[Any]) -> Array:
        """Scaled by the declared bounds."""
        part = (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)
        if self.logarithm:
            part = np.log1p(np.maximum(part * (self.high - self.low), 0.0))
            part /= np.log1p(self.high - self.low)
        return np.clip(part, 0.0, 1.0)[:, None]


@dataclass(frozen=True)
class Bins(Column):
    """One-hot intervals ``(-inf, e_1), [e_1, e_2), ..., [e_k, inf)`` between declared edges."""

    edges: tuple[float, ...]

    def names(self) -> tuple[str, ...]:
        """Each interval by its lower end."""
        return f"below {self.edges[0]:g}", *(f"from {edge:g}" for edge in self.edges)

    def encode(self, values: NDArray[Any]) -> Array:
        """The interval of each value."""
        return np.asarray(np.eye(len(self.edges) + 1)[np.digitize(values, self.edges)])


class Groups(Column):
    """One-hot groups of declared categories; what is not declared takes the group ``rest``.

    Without ``rest`` an undeclared category has no column: its entries are zero.
    """

    def __init__(self, groups: Mapping[str, str], rest: str | None = None) -> None:
        self._home = {v: i for i, words in enumerate(groups.values()) for v in words.split()}
        self._names = (*groups, rest) if rest is not None else tuple(groups)

    def names(self) -> tuple[str, ...]:
        """The groups."""
        return self._names

    def encode(self, values: NDArray[Any]) -> Array:
        """The group of each value."""
        kinds, inverse = np.unique(np.asarray(values, dtype=str), return_inverse=True)
        table = np.eye(len(self._names) + 1)[:, : len(self._names)]
        rest = len(set(self._home.values()))
        return np.asarray(table[[self._home.get(str(kind), rest) for kind in kinds]][inverse])


def each(words: str, rest: str | None = None) -> Groups:
    """Every named category its own group."""
    return Groups({word: word for word in words.split()}, rest)


def encode(columns: Columns, encoding: Mapping[str, Column]) -> Array:
    """Unit-norm rows from raw columns by a declared encoding."""
    x = np.concatenate([how.encode(columns[name]) for name, how in encoding.items()], axis=1)
    x /= np.maximum(np.linalg.norm(x, axis=1), 1e-300)[:, None]
    return x


def feature_names(encoding: Mapping[str, Column]) -> tuple[str, ...]:
    """Names of the encoded columns, in order."""
    return tuple(f"{name}: {part}" for name, how in encoding.items() for part in how.names())
