"""Class means: noisy sums of the rows of each class, and the linear rule that they give.

Guarantee
---------
Replace-one neighbors of the same size ``n``; more than two classes; pure epsilon. The query is the
sum over the rows of ``e_y (x) x``: each row is in the sum of its own class alone. A replaced row
takes ``x`` out of one sum and puts ``x'`` into one, so the sums move by at most

    2 R    adding up Euclid's norms over the classes, for rows of norm at most R
    2      adding up the gauges of the hull of a declared domain, for rows of the domain

and noise of density ``exp(-(|b_1| + ... + |b_C|)/scale)`` with ``scale = S/eps`` hides that.
There is no minimizer, no Jacobian and no regularization. On the tables that were measured the noise
is 0.3 to 0.5 of that in the objective for rows of a domain, 0.5 to 0.8 for rows at norm 1. The
sums know nothing of how columns move together, which the minimum of an objective does, so where
noise is small that is better. ``S`` is widened by what the computed sums can lose to rounding. The
scores (``class_rule.py``) are computed from noisy sums and public numbers. Proof:
``means.proof.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privet._checks import positive_whole
from privet._types import Array, Targets
from privet.domain import Domain, OneHot
from privet.errors import DeclarationError
from privet.grid import grid_exponent
from privet.losses import Loss, Softmax
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms.class_rule import counting, linear_scores
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.moments import ROUNDING
from privet.mechanisms.release import Draw, add_noise, draw
from privet.mechanisms.trainer import Trainer, VectorDesign
from privet.noise import ClassHull, ClassLaplace
from privet.privacy.curves import PureCurve
from privet.privacy.event import not_private
from privet.privacy.kinds import MeansEvent
from privet.randomness import Randomness
from privet.rows import Rows
from privet.rows.engine import Block, Parts

THEOREM = "privet/mechanisms/means.proof.md (K-norm noise: Hardt and Talwar 2010)"
#: The gauge of what rounding does to a class's sums, in units of that to one block (step 4).
HULL_STRETCH = 3.0


@dataclass(frozen=True)
class MeansDesign(VectorDesign):
    """The design of noisy sums by class."""

    loss: Loss
    n: int
    m: int
    norm_bound: float
    noise: ClassLaplace | ClassHull
    exponent: int  # noisy sums are multiples of 2^exponent
    event: MeansEvent

    @property
    def parameters(self) -> int:
        """Length of the released vector."""
        return self.loss.scores * self.m

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One, for all classes."""
        return (draw(self.noise),)

    @property
    def numerics(self) -> str:
        """The noise is a floating-point sample; the scores are arithmetic on noisy sums."""
        return (
            f"idealized numerics: floating-point {self.noise.kind} noise, noisy sums rounded to "
            f"the grid 2^{self.exponent}"
        )


