"""Law 9, in absolute terms: all of the noise reaches the release.

A draw that is one unit larger moves the published number by one unit times a public factor of the
design. That fails where noise is scaled after it was drawn, as in ``0.99 noisy + 0.01 exact``,
which moves in proportion to the noise as it should, and is less private than its event says.

Draws are replaced by known numbers, zero and not, so nothing here depends on a seed. The factors
are worked out by hand from the formulas of the releases. Left out is what is not linear in its
noise: centers of mixtures (a sum over a count), ends of intervals, measures that are ratios of
counts, and fits by objective perturbation, whose noise ``test_noise_reaches`` recovers from the
optimality condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet import (
    ZCDP,
    ApproxDP,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    evaluate,
    fit_with_intervals,
)
from privet.inference.intervals import Intervals
from privet.kernels import Gaussian, SemiInteractiveClassifier
from privet.mechanisms.counts import Histogram
from privet.mechanisms.function import JITTER
from tests.laws.releases import RELEASES, Draw
from tests.laws.releases.answers import NET
from tests.laws.releases.measures import PARAMETERS, logistic, trained
from tests.laws.releases.registry import ROWS, Array, people, public_points, quiet
from tests.laws.releases.searches import HELD
from tests.laws.watched import Change, Record, watching

SEED = 11
SURE = 1e9  # noise that decides whatever it has a part in
#: Of a move's size: far above the grids, which are 2^20 times finer than the noise, and far below
#: a hundredth.
EXACT = 1e-4
Numbers = dict[str, Array]
Run = Callable[[], Numbers]
LARGE = {"pure": PureDP(200.0), "zcdp": ZCDP(200.0), "approx": ApproxDP(200.0, 1e-6)}
every_large_budget = pytest.mark.parametrize("budget", LARGE.values(), ids=list(LARGE))


def only(values: dict[int, Array]) -> Change:
    """Known numbers at some places, zero elsewhere."""

    def change(i: int, draw: Draw, sample: Array) -> Array:
        return values[i].reshape(sample.shape) if i in values else 0.0 * sample

    return change


def ramp(draw: Draw) -> Array:
    """A vector of the draw's size and scale whose numbers all differ."""
    numbers = draw.count * draw.dimension
    return np.asarray(draw.scale * np.arange(1, numbers + 1) / numbers)


def run_with(run: Run, values: dict[int, Array]) -> tuple[Numbers, Record]:
    """What is published with these draws and no other noise."""
    with watching(only(values)) as record, quiet():
        return run(), record


def of_release(name: str) -> Run:
    """The published numbers of a release on the list."""
    return lambda: RELEASES[name](SEED).numbers


def assert_moved(found: Array, by: Array) -> None:
    """Equal to ``EXACT`` of the largest."""
    by = np.asarray(by)
    assert float(np.abs(by).max()) > 0.0
    np.testing.assert_allclose(found, by, rtol=0.0, atol=EXACT * float(np.abs(by).max()))


# -- fits ------------------------------------------------------------------------------------------


@every_large_budget
def test_moments_move_by_their_noise(budget: Any) -> None:
    """``center = middle + half m`` and ``(scale/half)^2 + m^2 = s/sqrt2`` for noisy means m, s."""
    low, high = np.array([-0.7, -1.0, -0.6]), np.array([0.7, 0.6, 1.4])
    half, middle = (high - low) / 2.0, (high + low) / 2.0

    def run() -> Numbers:
        x, y = people()
        model = LogisticRegression(
            budget, standardize="private", column_bounds=(low, high), insecure_seed=SEED
        ).fit(x, y)
        means = (model.center_ - middle) / half
        return {"center_": model.center_, "squares": (model.scale_ / half) ** 2 + means**2}

    exact, record = run_with(run, {})
    (place,) = [i for i, draw in enumerate(record.draws) if draw.dimension == 2 * len(low)]
    more = ramp(record.draws[place])
    found, _ = run_with(run, {place: more})
    assert_moved(found["center_"] - exact["center_"], half * more[:3])
    assert_moved(found["squares"] - exact["squares"], more[3:] / np.sqrt(2.0))


