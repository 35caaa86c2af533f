"""Adversarial neighbors, two tables built to be told apart, and what a check on them found.

The construction is the equality case of the proofs. The replaced row ``x`` and its replacement
``x'`` stand at an angle, so that one parameter matrix ``W`` can give them any scores ``z`` and
``z'`` at the same time. A crowd of small rows then moves the noise vector that leads to ``W`` to
wherever the attacker likes it, at almost no curvature. Tables carry multiplicities, so a crowd of
1e15 rows costs one, and every array may have leading axes, so a thousand attacks cost one call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.losses import JointHuber, Loss
from privet.mechanisms import Design

Labels = NDArray[np.int_]
Mask = NDArray[np.bool_]


def allows_opposite_rows(loss: Loss) -> bool:
    """False for lifted features, which are declared to have non-negative inner products."""
    return not (isinstance(loss, JointHuber) and loss.lifted)


@dataclass(frozen=True)
class WeightedTable:
    """Rows ``x`` (..., r, m), class indices ``y`` (..., r) and how often each row occurs.

    A row with a negative count marks a table that needs more rows than there are.
    """

    x: Array
    y: Labels
    times: Array

    def scores(self, weights: Array) -> Array:
        """``W x_i`` for ``W`` of shape (..., K, m): (..., r, K)."""
        return np.asarray(np.einsum("...im,...km->...ik", self.x, weights))

    def gradient(self, loss: Loss, weights: Array) -> Array:
        """Sum of the row gradients at ``W``, (..., K, m). Independent of the risk's kernels."""
        g = loss.gradient(self.scores(weights), loss.targets(self.y))
        return np.asarray(np.einsum("...i,...ik,...im->...km", self.times, g, self.x))

    def hessian(self, loss: Loss, weights: Array) -> Array:
        """``sum_i hess_i (x) x_i x_i^T`` at ``W``, shape (..., K m, K m)."""
        h = loss.hessian(self.scores(weights), loss.targets(self.y))
        outer = np.einsum("...i,...im,...in->...imn", self.times, self.x, self.x)
        full = np.einsum("...iab,...imn->...ambn", h, outer, optimize=True)
        p = weights.shape[-2] * weights.shape[-1]
        return np.asarray(full.reshape(*full.shape[:-4], p, p))

    def log_determinant(self, loss: Loss, weights: Array, ridge: float) -> Array:
        """``log det(ridge I + Hessian)``, shape (...)."""
        full = self.hessian(loss, weights)
        return np.asarray(np.linalg.slogdet(full + ridge * np.eye(full.shape[-1]))[1])

    def __getitem__(self, index: Any) -> WeightedTable:
        return WeightedTable(self.x[index], self.y[index], self.times[index])

    def explicit(self, loss: Loss) -> tuple[Array, NDArray[Any]]:
        """A small table written out: every row as often as it occurs, and its targets."""
        times = self.times.astype(np.int_)
        return np.repeat(self.x, times, axis=0), loss.targets(np.repeat(self.y, times))


@dataclass(frozen=True)
class Pair:
    """Neighbors ``first`` and ``second``, and the output ``weights`` (..., K, m) to look at."""

    first: WeightedTable
    second: WeightedTable
    weights: Array

    @property
    def fits(self) -> Mask:
        """Whether the construction succeeded within ``n`` rows."""
        return np.asarray((self.first.times >= 0.0).all(axis=-1))

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.first[index], self.second[index], self.weights[index])


@dataclass(frozen=True)
class Attacks:
    """What the attacker wants the two rows to look like at the output; ``N`` wishes at once."""

    scores: Array  # z of the row in the first table, (N, K)
    label: Labels
    other_scores: Array  # z' of its replacement in the second table, (N, K)
    other_label: Labels
    angle: Array  # between the two rows
    push: Array  # where the noise is under the first table, in units of its shift
    crowd: Array  # bound on a crowd row's score and on its size: small is stealthy, needs many

    def __len__(self) -> int:
        return len(self.angle)

    def __getitem__(self, index: Any) -> Attacks:
        return Attacks(*(getattr(self, field.name)[index] for field in fields(self)))


