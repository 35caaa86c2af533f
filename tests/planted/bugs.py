"""Planted bugs: small, plausible mistakes in a mechanism or its rows, none of them private.

Each is a few lines around the real thing, as a hurried change would make it. The battery must find
every one of them and nothing in the real mechanisms; ``docs/planted-bugs.md`` shows which check
finds what. They live with the tests and are never shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet._types import Targets
from privet.audit.attacks import Finding
from privet.audit.battery import audit_mechanism
from privet.audit.descent_replay import audit_descent
from privet.audit.means_replay import audit_means
from privet.audit.statistics_replay import audit_statistics
from privet.domain import Box, Domain, OneHot
from privet.losses import HuberHinge, HuberResidual, Logistic, Softmax
from privet.mechanisms import (
    ClassMeans,
    Design,
    Mechanism,
    ObjectivePerturbation,
    OutputPerturbation,
    RidgeStatistics,
)
from privet.mechanisms.gradient import GradientDescent
from privet.mechanisms.laplace_rate import exact_rate
from privet.mechanisms.trainer import ReleasedVector
from privet.minimize import minimize
from privet.noise import NOISES, Grouped, Product, SphericalLaplace
from privet.privacy import ZCDP, PureDP
from privet.randomness import InsecureSeed, Randomness
from privet.rows import ArrayRows, Block, Rows, checked_rows
from tests.planted.descent_bugs import LessDescentNoise, NoClip, ShortIntercept, UncountedStep
from tests.planted.means_bugs import NarrowBlocks, OneClassMoves, SharedNoise, UnstampedMeans
from tests.planted.statistics_bugs import OneMoment

Array = NDArray[np.float64]


class LessNoise(ObjectivePerturbation):
    """Draws with nine tenths of the scale that the event states."""

    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """As the real one, with less noise."""
        return super().perturb(rows, _thinner(design), randomness)

    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """As the real one, with less noise."""
        return super().perturb_many(rows, _thinner(design), randomness, k)


def _thinner(design: Design) -> Design:
    return replace(design, main=replace(design.main, scale=0.9 * design.main.scale))


class HalfSensitivity(OutputPerturbation):
    """Takes ``L R/(n Lam)`` for the sensitivity: add-or-remove instead of replace."""

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design with half the sensitivity and half the noise."""
        design = super().design_with(kind, n, m)
        main = replace(design.main, scale=0.5 * design.main.scale)
        half = 0.5 * design.event.sensitivity
        event = replace(design.event, scale=main.scale, sensitivity=half)
        return replace(design, main=main, event=event)