OUTPUT = [name for name in RELEASES if " output " in name]


@pytest.mark.parametrize("name", OUTPUT)
def test_output_perturbation_moves_the_coefficients_by_their_noise(name: str) -> None:
    """Two classes: coefficient by coefficient. More: in an orthonormal basis of the contrasts."""
    exact, record = run_with(of_release(name), {})
    more = ramp(record.draws[0])
    found, _ = run_with(of_release(name), {0: more})
    constant = float(LogisticRegression().constant)  # the column behind the intercept
    units = {"coef_": 1.0, "intercept_": constant}
    move = np.column_stack([(found[key] - exact[key]) / units[key] for key in units])
    if (
        "weighted" in name
    ):  # columns with weights w are divided by sqrt(w); the constant has the least
        assert_moved(move[0], more / np.sqrt([1.0, 4.0, 0.5, 0.5]))
    elif "classes" not in name:
        assert_moved(move[0], more)
    else:
        by = more.reshape(-1, move.shape[1])
        assert_moved(move.T @ move, by.T @ by)


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [PureDP(1.5), ZCDP(0.4), ApproxDP(1.5, 1e-6)])
def test_histograms_move_by_their_noise(budget: Any) -> None:
    histogram = Histogram(6, budget, insecure_seed=SEED)

    def run() -> Numbers:
        return {"cells": histogram.run(np.arange(6, dtype=np.int64) * 10, 150).values}

    exact, record = run_with(run, {})
    more = ramp(record.draws[0])
    assert_moved(run_with(run, {0: more})[0]["cells"] - exact["cells"], more)


def joined() -> Numbers:
    """A confusion table and its split into groups, each improved by the other."""
    x, y = people()
    declared: Any = {"groups": np.arange(len(y)) % 2, "group_values": [0, 1]}
    found = evaluate(
        trained(),
        x,
        y,
        budget=PureDP(1.5),
        measures=["confusion", "groups"],
        insecure_seed=SEED,
        **declared,
    )
    return {f"counts {table}": np.array(cells) for table, cells in found.counts.items()}


EVALUATIONS = {name: of_release(name) for name in RELEASES if name.startswith("evaluate")}
EVALUATIONS["evaluate joined"] = joined


@pytest.mark.parametrize("name", EVALUATIONS)
def test_counts_of_an_evaluation_move_by_their_noise(name: str) -> None:
    """Noise that keeps the sum of a table, and the sums over groups, is left as it is."""
    exact, record = run_with(EVALUATIONS[name], {})
    tables = [key for key in exact if key.startswith("counts ")]
    more = {}
    for key, draw in zip(tables, record.draws, strict=True):
        assert exact[key].size == draw.count
        more[key] = ramp(draw)
        if draw.count > 1:  # a single count has no sum to keep
            more[key] = more[key] ** 2 - float(np.mean(more[key] ** 2))
    if {"counts confusion", "counts groups"} <= set(tables):
        groups = more["counts groups"].reshape(exact["counts groups"].shape)
        more["counts confusion"] = groups.sum(axis=0).ravel()
    found, _ = run_with(EVALUATIONS[name], dict(enumerate(more.values())))
    for key in tables:
        assert_moved((found[key] - exact[key]).ravel(), more[key])


@pytest.mark.parametrize("name", ["regression errors pure", "regression errors zcdp"])
def test_counts_of_residuals_move_by_their_noise(name: str) -> None:
    """The means' noise comes first; the bins are theirs, and the counts have noise of their own."""
    exact, record = run_with(of_release(name), {})
    more = ramp(record.draws[1])
    found, _ = run_with(of_release(name), {1: more})
    assert_moved(found["counts residuals"] - exact["counts residuals"], more)
    np.testing.assert_array_equal(found["measures"], exact["measures"])


