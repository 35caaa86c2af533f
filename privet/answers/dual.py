"""The minimizer of a kernel risk, to a certified distance.

    J(w) = (1/n) sum_i l(y_i <w, phi(x_i)>) + (Lam/2) |w|^2,     w = sum_j beta_j phi(x_j)

At margins ``m`` of a ``w`` the dual point ``a_i = -l'(m_i)`` gives another expansion,
``w_a = sum_i a_i y_i phi(x_i)/(Lam n)``, and the duality gap is exactly ``(Lam/2) |w - w_a|^2``:
the conjugates cancel by Fenchel and Young. So ``|w - w*| <= sqrt(2 gap/Lam) = |w - w_a|``, a norm
in the kernel's own space that is computed from coefficients, without the difference of two large
values. It is also ``|grad J(w)|/Lam``. Newton's method in that space, its systems solved by
conjugate gradients in the kernel's inner product: one product with the Gram matrix per step, no
factorization. The path that the solver takes is not released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet._types import Array
from privet.errors import DeclarationError, NotConverged
from privet.features.kernel import Kernel, count
from privet.losses.margin import HingeLoss, MarginLoss
from privet.mechanisms.kernel_minimizer import COEFFICIENTS
from privet.risk import RegularizedRisk
from privet.rows.blas import one_thread

# A quadratic phase takes a handful of steps and the damped phase a few dozen; the cap stops only a
# kernel that is not positive semidefinite.
MOST_STEPS = 2_000
MOST_PRODUCTS = 2_000
# Sharp knees are reached by way of wider ones, each solved to this share of L R.
WIDEST_KNEE, SHARPER, ROUGH = 0.5, 0.25, 1e-3
# A system is first solved to this share of its right-hand side. At a sharp knee one row can be
# nearly all of that side, so from this step on every system is solved to the tolerance.
FORCING = 0.01
ROUGH_STEPS = 20
# A step along a direction is at most this long, and Newton's own where the slope has ended there.
LONGEST = 2.0**20
FLAT = 1e-6
# Rows up to which the Gram matrix is held: 22,000 are 3.9 GB in double precision.
LARGEST_HELD = 22_000
BLOCK = 1_000
_UNIT = 2.0**-53


@dataclass(frozen=True)
class Expansion:
    """``w = sum_j beta_j phi(x_j)``: made of training rows, for the curator's memory only."""

    kernel: Kernel
    points: Any
    coefficients: Array
    norm: float
    gradient: float  # certified bound on |grad J|, at most the tolerance

    def __call__(self, z: Any) -> Array:
        """``<w, phi(z_i)>``, a block of rows at a time."""
        out = np.zeros(count(z))
        if not len(self.coefficients):
            return out  # the minimizer is zero: that must look like any other
        step = max(1, (1 << 24) // max(len(self.coefficients), 1))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            out[part] = self.kernel(z[part], self.points) @ self.coefficients
        return out

    def __reduce__(self) -> Any:
        raise TypeError("A kernel minimizer is made of training rows and is not pickled.")


@dataclass
class _State:
    """A point ``w`` of the search: coefficients, its margins' scores and ``|w|^2``."""

    beta: Array
    scores: Array
    square: float


@one_thread
def kernel_minimum(
    risk: RegularizedRisk, kernel: Kernel, x: Any, targets: Array, tolerance: float
) -> Expansion:
    """The minimizer with ``|grad J| <= tolerance`` in the kernel's space; raises or returns.

    ``targets`` are -1 and +1. Memory is ``8 n^2`` bytes up to ``LARGEST_HELD``; beyond that
    the Gram matrix is computed anew for every product.
    """
    if not isinstance(risk.loss, MarginLoss):  # the one family with a scalar dual
        raise DeclarationError("A kernel minimizer is for losses of two classes.")
    gram = Gram(kernel, x)
    state = _State(np.zeros(gram.n), np.zeros(gram.n), 0.0)
    for loss in softened(risk.loss):  # each knee from where the wider one before it ended
        rough = max(tolerance, ROUGH * risk.row_gradient)
        search = _DualSearch(replace(risk, loss=loss), loss, gram, targets)
        state, _ = search.run(state, rough, ROUGH_STEPS)
    search = _DualSearch(risk, risk.loss, gram, targets)
    state, gradient = search.run(state, tolerance, MOST_STEPS)
    if gradient > tolerance or not search.small(state):
        raise NotConverged(
            "The kernel minimizer did not reach its certified gap; nothing is released. Check that "
            "the kernel is positive semidefinite."
        )
    return search.finish(state, x, kernel, gradient)


def softened(loss: MarginLoss) -> list[MarginLoss]:
    """The same hinge with wider knees, widest first: near its own minimum each takes few steps.

    From zero, the rows on a sharp knee would have to be found one by one.
    """
    if not isinstance(loss, HingeLoss):
        return []
    widths = [WIDEST_KNEE * SHARPER**k for k in range(60)]
    return [replace(loss, h=width) for width in widths if width > loss.h / SHARPER]


@dataclass(frozen=True)
class _DualSearch:
    """One problem: everything that the steps of the search share."""

    risk: RegularizedRisk
    loss: MarginLoss
    gram: Gram
    y: Array

    @property
    def n(self) -> int:
        return len(self.y)

    def run(self, state: _State, tolerance: float, most: int) -> tuple[_State, float]:
        """Steps until the gradient is certified below ``tolerance``, at most ``most`` of them."""
        for number in range(most + 1):
            residual, curvature = self.residual(state)
            gradient = self.risk.regularization * self.gram.norm_above(residual)
            if number == most or (gradient <= tolerance and self.small(state)):
                break
            forcing = FORCING if number < ROUGH_STEPS else 0.0
            state = self.step(state, residual, curvature, (forcing, tolerance))
        return state, gradient

    def residual(self, state: _State) -> tuple[Array, Array]:
        """Coefficients of ``w - w_a``, and the losses' curvatures."""
        margins = self.y * state.scores
        dual = -self.y * self.loss.margin_slope(margins) / (self.risk.regularization * self.n)
        return state.beta - dual, self.loss.margin_curvature(margins)

    def small(self, state: _State) -> bool:
        """Whether the coefficients are as small as the public bound on rounding assumes."""
        most = COEFFICIENTS * self.loss.row_gradient_bound / self.risk.regularization
        return float(np.abs(state.beta).sum()) <= most

    def step(
        self, state: _State, residual: Array, curvature: Array, digits: tuple[float, float]
    ) -> _State:
        """A Newton direction and the lowest point of the objective along it."""
        if not self.small(state):  # the dual point is; its step lowers the objective too
            return self.at(state.beta - residual)
        delta, move = self.direction(residual, curvature, *digits)
        return self.at(state.beta + self.length(state, delta, move) * delta)

    def length(self, state: _State, delta: Array, move: Array) -> float:
        """Where the slope of ``J`` along ``delta`` is zero, by bisection.

        The slope grows with the step, and it is computed without a difference of values: it tells
        uphill from downhill where the objective itself has no digits left, as near a sharp knee.
        """
        lam, y = self.risk.regularization, self.y
        cross, square = lam * float(state.beta @ move), lam * float(delta @ move)

        def slope(t: float) -> float:
            pull = self.loss.margin_slope(y * (state.scores + t * move))
            return float((pull * y) @ move) / self.n + cross + t * square

        low, high = 0.0, 1.0
        while slope(high) < 0.0 and high < LONGEST:
            low, high = high, 2.0 * high
        if low == 0.0 and slope(1.0) <= FLAT * abs(slope(0.0)):
            return 1.0  # as good as the bottom: Newton's own step
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
        return 0.5 * (low + high)

    def at(self, beta: Array) -> _State:
        """The state of these coefficients, computed anew: sums of moves would drift."""
        scores = self.gram @ beta
        return _State(beta, scores, max(float(beta @ scores), 0.0))

    def direction(
        self, residual: Array, curvature: Array, forcing: float, tolerance: float
    ) -> tuple[Array, Array]:
        """``(Lam + C K/n) delta = -Lam residual`` by conjugate gradients in ``<u, v> = u'Kv``.

        Returns ``delta`` and ``K delta``. The system is self-adjoint and positive in that inner
        product; each step needs one product with ``K``.
        """
        lam = self.risk.regularization
        r = -lam * residual
        kr = self.gram @ r
        p, kp = r.copy(), kr.copy()
        delta, move = np.zeros(self.n), np.zeros(self.n)
        size = first = max(float(r @ kr), 0.0)
        # a superlinear forcing term, and no more digits than the certificate asks for
        target = first * min(forcing, math.sqrt(first) / self.risk.row_gradient) ** 2
        target = max(target, (0.1 * tolerance) ** 2)
        for _ in range(MOST_PRODUCTS):
            if size <= target:
                break
            image = lam * p + curvature * kp / self.n
            curved = float(kp @ image)
            if curved <= 0.0:  # rounding: nothing is left to gain
                break
            alpha = size / curved
            delta += alpha * p
            move += alpha * kp
            r -= alpha * image
            kr -= alpha * (self.gram @ image)
            size, old = max(float(r @ kr), 0.0), size
            p, kp = r + (size / old) * p, kr + (size / old) * kp
        return delta, move

    def finish(self, state: _State, x: Any, kernel: Kernel, gradient: float) -> Expansion:
        """The expansion without the rows whose coefficient is zero."""
        kept = np.flatnonzero(state.beta)
        points = x[kept] if hasattr(x, "shape") else [x[i] for i in kept]
        return Expansion(kernel, points, state.beta[kept], math.sqrt(state.square), gradient)


class Gram:
    """``K`` of the training rows with its products, held where it fits and else computed anew."""

    def __init__(self, kernel: Kernel, x: Any) -> None:
        self._kernel, self._x, self.n = kernel, x, count(x)
        self._held: Array | None = None
        if self.n <= LARGEST_HELD:
            self._held = np.empty((self.n, self.n))
            for start in range(0, self.n, BLOCK):
                self._held[start : start + BLOCK] = kernel(x[start : start + BLOCK], x)

    def __matmul__(self, v: Array) -> Array:
        if self._held is not None:
            return np.asarray(self._held @ v)
        out = np.empty(self.n)
        for start in range(0, self.n, BLOCK):
            rows = self._kernel(self._x[start : start + BLOCK], self._x)
            out[start : start + BLOCK] = rows @ v
        return out

    def norm_above(self, r: Array) -> float:
        """``sqrt(r'Kr)`` with the rounding of the product on the safe side."""
        total = float(np.abs(r).sum())
        # each of the n sums of n products is off by at most n units of R^2 |r|_1
        slack = 2.0 * self.n * _UNIT * self._kernel.bound * total * total
        square, most = float(r @ (self @ r)), math.sqrt(self._kernel.bound) * total
        if square < -slack:  # not a kernel in floating point: only the bound on it is believed
            return most
        return min(math.sqrt(max(square, 0.0) + slack), most)