class NormForSquare(ObjectivePerturbation):
    """Bounds a row's curvature by ``c R`` where it is ``c R^2``."""

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design with the rate that ``c R`` would allow."""
        design = super().design_with(kind, n, m)
        q = self.norm_bound / (n * design.risk.regularization)
        a = exact_rate(self.loss, design.event.curves[0].pure, q)
        main = NOISES["laplace"](self.norm_bound / a, design.parameters)
        return replace(design, main=main, event=replace(design.event, scale=main.scale))


class ReusedNoise(ObjectivePerturbation):
    """Keeps the first noise vector and uses it in every run of the process."""

    kept: ClassVar[dict[tuple[str, float, int], Array]] = {}

    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """The minimum under the noise that was drawn first."""
        law = design.main
        key = (law.kind, law.scale, law.dimension)
        b = self.kept.setdefault(key, law.sample(randomness, 1)[0])
        return minimize(
            design.risk, rows, linear=b / rows.n, tolerance=design.tolerance
        ).certified()


class SeededInProduction(ObjectivePerturbation):
    """Draws from a constant seed while the event says private."""

    def run(self, rows: Rows, design: Design | None = None) -> ReleasedVector:
        """The real release, from a generator that somebody seeded for a test and left."""
        design = self.design(rows.n, rows.m) if design is None else design
        value = self.perturb(rows, design, InsecureSeed(42))
        return ReleasedVector(value, design.event, design.numerics)


class FreeIntercept(OutputPerturbation):
    """Does not penalize the last coefficient, as most non-private libraries do by default."""

    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """Minimize with a last column 1000 times longer: a penalty 1e-6 of the declared one."""
        stretched = StretchedRows(rows, 1000.0)
        found = minimize(design.risk, stretched, tolerance=1e-9).certified()
        weights = found.reshape(self.loss.scores, -1).copy()
        weights[:, -1] *= stretched.factor
        return np.asarray(weights.reshape(-1) + design.main.sample(randomness, 1)[0])


class PrivateCenter(OutputPerturbation):
    """Centers the ridge on what the private rows say."""

    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """The minimum of a ridge around the sum of the rows."""
        (total,) = rows.sum(lambda block, y: (block.pull(np.ones((len(y), 1)))[0],))
        return super().perturb(rows, replace(design, center=tuple(total)), randomness)


@dataclass(frozen=True)
class StretchedBlock(Block):
    """A block whose last column is longer than it should be."""

    block: Block
    factor: float

    def _stretch(self, values: Array) -> Array:
        out = np.array(values)
        out[..., -1] *= self.factor
        return out

    def scores(self, weights: Array) -> Array:
        """With the last weight multiplied."""
        return self.block.scores(self._stretch(weights))

    def pull(self, residuals: Array) -> Array:
        """With the last column multiplied."""
        return self._stretch(self.block.pull(residuals))

    def lengths(self) -> Array:
        """Those of the real rows: nothing that is planted asks."""
        return self.block.lengths()

    def gram(self, weights: Array) -> Array:
        """With the last column and row multiplied."""
        return self._stretch(self._stretch(self.block.gram(weights)).T).T


class StretchedRows(Rows):
    """Rows whose last column is multiplied by ``factor``."""

    def __init__(self, rows: Rows, factor: float) -> None:
        self.rows, self.factor, self.n, self.m = rows, factor, rows.n, rows.m

    def blocks(self, stride: int = 1) -> Iterator[tuple[Block, Targets]]:
        """The blocks of the real rows, stretched."""
        for block, targets in self.rows.blocks(stride):
            yield StretchedBlock(block, self.factor), targets


class UnchargedGap(ObjectivePerturbation):
    """Stops far from the minimum, adds no noise for it and does not mention it."""

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """A loose tolerance, no gap noise, no gap in the event."""
        design = super().design_with(kind, n, m)
        event = replace(design.event, curves=design.event.curves[:1])
        tolerance = 1e-3 * design.risk.row_gradient
        return replace(design, tolerance=tolerance, gap=None, event=event)


@dataclass(frozen=True)
class BinarySoftmax(Softmax):
    """Softmax with the gradient bound of logistic loss: ``sqrt2`` forgotten."""

    @property
    def row_gradient_bound(self) -> float:
        """1, though ``|p - e_y|`` reaches ``sqrt2``."""
        return 1.0

    @property
    def difference_bound(self) -> float:
        """2, though it is ``2 sqrt2``."""
        return 2.0

    def privacy_loss_bound(self, a: float, q: float) -> float:
        """The general bound with these numbers."""
        return a * self.difference_bound + self.log_determinant_bound(q)


@dataclass(frozen=True)
class ShortLaplace(SphericalLaplace):
    """Draws the norm from Gamma(p - 1): the polar Jacobian's exponent for the shape."""

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """A norm of the wrong shape times a uniform direction."""
        directions = randomness.normals((k, self.dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = randomness.gammas(k, max(self.dimension - 1, 1))
        return np.asarray(directions * (self.scale * radii)[:, None])


class WrongShape(ObjectivePerturbation):
    """Uses noise whose norm has the wrong Gamma shape."""

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design with the wrong sampler behind the right numbers."""
        design = super().design_with(kind, n, m)
        return replace(design, main=ShortLaplace(design.main.scale, design.main.dimension))


def unclipped_rows(x: Any, targets: Targets, *, norm_bound: float) -> Rows:
    """Rows as they came: the norm bound was declared and then forgotten."""
    del norm_bound
    return ArrayRows(x, targets)


class HalfBox(ObjectivePerturbation):
    """Measures numbers in a box of half its width: the gauge of a row is two."""

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design with the wrong body behind the right scale."""
        design = super().design_with(kind, n, m)
        assert isinstance(design.main, Product)
        return replace(design, main=replace(design.main, domain=design.main.domain.scaled(0.5)))


@dataclass(frozen=True)
class ShortProduct(Product):
    """Draws the radius from Gamma(dim), which is the law of the gauge and not of the radius."""

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """A radius of the wrong shape times a uniform point of the body."""
        points = self.uniform(randomness, k)
        return np.asarray(points * (self.scale * randomness.gammas(k, self.span))[:, None])


class WrongRadius(ObjectivePerturbation):
    """Uses domain-shaped noise whose radius has the wrong Gamma shape."""

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design with the wrong sampler behind the right numbers."""
        design = super().design_with(kind, n, m)
        assert isinstance(design.main, Product)
        main = ShortProduct(design.main.scale, design.main.dimension, design.main.domain)
        return replace(design, main=main)


@dataclass(frozen=True)
class WholeShares(Grouped):
    """Draws each group as if the whole gauge were its own."""

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Every group at the scale itself."""
        out = super().from_words(randomness, k)
        for group in self.groups:
            out[:, group.columns] *= group.share
        return out

    def log_density(self, b: Array) -> Array:
        """The sum of the groups' gauges."""
        parts = [group.law.gauge(b[..., group.columns]) for group in self.groups]
        return np.asarray(-np.sum(parts, axis=0) / self.scale)


class ForgottenShares(ObjectivePerturbation):
    """Gives every group of blocks the noise of the whole budget."""

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design with the wrong law behind the right numbers."""
        design = super().design_with(kind, n, m)
        assert isinstance(design.main, Grouped)
        main = WholeShares(design.main.scale, design.main.dimension, design.main.domain)
        return replace(design, main=main)


def rows_outside(x: Any, targets: Targets, *, norm_bound: float, domain: Any) -> Rows:
    """Rows within the norm bound, but not put into the domain that the noise has the shape of."""
    del domain
    return checked_rows(x, targets, norm_bound=norm_bound)


@dataclass(frozen=True)
class Planted:
    """A bug: its name, one sentence, and what to audit."""

    name: str
    sentence: str
    mechanism: Mechanism | GradientDescent | ClassMeans
    make_rows: Callable[..., Rows] = checked_rows

    def findings(self) -> list[Finding]:
        """The checks that the bug fails."""
        if isinstance(self.mechanism, GradientDescent):
            found = audit_descent(self.mechanism, make_rows=self.make_rows)
        elif isinstance(self.mechanism, ClassMeans):
            found = audit_means(self.mechanism, make_rows=self.make_rows)
        elif isinstance(self.mechanism, RidgeStatistics):
            found = audit_statistics(self.mechanism, make_rows=self.make_rows)
        else:
            found = audit_mechanism(self.mechanism, make_rows=self.make_rows)
        return [each for each in found if not each.passed]


_ONE = PureDP(1.0)
_ROOT = ZCDP(0.5)
_NUMBERS = Domain((Box(2, 0.6),))
_UNLIKE = Domain((Box(1, 0.5), OneHot(2, 0.05)))
_GROUPS = Domain((Box(1, 0.5), OneHot(2, 0.5), OneHot(1, 0.5)))
_BUGS = (
    Planted(
        "noise x 0.9",
        "The sampler uses 0.9 of the scale in the event.",
        LessNoise(Logistic(), _ONE),
    ),
    Planted(
        "sensitivity / 2",
        "The minimizer's sensitivity is taken for add-or-remove neighbors.",
        HalfSensitivity(HuberHinge(), _ONE, regularization=0.5),
    ),
    Planted(
        "R for R^2",
        "A row's curvature is bounded by c R instead of c R^2 (R = 12).",
        NormForSquare(HuberHinge(), _ONE, norm_bound=12.0, calibration="exact"),
    ),
    Planted(
        "forgotten clip",
        "Rows longer than the norm bound are used as they are.",
        OutputPerturbation(HuberHinge(), _ONE),
        unclipped_rows,
    ),
    Planted(
        "re-used noise",
        "One noise vector serves every run of the process.",
        ReusedNoise(Logistic(), _ONE),
    ),
    Planted(
        "free intercept",
        "The last coefficient is not penalized.",
        FreeIntercept(Logistic(), _ONE, regularization=0.1),
    ),
    Planted(
        "center of the rows",
        "The center of the ridge is computed from the private rows.",
        PrivateCenter(Logistic(), _ONE, regularization=0.1),
    ),
    Planted(
        "uncharged gap",
        "The minimizer stops early, and nothing pays for the gap.",
        UnchargedGap(Logistic(), _ONE),
    ),
    Planted(
        "softmax without sqrt 2",
        "Softmax gradients are bounded by 1 instead of sqrt 2.",
        ObjectivePerturbation(BinarySoftmax(3), _ONE),
    ),
    Planted(
        "seed in production",
        "Every run draws from one seed while the event says private.",
        SeededInProduction(Logistic(), _ONE),
    ),
    Planted(
        "wrong Gamma shape",
        "The norm of the noise has shape p - 1 instead of p.",
        WrongShape(Logistic(), _ONE),
    ),
    Planted(
        "half the box",
        "Numbers are measured in a box of half the declared width.",
        HalfBox(Logistic(), _ONE, 1.0, noise="product", domain=_NUMBERS),
    ),
    Planted(
        "wrong radius",
        "The radius of domain-shaped noise has shape dim instead of dim + 1.",
        WrongRadius(Logistic(), _ONE, 1.0, noise="product", domain=_NUMBERS),
    ),
    Planted(
        "shares forgotten",
        "Every group of blocks has the noise of the whole budget.",
        ForgottenShares(Logistic(), _ONE, 1.0, noise="grouped", domain=_UNLIKE),
    ),
    Planted(
        "row outside the domain",
        "Rows are clipped to the norm bound and not put into the domain.",
        ObjectivePerturbation(Logistic(), _ONE, 1.0, noise="hull", domain=_GROUPS),
        rows_outside,
    ),
    Planted(
        "gradients not clipped",
        "The rows' gradients are summed as they are.",
        NoClip(HuberHinge(), _ROOT, steps=8, relative_clip=0.5),
    ),
    Planted(
        "noise of gradients x 0.9",
        "The sampler uses 0.9 of the scale in the event.",
        LessDescentNoise(Logistic(), _ROOT, steps=8, relative_clip=0.5),
    ),
    Planted(
        "a step uncounted",
        "The descent makes one step more than the noise was calibrated for.",
        UncountedStep(HuberHinge(), _ROOT, steps=8, relative_clip=0.5),
    ),
    Planted(
        "clip without the intercept",
        "Gradients are clipped by the norm of the row without its last column.",
        ShortIntercept(HuberHinge(), _ROOT, steps=8, relative_clip=0.5),
    ),
    Planted(
        "one row's moments",
        "Moments of two rows are taken to differ by no more than those of one row are long.",
        OneMoment(HuberResidual(), _ONE),
    ),
    Planted(
        "one class moves",
        "A replaced row is taken to move the sums by its own length, where two rows move.",
        OneClassMoves(Softmax(3), _ONE),
    ),
    Planted(
        "one noise for all classes",
        "The sums of all classes get the same draw.",
        SharedNoise(Softmax(3), _ONE),
    ),
    Planted(
        "narrow blocks",
        "Noise has the shape of a domain of nine tenths of the declared sizes.",
        NarrowBlocks(Softmax(3), _ONE, 1.0, domain=_GROUPS),
    ),
    Planted(
        "class row outside the domain",
        "Rows are clipped to the norm bound and not put into the domain.",
        ClassMeans(Softmax(3), _ONE, 1.0, domain=_GROUPS),
        rows_outside,
    ),
    Planted(
        "seed of class means",
        "The noise comes from a seed while the event says private.",
        UnstampedMeans(Softmax(3), _ONE, insecure_seed=4),
    ),
)

#: Every planted bug by its name; the battery must find each of them.
PLANTED: dict[str, Planted] = {bug.name: bug for bug in _BUGS}
