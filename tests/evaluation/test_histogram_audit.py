"""The histogram mechanism attacked with its exact probabilities, and its sampler checked."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from privet import ZCDP, ApproxDP, PureDP
from privet.errors import DeclarationError
from privet.evaluation.allocation import count_tables, plan_evaluation
from privet.evaluation.count_tables import CodedRows, CountTable
from privet.mechanisms.counts import Histogram
from privet.privacy import Budget
from privet.privacy.curves import gaussian_delta

BUDGETS = (PureDP(0.7), ZCDP(0.2), ApproxDP(0.5, 1e-5))


@dataclass(frozen=True)
class Halved(Histogram):
    """The planted bug: as if a replaced row only left its cell, or only entered one."""

    @property
    def l1_sensitivity(self) -> float:
        return super().l1_sensitivity / 2.0


def log_ratio(mechanism: Histogram, outputs: np.ndarray, first: tuple, second: tuple) -> np.ndarray:
    """Exact log-probability ratio of each output under neighboring counts, on the integers."""
    b = mechanism.scale
    near, far = (outputs - np.array(counts) for counts in (first, second))
    if mechanism.kind == "laplace":
        return ((np.abs(far) - np.abs(near)) / b).sum(axis=1)
    return ((far**2 - near**2) / (2.0 * b * b)).sum(axis=1)


def neighbors(mechanism: Histogram) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every way of moving one row between the cells, from a table with empty and full cells."""
    start = [0, 1, 5][: mechanism.cells] + [2] * max(0, mechanism.cells - 3)
    found = []
    if mechanism.cells == 1:
        return [((3,), (4,)), ((4,), (3,))]
    sets = list(itertools.combinations(range(mechanism.cells), mechanism.touched))
    for leaves, enters in itertools.product(sets, sets):
        first, second = list(start), list(start)
        for cell in leaves:
            first[cell] += 1
        for cell in enters:
            second[cell] += 1
        found.append((tuple(first), tuple(second)))
    return found


def worst_pure_loss(mechanism: Histogram) -> float:
    grid = np.array(list(itertools.product(range(-4, 10), repeat=min(mechanism.cells, 4))))
    pad = np.zeros((len(grid), mechanism.cells - grid.shape[1]))
    outputs = np.concatenate([grid, pad], axis=1)
    return max(log_ratio(mechanism, outputs, *pair).max() for pair in neighbors(mechanism))


@pytest.mark.parametrize(("cells", "touched"), [(1, 1), (2, 1), (4, 1), (4, 2)])
def test_the_exact_loss_is_epsilon_and_never_more(cells: int, touched: int) -> None:
    mechanism = Histogram(cells, PureDP(0.7), touched)
    assert 0.7 * (1 - 1e-12) < worst_pure_loss(mechanism) <= 0.7 * (1 + 1e-12)


@pytest.mark.parametrize("cells", [2, 4])
def test_the_audit_catches_half_the_sensitivity(cells: int) -> None:
    assert worst_pure_loss(Halved(cells, PureDP(0.7))) == pytest.approx(1.4)


def divergences(mechanism: Histogram) -> tuple[float, float]:
    """Renyi of order 2 and hockey-stick at epsilon 0.5, exactly, for the worst pair of cells.

    One moved row shifts two cells by one each; the other cells cancel.
    """
    b = mechanism.scale
    z = np.arange(-int(40 * b) - 5, int(40 * b) + 6)
    weight = np.exp(-(z**2) / (2.0 * b * b))
    p = weight / weight.sum()
    first = np.outer(p, p).ravel()
    second = np.outer(np.roll(p, 1), np.roll(p, -1)).ravel()
    kept = second > 0
    renyi = math.log((first[kept] ** 2 / second[kept]).sum())
    stick = float(np.maximum(first - math.exp(0.5) * second, 0.0).sum())
    return renyi, stick


def test_the_exact_divergences_of_gaussian_noise_are_within_the_claim() -> None:
    rho = 0.2
    renyi, _ = divergences(Histogram(3, ZCDP(rho)))
    assert 0.98 * 2 * rho < renyi <= 2 * rho * (1 + 1e-9)
    assert divergences(Halved(3, ZCDP(rho)))[0] > 1.5 * 2 * rho


def test_an_approximate_budget_takes_the_smaller_noise_and_keeps_its_delta() -> None:
    wide = Histogram(3, ApproxDP(0.5, 1e-2))  # so large a delta that Gaussian noise is smaller
    assert wide.kind == "gaussian"
    shift = wide.l2_sensitivity / wide.scale
    assert gaussian_delta(shift, 0.5) <= 1e-2 < gaussian_delta(shift * 1.01, 0.5)
    narrow = Histogram(3, ApproxDP(0.5, 1e-9))
    assert narrow.kind == "laplace"
    assert narrow.scale == pytest.approx(2.0 / 0.5)


def draw(generator: np.random.Generator, size: int, classes: int) -> CodedRows:
    shares = generator.dirichlet(np.ones(classes), size=size)
    return CodedRows(
        truth=generator.integers(classes, size=size),
        predicted=generator.integers(classes, size=size),
        group=generator.integers(3, size=size),
        score=generator.uniform(size=(size, 1 if classes == 2 else classes)),
        probability=shares,
    )


