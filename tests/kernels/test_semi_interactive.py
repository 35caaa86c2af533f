"""Learning with public points: sensitivities by replay, files, and which method is best."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet.answers.dual import kernel_minimum
from privet.answers.semi_interactive import MECHANISMS, shortest_fit, span
from privet.audit.attacks import FALSE_ALARM
from privet.errors import DataError, DeclarationError
from privet.kernels import Gaussian, Polynomial, SemiInteractiveClassifier, Spectrum
from privet.mechanisms.projection import prediction_stretch
from privet.privacy import Budget
from privet.randomness import SystemRandomness
from tests.kernels.people import holds_a_row, longest_list, queries, table

KERNEL = Gaussian(0.5)
X, Y = table()
Z = queries(30)


def model(**changed: Any) -> SemiInteractiveClassifier:
    told: dict[str, Any] = {"kernel": KERNEL, "budget": ZCDP(5.0), "classes": [0, 1]}
    return SemiInteractiveClassifier(public_points=Z, **{**told, **changed})


@pytest.mark.parametrize("method", MECHANISMS)
@pytest.mark.parametrize("budget", [PureDP(5.0), ZCDP(5.0), ApproxDP(2.0, 1e-6)], ids=str)
def test_fit_save_load(method: str, budget: Budget, tmp_path: Path) -> None:
    fitted = model(mechanism=method, budget=budget).fit(X, Y)
    assert fitted.dual_coef_.shape == (len(Z),)
    assert fitted.guarantee_.budget == budget
    assert fitted.guarantee_.private
    fitted.save(tmp_path / "m")
    again = SemiInteractiveClassifier.load(tmp_path / "m")
    assert (again.decision_function(X) == fitted.decision_function(X)).all()
    assert again.guarantee_ == fitted.guarantee_
    text = (tmp_path / "m").read_text()
    assert not holds_a_row(text, X)
    assert holds_a_row(text, Z)  # the public points are there, so the search works
    assert longest_list(tmp_path / "m") < len(Y)
    held = [v for v in vars(fitted).values() if isinstance(v, np.ndarray)]
    assert all(len(Y) not in array.shape for array in held)
    pickle.dumps(fitted)


@pytest.mark.parametrize("kernel", [KERNEL, Polynomial(3, norm_bound=2.0)], ids=str)
@pytest.mark.parametrize("method", ["kernel_noise", "tddl"])
def test_what_gets_noise_moves_by_at_most_the_declared_sensitivity(
    kernel: Any, method: str
) -> None:
    made = model(kernel=kernel, mechanism=method, regularization=0.05)
    design = made._design(len(Y), 3)
    basis, _ = span(kernel, Z)
    risk, largest = design.minimizer.risk, 0.0

    def values(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = kernel_minimum(risk, kernel, x, np.where(y > 0, 1.0, -1.0), 1e-7)
        return found(Z) if method == "tddl" else basis.T @ found(Z)

    base = values(X, Y)
    for row, label in ((Z[0], 1 - Y[0]), (X[0], 1 - Y[0]), (Z[3] * 9.0, Y[0])):
        x, y = X.copy(), Y.copy()
        x[0], y[0] = row, label
        moved = float(np.linalg.norm(values(x, y) - base))
        assert moved <= design.event.sensitivity
        largest = max(largest, moved)
    assert largest > 0.02 * design.event.sensitivity


def test_pure_predictions_move_by_at_most_their_l1_sensitivity() -> None:
    made = model(mechanism="tddl", budget=PureDP(1.0), regularization=0.05)
    design = made._design(len(Y), 3)
    assert design.noise.dimension == 1
    assert design.noise.scale == pytest.approx(design.event.sensitivity)
    # the worst change in the kernel's space, written out: K c with c'Kc = S^2
    k = KERNEL(Z, Z)
    c = np.linalg.eigh(k)[1][:, -1]
    change = k @ c * design.minimizer.sensitivity / np.sqrt(c @ k @ c)
    assert np.abs(change).sum() <= design.event.sensitivity
    assert np.abs(change).sum() > 0.3 * design.event.sensitivity


@pytest.mark.parametrize("method", ["kernel_noise", "tddl"])
@pytest.mark.parametrize("budget", [ZCDP(1e-3), PureDP(0.1)], ids=str)
def test_noise_is_added_and_is_as_large_as_declared(method: str, budget: Budget) -> None:
    made = model(mechanism=method, budget=budget, regularization=0.05)
    design, source = made._design(len(Y), 3), SystemRandomness()
    drawn = [design.perturb(np.zeros(design.size), source) for _ in range(60)]
    noise = design.noise
    if noise.kind == "laplace" and noise.dimension > 1:  # one spherical draw for all
        sizes, law = np.linalg.norm(drawn, axis=1), stats.gamma(noise.dimension)
    else:
        sizes = np.abs(np.concatenate(drawn))
        law = stats.expon() if noise.kind == "laplace" else stats.halfnorm()
    assert stats.kstest(sizes / noise.scale, law.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(sizes / noise.scale / 2.0, law.cdf).pvalue < FALSE_ALARM


def test_coordinates_are_never_longer_than_the_function() -> None:
    """Also for points that are nearly equal, where the basis is badly conditioned."""
    points = np.concatenate([Z, Z + 1e-7])
    basis, _ = span(KERNEL, points)
    inner = basis.T @ KERNEL(points, points) @ basis
    assert np.linalg.eigvalsh(inner)[-1] <= 1.0


def test_the_fit_is_least_squares_in_a_ball() -> None:
    rng = np.random.default_rng(4)
    values, noisy = np.array([5.0, 1.0, 0.01]), rng.normal(size=3)
    assert shortest_fit(values, noisy, 1e9) == pytest.approx(noisy)
    short = shortest_fit(values, noisy, 0.5)
    assert np.linalg.norm(short) == pytest.approx(0.5)
    loss = float(values @ (short - noisy) ** 2)
    for _ in range(200):
        other = rng.normal(size=3)
        other *= 0.5 / np.linalg.norm(other)
        assert loss <= float(values @ (other - noisy) ** 2) + 1e-9


def test_the_default_is_more_accurate_than_the_papers_learner() -> None:
    x, y = table(1500)
    errors = {}
    for method in ("span", "tddl"):
        fits = [model(mechanism=method, budget=ZCDP(0.5)).fit(x, y) for _ in range(5)]
        errors[method] = np.mean([(m.predict(x) != y).mean() for m in fits])
    assert errors["span"] < errors["tddl"]
    assert SemiInteractiveClassifier().mechanism == "span"


def test_one_reservation(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", ZCDP(5.0))
    for method in MECHANISMS:
        bad = model(mechanism=method, ledger=ledger, dataset="people")
        with pytest.raises(DataError):
            bad.fit(np.where(X > 2.0, np.nan, X), Y)
    assert [entry.kind for entry in ledger.entries("people")] == ["open"]
    model(ledger=ledger, dataset="people").fit(X, Y)
    assert [entry.kind for entry in ledger.entries("people")] == ["open", "reserve", "settle"]


def test_strings_and_refusals() -> None:
    words = ["abab", "aaab", "bbab", "baba", "bbbb", "aabb"] * 10
    labels = [int("bab" in word) for word in words]
    fitted = SemiInteractiveClassifier(
        ZCDP(50.0), public_points=["abab", "bbbb", "aaaa"], kernel=Spectrum(2)
    ).fit(words, labels)
    assert fitted.decision_function(["babab"]).shape == (1,)
    with pytest.raises(DeclarationError, match="at least one public point"):
        SemiInteractiveClassifier(kernel=KERNEL).fit(X, Y)
    with pytest.raises(DeclarationError, match="3 columns"):
        SemiInteractiveClassifier(public_points=Z[:, :2], kernel=KERNEL).fit(X, Y)
    with pytest.raises(DeclarationError, match="mechanism must be"):
        model(mechanism="best").fit(X, Y)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(1.0)], ids=str)
@pytest.mark.parametrize("method", ["kernel_noise", "tddl"])
def test_the_rounding_of_exact_predictions_is_in_the_sensitivity(
    method: str, budget: Budget
) -> None:
    """By numbers: predictions with more digits, and points so close that the basis is long."""
    close = np.concatenate([Z, Z[:10] + 1e-4])
    made = SemiInteractiveClassifier(
        budget,
        public_points=close,
        kernel=KERNEL,
        mechanism=method,
        regularization=0.05,
        classes=[0, 1],
    )
    design = made._design(len(Y), 3)
    known = design.minimizer
    found = kernel_minimum(known.risk, KERNEL, X, np.where(Y > 0, 1.0, -1.0), known.tolerance)
    apart = close[:, None, :].astype(np.longdouble) - found.points[None, :, :]
    gram = np.exp(-np.longdouble(KERNEL.gamma) * np.square(apart).sum(axis=2))
    exact = gram @ found.coefficients.astype(np.longdouble)
    assert 0.0 < float(np.abs(found(close) - exact).max()) <= known.prediction_rounding
    basis, _ = span(KERNEL, close)
    each, n = known.prediction_rounding, len(close)
    if method == "kernel_noise":
        longest = float(np.linalg.norm(basis, 2))
        assert longest > 1e2  # the points are close indeed
        wide, rounding = 1.0, longest * n**0.5 * each
        off = basis.T @ found(close) - np.asarray(basis.T @ exact, dtype=np.float64)
        assert float(np.linalg.norm(off)) <= rounding
    elif budget == PureDP(1.0):
        wide, rounding = prediction_stretch(1.0, n, top(close)).l1 or 0.0, n * each
    else:
        wide, rounding = prediction_stretch(1.0, n, top(close)).l2, n**0.5 * each
    assert design.event.sensitivity >= wide * known.sensitivity + 2.0 * rounding


def top(points: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(KERNEL(points, points))[-1])
