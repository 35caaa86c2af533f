"""Law 9 on the operating system's path: all of the exact noise reaches the release.

Exact noise is drawn on a public grid. Known steps of that grid, in place of its noise, move the
published numbers by just as many steps: nothing is scaled after it was drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet import ZCDP, ApproxDP, LogisticRegression, PureDP
from privet.mechanisms.counts import Histogram
from privet.mechanisms.release import add_noise
from privet.noise import GaussianNoise
from privet.randomness import SystemRandomness
from tests.laws.releases import RELEASES, Draw
from tests.laws.releases.registry import Array
from tests.laws.test_draws import on_the_grid
from tests.laws.watched import watching

STEPS = 1 << 12


def step(draw: Draw) -> float:
    """The grid's step: the noise's scale over the same in steps."""
    return draw.scale / on_the_grid(draw)[3]


def moved(run: Callable[[], Any]) -> Any:
    """What is published with steps and without, no other noise in it."""

    def none(i: int, draw: Draw, sample: Array) -> Array:
        return 0.0 * sample

    found = []
    for steps in (0, STEPS):
        with watching(none, silent=True, steps=steps):
            found.append(run())
    return found


def ramp(count: int) -> Array:
    """What is added to ``count`` numbers, in steps."""
    return np.asarray(STEPS * np.arange(1.0, count + 1.0))


@pytest.mark.parametrize("budget", [PureDP(1.5), ZCDP(0.4), ApproxDP(1.5, 1e-6)])
def test_histograms_move_by_the_steps(budget: Any) -> None:
    histogram = Histogram(6, budget)
    counts = np.arange(6, dtype=np.int64) * 10
    before, after = moved(lambda: histogram.run(counts, 150).values)
    np.testing.assert_allclose(after - before, np.ldexp(ramp(6), histogram.exponent), rtol=1e-9)


def test_values_with_gaussian_noise_move_by_the_steps() -> None:
    values, noise = np.linspace(-1.0, 1.0, 5), GaussianNoise(2.0, 5)
    before, after = moved(lambda: add_noise(values, noise, -20, SystemRandomness()))
    np.testing.assert_allclose(after - before, np.ldexp(ramp(5), -20), rtol=1e-9)


@pytest.mark.parametrize("name", ["evaluate zcdp", "evaluate pure", "evaluate groups"])
def test_counts_of_an_evaluation_move_by_the_steps(name: str) -> None:
    """Less their mean, as the sum of a table is public."""
    before, after = moved(lambda: RELEASES[name](None))
    tables = [key for key in before.numbers if key.startswith("counts ")]
    for key, draw in zip(tables, before.claim([]), strict=True):
        by = step(draw) * ramp(draw.count)
        if draw.count > 1:
            by -= by.mean()
        found = (after.numbers[key] - before.numbers[key]).ravel()
        np.testing.assert_allclose(found, by, atol=1e-6 * float(np.abs(by).max()))


#: The constant column behind the intercept, at norm bound 1.
CONSTANT = float(LogisticRegression().constant)


@pytest.mark.parametrize("name", ["logistic output gaussian zcdp", "svc output gaussian approx"])
def test_coefficients_move_by_the_steps(name: str) -> None:
    before, after = moved(lambda: RELEASES[name](None))
    (draw,) = before.claim([])
    found = [
        np.ravel(after.numbers[key] - before.numbers[key]) / unit
        for key, unit in (("coef_", 1.0), ("intercept_", CONSTANT))
    ]
    by = step(draw) * ramp(draw.dimension)
    np.testing.assert_allclose(np.concatenate(found), by, atol=1e-6 * float(by.max()))