@dataclass(frozen=True)
class ClassMeans(Trainer):
    """Linear scores from noisy sums of the rows of each class.

    ``loss`` says how many classes there are and how scores are released; it is not minimized.
    """

    name: ClassVar[str] = "means"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget.kind != "pure":
            raise DeclarationError(
                "mechanism='means' is for pure epsilon. Use a PureDP budget (on the command line "
                "--epsilon without --delta), or mechanism='gradient' or 'objective'."
            )
        if not isinstance(self.loss, Softmax):
            raise DeclarationError(
                "mechanism='means' is for more than two classes without class weights. Use "
                "mechanism='objective'."
            )
        kind = ClassLaplace.kind if self.domain is None else ClassHull.kind
        left = self.calibration is None and self.regularization == "auto" and self.center is None
        if not left or self.noise not in ("auto", kind):
            raise DeclarationError(
                "mechanism='means' minimizes nothing and has one noise: leave noise='auto', "
                "regularization='auto', calibration=None and center=None."
            )
        if self.domain is not None and not self.domain.has_constant:
            raise DeclarationError(
                "mechanism='means' counts the rows of each class: with domain= it needs "
                "fit_intercept=True, or categories that are never missing."
            )

    # -- without data --------------------------------------------------------------------------

    def law(self, scale: float, m: int) -> ClassLaplace | ClassHull:
        """The noise of this scale."""
        classes = self.loss.classes
        if self.domain is None:
            return ClassLaplace(scale, classes * m, classes)
        return ClassHull(scale, classes * m, classes, self.domain)

    def sensitivity(self, n: int) -> float:
        """``2 R``, or 2 in the gauge of the hull, and what rounding can do to two tables' sums."""
        if self.domain is None:
            return 2.0 * self.norm_bound * (1.0 + n * ROUNDING)
        return 2.0 * (1.0 + HULL_STRETCH * n * ROUNDING)

    def design(self, n: int, m: int) -> MeansDesign:
        """Sensitivity, noise and event from declarations."""
        n, m = positive_whole("n", n), positive_whole("m", m)
        if self.domain is not None and self.domain.columns != m:
            raise DeclarationError(
                f"The declared domain has {self.domain.columns} columns, but the rows have {m}."
            )
        sensitivity, epsilon = self.sensitivity(n), self.budget.laplace_epsilon
        noise = self.law(sensitivity / epsilon, m)
        largest = n * self.norm_bound + noise.norm_quantile(NEGLIGIBLE)
        event = MeansEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(PureCurve(epsilon),),
            noise=noise.kind,
            scale=noise.scale,
            sensitivity=sensitivity,
            n=n,
            columns=m,
            theorem=THEOREM,
            why_not_private=not_private(self.insecure_seed),
        )
        exponent = grid_exponent(noise.least_sd, largest)
        return MeansDesign(self.loss, n, m, self.norm_bound, noise, exponent, event)

    # -- with data -----------------------------------------------------------------------------

    def query(self, rows: Rows) -> Array:
        """The sums of the rows of each class, (C, m): a curator's intermediate."""
        (total,) = rows.sum(class_sums, self.loss.classes)
        return np.asarray(total)

    def noisy_sums(
        self, rows: Rows, design: MeansDesign, randomness: Randomness, k: int = 1
    ) -> Array:
        """``k`` noisy sums on the grid, (k, C, m): what is released; all else is computed from it.

        Columns that the hull's own sums give are computed from the others, not looked at.
        """
        exact = np.tile(self.query(rows).ravel(), (k, 1))
        noisy = add_noise(exact, design.noise, design.exponent, randomness)
        found = noisy.reshape(k, self.loss.classes, design.m)
        return found if self.domain is None else completed(found, self.domain)

    def solution(self, sums: Array, design: MeansDesign) -> Array:
        """The released vector of noisy sums, (C, m)."""
        scores = linear_scores(sums, design.n, design.noise, design.norm_bound)
        return np.asarray((sum_zero_basis(self.loss.classes).T @ scores).ravel())

    def perturb(self, rows: Rows, design: MeansDesign, randomness: Randomness) -> Array:
        """Noisy sums, and the scores that they give."""
        return self.solution(self.noisy_sums(rows, design, randomness)[0], design)


def class_sums(block: Block, y: Targets, classes: int) -> Parts:
    """Sums of a block's rows by class."""
    return (block.pull(np.asarray(np.arange(classes) == y[:, None], dtype=np.float64)),)


def completed(sums: Array, domain: Domain) -> Array:
    """Sums of the rows of a domain, with the last cell of each complete block from the others.

    All complete blocks of a row add up alike; what rounding leaves of the difference is not
    covered by noise, which adds up alike too, so it is not read.
    """
    out = np.array(sums)
    counts, seen = sums @ counting(domain), False
    for block, at in domain.parts():
        if isinstance(block, OneHot) and not block.missing:
            if seen:
                others = out[..., at][..., :-1].sum(axis=-1)
                out[..., at.stop - 1] = block.size * counts - others
            seen = True
    return out
