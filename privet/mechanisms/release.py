"""What a release is: declarations -> a design with its event and its draws -> a run -> a value.

A ``Release`` is a frozen value of public declarations. Its ``design`` answers the privacy question
without data: the event that is charged, and every draw of noise that the run will make. The run
takes no number that is not in the design and draws through one door, ``Randomness.draw`` (or the
exact samplers of ``privet.exact_draws``, behind ``add_noise``), so a source that writes down what
is drawn from it can be held against the design. A release holds no rows, no noise and no generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from privet._types import Array
from privet.grid import add_discrete_gaussian, round_to_grid
from privet.noise import Law, Noise
from privet.privacy import Event
from privet.randomness import Randomness

#: How often a draw is made: once in the release, or once for each of these.
Each = Literal["release", "answer", "epoch", "query", "correction", "run"]


@dataclass(frozen=True)
class Draw:
    """``count`` draws of a law on ``dimension`` coordinates, in each ``each``.

    Where ``exponent`` is given, the draws of the operating system's source are exact, on the
    grid ``2^exponent``. A ``choice`` decides something instead of being added to a number that
    is released; exact choices have no grid, so they are marked ``exact`` alone.
    """

    kind: str
    scale: float
    dimension: int
    count: int = 1
    each: Each = field(default="release", compare=False)
    exponent: int | None = field(default=None, compare=False)
    choice: bool = field(default=False, compare=False)
    exact: bool = field(default=False, compare=False)


def draw(law: Law, count: int = 1, each: Each = "release") -> Draw:
    """Floating-point draws of a law."""
    return Draw(law.kind, law.scale, law.dimension, count, each)


def grid_draw(noise: Noise, exponent: int, count: int = 1, each: Each = "release") -> Draw:
    """What ``add_noise`` draws: exact where it is Gaussian."""
    exact = noise.kind == "gaussian"
    at = exponent if exact else None
    return Draw(noise.kind, noise.scale, noise.dimension, count, each, at, exact=exact)


def add_noise(values: Array, noise: Noise, exponent: int, randomness: Randomness) -> Array:
    """``values`` with fresh noise on the grid ``2^exponent``; one draw per ``noise.dimension``.

    Gaussian noise from the operating system's source is exact on the grid. Other noise, and that of
    a seeded source, is a floating-point sample, rounded together with the value.
    """
    if noise.kind == "gaussian" and randomness.secure:
        return add_discrete_gaussian(values, noise.scale, exponent, randomness)
    sample = noise.sample(randomness, values.size // noise.dimension)
    return round_to_grid(values + sample.reshape(values.shape), exponent)


class ReleaseDesign(ABC):
    """Every number of a release that is fixed before a row is read."""

    event: Event

    @property
    def constants(self) -> dict[str, Any]:
        """Public numbers that the event does not have, as plain values for files."""
        return {}

    @property
    @abstractmethod
    def draws(self) -> tuple[Draw, ...]:
        """Every draw that the run will make."""

    @property
    @abstractmethod
    def numerics(self) -> str:
        """A sentence on what is exact and what is idealized in the arithmetic."""


@dataclass(frozen=True)
class Release(ABC):
    """A private release as a value made of declarations; registered in ``RELEASES``."""

    #: the mechanism that its events name
    name: ClassVar[str]

    @abstractmethod
    def design(self, *args: Any, **kwargs: Any) -> ReleaseDesign:
        """Noise, draws and event, for ``n`` rows first and other public sizes after it."""
