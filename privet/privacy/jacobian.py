"""The price of Gaussian objective perturbation: a shifted Gaussian and a Jacobian.

Replacing one row shifts the noise by at most ``D`` standard deviations and multiplies the density
by a ratio of determinants, which depends on ``k = c R^2/(n Lam)``, the curvature one row can have
relative to the regularizer. It is *not* a Gaussian mechanism and must never be accounted as one.

    family        loss                          statement
    margin        non-increasing, two classes   Renyi, zCDP, the Gaussian profile at eps - log(1+k)
    logistic      logistic, two classes         the same, with less than log(1+k), often nothing
    softmax       C > 2 classes                 Renyi, zCDP, (C-1) times the profile at eps - J
    joint_huber   C > 2 classes                 Renyi, zCDP
    residual      regression, both slopes       Renyi, zCDP, twice the profile at eps - log(1+k)
    scores        any loss of several scores    nothing is proved: Gaussian noise is refused

With C = 2 the two multi-class losses are margin losses, softmax the logistic one. Where logistic
loss has its largest slope it has no curvature, so that noise and Jacobian are not dear at the same
scores: what the Jacobian takes of epsilon falls with epsilon and is nothing from about ``8 k`` on.
Curves of logistic fits from before this was proved are recorded as of the family "margin", and are
read as such. Proofs and their status are in
``privet/mechanisms/gaussian_objective.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol

from privet._checks import number_between
from privet.bisection import largest, logistic_maximum
from privet.errors import DeclarationError
from privet.privacy.curves import (
    LARGEST,
    ORDERS,
    SMALLEST,
    Curve,
    gaussian_delta,
    profile_epsilon,
    renyi_epsilon,
)
from privet.privacy.domination import dominated_shift, dominates
from privet.privacy.jacobian_cost import (
    FAMILIES,
    one_sided,
    renyi_cost,
    zcdp_cost,
    zcdp_cost_at,
)

#: families of losses that are functions of one margin
MARGINS = ("margin", "logistic")
#: functions of one score: rank-one Hessians, with slopes of one sign or of both
ONE_SCORE = (*MARGINS, "residual")
#: of mu^2 that the Jacobian may take of a declared regularization, with two classes
MOST_SHARE = 0.7


@dataclass(frozen=True)
class JacobianCurve(Curve):
    """``shift`` D = (gradient difference)/sigma, relative curvature ``k``, C ``classes``."""

    kind: ClassVar[str] = "objective_gaussian"
    family: str
    classes: int
    shift: float
    k: float

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise DeclarationError(
                f"Unknown loss family {self.family!r}; Gaussian objective perturbation is proved "
                f"for {sorted(FAMILIES)}."
            )
        if isinstance(self.classes, bool) or not isinstance(self.classes, int) or self.classes < 2:
            raise DeclarationError(
                f"classes must be an integer of at least 2, got {self.classes!r}."
            )
        if self.family in ONE_SCORE and self.classes != 2:
            raise DeclarationError(f"A loss of one score has 2 classes, got {self.classes}.")
        object.__setattr__(self, "shift", number_between("shift", self.shift, SMALLEST, LARGEST))
        object.__setattr__(self, "k", number_between("k", self.k, 0.0, 1e308))

    @property
    def profile_is_tight(self) -> bool:
        """Margin losses, and two classes: the Gaussian profile holds without a factor."""
        return one_sided(self.family, self.classes)

    @property
    def has_profile(self) -> bool:
        """Whether ``delta`` is a theorem; joint Huber with C > 2 converts its Renyi bound."""
        return self.profile_is_tight or self.family in ("softmax", "residual")

    @property
    def can_be_free(self) -> bool:
        """Whether a small enough ``k`` costs no epsilon in the profile: logistic loss."""
        return self.classes == 2 and self.family in ("logistic", "softmax")

    def renyi(self, order: float) -> float:
        """``order D^2/2`` plus what the Jacobian costs at this order."""
        return order * self.shift**2 / 2.0 + renyi_cost(self.family, self.classes, self.k, order)

    @property
    def pure(self) -> float:
        """Unbounded."""
        return math.inf

    @property
    def zcdp(self) -> float:
        """``D^2/2 + constant k^2``."""
        return self.shift**2 / 2.0 + zcdp_cost(self.family, self.classes, self.k)

    def delta(self, epsilon: float) -> float:
        """The profile: the smallest proven delta at ``epsilon``; 1 where no profile is proved.

        The two half-steps (add the new row, remove the old one) add up to the Gaussian profile
        without a factor once ``epsilon - J >= D^2/4``; below, the elementary factor 2 remains.
        """
        left = self.left_for_noise(epsilon)
        if not self.has_profile or left < 0.0:
            return 1.0
        factor = self._factor * (1.0 if left >= self.shift**2 / 4.0 else 2.0)
        return min(1.0, factor * gaussian_delta(self.shift, left))

    @property
    def _factor(self) -> float:
        """Of delta, in the Gaussian profile: one for each vertex of the gradients' hull but 0."""
        return 2.0 if self.family == "residual" else float(self.classes - 1)

    def jacobian_cost(self, left: float) -> float:
        """``J``, what the Jacobian takes of epsilon where ``left`` remains for the noise.

        Of ``left`` the row that is removed gets ``a = left/2 + D^2/8`` (all, below ``D^2/4``). For
        logistic loss its noise and its determinant cost ``max { a t + log(1 + 4 k t (1-t)) }`` over
        the slope ``t``, which is ``a`` if ``a >= 4 k``.
        """
        if self.classes > 2:
            freedom = self.classes - 1
            return freedom * math.log1p(2.0 * self.k / self.classes)
        if not self.can_be_free:
            return math.log1p(self.k)
        a = min(left, left / 2.0 + self.shift**2 / 8.0)
        return max(logistic_maximum(a, 4.0 * self.k) - a, 0.0)

    def left_for_noise(self, epsilon: float) -> float:
        """What the Jacobian leaves of ``epsilon``; negative where it takes all."""
        free = epsilon - self.jacobian_cost(epsilon)
        if free == epsilon or self.jacobian_cost(0.0) == self.jacobian_cost(epsilon):
            return free
        if self.jacobian_cost(0.0) > epsilon:
            return -1.0
        return largest(lambda left: left + self.jacobian_cost(left) <= epsilon, epsilon)

    def epsilon(self, delta: float) -> float:
        """The smaller of the profile's epsilon and the converted Renyi bound."""
        profile = math.inf
        if self.has_profile:
            doubled = profile_epsilon(self.shift, delta / (2.0 * self._factor))
            single = max(profile_epsilon(self.shift, delta / self._factor), self.shift**2 / 4.0)
            left = min(doubled, single)
            profile = left + self.jacobian_cost(left)
        if self.profile_is_tight:
            return profile
        return min(profile, renyi_epsilon([self], delta))


