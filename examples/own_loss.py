"""Bring your own loss: a clipped Poisson rate and a robust ranking, each trained and released.

    python examples/own_loss.py

Both are functions of one score and of a target within declared bounds. What they declare of
themselves, the largest slope and the largest curvature, is attacked before a row is looked at, and
then decides the noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from privet import ConvexLoss, PrivateERM, Ridge
from privet.errors import DeclarationError

Array = NDArray[np.float64]

# -- visits a year: a Poisson rate of at most MOST ------------------------------------------------
#
#     l(z, t) = exp(z) - t z     where exp(z) <= MOST, then a line
#     l'      = min(exp(z), MOST) - t       between -MOST and MOST for t in [0, MOST]
#     l''     = exp(z), at most MOST

MOST = 20.0
TOP = np.log(MOST)


def rate_value(z: Array, t: Array) -> Array:
    """Minus the log-likelihood of a count, a line above the largest rate."""
    return np.exp(np.minimum(z, TOP)) + MOST * np.maximum(z - TOP, 0.0) - t * z


def rate_gradient(z: Array, t: Array) -> Array:
    """The rate less the count."""
    return np.exp(np.minimum(z, TOP)) - t


def rate_hessian(z: Array, t: Array) -> Array:
    """The rate, up to the largest."""
    return np.where(z <= TOP, np.exp(np.minimum(z, TOP)), 0.0)


clipped_rate = ConvexLoss(
    "clipped Poisson rate",
    rate_value,
    rate_gradient,
    rate_hessian,
    gradient_bound=MOST,
    curvature_bound=MOST,
    largest_constant=MOST + 1.0,
    link="exp",
)

# -- urgency from 1 to 5: an order, whatever the distances ----------------------------------------
#
# A ranking loss over pairs of people is no sum over rows: one person is in as many pairs as there
# are others, and its bound would grow with the table. Public thresholds between the ranks keep it
# a sum: a score should be above the thresholds below its rank and below the others. Each threshold
# has a hinge with a rounded knee, so a mislabeled person pulls no harder than one step.

THRESHOLDS = np.array([-1.5, -0.5, 0.5, 1.5])
KNEE = 0.5


def _margins(z: Array, t: Array) -> tuple[Array, Array]:
    """Which side each threshold should be on, and how far the score is on it."""
    side = np.where(t[:, None] > np.arange(1, 5) + 0.5, 1.0, -1.0)
    return side, side * (z[:, None] - THRESHOLDS)


def rank_value(z: Array, t: Array) -> Array:
    """The mean hinge over the thresholds."""
    _, m = _margins(z, t)
    u = np.clip(KNEE - m, 0.0, 2 * KNEE)
    return np.asarray((u**2 / (4 * KNEE) + np.maximum(-m - KNEE, 0.0)).mean(axis=1))


def rank_gradient(z: Array, t: Array) -> Array:
    """How many thresholds pull, and to which side."""
    side, m = _margins(z, t)
    return np.asarray((-side * np.clip((KNEE - m) / (2 * KNEE), 0.0, 1.0)).mean(axis=1))


def rank_hessian(z: Array, t: Array) -> Array:
    """In how many knees the score is."""
    _, m = _margins(z, t)
    return np.asarray((np.abs(m) <= KNEE).mean(axis=1) / (2 * KNEE))


# the knees of neighboring thresholds meet at a point: two of four are curved there
robust_ranking = ConvexLoss(
    "ranking by public thresholds",
    rank_value,
    rank_gradient,
    rank_hessian,
    gradient_bound=1.0,
    curvature_bound=2 / 4 / (2 * KNEE),
)


def main() -> None:
    """Train both, and show what happens to a declaration that is wrong."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(50_000, 3))

    visits = rng.poisson(np.exp(1.5 + 2.0 * X[:, 0]))
    model = PrivateERM(1.0, loss=clipped_rate, target_bounds=(0, MOST)).fit(X, visits)
    print(
        f"visits: rate {model.predict([[0.0, 0.0, 0.0]])[0]:.2f} at zero, e^1.5 = {np.e**1.5:.2f}"
    )

    urgency = np.clip(np.round(3 + 3 * X[:, 1] + 0.3 * rng.normal(size=len(X))), 1, 5)
    wrong = rng.random(len(X)) < 0.05  # a twentieth of the forms are filled in at random
    urgency[wrong] = rng.integers(1, 6, wrong.sum())
    # the third column is trusted less: its coefficient is pulled to zero ten times harder
    ranked = PrivateERM(
        1.0, loss=robust_ranking, target_bounds=(1, 5), regularizer=Ridge((1.0, 1.0, 10.0))
    ).fit(X, urgency)
    order = kendalltau(ranked.decision_function(X[:2000]), X[:2000, 1]).statistic
    print(f"urgency: Kendall's tau of {order:.2f} with the true order")
    print("its guarantee rests on:", *ranked.guarantee_.assumptions, sep="\n  - ")

    try:
        careless = replace(clipped_rate, name="careless", curvature_bound=1.0)
        PrivateERM(1.0, loss=careless, target_bounds=(0, MOST)).fit(X, visits)
    except DeclarationError as refusal:
        print("a wrong bound is refused:", refusal)


if __name__ == "__main__":
    main()
