"""Learning from drawn points: error bound, net and its limit, files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privet import ZCDP, Ledger, PureDP
from privet.answers.non_interactive import LARGEST_NET, ball_net, linear_rounds, net_rounds
from privet.audit.attacks import FALSE_ALARM
from privet.errors import DeclarationError
from privet.grid import grid_exponent
from privet.kernels import Gaussian, Linear, NonInteractiveClassifier, Spectrum
from privet.losses.margin import Logistic
from privet.mechanisms.distinguishing import Distinguishing, Space
from privet.privacy import Budget
from privet.randomness import InsecureSeed
from tests.kernels.people import holds_a_row, longest_list, table

X, Y = table(150, 2)


def fresh() -> InsecureSeed:
    """Floating-point draws: the exact discrete ones take a millisecond each."""
    return InsecureSeed(int(np.random.default_rng().integers(1 << 40)))


def linear(**changed: Any) -> NonInteractiveClassifier:
    told: dict[str, Any] = {"budget": ZCDP(50.0), "regularization": 0.1, "classes": [0, 1]}
    return NonInteractiveClassifier(kernel=Linear(2.0), **{**told, **changed})


def net(**changed: Any) -> NonInteractiveClassifier:
    told: dict[str, Any] = {
        "budget": ZCDP(50.0),
        "regularization": 0.1,
        "classes": [0, 1],
        "net": 0.5,
        "net_radius": 2.0,
    }
    return NonInteractiveClassifier(kernel=Gaussian(0.5), **{**told, **changed})


@pytest.mark.parametrize("make", [linear, net])
@pytest.mark.parametrize("budget", [PureDP(20.0), ZCDP(50.0)], ids=str)
def test_fit_save_load(make: Any, budget: Budget, tmp_path: Path) -> None:
    fitted = make(budget=budget).fit(X, Y)
    assert fitted.guarantee_.budget == budget
    fitted.save(tmp_path / "m")
    again = NonInteractiveClassifier.load(tmp_path / "m")
    assert (again.decision_function(X) == fitted.decision_function(X)).all()
    assert not holds_a_row((tmp_path / "m").read_text(), X)
    assert longest_list(tmp_path / "m") < len(Y)
    pickle.dumps(fitted)


def test_it_learns_a_linear_rule() -> None:
    x = np.random.default_rng(1).normal(size=(2000, 3))
    y = (x @ np.array([1.0, -2.0, 0.5]) > 0).astype(int)
    fitted = linear(budget=ZCDP(5.0), regularization=0.05).fit(x, y)
    assert (fitted.predict(x) == y).mean() > 0.7


@pytest.mark.parametrize("budget", [PureDP(4.0), ZCDP(2.0)], ids=str)
@pytest.mark.parametrize("d", [2, 6])
def test_the_error_is_within_its_bound(budget: Budget, d: int) -> None:
    """Linear kernel, any minimizer of the largest norm: the last error, over repeated runs."""
    made = Distinguishing(
        loss=Logistic(), budget=budget, norm_bound=1.0, regularization=0.1, space=Space(d)
    ).design(10_000)
    failures, runs = 0, 15
    for _ in range(runs):
        w = np.random.default_rng().normal(size=d)
        w *= made.minimizer.norm / np.linalg.norm(w)
        left = float(np.linalg.norm(linear_rounds(made, w, fresh()) - w))
        failures += left > made.error
    assert made.error < made.minimizer.norm  # the bound says something
    assert stats.binom.sf(failures - 1, runs, 0.05) > FALSE_ALARM


def test_weights_of_the_ball_are_on_their_public_grid() -> None:
    """Drawn points carry the minimizer in their last bits: weights off the grid would tell them."""
    x = np.random.default_rng(2).normal(size=(300, 5))
    made = linear()
    fitted = made.fit(x, (x[:, 0] > 0).astype(int))
    weights = fitted.dual_coef_ @ fitted.points_
    design = made.design(*x.shape)
    sd = design.numeric.coordinate_sd / fitted.kernel.norm_bound
    steps = np.ldexp(weights, -grid_exponent(sd, design.minimizer.norm))
    assert np.abs(steps).max() > 1.0
    assert np.abs(steps - np.rint(steps)).max() < 1e-3  # the product of two doubles, and no more


def test_a_net_is_corrected_where_it_is_wrong() -> None:
    points = ball_net(2, 2.0, 0.5)
    kernel = Gaussian(0.5)
    made = Distinguishing(
        loss=Logistic(),
        budget=ZCDP(5.0),
        norm_bound=1.0,
        regularization=0.1,
        space=Space(2, len(points)),
    ).design(100_000)
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(4, 2))
    exact = kernel(points, centers) @ np.array([1.0, -1.0, 1.0, -0.5])
    chosen, weights = net_rounds(made, kernel, points, exact, fresh())
    left = exact - kernel(points, points[chosen]) @ weights
    assert np.abs(left).max() < 0.7 * np.abs(exact).max()
    assert np.abs(left).max() <= made.error


def test_a_net_that_is_too_large_is_refused_before_it_is_made() -> None:
    with pytest.raises(DeclarationError, match=r"21\^12 points"):
        ball_net(12, 1.0, 0.1)
    with pytest.raises(DeclarationError, match="can be scored"):
        net(net=np.zeros((LARGEST_NET + 1, 2))).fit(X, Y)
    assert len(ball_net(2, 1.0, 1.0)) == 5


def test_refusals_cost_nothing(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", ZCDP(100.0))
    charged = {"ledger": ledger, "dataset": "people"}
    for make, changed, words in (
        (net, {"net": None}, "net= must be given"),
        (net, {"net": np.zeros((3, 5))}, "2 columns"),
        (net, {"net": -1.0}, "positive spacing"),
        (linear, {"net": 0.5}, "whole ball"),
        (linear, {"rounds": 0}, "rounds must be"),
        (linear, {"failure_probability": 0.9}, "failure_probability"),
    ):
        with pytest.raises(DeclarationError, match=words):
            make(**charged, **changed).fit(X, Y)
    assert [entry.kind for entry in ledger.entries("people")] == ["open"]
    linear(**charged).fit(X, Y)
    assert [entry.kind for entry in ledger.entries("people")] == ["open", "reserve", "settle"]


def test_strings_from_a_declared_net() -> None:
    words = ["abab", "aaab", "bbab", "baba", "bbbb", "aabb"] * 10
    labels = [int("bab" in word) for word in words]
    fitted = NonInteractiveClassifier(
        ZCDP(500.0), kernel=Spectrum(2), net=["abab", "bbbb", "aaaa", "ba"], rounds=10
    ).fit(words, labels)
    assert set(fitted.points_) <= {"abab", "bbbb", "aaaa", "ba"}