def test_the_costs_of_thresholds_move_by_the_counts_noise() -> None:
    """``-(fp + 5 fn)/n`` at each candidate; the noise keeps the sum of the table."""
    run = of_release("threshold cost")
    exact, record = run_with(run, {})
    candidates = exact["values"].size
    assert record.draws[0].count == 2 * (candidates + 1)
    more = ramp(record.draws[0])
    more -= more.mean()
    negative, positive = more.reshape(2, -1)
    by = [negative[k:].sum() + 5.0 * positive[:k].sum() for k in range(1, candidates + 1)]
    found, _ = run_with(run, {0: more})
    assert_moved(found["values"] - exact["values"], -np.array(by) / ROWS)


@pytest.mark.parametrize("name", ["stopping pure", "stopping zcdp", "stopping many"])
def test_the_best_score_moves_by_its_counts_noise(name: str) -> None:
    """``1 - mistakes/held``; the same run stays the best."""
    exact, record = run_with(of_release(name), {})
    last = len(record.draws) - 1
    more = np.full(record.draws[last].count, record.draws[last].scale)
    found, _ = run_with(of_release(name), {last: more})
    assert_moved(found["best_score_"] - exact["best_score_"], -more[0] / HELD)


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["function zcdp", "function approx"])
def test_answers_of_a_function_move_along_its_path(name: str) -> None:
    """Both batches together by ``L`` times their normals, ``L L' = K + t I`` on all queries."""
    exact, record = run_with(of_release(name), {})
    more = {i: ramp(draw) for i, draw in enumerate(record.draws)}
    found, _ = run_with(of_release(name), more)
    move = np.concatenate([found[key] - exact[key] for key in ("first", "second")])
    asked = np.concatenate([public_points(5), public_points(12)[5:]])
    covariance = Gaussian(1.0)(asked, asked) + JITTER * np.eye(len(asked))
    by = np.linalg.cholesky(covariance) @ np.concatenate([more[0], more[1]])
    assert_moved(move, by)


def test_answers_of_a_vector_move_by_its_noise() -> None:
    run = of_release("function vector")
    exact, record = run_with(run, {})
    more = ramp(record.draws[0])
    found, _ = run_with(run, {0: more})
    assert_moved(found["first"] - exact["first"], public_points(5) @ more)
    assert_moved(found["second"] - exact["second"], public_points(12)[5:] @ more)


@pytest.mark.parametrize("name", ["sparse pure", "sparse zcdp"])
def test_corrected_answers_move_by_their_noise(name: str) -> None:
    """Every query of the first batch is corrected: threshold, comparison and value, in turn."""
    values = [3 * query + 2 for query in range(5)]
    sure = {place - 1: np.array([SURE]) for place in values}
    exact, record = run_with(of_release(name), sure)
    assert {record.draws[place].kind for place in values} <= {"laplace", "gaussian"}
    more = {i: (k + 1.0) * ramp(record.draws[i]) for k, i in enumerate(values)}
    found, _ = run_with(of_release(name), sure | more)
    assert_moved(found["first"] - exact["first"], np.concatenate(list(more.values())))


@pytest.mark.parametrize("method", ["kernel_noise", "tddl"])
@every_large_budget
def test_predictions_on_public_points_move_by_their_noise(method: Any, budget: Any) -> None:
    """Independent noise moves each prediction by itself, noise on coordinates by its own length."""
    points = 3.0 * public_points()

    def run() -> Numbers:
        model = SemiInteractiveClassifier(
            budget,
            public_points=points,
            kernel=Gaussian(1.0),
            mechanism=method,
            regularization=0.5,
            insecure_seed=SEED,
        ).fit(*people())
        return {"dual_coef_": model.dual_coef_, "scores": model.decision_function(points)}

    exact, record = run_with(run, {})
    more = ramp(record.draws[0])
    found, _ = run_with(run, {0: more})
    move = {key: found[key] - exact[key] for key in exact}
    if method == "tddl":
        assert_moved(move["scores"], more)
    else:
        assert_moved(move["dual_coef_"] @ move["scores"], more @ more)


