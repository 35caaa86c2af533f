"""The sparse vector: what it costs, how exact it is, and an audit that catches the printed one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from privet import ZCDP, ApproxDP, PureDP
from privet.audit.attacks import FALSE_ALARM
from privet.audit.black_box import epsilon_lower_bound
from privet.errors import DeclarationError
from privet.grid import round_to_grid
from privet.losses.margin import Logistic
from privet.mechanisms.sparse_vector import (
    SparseVector,
    SparseVectorAnswers,
    SparseVectorDesign,
)
from privet.noise import SphericalLaplace
from privet.privacy import Budget
from privet.randomness import InsecureSeed, Randomness, SystemRandomness, Words

Array = NDArray[np.float64]
BUDGETS = [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)]


def made(
    budget: Budget, lam: float = 0.05, queries: int = 200, n: int = 2000
) -> SparseVectorDesign:
    return SparseVector(
        loss=Logistic(),
        budget=budget,
        norm_bound=1.0,
        regularization=lam,
        queries=queries,
        failure_probability=0.05,
    ).design(n, 3)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("lam", [0.5, 0.05, 0.005])
def test_the_parts_cost_the_whole_and_the_promise_has_its_premises(
    budget: Budget, lam: float
) -> None:
    d = made(budget, lam, n=200_000)
    s, log_term = d.minimizer.score_sensitivity, math.log(2.0 * d.queries / 0.05)
    if isinstance(budget, PureDP):
        numeric = s / d.numeric.scale
        assert d.epochs * (d.epsilon + numeric) == pytest.approx(budget.epsilon)
        assert d.event.pure() == budget.epsilon
        assert numeric >= d.epsilon / 3.0 * (1.0 - 1e-9)
    else:
        widened = s + math.ldexp(1.0, d.exponent)
        rho = d.epochs * (d.epsilon**2 / 2.0 + (widened / d.numeric.scale) ** 2 / 2.0)
        assert rho == pytest.approx(d.event.curves[0].zcdp)
        reach = d.numeric.scale * math.sqrt(2.0 * log_term)
        assert reach <= d.accuracy / 2.0 * (1.0 + 1e-5)
    assert d.accuracy == pytest.approx(6.0 * s * log_term / d.epsilon)
    assert d.epochs >= 4.0 / 3.0 * (d.minimizer.norm / d.accuracy) ** 2
    assert 2 * d.epochs <= d.queries
    assert d.event.epsilon(1e-6) >= (1.0 if isinstance(budget, ApproxDP) else 0.0)


@pytest.mark.parametrize("budget", [PureDP(4.0), ZCDP(4.0)], ids=str)
def test_all_answers_are_within_the_bound_and_updates_within_their_number(budget: Budget) -> None:
    """A linear kernel in three dimensions; a hostile user asks where the guess is worst."""
    d, failures, updates = made(budget, n=20_000), 0, []
    runs = 25
    for _ in range(runs):
        w = np.random.default_rng().normal(size=3)
        w *= d.minimizer.norm / np.linalg.norm(w)
        machine, guess, worst = SparseVectorAnswers(d), np.zeros(3), 0.0
        rng = SystemRandomness()
        for turn in range(min(d.queries, 120)):
            z = np.random.default_rng().normal(size=3) if turn % 2 else w - guess
            z = z / max(np.linalg.norm(z), 1e-12)
            answer = float(guess @ z)
            if machine.ask(abs(float(w @ z) - answer), rng):
                release = machine.release(float(w @ z), rng)
                guess = guess + (release - answer) / float(z @ z) * z
                answer = release
            worst = max(worst, abs(answer - float(w @ z)))
        failures += worst > d.error
        updates.append(machine.used - (machine._level is not None))
    assert max(updates) <= d.epochs
    assert max(updates) >= 1  # the user made it work
    assert stats.binom.sf(failures - 1, runs, 0.05) > FALSE_ALARM


def test_it_stops_after_the_last_epoch() -> None:
    d = made(PureDP(1.0))
    machine, rng = SparseVectorAnswers(d, used=d.epochs - 1), SystemRandomness()
    assert machine.ask(1e9, rng)
    assert not machine.exhausted
    machine.release(0.0, rng)
    assert machine.exhausted
    assert not machine.ask(1e9, rng)
    with pytest.raises(DeclarationError, match="comparison asked"):
        machine.release(0.0, rng)


def test_each_comparison_and_each_answer_has_its_own_noise() -> None:
    d, rng = made(PureDP(1.0)), SystemRandomness()
    machine, released = SparseVectorAnswers(d), []
    for _ in range(d.epochs):
        assert machine.ask(1e9, rng)
        released.append(machine.release(1.0, rng))
    assert len(set(released)) == len(released)
    ends = {first_above(d, np.full(50, d.threshold), rng) for _ in range(40)}
    assert len(ends) > 1  # one noise for all comparisons would end at once or never


class Given(Randomness):
    """Unit exponentials with given signs, so that every noise is known."""

    secure = False

    def __init__(self, *positive: bool) -> None:
        self._signs = list(positive)

    def words(self, shape: tuple[int, ...]) -> Words:
        return np.array([int(self._signs.pop(0)) for _ in range(shape[0])], dtype=np.uint64)

    def gammas(self, count: int, shape_parameter: int) -> Array:
        return np.ones(count)


@pytest.mark.parametrize("nu", [True, False])
@pytest.mark.parametrize("xi", [True, False])
def test_threshold_and_query_have_the_noises_of_the_theorem(nu: bool, xi: bool) -> None:
    d = made(PureDP(1.0))
    unit = d.minimizer.score_sensitivity / d.epsilon
    level = d.threshold + unit * (2.0 if nu else -2.0) - unit * (4.0 if xi else -4.0)
    for room, above in ((1e-9, True), (-1e-9, False)):
        assert SparseVectorAnswers(d).ask(level + room, Given(nu, xi)) == above


def first_above(d: SparseVectorDesign, errors: Array, rng: Randomness) -> int:
    """Where a running epoch ends."""
    machine = SparseVectorAnswers(d)
    return next((i for i, e in enumerate(errors) if machine.ask(float(e), rng)), len(errors))


# -- black box ---------------------------------------------------------------------------------


def sample_epoch(
    design: SparseVectorDesign, errors: Array, values: Array, randomness: Randomness, k: int
) -> tuple[NDArray[np.int_], Array]:
    """``k`` first epochs on a fixed list of queries, by the law of the running release.

    ``errors`` are ``|v - g|`` and ``values`` the exact values of the queries. Returns where each
    epoch ended (their number where it did not) and the value it released (zero where none).
    """
    level = design.threshold + design.level.sample(randomness, k)
    noise = design.comparison.sample(randomness, k * len(errors)).reshape(k, len(errors))
    above = np.column_stack([errors + noise >= level, np.ones(k, dtype=bool)])
    ends = above.argmax(axis=1)
    noisy = np.append(values, 0.0)[ends] + design.numeric.sample(randomness, k)[:, 0]
    released = np.where(ends < len(errors), round_to_grid(noisy, design.exponent), 0.0)
    return ends, released


# twelve queries near the threshold; one row moves all of them up by s
QUERIES, DRAWS = 12, 60_000


def both(d: SparseVectorDesign, room: float) -> tuple[list[Array], list[NDArray[np.int_]]]:
    s = d.minimizer.score_sensitivity
    outs, ends = [], []
    for moved in (0.0, s):
        errors = np.full(QUERIES, d.threshold - room * s + moved)
        end, released = sample_epoch(d, errors, np.full(QUERIES, moved), SystemRandomness(), DRAWS)
        outs.append(released / s)
        ends.append(end)
    return outs, ends


def test_the_audit_finds_no_more_than_an_epoch_costs() -> None:
    d = made(PureDP(8.0))
    whole = d.epsilon + d.minimizer.score_sensitivity / d.numeric.scale
    for room in (-1.0, 4.0 / d.epsilon):
        outs, ends = both(d, room)
        for one, two in (ends, outs):
            found = epsilon_lower_bound(np.asarray(one, float), np.asarray(two, float))
            assert found <= whole
    assert found > 0.05 * whole  # it sees that there are two tables


def printed(epsilon: float, errors: Array, k: int, rng: np.random.Generator) -> NDArray[np.int_]:
    """Jain and Thakurta 2013, Algorithm 1: noise on the value only, the threshold bare (s = 1)."""
    noisy = errors + rng.laplace(scale=1.0 / epsilon, size=(k, len(errors)))
    above = np.column_stack([noisy >= 0.0, np.ones(k, dtype=bool)])
    return np.asarray(above.argmax(axis=1))


def test_the_audit_catches_the_printed_variant() -> None:
    """At the same epsilon for the whole epoch: many queries that stay below give too much away."""
    epsilon, rng = 1.0, np.random.default_rng()
    errors = np.full(QUERIES, -1.0)
    one, two = (printed(epsilon, errors + moved, DRAWS, rng) for moved in (0.0, 1.0))
    assert epsilon_lower_bound(one.astype(float), two.astype(float)) > 1.5 * epsilon


class Reused(SparseVectorAnswers):
    """A planted bug: the released values of all epochs share one noise."""

    _noise: float | None = None

    def release(self, value: float, randomness: Randomness) -> float:
        if self._noise is None:
            self._noise = super().release(0.0, randomness)
        self._level = None
        return value + self._noise


@pytest.mark.parametrize(("kind", "caught"), [(SparseVectorAnswers, False), (Reused, True)])
def test_the_audit_catches_noise_that_is_used_again(
    kind: type[SparseVectorAnswers], caught: bool
) -> None:
    """The difference of two released values; on the second table the first is larger by s."""
    d, rng = made(PureDP(1.0)), SystemRandomness()
    s = d.minimizer.score_sensitivity
    sides: list[Array] = []
    for moved in (0.0, s):
        differences = []
        for _ in range(1200):
            machine = kind(d)
            values = []
            for exact in (moved, 0.0):
                assert machine.ask(1e9, rng)
                values.append(machine.release(exact, rng))
            differences.append(values[0] - values[1])
        sides.append(np.array(differences))
    whole = 2.0 * (d.epsilon + s / d.numeric.scale)
    assert (epsilon_lower_bound(sides[0], sides[1]) > whole) == caught


def test_the_vectorized_epoch_has_the_law_of_the_running_one() -> None:
    d, k = made(PureDP(8.0)), 2500
    s = d.minimizer.score_sensitivity
    errors = d.threshold + s * np.array([-6.0, -2.0, -4.0, 0.0])
    ends, _ = sample_epoch(d, errors, errors, SystemRandomness(), k)
    rng, run = InsecureSeed(int(np.random.default_rng().integers(1 << 40))), []
    for _ in range(k):
        run.append(first_above(d, errors, rng))
    table = np.array([np.bincount(part, minlength=5) for part in (ends, run)])
    table = table[:, table.sum(axis=0) > 0]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
    shifted, _ = sample_epoch(d, errors + 0.3 / d.epsilon * s * 8, errors, SystemRandomness(), k)
    other = np.array([np.bincount(part, minlength=5) for part in (shifted, run)])
    assert stats.chi2_contingency(other[:, other.sum(axis=0) > 0]).pvalue < FALSE_ALARM


def test_numeric_noise_is_as_declared() -> None:
    d = made(PureDP(1.0))
    assert isinstance(d.numeric, SphericalLaplace)
    rng = SystemRandomness()
    ends, released = sample_epoch(d, np.array([1e9]), np.array([0.0]), rng, 4000)
    assert (ends == 0).all()
    assert stats.kstest(released / d.numeric.scale, "laplace").pvalue > FALSE_ALARM


def test_too_much_budget_is_pointed_elsewhere() -> None:
    with pytest.raises(DeclarationError, match="directly"):
        made(PureDP(1000.0), 0.5, n=10_000_000)
