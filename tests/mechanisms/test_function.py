"""Function release: the joint law of adaptive answers, and what it gives away at most."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.linalg import cholesky

from privet import ZCDP, ApproxDP, PureDP
from privet.audit.attacks import FALSE_ALARM
from privet.errors import DeclarationError
from privet.losses.margin import HuberHinge, Logistic
from privet.mechanisms.function import (
    HEIGHT,
    MOST_RESUMED,
    SLACK,
    CholeskyRows,
    FunctionAnswers,
    FunctionDesign,
    FunctionRelease,
    function_rho,
)
from privet.privacy.curves import gaussian_delta
from privet.randomness import Randomness, SystemRandomness, Words

Array = NDArray[np.float64]


def kernel(a: Array, b: Array) -> Array:
    """A Gaussian kernel by differences."""
    return np.asarray(np.exp(-0.7 * np.square(a[:, None] - b[None]).sum(axis=-1)))


class Fixed(Randomness):
    """Normals that are given, for laws that are checked exactly."""

    secure = False

    def __init__(self, normals: Array) -> None:
        self._normals = normals

    def words(self, shape: tuple[int, ...]) -> Words:
        raise NotImplementedError

    def normals(self, shape: tuple[int, ...]) -> Array:
        out, self._normals = self._normals[: shape[0]], self._normals[shape[0] :]
        return out.reshape(shape)


def design(budget: ZCDP | ApproxDP | None = None) -> FunctionDesign:
    return FunctionRelease(
        loss=Logistic(), budget=budget or ZCDP(0.3), norm_bound=1.0, regularization=1e-2
    ).design(1000, 2)


class Minimizer:
    """``w = sum_j c_j phi(p_j)`` with a given norm."""

    def __init__(self, norm: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.points, c = rng.normal(size=(6, 2)), rng.normal(size=6)
        self.c = c * norm / math.sqrt(c @ kernel(self.points, self.points) @ c)

    def __call__(self, z: Array) -> Array:
        return np.asarray(kernel(z, self.points) @ self.c)


class Run(NamedTuple):
    """What was asked and answered; ``before`` is how many queries a piece came after."""

    queries: Array
    given: Array
    marks: NDArray[np.bool_]
    before: NDArray[np.int_]


def asked(
    made: FunctionDesign,
    w: Minimizer,
    batches: list[Array] | None = None,
    randomness: Randomness | None = None,
    steps: int = 40,
) -> Run:
    """A run; without batches an adversary chooses adaptively."""
    answers, rng = FunctionAnswers(made), np.random.default_rng()
    source = randomness or SystemRandomness()
    queries, given, marks = np.empty((0, 2)), np.empty(0), np.empty(0, dtype=bool)
    before = np.empty(0, dtype=int)
    for step in range(steps if batches is None else len(batches)):
        z = adversary(queries, given, rng, step) if batches is None else batches[step]
        while len(z):
            piece, z = z[: answers.room], z[answers.room :]
            cross, own = kernel(queries[marks], piece), kernel(piece, piece)
            out, kept = answers.answer(w(piece), cross, (own + own.T) / 2.0, source)
            before = np.append(before, np.full(len(piece), len(queries)))
            queries, given = np.concatenate([queries, piece]), np.append(given, out)
            marks = np.append(marks, kept)
    assert answers.spent <= SLACK
    return Run(queries, given, marks, before)


def adversary(queries: Array, given: Array, rng: np.random.Generator, step: int) -> Array:
    """New places, places near the largest answer, and near-copies of it."""
    k = int(rng.integers(1, 6))
    if step == 0 or step % 3 == 0:
        return rng.normal(size=(k, 2))
    best = queries[int(np.argmax(np.abs(given)))]
    spread = 0.1 if step % 3 == 1 else 1e-9
    return np.asarray(best + spread * rng.normal(size=(k, 2)))


def conditional(made: FunctionDesign, run: Run, i: int) -> tuple[NDArray[np.int_], Array, float]:
    """The kept queries that an answer depends on, their coefficients, and its variance."""
    kept = np.flatnonzero(run.marks)
    earlier = kept[kept < run.before[i]]
    m = kernel(run.queries[earlier], run.queries[earlier]) + made.jitter * np.eye(len(earlier))
    k = kernel(run.queries[earlier], run.queries[i : i + 1])[:, 0]
    c = np.linalg.solve(m, k)
    return earlier, c, max(1.0 - float(k @ c), 0.0)


def privacy_loss(made: FunctionDesign, shift: Array, run: Run) -> float:
    """``2 rho`` of a transcript, from its Gaussian law with dense linear algebra.

    Kept answers are jointly Gaussian with covariance ``sigma^2 (K + t I)``; the others are Gaussian
    given the kept ones before them. ``shift`` are the differences of two neighbors' predictions.
    """
    kept = np.flatnonzero(run.marks)
    m = kernel(run.queries[kept], run.queries[kept]) + made.jitter * np.eye(len(kept))
    total = float(shift[kept] @ np.linalg.solve(m, shift[kept]))
    for i in np.flatnonzero(~run.marks):
        earlier, c, v = conditional(made, run, i)
        total += float(shift[i] - c @ shift[earlier]) ** 2 / (v + made.extra)
    return total / made.sigma**2


def worst_shift(made: FunctionDesign, queries: Array) -> Array:
    """The neighbor that these queries tell apart best, at the sensitivity."""
    k = kernel(queries, queries)
    c = np.linalg.eigh(k)[1][:, -1]
    return np.asarray(k @ c * made.minimizer.sensitivity / math.sqrt(c @ k @ c))


@pytest.mark.parametrize("budget", [ZCDP(0.3), ApproxDP(1.0, 1e-6)], ids=str)
def test_no_adaptive_transcript_gives_away_more_than_the_claim(budget: ZCDP | ApproxDP) -> None:
    made = design(budget)
    largest = 0.0
    for seed in range(6):
        run = asked(made, Minimizer(3.0, seed))
        assert not run.marks.all()  # some queries were spared: their price is in the sum
        ordinary = Minimizer(made.minimizer.sensitivity, seed + 100)(run.queries)
        for shift in (ordinary, worst_shift(made, run.queries)):
            loss = privacy_loss(made, shift, run)
            assert loss <= 2.0 * function_rho(budget)
            largest = max(largest, loss)
    assert largest > 0.95 * 2.0 * function_rho(budget) / (1.0 + SLACK)  # the bound is tight


def test_the_audit_catches_too_little_noise_and_forgotten_history() -> None:
    made, claim = design(ZCDP(0.3)), 0.6
    run = asked(made, Minimizer(3.0, 1))
    shift = worst_shift(made, run.queries)
    assert privacy_loss(made, shift, run) <= claim
    assert privacy_loss(replace(made, sigma=0.9 * made.sigma), shift, run) > claim
    # independent noise for each query, as if no answer had been given before
    assert float(shift @ shift) / made.sigma**2 > claim


def test_the_sampler_has_the_law_that_the_audit_assumes() -> None:
    """Given normals in, dense conditional means and factors out, across block boundaries."""
    made, w = design(), Minimizer(2.0, 3)
    made = replace(made, exponent=made.exponent - 25)  # so that rounding does not blur the law
    rng = np.random.default_rng(5)
    sizes = (100, 1, 200, 7, 300, 1)
    batches = [3.0 * rng.normal(size=(k, 2)) for k in sizes]
    normals = rng.normal(size=sum(sizes))
    run = asked(made, w, batches, Fixed(normals.copy()))
    queries, given, marks, _ = run
    assert len(queries) > 2 * HEIGHT
    kept = np.flatnonzero(marks)
    m = kernel(queries[kept], queries[kept]) + made.jitter * np.eye(len(kept))
    white = np.linalg.solve(cholesky(m, lower=True), (given - w(queries))[kept]) / made.sigma
    np.testing.assert_allclose(white, normals[kept], atol=1e-4)
    assert not marks.all()
    for i in np.flatnonzero(~marks)[:50]:
        earlier, c, v = conditional(made, run, i)
        mean = w(queries[i : i + 1])[0] + c @ (given - w(queries))[earlier]
        noise = made.sigma * math.sqrt(v + made.extra) * normals[i]
        assert given[i] - mean == pytest.approx(noise, rel=1e-3, abs=1e-4 * made.sigma)


def test_answers_are_as_noisy_as_declared_however_many_there_are() -> None:
    made = design()
    queries, given, marks, _ = asked(made, Minimizer(1.0, 0), [10.0 * np.random.randn(600, 2)])
    kept = np.flatnonzero(marks)
    w = Minimizer(1.0, 0)
    m = kernel(queries[kept], queries[kept]) + made.jitter * np.eye(len(kept))
    white = np.linalg.solve(cholesky(m, lower=True), (given - w(queries))[kept]) / made.sigma

    def p_value(times: float) -> float:
        square = float((white * times) @ (white * times))
        tail = stats.chi2(len(white))
        return 2.0 * min(tail.cdf(square), tail.sf(square))

    assert p_value(1.0) > FALSE_ALARM
    assert stats.kstest(white, "norm").pvalue > FALSE_ALARM
    assert p_value(2.0 / 3.0) < FALSE_ALARM  # the test has power
    assert p_value(1.5) < FALSE_ALARM
    assert made.answer_sd == pytest.approx(made.sigma, rel=1e-3)


def test_many_near_copies_stay_stable() -> None:
    made, rng = design(), np.random.default_rng(2)
    copies = rng.normal(size=(1, 2)) + 1e-10 * rng.normal(size=(1500, 2))
    pieces = [copies[i : i + 50] for i in range(0, 1500, 50)]
    _, given, marks, _ = asked(made, Minimizer(1.0, 0), pieces)
    assert np.isfinite(given).all()
    assert np.ptp(given) <= 20.0 * made.sigma * math.sqrt(made.extra)
    assert marks[:50].all()
    assert not marks[50:].any()  # the first piece determines the others


def test_copies_are_spared_only_while_the_slack_lasts() -> None:
    """One copy each of 1,100 places far apart: a copy costs about 1e-5, and 0.01 is there."""
    made, rng = design(), np.random.default_rng(2)
    places = 20.0 * np.stack(np.meshgrid(np.arange(33.0), np.arange(34.0)), axis=-1).reshape(-1, 2)
    copies = places + 1e-10 * rng.normal(size=places.shape)
    run = asked(made, Minimizer(1.0, 0), [places, copies])
    spared = int((~run.marks[len(places) :]).sum())
    assert run.marks[: len(places)].all()
    assert 900 <= spared <= 1010
    assert len(copies) - spared > 50


def test_restored_answers_lead_to_the_same_next_law() -> None:
    made, w = design(), Minimizer(2.0, 4)
    rng = np.random.default_rng(8)
    z, more = 2.0 * rng.normal(size=(300, 2)), 2.0 * rng.normal(size=(20, 2))
    queries, given, marks, _ = asked(made, w, [z])
    again = FunctionAnswers(made)
    start = 0
    kept = queries[marks]
    while start < len(kept):
        part = kept[start : start + again.room]
        own = kernel(part, part)
        again.restore(w(part), kernel(kept[:start], part), own, given[marks][start:][: len(part)])
        start += len(part)
    own, normals = kernel(more, more), rng.normal(size=20)
    out, new = again.answer(w(more), kernel(kept, more), own, Fixed(normals.copy()))
    whole = np.concatenate([kept, more[new]])
    m = kernel(whole, whole) + made.jitter * np.eye(len(whole))
    said = np.concatenate([given[marks], out[new]]) - w(whole)
    white = np.linalg.solve(cholesky(m, lower=True), said) / made.sigma
    np.testing.assert_allclose(white[len(kept) :], normals[new], rtol=0.02, atol=0.05)


def test_calibration_spends_the_budget() -> None:
    made = design(ApproxDP(1.0, 1e-6))
    shift = made.minimizer.sensitivity / made.sigma * math.sqrt(1.0 + SLACK)
    assert gaussian_delta(shift, 1.0) <= 1e-6 < gaussian_delta(1.01 * shift, 1.0)
    made = design(ZCDP(0.3))
    assert (1.0 + SLACK) * made.event.sensitivity**2 / (2 * made.sigma**2) == pytest.approx(0.3)


def test_pure_budgets_are_pointed_elsewhere() -> None:
    with pytest.raises(DeclarationError, match="sparse_vector"):
        FunctionRelease(
            loss=Logistic(), budget=PureDP(1.0), norm_bound=1.0, regularization=1e-2
        ).design(100, 2)


def test_the_growing_factor_is_the_factor() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(700, 700))
    matrix = a @ a.T + np.eye(700)
    whole, rows = cholesky(matrix, lower=True), CholeskyRows()
    while rows.size < 700:
        k = min(int(rng.integers(1, 90)), rows.room, 700 - rows.size)
        left = rows.whiten(np.ascontiguousarray(matrix[: rows.size, rows.size : rows.size + k])).T
        own = matrix[rows.size : rows.size + k, rows.size : rows.size + k]
        rows.append(left, cholesky(own - left @ left.T, lower=True))
    right = rng.normal(size=(700, 3))
    np.testing.assert_allclose(whole @ rows.whiten(right), right, atol=1e-8)
    np.testing.assert_allclose(whole @ rows.whiten(right[:, 0]), right[:, 0], atol=1e-8)


def test_minimizers_that_are_found_anew_are_covered_together() -> None:
    """Each resumption has its own minimizer within the gap: the worst of them all, added up.

    Queries far apart have orthogonal features. One is asked after each resumption; the exact
    difference has an equal share along each, and every new minimizer errs along its own query.
    """
    for lam in (1e-3, 1e-6):
        made = FunctionRelease(
            loss=HuberHinge(0.5), budget=ZCDP(0.5), norm_bound=1.0, regularization=lam
        ).design(2_000, 3)
        risk, known, m = made.minimizer.risk, made.minimizer, 1 + MOST_RESUMED
        exact = risk.minimizer_sensitivity(known.n)
        gap = 2.0 * (known.tolerance + known.rounding) / lam
        shifts = np.full(m, exact / math.sqrt(m) + gap)
        assert float(shifts @ shifts) <= known.sensitivity**2 * (1.0 + 1e-12)
        assert (1.0 + SLACK) * float(shifts @ shifts) / (2.0 * made.sigma**2) <= 0.5 * (1 + 1e-12)
