"""A second attacker that knows no proof: random restarts, then hill climbing.

It searches over both rows' scores and labels, the angle between the rows, where the noise already
is, and how visible the crowd may be. All restarts climb in step, many trials per call, so a search
costs a fraction of a second. Finding less than ``exact.worst_loss`` is expected; finding more would
mean that the structured attack, and perhaps the proof, has missed a case.
"""

from __future__ import annotations

import numpy as np

from privet.audit.exact import Measure, Worst, losses_of, measure_of, worst_of
from privet.audit.neighbours import Array, Attacks, Labels
from privet.mechanisms import Design

SMALLEST_ANGLE = 0.01
# log10 of the crowd's largest score
CROWD_RANGE = (-6.0, -2.0)


def search(
    design: Design,
    *,
    seed: int,
    signed: bool = True,
    restarts: int = 48,
    rounds: int = 30,
    trials: int = 8,
) -> Worst:
    """The worst pair that ``restarts`` climbers find, each trying ``trials`` moves per round."""
    rng = np.random.default_rng(seed)
    loss, measure = design.risk.loss, measure_of(design)
    widest = (np.pi if signed else np.pi / 2.0) - SMALLEST_ANGLE
    labels = rng.integers(0, loss.classes, size=(2, restarts))
    points = _start(rng, restarts, loss.scores, widest)
    values = _values(design, measure, points, labels, widest)
    steps = np.ones(restarts)
    for _ in range(rounds):
        moves = rng.normal(size=(restarts, trials, points.shape[1])) * _lengths(loss.scores, widest)
        tried = points[:, None, :] + steps[:, None, None] * moves
        repeated = np.repeat(labels, trials, axis=1)
        found = _values(design, measure, tried.reshape(-1, points.shape[1]), repeated, widest)
        found = found.reshape(restarts, trials)
        best = found.argmax(axis=1)
        better = found[np.arange(restarts), best] > values
        points[better] = tried[better, best[better]]
        values[better] = found[better, best[better]]
        steps = np.where(better, 1.2 * steps, 0.6 * steps)
    top = [int(values.argmax())]
    return worst_of(design, measure, _attacks(points[top], labels[:, top], widest))[0]


def _start(rng: np.random.Generator, count: int, scores: int, widest: float) -> Array:
    """Points (z, z', angle, push, log10 crowd): scores anywhere from the knee to saturation."""
    z = rng.normal(size=(count, 2 * scores)) * rng.choice([1.0, 5.0, 15.0], size=(count, 1))
    angle = rng.uniform(SMALLEST_ANGLE, widest, size=(count, 1))
    push = rng.exponential(size=(count, 1))
    crowd = rng.uniform(*CROWD_RANGE, size=(count, 1))
    return np.concatenate([z, angle, push, crowd], axis=1)


def _lengths(scores: int, widest: float) -> Array:
    """First step of each coordinate."""
    return np.array([2.0] * (2 * scores) + [0.3 * widest, 0.5, 0.5])


def _attacks(points: Array, labels: Labels, widest: float) -> Attacks:
    scores = (points.shape[1] - 3) // 2
    return Attacks(
        np.clip(points[:, :scores], -30.0, 30.0),
        labels[0],
        np.clip(points[:, scores:-3], -30.0, 30.0),
        labels[1],
        np.clip(points[:, -3], SMALLEST_ANGLE, widest),
        np.clip(points[:, -2], -1.0, 5.0),
        10.0 ** np.clip(points[:, -1], *CROWD_RANGE),
    )


def _values(
    design: Design, measure: Measure, points: Array, labels: Labels, widest: float
) -> Array:
    return losses_of(design, measure, _attacks(points, labels, widest))
