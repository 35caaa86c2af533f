"""Law 2: measuring the features in other units, (a X, a R, a^2 Lam), releases f/a in law.

Shown on single draws: with the same seed both problems draw the same noise in their own units, so
the releases agree to the grid and to the distance at which a minimizer may stop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import pytest

from privet.losses import Loss
from privet.mechanisms import MECHANISMS, Design
from privet.privacy import Budget
from privet.rows import checked_rows
from tests.strategies import EACH_LOSS, EACH_SPENDING, mechanism, name_of, table

MARKS = (
    pytest.mark.parametrize("name", MECHANISMS),
    pytest.mark.parametrize("loss", EACH_LOSS, ids=name_of),
    pytest.mark.parametrize(("budget", "noise"), EACH_SPENDING, ids=name_of),
    pytest.mark.parametrize("regularization", ["auto", 3.0]),
)


def each_case(test: Callable[..., None]) -> Callable[..., None]:
    """Every mechanism, loss, budget and noise, with the default and a declared regularization."""
    return reduce(lambda marked, mark: mark(marked), MARKS, test)


def in_units(lam: float | str, unit: float) -> float | str:
    return lam * unit**2 if isinstance(lam, float) else lam


def distance(design: Design) -> float:
    """How far two certified releases of the same draw can be apart in one coordinate."""
    stop = 2.0 * design.tolerance / design.risk.regularization
    return stop + math.ldexp(1.0, design.exponent)


@each_case
@pytest.mark.parametrize("unit", [2.0**-7, 11.0])
def test_the_design_is_the_same_in_other_units(
    name: str, loss: Loss, budget: Budget, noise: str, regularization: float | str, unit: float
) -> None:
    here, there = (
        mechanism(
            name, loss, budget, noise, in_units(regularization, a), norm_bound=1.5 * a
        ).design(200, 4)
        for a in (1.0, unit)
    )
    # powers of two are exact; otherwise the grid, itself a power of two, moves by a part in 2^20
    exact = 0.0 if math.frexp(unit)[0] == 0.5 else 1e-5
    # the noise of the objective is a gradient, which grows with the unit; on the release it shrinks
    power = 1.0 if name == "objective" else -1.0
    assert there.main.scale == pytest.approx(here.main.scale * unit**power, rel=exact)
    assert there.risk.regularization == pytest.approx(here.risk.regularization * unit**2, rel=exact)
    assert there.tolerance == pytest.approx(here.tolerance * unit, rel=exact)
    assert (there.gap is None) == (here.gap is None)
    if here.gap is not None and there.gap is not None:
        assert there.gap.scale == pytest.approx(here.gap.scale / unit, rel=exact)
    if exact == 0.0:
        assert there.exponent == here.exponent - math.log2(unit)
    assert [each.zcdp for each in there.event.curves] == pytest.approx(
        [each.zcdp for each in here.event.curves], rel=1e-9
    )


@each_case
@pytest.mark.parametrize("intercept", [False, True])
def test_the_release_is_the_same_in_other_units(
    name: str, loss: Loss, budget: Budget, noise: str, regularization: float | str, intercept: bool
) -> None:
    x, codes = table(5, 200, 3, loss.classes)
    x *= 1.3  # some rows are clipped
    y, widen = loss.targets(codes), math.sqrt(2.0) if intercept else 1.0
    releases, designs = [], []
    for unit in (1.0, 0.25):
        rows = checked_rows(unit * x, y, norm_bound=unit, constant=unit if intercept else None)
        made = mechanism(
            name,
            loss,
            budget,
            noise,
            in_units(regularization, unit),
            norm_bound=unit * widen,
            insecure_seed=11,
        )
        releases.append(unit * made.run(rows).value)
        designs.append(made.design(rows.n, rows.m))
    size = max(abs(releases[0]).max(), 1.0)
    allowed = distance(designs[0]) + 0.25 * distance(designs[1]) + 1e-12 * size
    assert releases[1] == pytest.approx(releases[0], rel=0.0, abs=allowed)
    # the comparison has power: the noise is far larger than what is allowed
    least = designs[0].main.expected_norm
    if name == "objective":
        risk = designs[0].risk
        least /= designs[0].n * (risk.regularization + risk.row_curvature)
    assert distance(designs[0]) < 1e-3 * least