class CurvatureCurve(JacobianCurve):
    """The same release with its rho by ``z(k)``, which is smaller than the constant of all ``k``.

    A kind of its own, because what was recorded before keeps its meaning.
    """

    kind: ClassVar[str] = "objective_gaussian_at_k"

    def renyi(self, order: float) -> float:
        """The smaller of the bound by eigenvalues or constant, and of the line of this rho."""
        return min(super().renyi(order), order * self.zcdp)

    @property
    def zcdp(self) -> float:
        """``D^2/2 + z(k) k^2``."""
        return self.shift**2 / 2.0 + zcdp_cost_at(self.family, self.classes, self.k)


class Curved(Protocol):
    """What the price depends on: the public facts of a loss, a frozen value."""

    def __hash__(self) -> int:
        """Equal facts have equal prices."""

    @property
    def jacobian_family(self) -> str:
        """Which proof covers it."""

    @property
    def classes(self) -> int:
        """C."""

    @property
    def curvature_bound(self) -> float:
        """c."""


# -- how much noise a budget asks for, and how much regularization -----------------------
#
#     rho-zCDP       D = sqrt(2 (rho - z k^2)), z falling with k
#     (eps, delta)   the largest D whose profile (or converted Renyi bound) keeps delta
#     mu-Gaussian    the largest D whose whole profile is below the Gaussian one (domination.py);
#                    it is mu^2/2-zCDP, too
#
# The floor of the regularization leaves the Jacobian a tenth of the budget, or another share; for
# logistic loss under (eps, delta) it is where the Jacobian costs nothing.


def curve_of(loss: Curved, shift: float, q: float) -> JacobianCurve:
    """The curve of noise with this shift at ``q = R^2/(n Lam)``."""
    return JacobianCurve(loss.jacobian_family, loss.classes, shift, loss.curvature_bound * q)


def curve_of_rho(loss: Curved, shift: float, q: float) -> CurvatureCurve:
    """The same under zCDP, where its rho counts."""
    return CurvatureCurve(loss.jacobian_family, loss.classes, shift, loss.curvature_bound * q)