def realize(design: Design, attacks: Attacks) -> Pair:
    """The pairs of tables of ``design.n`` rows, in two columns, that realize ``attacks``."""
    bound = design.risk.norm_bound
    cosine, sine = np.cos(attacks.angle), np.sin(attacks.angle)
    x = np.stack([np.full(len(attacks), bound), np.zeros(len(attacks))], axis=-1)
    other = bound * np.stack([cosine, sine], axis=-1)
    # W x = z and W x' = z'
    second = (attacks.other_scores - cosine[:, None] * attacks.scores) / (bound * sine[:, None])
    weights = np.stack([attacks.scores / bound, second], axis=-1)
    return _build(design, (x, other), weights, attacks)


def realize_in_one_column(design: Design, attacks: Attacks) -> Pair:
    """The same in a single column, where ``x' = -x`` (angle above pi/2) or ``x' = x``.

    One column leaves no freedom for the second row: its scores are those of the first, or minus
    those, whatever ``attacks`` says.
    """
    bound = design.risk.norm_bound
    x = np.full((len(attacks), 1), bound)
    other = np.where(attacks.angle > np.pi / 2, -bound, bound)[:, None]
    return _build(design, (x, other), attacks.scores[:, :, None] / bound, attacks)


def _build(design: Design, rows: tuple[Array, Array], weights: Array, attacks: Attacks) -> Pair:
    """Rows ``x`` and ``x'`` (N, m) with the crowd that puts the noise where it is wanted."""
    loss, ridge = design.risk.loss, design.n * design.risk.regularization
    labels = attacks.label, attacks.other_label
    gradient, other_gradient = (
        _row_gradients(loss, np.einsum("nkm,nm->nk", weights, x), label, x)
        for x, label in zip(rows, labels, strict=True)
    )
    # b = crowd + n Lam (c - W) - gradient shall be `push` times b' - b = gradient - other gradient
    shift = attacks.push[:, None, None] * (gradient - other_gradient)
    wanted = gradient + shift + ridge * weights - design.shift.reshape(weights.shape[1:])
    crowd = _crowd(loss, design.risk.norm_bound, weights, wanted, attacks.crowd)
    first, second = (_complete(crowd, x, y, design.n) for x, y in zip(rows, labels, strict=True))
    return Pair(first, second, weights)


def _row_gradients(loss: Loss, scores: Array, labels: Labels, x: Array) -> Array:
    g = loss.gradient(scores, loss.targets(labels))
    return np.asarray(g[:, :, None] * x[:, None, :])


def _complete(crowd: WeightedTable, x: Array, label: Labels, n: int) -> WeightedTable:
    """The crowd, the row in question, and rows of zeros up to ``n``."""
    count = len(x)
    rest = n - 1.0 - crowd.times.sum(axis=1)
    rows = np.concatenate([crowd.x, x[:, None], np.zeros_like(x)[:, None]], axis=1)
    labels = np.concatenate([crowd.y, label[:, None], np.zeros((count, 1), np.int_)], axis=1)
    times = np.concatenate([crowd.times, np.ones((count, 1)), rest[:, None]], axis=1)
    return WeightedTable(rows, labels, times)


def _crowd(loss: Loss, bound: float, weights: Array, wanted: Array, score: Array) -> WeightedTable:
    """Rows along each column whose negative gradients at ``W`` add up to ``wanted`` (N, K, m).

    Near score zero the pulls of the C classes have one positive combination that cancels; enough
    of it makes every count non-negative. Counts are whole numbers.
    """
    count, _, columns = weights.shape
    classes = loss.classes
    largest = np.abs(weights).max(axis=1)  # (N, m)
    size = score[:, None] * np.minimum(bound, 1.0 / np.maximum(largest, 1e-300))
    labels = np.broadcast_to(np.arange(classes), (count, columns, classes))
    at = np.broadcast_to(
        (weights * size[:, None, :]).transpose(0, 2, 1)[:, :, None, :],
        (count, columns, classes, loss.scores),
    )
    pulls = -loss.gradient(at, loss.targets(labels)).transpose(0, 1, 3, 2)  # (N, m, K, C)
    square = np.concatenate([pulls, np.ones((count, columns, 1, classes))], axis=2)
    goals = np.zeros((count, columns, classes, 2))
    goals[:, :, :-1, 0] = wanted.transpose(0, 2, 1) / size[:, :, None]
    goals[:, :, -1, 1] = 1.0
    plain, null = np.moveaxis(np.linalg.solve(square, goals), -1, 0)
    times = np.rint(plain + np.max(-plain / null, axis=-1, keepdims=True) * null)
    times = np.where((null > 0.0).all(axis=-1, keepdims=True), times, -1.0)
    rows = size[:, :, None, None] * np.eye(columns)[None, :, None, :]
    rows = np.broadcast_to(rows, (count, columns, classes, columns))
    return WeightedTable(
        rows.reshape(count, -1, columns), labels.reshape(count, -1), times.reshape(count, -1)
    )


