"""What a release costs at every Renyi order: the curves that composition adds up.

    PureCurve(epsilon)                    any pure mechanism
    GaussianCurve(rho)                    a Gaussian mechanism (continuous or discrete)
    JacobianCurve(family, C, shift, k)    Gaussian objective perturbation, see ``jacobian.py``
    CurvatureCurve(family, C, shift, k)   the same with a smaller rho
    StoppingCurve(eta, gamma, rho)        the best of a random number of runs, see ``stopping.py``
    ConcentratedCurve(rho, loss)          a rho, perhaps a pure epsilon, and no more

A curve is recorded by its parameters, never by sampled values, so that later accountants can read
more out of it than this one does.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri_exp

from privet._checks import number_between
from privet.errors import DeclarationError

Record = TypeVar("Record")

#: Public Renyi orders for conversions: dense enough to lose less than 0.1 % of epsilon.
ORDERS: tuple[float, ...] = tuple(1.0 + np.logspace(-2.0, 5.0, 561))

# A curve's parameters are what a calibration found, shares included: wider ranges than a budget's.
SMALLEST = 1e-300
LARGEST = 1e4
#: Pure losses beyond have odds that no double holds.
FARTHEST = 700.0
#: How far the grids of a numerical composition may reach together, in privacy loss, at its finest
#: step. An event of somebody else's could ask for any time and memory: beyond, the step grows.
WIDEST, STEP = 1e3, 1e-4


@dataclass(frozen=True)
class Curve(ABC):
    """A Renyi curve with its special values."""

    kind: ClassVar[str]

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Bound on the Renyi divergence of this order (> 1) between neighbors."""

    @property
    @abstractmethod
    def pure(self) -> float:
        """Bound on the divergence of infinite order; infinite where there is none."""

    @property
    @abstractmethod
    def zcdp(self) -> float:
        """Smallest known rho with ``renyi(order) <= order rho`` for all orders."""

    @property
    def gdp(self) -> float:
        """Smallest known mu of Gaussian privacy: of a pure epsilon, or infinite.

        ``2 Phi^-1(1/(1 + e^-eps))``: the corner of the pure trade-off lies on the Gaussian one.
        """
        if math.isinf(self.pure):
            return math.inf
        return float(-2.0 * ndtri_exp(-self.pure - math.log1p(math.exp(-self.pure))))

    def epsilon(self, delta: float) -> float:
        """Smallest known epsilon at this delta for a single release."""
        return renyi_epsilon([self], delta)

    def to_json(self) -> dict[str, Any]:
        """Kind and parameters."""
        names = [field.name for field in dataclasses.fields(self)]
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class PureCurve(Curve):
    """A mechanism whose privacy loss never exceeds ``loss``."""

    kind: ClassVar[str] = "pure"
    loss: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", number_between("loss", self.loss, SMALLEST, LARGEST))

    def renyi(self, order: float) -> float:
        """The curve of randomized response, the worst of all pure mechanisms.

        ``log[(sinh(a e) - sinh((a-1) e))/sinh e]/(a-1)`` (Bun and Steinke 2016, Proposition 3.3;
        Mironov 2017), written with exponentials that do not overflow.
        """
        e, a = self.loss, order
        keep = -math.log1p(math.exp(-e))  # log of the larger probability, exp(e)/(1 + exp(e))
        larger, smaller = keep + (a - 1.0) * e, keep - a * e
        # a sum near 1 is known to a few units in the last place; stay above
        exact = (max(larger + math.log1p(math.exp(smaller - larger)), 0.0) + 4e-16) / (a - 1.0)
        return min(exact, e, a * e * e / 2.0)

    @property
    def pure(self) -> float:
        """``loss``."""
        return self.loss

    @property
    def zcdp(self) -> float:
        """``loss^2/2`` (Bun and Steinke 2016, Proposition 1.4)."""
        return self.loss**2 / 2.0

    def epsilon(self, delta: float) -> float:
        """``loss``, whatever delta is."""
        return self.loss


@dataclass(frozen=True)
class GaussianCurve(Curve):
    """A Gaussian mechanism: ``renyi(order) = order rho``, ``rho = sensitivity^2/(2 sigma^2)``.

    ``slack`` is how far in epsilon the profile of a discrete Gaussian may be from the continuous
    one's; its Renyi curve has none.
    """

    kind: ClassVar[str] = "gaussian"
    rho: float
    slack: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", number_between("rho", self.rho, SMALLEST, LARGEST))
        object.__setattr__(self, "slack", number_between("slack", self.slack, 0.0, LARGEST))

    def renyi(self, order: float) -> float:
        """``order rho``."""
        return order * self.rho

    @property
    def pure(self) -> float:
        """Unbounded."""
        return math.inf

    @property
    def zcdp(self) -> float:
        """``rho``."""
        return self.rho

    @property
    def gdp(self) -> float:
        """``sqrt(2 rho)``, and what the slack of a discrete Gaussian adds (``output.proof.md``)."""
        shift = math.sqrt(2.0 * self.rho)
        if self.slack == 0.0:
            return shift
        return shift + 3.0 * self.slack * (1.0 + shift * math.exp(min(shift**2 / 8.0, 600.0)))

    def epsilon(self, delta: float) -> float:
        """The exact profile of the Gaussian mechanism, inverted."""
        return profile_epsilon(math.sqrt(2.0 * self.rho), delta) + self.slack


