"""Private gradient descent: noisy sums of clipped gradients, and the mean of the steps taken.

    w_0      the public center (zero where none is declared)
    s_t      the sum over the rows of their gradients at w_t, each clipped to norm C, plus noise
    w_(t+1)  w_t - eta (s_t/n + Lam (w_t - w_0)), kept within a public ball
    release  the mean of w_1, ..., w_T with weights 1, 2, ..., T

Guarantee
---------
Replace-one neighbors of the same size. At any ``w`` two rows' clipped gradients are at most
``S = min(2 C, D R)`` apart (``D R``: the loss's gradient difference; clipping is a projection and
brings no two points further apart). Each ``s_t`` is a Gaussian mechanism of sensitivity ``S``, and
the next query depends on the rows through the sums before it alone, so that ``T`` of them with
``S/sigma = mu/sqrt T`` are mu-Gaussian private, exactly (Dong, Roth and Su 2022, Corollary 3.3):
one Gaussian mechanism of ``rho = T S^2/(2 sigma^2)``, with that mechanism's profile. No convexity,
no convergence and no floor of the regularization is needed. ``S`` is widened by what the computed
sums can lose to rounding and by the grid of the exact discrete noise. Proof: ``gradient.proof.md``.

Steps, step size, clip and ridge are public rules of rows, parameters, classes and budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privet._checks import positive, positive_whole
from privet._types import Array, Targets
from privet.errors import DeclarationError
from privet.grid import grid_exponent
from privet.mechanisms.descent_rules import Schedule, schedule
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.output import output_curve, unit_rate
from privet.mechanisms.release import Draw, add_noise, grid_draw
from privet.mechanisms.trainer import Trainer, VectorDesign
from privet.minimize import clip_rounding, gradient_rounding
from privet.noise import NOISES, Noise
from privet.privacy.event import not_private
from privet.privacy.kinds import GradientEvent
from privet.randomness import Randomness
from privet.risk import RegularizedRisk
from privet.rows import Rows
from privet.rows.engine import Block, Parts

THEOREM = "privet/mechanisms/gradient.proof.md (Dong, Roth and Su 2022, Corollary 3.3)"


@dataclass(frozen=True)
class DescentDesign(VectorDesign):
    """The design of a private gradient descent."""

    risk: RegularizedRisk
    n: int
    m: int
    schedule: Schedule
    noise: Noise  # on the sum of the clipped gradients, in each step
    radius: float  # steps are kept within this distance of the center
    exponent: int  # noisy sums are multiples of 2^exponent
    event: GradientEvent
    center: tuple[float, ...] | None = None  # where the descent starts; None: at zero

    @property
    def start(self) -> Array:
        """The center as an array."""
        return np.array(self.center or (0.0,) * self.parameters)

    @property
    def parameters(self) -> int:
        """Length of the released vector."""
        return self.risk.parameters(self.m)

    @property
    def constants(self) -> dict[str, Any]:
        """What the event does not have."""
        told = self.schedule
        center = {} if self.center is None else {"center_norm": math.hypot(*self.center)}
        numbers = {"steps": told.steps, "step": told.step, "clip": told.clip}
        return {**numbers, "radius": self.radius, **center}

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One in each step."""
        return (grid_draw(self.noise, self.exponent),) * self.schedule.steps

    @property
    def numerics(self) -> str:
        """All noise is exact; the descent is arithmetic on noisy sums."""
        return f"exact discrete Gaussian on the grid 2^{self.exponent}"


