"""A source of randomness that writes down what is drawn from it, and may change it.

Seeded sources and the operating system's are replaced by subclasses of themselves, so the draws are
the real ones. OpenDP's samplers are watched where they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import opendp.measurements
import opendp.prelude as dp
import pytest

from privet import randomness
from privet.randomness import Drawn, InsecureSeed, Randomness, Shape, SystemRandomness
from tests.laws.releases import Draw, Words
from tests.laws.releases.registry import Array

Change = Callable[[int, Draw, Array], Array]


@dataclass
class Record:
    """Draws in their order, words read apart from them, and what OpenDP was asked for."""

    draws: list[Draw] = field(default_factory=list)
    words: Words = field(default_factory=list)
    exact: list[tuple[str, float, int]] = field(default_factory=list)  # kind, scale, numbers
    inside: int = 0


def _watched(kind: type[Randomness], record: Record, change: Change) -> type[Randomness]:
    class Watched(kind):  # type: ignore[misc, valid-type]
        def draw(self, law: Drawn, k: int) -> Array:
            record.inside += 1
            try:
                sample = super().draw(law, k)
            finally:
                record.inside -= 1
            draw = Draw(law.kind, law.scale, law.dimension, k)
            record.draws.append(draw)
            return change(len(record.draws) - 1, draw, sample)

        def words(self, shape: Shape) -> Any:
            words = super().words(shape)
            if not record.inside:
                record.words.append(words)
            return words

    return Watched


def _exact(kind: str, record: Record, real: Any, *, silent: bool, steps: int) -> Any:
    """A maker of OpenDP measurements that writes down scale and numbers of each use."""

    def make(domain: Any, metric: Any, *rest: Any, scale: float) -> Any:
        measurement = real(domain, metric, *rest, scale=scale)
        name = kind
        if rest:
            name = "gumbel" if rest[0] == dp.zero_concentrated_divergence() else "exponential"

        def use(values: list[Any]) -> Any:
            record.exact.append((name, scale, len(values)))
            if not silent:
                return measurement(values)
            if rest:
                return int(np.argmax(values))
            return [value + steps * place for place, value in enumerate(values, start=1)]

        return use

    return make


@contextmanager
def watching(
    change: Change | None = None, *, silent: bool = False, steps: int = 0
) -> Iterator[Record]:
    """Watch every draw; ``change`` may alter those of a source, ``silent`` takes OpenDP's away.

    In their place come ``steps`` of the grid for the first number, twice as many for the second ...
    """
    record = Record()
    kept: Change = change or (lambda place, draw, sample: sample)
    with pytest.MonkeyPatch.context() as patch:
        for kind in (InsecureSeed, SystemRandomness):
            patch.setattr(randomness, kind.__name__, _watched(kind, record, kept))
        for name in ("gaussian", "laplace", "noisy_max"):
            maker = f"make_{name}"
            real = getattr(opendp.measurements, maker)
            made = _exact(name, record, real, silent=silent, steps=steps)
            patch.setattr(opendp.measurements, maker, made)
        yield record