def shift_within_rho(loss: Curved, q: float, rho: float) -> float:
    """The largest ``D`` of at most ``rho`` together with the Jacobian; 0 if there is none."""
    if loss.jacobian_family not in FAMILIES:
        return 0.0
    left = rho - zcdp_cost_at(loss.jacobian_family, loss.classes, loss.curvature_bound * q)
    return math.sqrt(2.0 * left) * (1.0 - 1e-15) if left > 0.0 else 0.0


def shift_within_delta(loss: Curved, q: float, epsilon: float, delta: float) -> float:
    """The largest ``D`` whose profile or Renyi bound keeps ``delta``; 0 if there is none."""
    if loss.jacobian_family not in FAMILIES:
        return 0.0
    by_profile = largest(lambda shift: curve_of(loss, shift, q).delta(epsilon) <= delta)
    k = loss.curvature_bound * q
    return max(by_profile, renyi_shift(loss.jacobian_family, loss.classes, k, epsilon, delta))


def shift_within_mu(loss: Curved, q: float, mu: float) -> float:
    """The largest ``D`` with all of its profile below ``G_mu``; 0 where that has a factor."""
    if not one_sided(loss.jacobian_family, loss.classes):
        return 0.0
    curve = curve_of(loss, mu, q)
    return dominated_shift(mu, curve.k, logistic=curve.can_be_free)


@lru_cache(maxsize=256)
def floor_within_mu(loss: Curved, share: float, mu: float) -> float:
    """The largest ``q`` at which ``1 - share`` of ``mu^2`` is left for the noise."""
    if not one_sided(loss.jacobian_family, loss.classes):
        return 0.0
    shift, free = mu * math.sqrt(1.0 - share), curve_of(loss, mu, 0.0).can_be_free
    if not dominates(mu, shift, 1e-12 * mu, logistic=free):
        return 0.0  # a large mu, beyond what is computed
    most = largest(lambda k: dominates(mu, shift, k, logistic=free), mu)
    return most / loss.curvature_bound


def floor_within_rho(loss: Curved, allowed: float) -> float:
    """The largest ``q`` whose Jacobian costs at most ``allowed``."""
    most = largest(lambda k: zcdp_cost_at(loss.jacobian_family, loss.classes, k) <= allowed)
    return most / loss.curvature_bound


@lru_cache(maxsize=256)
def most_share_of_rho(loss: Curved, rho: float) -> float:
    """What the Jacobian takes of ``rho`` where ``k D`` is largest, between .4 and ``MOST_SHARE``.

    With less regularization than there the noise grows faster than the regularization falls.
    """

    def left(k: float) -> float:
        return k * k * (rho - zcdp_cost_at(loss.jacobian_family, loss.classes, k))

    best = largest(lambda k: left(1.001 * k) > left(k), math.sqrt(rho))
    share = zcdp_cost_at(loss.jacobian_family, loss.classes, best) / rho
    return min(max(share, 0.4), MOST_SHARE)


@lru_cache(maxsize=256)
def floor_within_delta(loss: Curved, share: float, epsilon: float, delta: float) -> float:
    """By what it takes of epsilon where there is a profile, else by the noise of the rest.

    Nothing, where nothing can be had: a smaller ridge was measured to be worse.
    """
    bare = curve_of(loss, 1.0, 0.0)
    share = 0.0 if bare.can_be_free else share
    rest = (1.0 - share) * epsilon
    if bare.has_profile:
        shift = largest(lambda shift: gaussian_delta(shift, rest) <= delta)
        allowed = share * epsilon
        return largest(lambda q: curve_of(loss, shift, q).jacobian_cost(rest) <= allowed)
    family, classes = loss.jacobian_family, loss.classes
    wanted = renyi_shift(family, classes, 0.0, rest, delta)

    def leaves_enough(q: float) -> bool:
        return renyi_shift(family, classes, loss.curvature_bound * q, epsilon, delta) >= wanted

    return largest(leaves_enough)


def renyi_shift(family: str, classes: int, k: float, epsilon: float, delta: float) -> float:
    """The largest ``D`` whose Renyi bound converts to (epsilon, delta); 0 if there is none.

    The bound is ``order D^2/2`` plus a term without ``D``, so each order is solved for ``D``
    (conversion: Canonne, Kamath and Steinke 2020, Proposition 12).
    """
    best = 0.0
    for order in ORDERS:
        spare = math.log1p(-1.0 / order) - math.log(delta * order) / (order - 1.0)
        left = epsilon - renyi_cost(family, classes, k, order) - spare
        best = max(best, 2.0 * left / order)
    return math.sqrt(best)