@dataclass(frozen=True)
class ConcentratedCurve(Curve):
    """``renyi(order) <= min(order rho, loss)``; ``loss`` 0 where there is no pure epsilon.

    The exponential mechanism at ``eps`` has range ``eps``, so it is ``eps^2/8``-zCDP (Cesar and
    Rogers 2021); a sparse vector with Gaussian answers is zCDP by composition. Neither is a
    Gaussian mechanism, whose exact profile would promise too much for them.
    """

    kind: ClassVar[str] = "concentrated"
    rho: float
    loss: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", number_between("rho", self.rho, SMALLEST, LARGEST))
        object.__setattr__(self, "loss", number_between("loss", self.loss, 0.0, LARGEST))

    def renyi(self, order: float) -> float:
        """``order rho``, and never more than the pure epsilon."""
        return min(order * self.rho, self.pure)

    @property
    def pure(self) -> float:
        """``loss``; infinite where it is not known."""
        return self.loss if self.loss > 0.0 else math.inf

    @property
    def zcdp(self) -> float:
        """``rho``."""
        return self.rho


def one_gaussian(curves: Sequence[Curve]) -> list[Curve]:
    """The same with all Gaussian curves as one, which their composition is."""
    several = [curve for curve in curves if isinstance(curve, GaussianCurve)]
    if len(several) < 2:
        return list(curves)
    rho, slack = math.fsum(c.rho for c in several), math.fsum(c.slack for c in several)
    others = [curve for curve in curves if not isinstance(curve, GaussianCurve)]
    return [GaussianCurve(rho, slack), *others]


def gaussian_delta(shift: float, epsilon: float) -> float:
    """The Gaussian mechanism's profile (Balle and Wang 2018, Theorem 8).

    ``delta = Phi(D/2 - e/D) - exp(e) Phi(-D/2 - e/D)``, ``D = sensitivity/sigma``.
    """
    near, far = shift / 2.0 - epsilon / shift, -shift / 2.0 - epsilon / shift
    upper = float(ndtr(near))
    lower = math.exp(min(epsilon + float(log_ndtr(far)), 0.0))
    # a unit in the last place of an argument x moves its tail by x^2 of them; stay above
    slack = 4e-16 * ((1.0 + near * near) * upper + (1.0 + far * far) * lower)
    return max(upper - lower, 0.0) + slack


def profile_epsilon(shift: float, delta: float) -> float:
    """Smallest epsilon >= 0 with ``gaussian_delta(shift, epsilon) <= delta``, from above."""
    if gaussian_delta(shift, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(shift, high) > delta:
        high *= 2.0
    root = brentq(lambda e: gaussian_delta(shift, e) - delta, 0.0, high, xtol=1e-14, rtol=1e-13)
    # above the root by more than the search's tolerance
    return float(root) * (1.0 + 1e-9) + 1e-13


def renyi_epsilon(curves: Iterable[Curve], delta: float) -> float:
    """Smallest epsilon at ``delta`` that the sum of the Renyi curves gives.

    Orders whose bound is infinite are left out. The conversion is dp-accounting's (Canonne, Kamath
    and Steinke 2020, Proposition 12, and its refinements).
    """
    parts = list(curves)
    usable = [(a, total) for a in ORDERS if math.isfinite(total := sum(c.renyi(a) for c in parts))]
    if not usable:
        return math.inf
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon  # slow to import

    orders, values = zip(*usable, strict=True)
    epsilon, _ = compute_epsilon(orders, values, delta)
    return float(epsilon)


def tight_epsilon(curves: Sequence[Curve], delta: float) -> float:
    """Epsilon of a fixed list by numerical composition, where every curve allows it.

    Gaussian curves add to one Gaussian; pure ones compose as randomized response; the privacy loss
    distributions are dp-accounting's, rounded to the pessimistic side.
    """
    from dp_accounting.pld import common, privacy_loss_distribution

    if not all(isinstance(curve, PureCurve | GaussianCurve) for curve in curves):
        return math.inf
    rho = math.fsum(c.rho for c in curves if isinstance(c, GaussianCurve))
    slack = math.fsum(c.slack for c in curves if isinstance(c, GaussianCurve))
    losses = [c.loss for c in curves if isinstance(c, PureCurve)]
    if max(losses, default=0.0) > FARTHEST:  # the other bounds are left
        return math.inf
    if not losses:
        return profile_epsilon(math.sqrt(2.0 * rho), delta) + slack
    # connect-the-dots discretization: exact at the grid points, so a coarse grid loses little
    interval = STEP * max(1.0, _width(losses, rho) / WIDEST)
    parameters = common.DifferentialPrivacyParameters
    total = privacy_loss_distribution.from_privacy_parameters(parameters(losses[0], 0), interval)
    for loss in losses[1:]:
        total = total.compose(
            privacy_loss_distribution.from_privacy_parameters(parameters(loss, 0), interval)
        )
    if rho > 0.0:
        total = total.compose(
            privacy_loss_distribution.from_gaussian_mechanism(
                1.0 / math.sqrt(2.0 * rho), value_discretization_interval=interval
            )
        )
    return float(total.get_epsilon_for_delta(delta)) + slack


def _width(losses: Sequence[float], rho: float) -> float:
    """How far all grids of a composition reach together, each from minus its losses so far.

    A Gaussian's reaches ten deviations beyond its mean, rho, and takes three times the memory.
    """
    pure = math.fsum(accumulate(2.0 * loss for loss in losses))
    return pure + 6.0 * (rho + 10.0 * math.sqrt(2.0 * rho))


def from_fields(kind: type[Record], fields: dict[str, Any]) -> Record:
    """A dataclass from exactly its fields; a record with more or fewer is refused."""
    wanted = sorted(field.name for field in dataclasses.fields(kind))  # type: ignore[arg-type]
    if sorted(fields) != wanted:
        raise DeclarationError(f"A {kind.__name__} record has the fields {', '.join(wanted)}.")
    return kind(**fields)
