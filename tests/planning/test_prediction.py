"""The rough numbers: right on a table that is typical by construction, and in the right units."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from privet import ZCDP, ApproxDP, LogisticRegression, PureDP
from privet.planning import plan
from privet.planning.prediction import COMFORTABLE, HOPELESS, TYPICAL_SHARE, Typical
from privet.privacy.attacker import attacker_accuracy
from privet.rows import checked_rows
from tests.report.models import one_hot
from tests.strategies import EACH_BUDGET, name_of

SEED = int(np.random.SeedSequence().generate_state(1)[0])


def test_the_printed_noise_of_a_coefficient_holds_on_a_one_hot_table() -> None:
    """What a plan says for every table holds for rare and empty categories too."""
    fits = 400
    x, y = one_hot()
    made = plan(n=len(x), d=x.shape[1], budget=1.0)
    proved, rough = str(made).split("Rough")
    (claim,) = re.findall(r"noise in a coefficient +at most ± ([\d.e-]+) in 95", proved)
    assert "one-hot columns do not" in rough
    release = made.declared.release
    rows = checked_rows(x, release.loss.targets(y), norm_bound=1.0, constant=0.5)
    drawn = release.sample(rows, fits)
    strayed = np.abs(drawn - np.median(drawn, axis=0)) > float(claim)
    allowed = binom.isf(1e-6 / drawn.shape[1], fits, 0.05)
    assert strayed.sum(axis=0).max() <= allowed
    # the even table's number would not hold, so nothing calls it proved
    rough_claim = 1.96 * made.typical.noise_sd
    even = np.abs(drawn - np.median(drawn, axis=0)) > rough_claim
    assert even.sum(axis=0).max() > allowed
    assert made.to_dict()["coefficient_noise_95"] <= float(claim)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize(("n", "epsilon"), [(1200, 0.5), (1200, 200.0)])
def test_interval_prediction_on_a_typical_table(mechanism: str, n: int, epsilon: float) -> None:
    """Coin-toss labels and rows along the axes with a tenth of the largest squared norm.

    There the curvature and the gradient's variance are what the prediction assumes. The labels are
    drawn anew for each fit, so the spread holds both sampling and noise.
    """
    d, fits = 3, 200
    x = math.sqrt(TYPICAL_SHARE) * np.tile(np.concatenate([np.eye(d), -np.eye(d)]), (n // 6, 1))
    made = plan(n=n, d=d, budget=epsilon, fit_intercept=False, mechanism=mechanism)
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(fits):
        seed = int(rng.integers(2**31))
        model = LogisticRegression(
            epsilon, fit_intercept=False, mechanism=mechanism, insecure_seed=seed
        )
        found.append(model.fit(x, rng.integers(0, 2, n)).coef_[0])
    spread = np.sqrt(np.mean(np.square(found)))
    # 600 nearly independent squares with kurtosis up to 5: five standard errors of their root
    assert spread == pytest.approx(made.half_width / 1.959964, rel=0.3)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", EACH_BUDGET, ids=name_of)
def test_noise_meets_sampling_error_at_the_meeting_budget(mechanism: str, budget) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    made = plan(n=20_000, d=5, budget=budget, mechanism=mechanism)
    assert made.meeting is not None
    held = made.declared.but(regularization=made.regularization).with_amount(made.meeting)
    there = plan(held.model, n=held.n, d=held.d)
    assert there.typical.noise_sd == pytest.approx(there.typical.sampling_sd, rel=0.02)


def test_the_meeting_epsilon_of_objective_perturbation_in_closed_form() -> None:
    """``0.99 eps = 2 R sqrt(p + 1)/(tau sqrt n)`` with ``tau^2 = 0.1 R^2/(4 m)``."""
    n, d = 50_000, 9
    wanted = 2.0 * math.sqrt(d + 1.0) / math.sqrt(n * 0.025 / d) / 0.99
    made = plan(n=n, d=d, budget=1.0, fit_intercept=False, norm_bound=7.0)
    assert made.meeting == pytest.approx(wanted, rel=1e-3)


def test_no_meeting_out_of_range() -> None:
    assert plan(n=2, d=500, budget=0.01, mechanism="output").meeting is None


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", EACH_BUDGET, ids=name_of)
def test_units(mechanism: str, budget) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Features in other units: coefficients change, scores and risks do not."""
    one = plan(n=3000, d=6, budget=budget, mechanism=mechanism, norm_bound=1.0)
    two = plan(n=3000, d=6, budget=budget, mechanism=mechanism, norm_bound=8.0)
    assert two.regularization == pytest.approx(64.0 * one.regularization)
    assert two.half_width == pytest.approx(one.half_width / 8.0)
    assert two.release_noise.mean == pytest.approx(one.release_noise.mean / 8.0, rel=1e-4)
    assert two.excess_risk() == pytest.approx(one.excess_risk(), rel=1e-4)
    assert two.typical.score_noise == pytest.approx(one.typical.score_noise)
    assert two.typical.noise_to_signal == pytest.approx(one.typical.noise_to_signal)
    assert two.meeting == pytest.approx(one.meeting, rel=1e-3)


def test_more_rows_and_more_budget_help() -> None:
    made = plan(n=2000, d=5, budget=1.0)
    for curve in (
        made.curve("n", [500, 2000, 8000, 32_000]),
        made.curve("epsilon", [0.1, 0.5, 2.0, 8.0]),
    ):
        for name in ("noise_to_signal", "unshrunk_score_noise"):
            values = [getattr(each.typical, name) for each in curve]
            assert values == sorted(values, reverse=True), name
        risks = [each.excess_risk() for each in curve]
        assert risks == sorted(risks, reverse=True)


def test_rows_for_a_score_and_for_comfort_are_minimal() -> None:
    made = plan(n=3000, d=6, budget=1.0)
    needed = made.rows_needed(score_noise=0.2)
    assert needed.for_score is not None
    assert needed.for_comfort is not None
    enough, short = made.curve("n", [needed.for_score, int(0.99 * needed.for_score)])
    assert enough.typical.unshrunk_score_noise <= 0.2 < short.typical.unshrunk_score_noise
    enough, short = made.curve("n", [needed.for_comfort, int(0.99 * needed.for_comfort)])
    assert (enough.verdict, short.verdict) == ("comfortable", "tight")


def test_verdicts_follow_the_stated_rule() -> None:
    def verdict(ratio: float) -> str:
        return Typical(1.0, 1.0, 1.0, 1.0, 1.0, ratio).verdict

    assert verdict(COMFORTABLE) == "comfortable"
    assert verdict(1.01 * COMFORTABLE) == "tight"
    assert verdict(0.99 * HOPELESS) == "tight"
    assert verdict(HOPELESS) == "hopeless"


def test_attackers_accuracy() -> None:
    assert attacker_accuracy(PureDP(math.log(3.0))) == pytest.approx(0.75)  # randomized response
    assert attacker_accuracy(ApproxDP(math.log(3.0), 0.1)) == pytest.approx(3.1 / 4.0)
    for rho in (1e-4, 0.1, 1.0, 10.0):  # the Gaussian mechanism's own attacker: Phi(mu/2)
        gaussian = float(ndtr(math.sqrt(2.0 * rho) / 2.0))
        assert gaussian <= attacker_accuracy(ZCDP(rho)) <= min(1.0, 0.5 + 1.5 * (gaussian - 0.5))
