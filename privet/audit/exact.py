"""Exact privacy loss: the output density has a closed form, so the log-ratio can be computed.

    objective perturbation   log mu(b_D) - log mu(b_D') + log det H_D - log det H_D'
    output perturbation      log mu(f - f_D) - log mu(f - f_D')

``worst_loss`` attacks a design with the equality cases of its proof: the leaving row is saturated
(largest slope, no curvature), the entering row's margin is scanned between the place of largest
curvature and saturation. It must never exceed the main budget, and for a tight calibration it must
come close to it. ``climb`` is a second attacker, which knows no proof.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privet._types import Array
from privet.audit.attacks import Attacks, Labels, Pair, WeightedTable, minimizers, realize
from privet.losses import Loss, sum_zero_basis
from privet.mechanisms import Design

# A margin at which every loss has saturated.
FAR = 20.0
# The two rows are this far from exactly opposite, equal or orthogonal.
TILT = 0.02
SCAN = np.concatenate([np.linspace(-8.0, -2.0, 12), np.linspace(-1.75, 2.0, 46), [-FAR, FAR]])
# Where every kind of pair is tried, and how many kinds are then tried at every margin.
COARSE, KEPT = np.append(SCAN[::4], [-FAR, FAR]), 3
# Refinements by a factor ten around the best margin.
ZOOMS = 2
STEALTH = 1e-5

#: privacy loss of each of N pairs under a design
Measure = Callable[[Design, Pair], Array]


@dataclass(frozen=True)
class Worst:
    """The largest privacy loss found, and the neighbors that suffer it."""

    loss: float
    attack: Attacks
    pair: Pair


def noise_vector(design: Design, table: WeightedTable, weights: Array) -> Array:
    """``b_D(W) = n Lam (c - W) - sum of row gradients``, (..., p): the noise that leads to ``W``.

    ``c`` is the public center of the ridge.
    """
    ridge = design.n * design.risk.regularization
    b = -(ridge * weights + table.gradient(design.risk.loss, weights))
    return np.asarray(b.reshape(*b.shape[:-2], -1) + design.shift)


def objective_loss(design: Design, pair: Pair) -> Array:
    """Privacy loss of objective perturbation's main noise at the pair's output."""
    loss, ridge = design.risk.loss, design.n * design.risk.regularization
    at = pair.weights
    noise = [
        design.main.log_density(noise_vector(design, table, at))
        for table in (pair.first, pair.second)
    ]
    determinants = [table.log_determinant(loss, at, ridge) for table in (pair.first, pair.second)]
    return np.asarray(noise[0] - noise[1] + determinants[0] - determinants[1])


def output_distance(design: Design, pair: Pair) -> Array:
    """Distance between the neighbors' exact minimizers, starting from the pair's output."""
    ends = [minimizers(design, table, pair.weights) for table in (pair.first, pair.second)]
    return np.asarray(np.sqrt(((ends[0] - ends[1]) ** 2).sum(axis=(-2, -1))))


def output_loss(design: Design, pair: Pair) -> Array:
    """``|f_D - f_D'|/scale``: for spherical Laplace noise the privacy loss on the far side of
    ``f_D``, for Gaussian noise the shift in standard deviations."""
    return output_distance(design, pair) / design.main.scale


def measure_of(design: Design) -> Measure:
    """How to compute the loss of a design, by its event's mechanism."""
    return output_loss if design.event.mechanism == "output" else objective_loss


def worst_loss(design: Design, *, signed: bool = True) -> Worst:
    """Largest exact privacy loss over the structured attacks.

    ``signed=False`` keeps to rows with non-negative inner products.
    """
    if measure_of(design) is output_loss:
        return _worst_output(design, signed)
    directions, labels = margin_directions(design.risk.loss)
    angles = (np.pi - TILT, TILT, np.pi / 2) if signed else (TILT, np.pi / 2)
    entering = np.flatnonzero(labels == labels[0]).tolist()
    choices = list(itertools.product(entering, range(len(labels)), angles))
    # every kind of pair at some margins; the best kinds at all of them; then closer and closer
    for margins in (COARSE, SCAN):
        i, j, angle, t = _product(choices, margins)
        attacks = _attacks(t * directions[i], labels[i], -FAR * directions[j], labels[j], angle)
        values = losses_of(design, objective_loss, attacks).reshape(len(choices), -1)
        order = np.argsort(-values.max(axis=1))
        choices = [choices[k] for k in order[:KEPT]]
    best, step = float(SCAN[int(values[order[0]].argmax())]), 0.25
    for _ in range(ZOOMS):
        step /= 10.0
        i, j, angle, t = _product(choices[:1], best + step * np.arange(-10.0, 11.0))
        attacks = _attacks(t * directions[i], labels[i], -FAR * directions[j], labels[j], angle)
        worst, place = worst_of(design, objective_loss, attacks)
        best = float(t[place, 0])
    return worst


