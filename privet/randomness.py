"""Where random bits come from: the operating system, drawn anew for every release.

There is no generator object whose state could be forked into two processes, pickled with a model
or stored in a file: two releases can never share their noise. A seed exists for tests and studies
only; whatever it touches is stamped as not private.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from privet._types import Array
from privet.errors import DeclarationError

Words = NDArray[np.uint64]
Shape = tuple[int, ...]

# Below this, of 2^63, a number takes more bits: one draw in two million.
SMALL = 1 << 42


class Drawn(Protocol):
    """A law that can be drawn from: what it is, how large, and how words become draws of it."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def scale(self) -> float: ...  # noqa: D102
    @property
    def dimension(self) -> int: ...  # noqa: D102

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """``k`` draws, shape (k, dimension)."""


class Randomness(ABC):
    """A source of uniform 64-bit words, and the two transforms that the noises need."""

    secure: bool

    def draw(self, law: Drawn, k: int) -> Array:
        """``k`` independent draws, shape (k, dimension).

        Every noise that is a floating-point sample passes this door, so a source that writes down
        what is drawn sees all of it: kind, scale, dimension and number.
        """
        return law.from_words(self, k)

    @abstractmethod
    def words(self, shape: Shape) -> Words:
        """Independent uniform 64-bit integers."""

    def _units(self, words: Words) -> Array:
        """The upper 63 bits of each word as a number in (0, 1), fine where it is small.

        52 bits are enough for an ordinary number. A small one would have neighbors so far apart
        that its logarithm, a large noise, tells them apart on the public grid; so it gets the rest
        of its word and 52 bits more.
        """
        upper = words >> np.uint64(1)
        units = ((upper >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-52
        small = upper < np.uint64(SMALL)
        if small.any():
            more = self.words((int(small.sum()),)) >> np.uint64(12)
            fraction = (more.astype(np.float64) + 0.5) * 2.0**-52
            units[small] = (upper[small].astype(np.float64) + fraction) * 2.0**-63
        return units

    def uniforms(self, shape: Shape) -> Array:
        """Numbers in (0, 1)."""
        return self._units(self.words(shape))

    def exponentials(self, shape: Shape) -> Array:
        """Standard exponentials."""
        return np.asarray(-np.log(self.uniforms(shape)))

    def normals(self, shape: Shape) -> Array:
        """Standard normals: the upper bits choose the tail probability, the last one the sign."""
        words = self.words(shape)
        tail = ndtri(0.5 * self._units(words))
        return np.asarray(np.where((words & np.uint64(1)).astype(bool), tail, -tail))

    def gammas(self, count: int, shape_parameter: int) -> Array:
        """Gamma variates with integer shape: the sum of that many exponentials."""
        total = np.zeros(count)
        # bounded memory: 2e6 draws of a high-dimensional norm would not fit at once
        step = max(1, (1 << 22) // max(shape_parameter, 1))
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            words = self.words((part.stop - part.start, shape_parameter))
            total[part] = -np.log(self._units(words)).sum(axis=1)
        return total


@dataclass(frozen=True)
class SystemRandomness(Randomness):
    """The operating system's cryptographic source. Holds no state at all."""

    secure: bool = field(default=True, init=False)

    def words(self, shape: Shape) -> Words:
        """Words straight from the operating system."""
        count = int(np.prod(shape))
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).reshape(shape)


class InsecureSeed(Randomness):
    """A reproducible source for tests and studies. What it draws protects nobody."""

    secure = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise DeclarationError("insecure_seed must be a non-negative integer or None.")
        self._generator = np.random.default_rng(int(seed))

    def words(self, shape: Shape) -> Words:
        """Words from a seeded generator."""
        return self._generator.integers(0, 2**64, size=shape, dtype=np.uint64)

    def __reduce__(self) -> Any:
        raise TypeError("A seeded source is not pickled: two copies would draw the same noise.")


def source(insecure_seed: int | None) -> Randomness:
    """The system's source, or the insecure one where a seed was asked for by name."""
    return SystemRandomness() if insecure_seed is None else InsecureSeed(insecure_seed)