def all_tables(classes: int) -> tuple[CountTable, ...]:
    """Every kind of table for this many classes."""
    several = count_tables(("confusion", "auc", "calibration", "groups"), classes, 3, 16)
    single = [count_tables((name,), classes, 3, 16) for name in ("accuracy", "auc", "calibration")]
    return sum(single, several)


def counted(seen: CodedRows, every: tuple[CountTable, ...]) -> list[np.ndarray]:
    return [
        Histogram(table.cells, PureDP(1.0), table.touched).count(table.places(seen))
        for table in every
    ]


@given(seed=st.integers(0, 2**32 - 1), classes=st.sampled_from([2, 3, 5]))
def test_replaying_on_a_neighbor_moves_the_counts_by_no_more_than_declared(
    seed: int, classes: int
) -> None:
    """Rows of opposite corners too: what a row can do is a matter of its cells alone."""
    generator = np.random.default_rng(seed)
    every = all_tables(classes)
    seen, other = draw(generator, 12, classes), draw(generator, 1, classes)
    moved = CodedRows(
        *(
            np.concatenate([new, old[1:]])
            for new, old in zip(vars(other).values(), vars(seen).values(), strict=True)
        )
    )
    for table, first, second in zip(
        every, counted(seen, every), counted(moved, every), strict=True
    ):
        mechanism = Histogram(table.cells, PureDP(1.0), table.touched)
        change = np.abs(first - second)
        assert change.sum() <= mechanism.l1_sensitivity
        assert math.sqrt((change**2).sum()) <= mechanism.l2_sensitivity * (1 + 1e-12)


def test_the_declared_sensitivities_are_reached() -> None:
    """For every table there is a row whose replacement does all that is declared."""
    for classes in (2, 3):
        every = all_tables(classes)
        columns = 1 if classes == 2 else classes
        one = CodedRows(
            np.array([0]), np.array([1]), np.array([0]), np.zeros((1, columns)),
            np.eye(classes)[[1]],
        )  # fmt: skip
        two = CodedRows(
            np.array([1]), np.array([1]), np.array([2]), np.ones((1, columns)),
            np.eye(classes)[[0]],
        )  # fmt: skip
        for table, first, second in zip(
            every, counted(one, every), counted(two, every), strict=True
        ):
            mechanism = Histogram(table.cells, PureDP(1.0), table.touched)
            assert np.abs(first - second).sum() == mechanism.l1_sensitivity, table.name


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.kind)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_an_evaluation_pays_for_every_cell_that_a_row_is_in(budget: Budget, classes: int) -> None:
    """Of more than two classes a row is in a cell of each class's scores."""
    measures = ("confusion", "auc", "calibration", "groups")
    plan = plan_evaluation(budget, 1000, measures, classes, 3)
    seen = draw(np.random.default_rng(classes), 12, classes)
    for table, mechanism in zip(plan.tables, plan.mechanisms, strict=True):
        cells = table.places(seen).reshape(12, -1)
        assert {len(set(row)) for row in cells.tolist()} == {mechanism.touched}, table.name
        assert int(cells.max()) < mechanism.cells == table.cells
    assert (max(mechanism.touched for mechanism in plan.mechanisms) > 1) == (classes > 2)


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.kind)
def test_the_exact_sampler_has_the_declared_law(budget: object) -> None:
    """The exact draws and the seeded ones against the declared standard deviation and tail."""
    mechanism = Histogram(20_000, budget)  # type: ignore[arg-type]
    zero = np.zeros(20_000, dtype=np.int64)
    for values in (
        mechanism.run(zero, 10).values,
        Histogram(20_000, budget, 1, 5).run(zero, 10).values,  # type: ignore[arg-type]
    ):
        sizes = np.abs(values) / mechanism.scale
        # median of |noise|: log 2 scales of a Laplace law, 0.6745 of a Gaussian
        middle = math.log(2.0) if mechanism.kind == "laplace" else 0.674489750196
        far = math.log(100.0) if mechanism.kind == "laplace" else 2.5758293035
        for limit, chance in ((middle, 0.5), (far, 0.01)):
            beyond = int((sizes > limit).sum())
            low, high = binom.ppf([2.5e-8, 1 - 2.5e-8], len(sizes), chance)
            assert low <= beyond <= high
        steps = values * 2.0**-mechanism.exponent
        assert (steps == np.rint(steps)).all()


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.kind)
def test_the_event_claims_the_budget_and_a_seed_is_not_private(budget: object) -> None:
    event = Histogram(8, budget).event(100)  # type: ignore[arg-type]
    assert event.claim == budget
    assert event.private
    assert event.n == 100
    seeded = Histogram(8, budget, 1, 3).event(100)  # type: ignore[arg-type]
    assert not seeded.private
    assert "seed" in seeded.why_not_private


@pytest.mark.parametrize(("cells", "touched"), [(0, 1), (True, 1), (2, 3), (3, 0), (2.0, 1)])
def test_impossible_histograms_are_refused(cells: object, touched: object) -> None:
    with pytest.raises(DeclarationError):
        Histogram(cells, PureDP(1.0), touched)  # type: ignore[arg-type]