# An independent minimizer for small tables: the auditor does not trust the one it audits.
#
# Newton's method on many tables at once, with a step that is halved until the slope along it has
# fallen. It reads multiplicities, so a crowd of 1e12 rows is as cheap as one.

STEPS = 100
PRECISION = 1e-13
HALVINGS = 40


def minimizers(
    design: Design, table: WeightedTable, start: Array, noise: Array | None = None
) -> Array:
    """``argmin sum of losses + (n Lam/2)|W|^2 + <b, W>`` for each table, shape (..., K, m).

    ``start`` (..., K, m) sets the leading axes; ``noise`` is ``b`` in the same shape.
    """
    weights = np.array(start, dtype=np.float64)
    b = (0.0 if noise is None else noise) - design.shift.reshape(weights.shape[-2:])
    b = np.broadcast_to(b, weights.shape)
    if weights.ndim == 2:
        return np.asarray(_descend(design, table, weights[None], b[None])[0])
    return _descend(design, table, weights, b)


def _descend(design: Design, table: WeightedTable, weights: Array, b: Array) -> Array:
    """Newton steps for the tables that have not converged yet."""
    ridge = design.n * design.risk.regularization
    scale = design.risk.row_gradient + np.abs(b).max(initial=0.0)
    left = np.arange(len(weights))
    for _ in range(STEPS):
        part, at = table[left] if table.x.ndim > 2 else table, weights[left]
        gradient = _gradient(design, part, at, ridge, b[left])
        # relative to what cancels in the gradient: rounding allows no more
        floor = PRECISION * (scale + ridge * np.abs(at).max(axis=(-2, -1)))
        going = np.abs(gradient).max(axis=(-2, -1)) > floor
        if not going.any():
            break
        left, at, gradient = left[going], at[going], gradient[going]
        part = table[left] if table.x.ndim > 2 else table
        hessian = part.hessian(design.risk.loss, at)
        hessian = hessian + ridge * np.eye(hessian.shape[-1])
        flat = gradient.reshape(len(left), -1, 1)
        step = -np.linalg.solve(hessian, flat).reshape(gradient.shape)
        length = _damping(design, part, at, ridge, b[left], gradient, step)
        weights[left] = at + length * step
    return weights


def _gradient(
    design: Design, table: WeightedTable, weights: Array, ridge: float, b: Array
) -> Array:
    return np.asarray(ridge * weights + table.gradient(design.risk.loss, weights) + b)


def _damping(
    design: Design,
    table: WeightedTable,
    weights: Array,
    ridge: float,
    b: Array,
    gradient: Array,
    step: Array,
) -> Array:
    """The largest of 1, 1/2, 1/4, ... at which the slope along the step has not turned upwards."""
    before = np.abs((gradient * step).sum(axis=(-2, -1), keepdims=True))
    t = np.ones_like(before)
    for _ in range(HALVINGS):
        trial = _gradient(design, table, weights + t * step, ridge, b)
        slope = (trial * step).sum(axis=(-2, -1), keepdims=True)
        far = slope > 0.5 * before
        if not far.any():
            break
        t = np.where(far, 0.5 * t, t)
    return np.asarray(t)


# What a check found: one number, what it may be at most, and a sentence.

#: Probability that one statistical check rejects a right sampler.
FALSE_ALARM = 1e-6
# Two ways to compute the same number may differ by this much, relatively.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Finding:
    """The result of one check: ``measured`` must not exceed ``allowed``."""

    check: str
    measured: float
    allowed: float
    sentence: str
    random: bool = False  # whether `measured` depends on random draws

    @property
    def passed(self) -> bool:
        """Whether the check found nothing wrong; a number that is not one never passes."""
        return self.measured <= self.allowed * (1.0 + ROUNDING)

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return f"{verdict}  {self.check}: {self.measured:.4g} (at most {self.allowed:.4g})"


def surprise(check: str, p_value: float, sentence: str) -> Finding:
    """A statistical check: how improbable the draws are under the claim, in powers of ten."""
    measured = math.inf if p_value <= 0.0 else -math.log10(min(p_value, 1.0))
    return Finding(check, measured, -math.log10(FALSE_ALARM), sentence, random=True)
