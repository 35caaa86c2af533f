"""A source of randomness that writes down what is drawn from it, and may change it.

Seeded sources and the operating system's are replaced by subclasses of themselves, so the draws are
the real ones. Exact samplers are watched where they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from privet import exact_draws, randomness
from privet.randomness import Drawn, InsecureSeed, Randomness, Shape, SystemRandomness
from tests.laws.releases import Draw, Words
from tests.laws.releases.registry import Array

Change = Callable[[int, Draw, Array], Array]


@dataclass
class Record:
    """Draws in their order, words read apart from them, and what was drawn exactly."""

    draws: list[Draw] = field(default_factory=list)
    words: Words = field(default_factory=list)
    exact: list[tuple[str, float, int]] = field(default_factory=list)  # kind, scale, numbers
    inside: int = 0


def _watched(kind: type[Randomness], record: Record, change: Change) -> type[Randomness]:
    class Watched(kind):  # type: ignore[misc, valid-type]
        def draw(self, law: Drawn, k: int) -> Array:
            with _inside(record):
                sample = super().draw(law, k)
            draw = Draw(law.kind, law.scale, law.dimension, k)
            record.draws.append(draw)
            return change(len(record.draws) - 1, draw, sample)

        def words(self, shape: Shape) -> Any:
            words = super().words(shape)
            if not record.inside:
                record.words.append(words)
            return words

    return Watched


@contextmanager
def _inside(record: Record) -> Iterator[None]:
    """What a draw reads is the draw's."""
    record.inside += 1
    try:
        yield
    finally:
        record.inside -= 1


def _whole(kind: str, record: Record, *, silent: bool, steps: int) -> Any:
    """An exact sampler of whole numbers that writes down the scale and how many."""
    real = getattr(exact_draws, f"discrete_{kind}")

    def draw(scale: float, count: int, source: Randomness) -> Any:
        if not record.inside:
            record.exact.append((kind, scale, count))
        with _inside(record):
            if silent:
                return steps * np.arange(1, count + 1)
            return real(scale, count, source)

    return draw


def _choice(record: Record, *, silent: bool) -> Any:
    """The exact choice, which writes down its noise, scale and number of values."""
    real = exact_draws.largest

    def choose(values: Array, scale: float, source: Randomness, *, gumbel: bool) -> int:
        record.exact.append(("gumbel" if gumbel else "exponential", scale, len(values)))
        with _inside(record):
            if silent:
                return int(np.argmax(values))
            return real(values, scale, source, gumbel=gumbel)

    return choose


@contextmanager
def watching(
    change: Change | None = None, *, silent: bool = False, steps: int = 0
) -> Iterator[Record]:
    """Watch every draw; ``change`` may alter those of a source, ``silent`` takes exact ones away.

    In their place come ``steps`` of the grid for the first number, twice as many for the second ...
    """
    record = Record()
    kept: Change = change or (lambda place, draw, sample: sample)
    with pytest.MonkeyPatch.context() as patch:
        for kind in (InsecureSeed, SystemRandomness):
            patch.setattr(randomness, kind.__name__, _watched(kind, record, kept))
        for kind in ("gaussian", "laplace"):
            made = _whole(kind, record, silent=silent, steps=steps)
            patch.setattr(exact_draws, f"discrete_{kind}", made)
        patch.setattr(exact_draws, "largest", _choice(record, silent=silent))
        yield record
