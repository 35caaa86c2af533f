"""Transcripts of private gradient descent: neighbors reach the claimed mu and none passes it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta

from privet.audit.descent_replay import audit_descent
from privet.losses import (
    HuberHinge,
    HuberResidual,
    JointHuber,
    Logistic,
    Loss,
    PoissonRate,
    SmoothHinge,
    Softmax,
)
from privet.losses.weighted import Weighted
from privet.mechanisms.gradient import GradientDescent
from privet.privacy import GDP, ZCDP, ApproxDP, Budget
from privet.randomness import source
from privet.rows import checked_rows
from tests.planted.descent_bugs import NoClip
from tests.strategies import name_of

REAL: tuple[tuple[Loss, Budget, float], ...] = (
    (Logistic(), ZCDP(0.5), 0.5),
    (Logistic(), GDP(0.3), 0.2),
    (HuberHinge(), ApproxDP(1.0, 1e-6), 1.0),
    (SmoothHinge(), GDP(1.0), 0.3),
    (Softmax(4), ApproxDP(2.0, 1e-5), 0.4),
    (JointHuber(3), ZCDP(0.1), 5.0),
    (Weighted(Logistic(), (1.0, 3.0)), ZCDP(0.5), 0.4),
    (HuberResidual(0.5), ZCDP(0.5), 0.5),
    (PoissonRate(), ApproxDP(1.0, 1e-6), 0.3),
)


@pytest.mark.parametrize(("loss", "budget", "clip"), REAL, ids=name_of)
def test_neighbors_reach_the_claim_and_none_passes_it(
    loss: Loss, budget: Budget, clip: float
) -> None:
    mechanism = GradientDescent(loss, budget, norm_bound=3.0, steps=8, relative_clip=clip)
    found = audit_descent(mechanism, seed=int(np.random.default_rng().integers(2**31)))
    assert [str(each) for each in found if not each.passed] == []
    assert found[0].measured >= 0.8 * found[0].allowed  # whatever the seed


def shown(kind: type[GradientDescent], draws: int = 2000) -> float:
    """Black box: a lower bound on mu, from releases of one column on two neighbors.

    The best test of two Gaussians is a threshold; its errors are counted, with an allowance for
    chance of 1e-6 on either side.
    """
    made = kind(HuberHinge(), GDP(1.0), steps=3, relative_clip=0.1)
    design, randomness = made.design(30, 1), source(5)
    sides = []
    for sign in (1.0, -1.0):
        x = np.zeros((30, 1))
        x[0] = sign
        rows = checked_rows(x, np.ones(30), norm_bound=1.0)
        released = (made.perturb(rows, design, randomness)[0] for _ in range(draws))
        sides.append(np.array(list(released)))
    right, wrong = ((side > 0.0).sum() for side in sides)
    return float(
        ndtri(beta.ppf(1e-6, right, draws - right + 1))
        - ndtri(beta.ppf(1.0 - 1e-6, wrong + 1, draws - wrong))
    )


def test_a_release_of_one_number_tells_no_more_than_its_budget() -> None:
    assert 0.4 < shown(GradientDescent) <= 1.0
    assert shown(NoClip) > 1.0