@dataclass(frozen=True)
class GradientDescent(Trainer):
    """The weighted mean of noisy gradient steps; None takes the public rule's number."""

    name: ClassVar[str] = "gradient"

    steps: int | None = None
    #: in units of one over the largest curvature of a row
    relative_step: float | None = None
    #: in units of the largest gradient of a row
    relative_clip: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.budget.allows_gaussian:
            raise DeclarationError(
                "mechanism='gradient' adds Gaussian noise, which has no pure epsilon. Use a ZCDP, "
                "GDP or ApproxDP budget (on the command line --delta, --rho or --mu), or "
                "mechanism='objective'."
            )
        if self.noise not in ("auto", "gaussian") or self.calibration not in (None, "exact"):
            raise DeclarationError(
                "mechanism='gradient' has Gaussian noise and one calibration: leave noise='auto' "
                "and calibration=None."
            )
        for what in ("relative_step", "relative_clip"):
            if getattr(self, what) is not None:
                positive(what, getattr(self, what))
        if self.steps is not None:
            positive_whole("steps", self.steps)

    # -- without data --------------------------------------------------------------------------

    def design(self, n: int, m: int) -> DescentDesign:
        """Schedule, sensitivity, noise and event from declarations."""
        n, m = positive_whole("n", n), positive_whole("m", m)
        plan = schedule(
            self.loss,
            self.budget,
            self.norm_bound,
            n,
            m,
            regularization=self.regularization,
            steps=self.steps,
            relative_step=self.relative_step,
            relative_clip=self.relative_clip,
        )
        risk = RegularizedRisk(self.loss, plan.regularization, self.norm_bound)
        p = risk.parameters(m)
        curve = output_curve("gaussian", self.budget, p * plan.steps)
        unit = math.sqrt(plan.steps) / unit_rate(curve)
        exact = clipped_difference(risk, plan.clip)
        radius = plan.reach(NOISES["gaussian"](2.0 * unit * exact, p).norm_quantile(NEGLIGIBLE) / n)
        farthest = self.center_norm(m) + radius
        rounding = gradient_rounding(n, m, risk, farthest) + clip_rounding(m, risk)
        sensitivity = exact + 2.0 * n * rounding
        exponent = grid_exponent(unit * sensitivity)
        sensitivity += math.ldexp(math.sqrt(p), exponent)
        noise = NOISES["gaussian"](unit * sensitivity, p)
        event = GradientEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(curve,),
            noise="gaussian",
            scale=noise.scale,
            sensitivity=sensitivity,
            n=n,
            columns=m,
            regularization=plan.regularization,
            theorem="; for ".join(filter(None, (THEOREM, self.loss.assumption))),
            why_not_private=not_private(self.insecure_seed),
        )
        return DescentDesign(risk, n, m, plan, noise, radius, exponent, event, self.center)

    # -- with data -----------------------------------------------------------------------------

    def pull(self, rows: Rows, design: DescentDesign, point: Array) -> Array:
        """The exact sum of the rows' clipped gradients at ``point``: private, for the noise."""
        (total,) = rows.sum(clipped_gradients, design.risk, design.schedule.clip, point)
        return total

    def descend(
        self, rows: Rows, design: DescentDesign, randomness: Randomness
    ) -> Iterator[tuple[Array, Array]]:
        """Each step's noisy sum and the point after it: what the proof counts as released."""
        plan, start = design.schedule, design.start
        point = start
        for _ in range(plan.steps):
            noisy = add_noise(
                self.pull(rows, design, point), design.noise, design.exponent, randomness
            )
            way = point - start
            way = way - plan.step * (noisy / design.n + plan.regularization * way)
            length = float(np.linalg.norm(way))
            point = start + way * min(1.0, design.radius / max(length, design.radius))
            yield noisy, point

    def perturb(self, rows: Rows, design: DescentDesign, randomness: Randomness) -> Array:
        """The mean of the points, later ones weighing more: arithmetic on noisy sums."""
        total = np.zeros(design.parameters)
        for turn, (_, point) in enumerate(self.descend(rows, design, randomness), 1):
            total += turn * point
        return np.asarray(total * (2.0 / (design.schedule.steps * (design.schedule.steps + 1))))


def clipped_difference(risk: RegularizedRisk, clip: float) -> float:
    """``min(2 C, D R)``: how far apart two rows' clipped gradients can be."""
    return min(2.0 * clip, risk.gradient_difference)


def clipped_gradients(
    block: Block, y: Targets, risk: RegularizedRisk, clip: float, point: Array
) -> Parts:
    """The sum of the rows' gradients at ``point``, each shortened to norm ``clip``.

    A row's gradient is ``g (x) x``, of norm ``|g| |x|``.
    """
    slopes = risk.loss.gradient(block.scores(point.reshape(risk.loss.scores, -1)), y)
    if clip < risk.row_gradient:
        # one score: its size is its norm, at a third of the time
        sizes = np.abs(slopes[:, 0]) if slopes.shape[1] == 1 else np.linalg.norm(slopes, axis=1)
        norms = sizes * block.lengths()
        np.maximum(norms, clip, out=norms)
        slopes = slopes * np.divide(clip, norms, out=norms)[:, None]
    return (block.pull(slopes).ravel(),)