def _worst_output(design: Design, signed: bool) -> Worst:
    """Both rows saturated, the output half-way between the two minimizers.

    How far a row can be saturated depends on how large a crowd ``n`` allows, so the margin, the
    angle and the crowd's visibility are all scanned.
    """
    directions, labels = margin_directions(design.risk.loss)
    tilts = np.array([0.05, 0.2, 0.6])
    angles = [*(np.pi - tilts), *tilts, np.pi / 2] if signed else [*tilts]
    entering = np.flatnonzero(labels == labels[0]).tolist()
    choices = list(itertools.product(entering, range(len(labels)), angles))
    tried = []
    for crowd in (0.01, 0.3):
        i, j, angle, t = _product(choices, np.array([-FAR, -8.0, -4.0, -1.0, 0.0]))
        attacks = _attacks(t * directions[i], labels[i], t * directions[j], labels[j], angle)
        attacks = replace(attacks, push=attacks.push - 1.5, crowd=0.0 * attacks.crowd + crowd)
        tried.append(worst_of(design, output_loss, attacks)[0])
    return max(tried, key=lambda worst: worst.loss)


def _product(
    choices: list[tuple[int, int, float]], margins: Array
) -> tuple[Labels, Labels, Array, Array]:
    """Every choice (entering, leaving, angle) with every margin, margins fastest."""
    i, j, angle = (
        np.repeat(np.array(column), len(margins)) for column in zip(*choices, strict=True)
    )
    return i, j, angle, np.tile(margins, len(choices))[:, None]


def _attacks(z: Array, y: Labels, other_z: Array, other_y: Labels, angle: Array) -> Attacks:
    """Stealthy attacks whose noise already lies on the ray of its shift."""
    ones = np.ones(len(angle))
    return Attacks(z, y, other_z, other_y, angle, ones, STEALTH * ones)


def worst_of(design: Design, measure: Measure, attacks: Attacks) -> tuple[Worst, int]:
    """The worst of some attacks, among those that fit into ``n`` rows, and its index."""
    values = losses_of(design, measure, attacks)
    index = int(np.argmax(values))
    one = attacks[[index]]
    return Worst(float(values[index]), one, realize(design, one)[0]), index


def losses_of(design: Design, measure: Measure, attacks: Attacks) -> Array:
    """The loss under each attack; minus infinity where it does not fit into ``n`` rows."""
    pair = realize(design, attacks)
    values = np.full(len(attacks), -np.inf)
    if pair.fits.any():
        values[pair.fits] = measure(design, pair[pair.fits])
    return values


def margin_directions(loss: Loss) -> tuple[Array, Labels]:
    """Directions in score space along which the margin of a label grows by one, and the labels.

    Against one rival, and against all of them at once.
    """
    if loss.family in ("margin", "residual"):
        return np.array([[1.0], [-1.0]]), np.array([1, 0])
    basis, classes = sum_zero_basis(loss.classes), loss.classes
    directions, labels = [], []
    for label, rival in ((0, 1), (1, 0)):
        one = np.zeros(classes)
        one[label], one[rival] = 0.5, -0.5
        every = np.full(classes, -1.0 / classes)
        every[label] += 1.0
        directions += [basis.T @ one, basis.T @ every]
        labels += [label, label]
    return np.array(directions), np.array(labels)


# A second attacker that knows no proof: random restarts, then hill climbing.
#
# It searches over both rows' scores and labels, the angle between the rows, where the noise
# already is, and how visible the crowd may be. All restarts climb in step, many trials per call,
# so a search costs a fraction of a second. Finding less than ``exact.worst_loss`` is expected;
# finding more would mean that the structured attack, and perhaps the proof, has missed a case.

SMALLEST_ANGLE = 0.01
# log10 of the crowd's largest score
CROWD_RANGE = (-6.0, -2.0)


def climb(
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
    return worst_of(design, measure, _hills(points[top], labels[:, top], widest))[0]


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


def _hills(points: Array, labels: Labels, widest: float) -> Attacks:
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
    return losses_of(design, measure, _hills(points, labels, widest))