@pytest.mark.parametrize("name", ["net pure", "net zcdp"])
def test_weights_on_a_net_move_by_their_answers_noise(name: str) -> None:
    """Each weight is an answer less the guess from the weights before it."""
    _, record = run_with(of_release(name), {})
    rounds, scale = len(record.draws) // 2, record.draws[1].scale
    points = {2 * k: SURE * np.eye(NET)[k] for k in range(rounds)}

    def weights(more: Array) -> Array:
        return run_with(of_release(name), points | answered(scale, more))[0]["dual_coef_"]

    net, more = public_points(NET)[:rounds], scale * np.arange(1.0, rounds + 1.0)
    by = np.asarray(np.linalg.solve(np.tril(Gaussian(1.0)(net, net)), more), dtype=np.float64)
    assert_moved(weights(more) - weights(0.0 * more), by)


def answered(scale: float, more: Array) -> dict[int, Array]:
    """Noise of the rounds' answers, so large and unequal that no correction is left out."""
    return {
        2 * k + 1: np.array([1000.0 * (-3.0) ** k * scale + each]) for k, each in enumerate(more)
    }


@pytest.mark.parametrize("name", ["ball pure", "ball zcdp"])
def test_weights_in_a_ball_move_by_their_answers_noise(name: str) -> None:
    """Points on the three axes, then the origin, where nothing is corrected."""
    _, record = run_with(of_release(name), {})
    points, scale = {2 * k: np.eye(3)[k] for k in range(3)}, record.draws[1].scale

    def weights(more: Array) -> Array:
        found, _ = run_with(of_release(name), points | answered(scale, more))
        return np.asarray(found["dual_coef_"] @ found["points_"])

    more = scale * np.arange(1.0, 4.0)
    assert_moved(weights(more) - weights(0.0 * more), more)


# -- matrices --------------------------------------------------------------------------------------


def intervals(found: Intervals) -> Numbers:
    """The released pair, and the public unit of each matrix."""
    pair = found.uncertainty.released
    unit = pair.weighing.sensitivity
    units = np.array([unit / pair.weighing.eta, unit])
    return {"hessian": pair.hessian, "covariance": pair.covariance, "units": units}


def after_a_fit(budget: PureDP | ZCDP) -> Numbers:
    """Intervals for a model that was fitted before."""
    x, y = people(2, 2000)
    return intervals(confidence_intervals(logistic(SEED).fit(x, y), x, y, budget=budget))


def with_a_fit() -> Numbers:
    """A fit and its intervals in one release."""
    return intervals(fit_with_intervals(logistic(SEED), *people(2, 2000), budget=ZCDP(40.0))[1])


MATRICES: dict[str, Run] = {
    "pure": lambda: after_a_fit(PureDP(100.0)),
    "zcdp": lambda: after_a_fit(ZCDP(20.0)),
    "with a fit": with_a_fit,
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_move_by_their_noise(name: str) -> None:
    """Upper triangles in units of the sensitivity, off-diagonals times ``sqrt2``."""
    exact, record = run_with(MATRICES[name], {})
    more = ramp(record.draws[2])  # after those of the fit
    found, _ = run_with(MATRICES[name], {2: more})
    rows, columns = np.triu_indices(PARAMETERS)
    factor = np.where(rows == columns, 1.0, np.sqrt(0.5))
    halves = zip(("hessian", "covariance"), exact["units"], np.split(more, 2), strict=True)
    for key, unit, half in halves:
        move = found[key] - exact[key]
        assert_moved(move[rows, columns], unit * factor * half)
        assert_moved(move[columns, rows], unit * factor * half)
