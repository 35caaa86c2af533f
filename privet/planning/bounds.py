"""What is proved about the price of the noise, with every constant.

``J`` is the regularized empirical risk without noise, ``f*`` its minimizer, ``f`` the release.
``J`` is ``Lam``-strongly convex, and ``A = Lam I + (c/n) sum_i I_K (x) x_i x_i^T`` is at least its
Hessian everywhere; ``A`` has eigenvalues in ``[Lam, M]`` with ``M = Lam + c R^2`` and their mean is
at most ``Lam + c R^2/m``, because ``tr(x x^T) <= R^2``. ``gamma`` is the certified gradient norm of
the computed minimizer, ``r`` the size of the rounding to the public grid.

Objective perturbation. The minimizer has ``grad J = -b/n``, the computed one ``f^`` has
``|grad J| <= G = |b|/n + gamma``. Strong convexity gives ``J(f*) >= J(f^) + <grad J(f^), f* - f^> +
(Lam/2)|f* - f^|^2``; the right side is least at ``f* - f^ = -grad J(f^)/Lam``, hence

    J(f^) - J(f*) <= G^2/(2 Lam)

(half of what Chaudhuri, Monteleoni and Sarwate 2011, section 4.2, state, and with the noise that is
really drawn: their lemma uses epsilon where Algorithm 2 uses what the Jacobian leaves of it). The
gap noise ``g`` and the rounding add at most ``G e + M e^2/2`` with ``e = |g| + r``.

Output perturbation. ``f = f* + u`` with ``|u| <= |noise| + gamma/Lam + r`` and ``grad J(f*) = 0``:

    J(f) - J(f*) <= <u, A u>/2 <= M |u|^2/2

(half of section 4.1). Both lemmas bound the tail by ``d log(d/beta)``; here it is the exact Gamma
or chi quantile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import erfc, gammainccinv, gammaincinv, gammaln, ndtri

from privet._checks import probability
from privet._types import Array
from privet.mechanisms import Design
from privet.mechanisms.gap import NEGLIGIBLE, least_response
from privet.minimize import rounding_floor
from privet.noise import Noise

# The share of the failure probability that the gap noise may use.
GAP_SHARE = 0.01
#: the tail beyond a "95 %" norm
TAIL = 0.05


@dataclass(frozen=True)
class ReleaseNoise:
    """Norm of the release's distance from the minimizer without noise.

    The computed minimizer and the grid move it by ``s = gamma/Lam + r`` more or less.

    ``least``: no table has a smaller mean. With ``f~`` the exact perturbed minimizer and ``H`` the
    mean Hessian between ``f*`` and ``f~``, ``f* - f~ = H^-1 b/n`` and ``H <= A``, so
    ``|f* - f~| >= <b, H^-1 b>/(n |b|) >= <b, A^-1 b>/(n |b|)``. The direction of ``b`` is uniform
    and independent of its norm; the mean is at least ``E|b| tr(A^-1)/(n p)``, and by Jensen's
    inequality ``E|b|/(n (Lam + c R^2/m))``. Gap noise of mean zero does not lower it. The laws of
    ``matrix_noise`` need no more than ``E|b| u u^T`` being a multiple of the identity; noise in the
    shape of a domain has preferred directions, and only ``A <= M`` is left: ``E|b|/(n M)``.

    ``mean``, ``high``: no table has a larger mean, or a larger 95 % quantile: ``H >= Lam``, so
    ``|f* - f~| <= |b|/(n Lam)``, and the gap noise adds its norm. Output perturbation adds its
    noise as it is.
    """

    least: float
    mean: float
    high: float


def release_noise(design: Design) -> ReleaseNoise:
    """Bounds on the noise in the released vector."""
    lam, main, gap = design.risk.regularization, design.main, design.gap
    slack = certified_gradient(design) / lam + grid_rounding(design)
    mean, low = main.expected_norm, main.least_mean_norm
    if gap is None:
        return ReleaseNoise(low - slack, mean + slack, main.norm_quantile(TAIL) + slack)
    most = 1.0 / (design.n * lam)
    least = least_response(design.risk, design.n, design.m)
    if not main.isotropic:
        least = 1.0 / (design.n * smoothness(design))
    high = most * main.norm_quantile((1.0 - GAP_SHARE) * TAIL) + gap.norm_quantile(GAP_SHARE * TAIL)
    return ReleaseNoise(least * low - slack, most * mean + gap.expected_norm + slack, high + slack)


def coefficient_noise(design: Design) -> float:
    """How far noise moves one released parameter at most in 95 of 100 fits, whatever the table.

    With objective perturbation to first order in the noise: see the last paragraph.

    Output perturbation adds its noise as it is: the number is then exact. With objective
    perturbation how far a parameter moves depends on the curvature that the rows give it, which is
    private, and differs between columns: a column that is zero in every row moves by
    ``b_j/(n Lam)``, one that varies much by far less. What holds for all of them is the upper end.

    ``f(b) = argmin J(f) + <b, f>/n`` is Lipschitz with ``1/(n Lam)``, because ``J`` is
    ``Lam``-strongly convex. For Gaussian ``b`` each ``f_j`` therefore strays from its median by
    more than ``t`` at most as often as one coordinate of ``b/(n Lam)`` does (Borell 1975; Sudakov
    and Tsirelson 1978): that is proved. Two steps hold to first order in the noise only: that the
    median is the minimizer without noise, and for Laplace noise, which is Gaussian given its
    random variance, that the median does not depend on that variance. Noise in the shape of a
    domain is taken along its widest direction, with the tails of Laplace's law. The gap noise and
    rounding are added.
    """
    lam, main, gap = design.risk.regularization, design.main, design.gap
    slack = certified_gradient(design) / lam + grid_rounding(design)
    if gap is None:
        return coordinate_quantile(main, TAIL) + slack
    moved = coordinate_quantile(main, (1.0 - GAP_SHARE) * TAIL) / (design.n * lam)
    return moved + coordinate_quantile(gap, GAP_SHARE * TAIL) + slack


def certified_gradient(design: Design) -> float:
    """``gamma``: the tolerance, and a bound on rounding in the computed gradient."""
    linear = 0.0 if design.gap is None else design.main.norm_quantile(NEGLIGIBLE)
    return design.tolerance + rounding_floor(design.n, design.m, design.risk, linear)


def grid_rounding(design: Design) -> float:
    """``r = 2^j sqrt p``: twice the rounding, the rest for a discrete Gaussian's tail."""
    return math.ldexp(math.sqrt(design.parameters), design.exponent)


def smoothness(design: Design) -> float:
    """``M = Lam + c R^2``: no direction has more curvature."""
    return design.risk.regularization + design.risk.row_curvature


def mean_curvature(design: Design) -> float:
    """``Lam + c R^2/m``: no table has more curvature in the mean over directions."""
    return design.risk.regularization + design.risk.row_curvature / design.m


def excess_quantile(design: Design, beta: float) -> float:
    """``J(f) - J(f*)`` is at most this with probability ``1 - beta``, for every table.

    The smaller of the bound above and of Markov's inequality on ``excess_mean``: with output
    perturbation the first knows only the worst direction, the second only the mean.
    """
    beta = probability("beta", beta)
    return min(_by_quantile(design, beta), excess_mean(design) / beta)


def _by_quantile(design: Design, beta: float) -> float:
    lam, gamma = design.risk.regularization, certified_gradient(design)
    rounding = grid_rounding(design)
    if design.gap is None:
        moved = design.main.norm_quantile(beta) + gamma / lam + rounding
        return smoothness(design) * moved**2 / 2.0
    gradient = design.main.norm_quantile((1.0 - GAP_SHARE) * beta) / design.n + gamma
    extra = design.gap.norm_quantile(GAP_SHARE * beta) + rounding
    return gradient**2 / (2.0 * lam) + gradient * extra + smoothness(design) * extra**2 / 2.0


def excess_mean(design: Design) -> float:
    """The mean of ``J(f) - J(f*)`` over the noise is at most this, for every table.

    The same steps in the mean: isotropic noise ``u`` has ``E<u, A u> <= (Lam + c R^2/m) E|u|^2``,
    the gap noise has mean zero given ``b``, and ``sqrt(<u, A u>)`` is a norm.
    """
    lam, gamma = design.risk.regularization, certified_gradient(design)
    rounding = grid_rounding(design)
    root = math.sqrt(smoothness(design))
    if design.gap is None:
        spread = math.sqrt(mean_curvature(design) * squared_norm(design.main))
        return (spread + (gamma / lam + rounding) * root) ** 2 / 2.0
    mean, square = design.main.expected_norm / design.n, squared_norm(design.main) / design.n**2
    extra = math.sqrt(mean_curvature(design) * squared_norm(design.gap)) + rounding * root
    gradient_square = square + 2.0 * gamma * mean + gamma**2
    return gradient_square / (2.0 * lam) + (mean + gamma) * rounding + extra**2 / 2.0


def squared_norm(noise: Noise) -> float:
    """``E|b|^2``: ``p`` coordinates with the same variance."""
    return noise.dimension * noise.coordinate_sd**2


def generalization(design: Design) -> float:
    """``g D/(n Lam)``: how much the risk on new rows can exceed the empirical one, in the mean.

    With ``J~`` the expectation of ``J`` over a row, ``f~`` its minimizer, ``g`` the largest row
    gradient and ``D`` the largest difference of two,

        E J~(f) - J~(f~) <= E[J(f) - J(f*)] + g D/(n Lam)

    over rows drawn independently and the noise. Given the noise the release is the minimizer of a
    strongly convex objective, and replacing a row moves it by at most ``D/(n Lam)``, so the loss of
    a fresh row by at most ``g D/(n Lam)``; and ``E J(f*) <= E J(f~) = J~(f~)``. This puts Theorem 3
    of Pathak and Raj 2010 right, which quotes a theorem for scores that are one number and drops a
    factor two of it. For any reference ``f0`` the true risk without the ridge obeys ``E L~(f) <=
    L~(f0) + (Lam/2)|f0|^2 +`` the same.
    """
    risk = design.risk
    return risk.row_gradient * risk.gradient_difference / (design.n * risk.regularization)


def noise_in_objective(design: Design, size: float) -> float:
    """``size`` of the main noise, a norm, as that of a linear term of the objective.

    ``|b|`` itself, or ``|noise| n Lam`` for output perturbation.
    """
    return size if design.gap is not None else size * design.n * design.risk.regularization


def zero_risk(design: Design) -> float:
    """``J(0)``: what a model that knows nothing loses; an excess above it says nothing."""
    loss = design.risk.loss
    return float(loss.value(np.zeros((1, loss.scores)), loss.targets(np.zeros(1, dtype=int)))[0])


# One coordinate of a fit's noise, alone or on top of a normal number: tails and quantiles.
#
# A coordinate of the Gaussian is normal. The spherical Laplace law in ``R^p`` is a normal law with
# a random variance: with ``g ~ Gamma((p + 1)/2)`` and ``z`` standard normal in ``R^p``, ``scale
# sqrt(2 g) z`` has density proportional to ``|b|^(1/2) K_(1/2)(|b|/scale)``, a multiple of
# ``exp(-|b|/scale)``. So ``X = sqrt(A) z + sqrt(spread) b_1`` has
#
#     Pr(|X| > x) = E erfc(x / sqrt(2 (A + 2 B g))),   B = spread scale^2
#
# a smooth integral over one variable. The trapezoidal rule in ``log g`` computes it to about nine
# digits, and far into the tail to four. ``Noise.mixing`` is twice the shape of ``g``, the degrees
# of freedom of the random variance; other laws have others.

_NODES = 384
_STEPS = 40
# between these quantiles of the variance lies all that a tail above 1e-100 can see
_LOWEST, _HIGHEST = 1e-14, 1e-120


@lru_cache(maxsize=64)
def _variances(degrees: int, count: int = _NODES, highest: float = _HIGHEST) -> tuple[Array, Array]:
    """Nodes, of mean one, and weights of the mixing law ``chi2/degrees``."""
    shape = degrees / 2.0
    low, high = gammaincinv(shape, _LOWEST), gammainccinv(shape, highest)
    t = np.linspace(math.log(low), math.log(high), count)
    weights = np.exp(shape * t - np.exp(t) - gammaln(shape)) * (t[1] - t[0])
    return np.exp(t) / shape, weights / weights.sum()


def mixing_nodes(degrees: int) -> tuple[Array, Array]:
    """The same for mixtures of many laws, with fewer nodes. One where nothing is mixed."""
    return _variances(degrees, 128, 1e-40) if degrees else (np.ones(1), np.ones(1))


def variances(normal: Array, spread: Array, noise: Noise) -> Array:
    """Total variance of each number."""
    return normal + spread * noise.coordinate_sd**2


def quantile(tail: float, normal: Array, spread: Array, noise: Noise) -> Array:
    """The size that each number exceeds in absolute value with probability ``tail``."""
    sd = np.sqrt(variances(normal, spread, noise))
    if not noise.mixing:
        return np.asarray(-float(ndtri(tail / 2.0)) * sd)
    # the tail is convex and falls, so Newton's steps stay left of the root once they are there
    size = -float(ndtri(tail / 2.0)) * sd
    nodes, weights = _variances(noise.mixing)
    total = normal[:, None] + (spread * noise.coordinate_sd**2)[:, None] * nodes
    inverse = 1.0 / np.sqrt(2.0 * np.maximum(total, 1e-300))
    for _ in range(_STEPS):
        scaled = size[:, None] * inverse
        above = erfc(scaled) @ weights - tail
        slope = (np.exp(-(scaled**2)) * inverse) @ weights * (2.0 / math.sqrt(math.pi))
        step = np.where(slope > 0.0, above / np.maximum(slope, 1e-300), 0.0)
        size = np.maximum(size + step, 0.0)
        if bool((np.abs(step) <= 1e-12 * sd).all()):
            break
    return size


def coordinate_quantile(noise: Noise, tail: float) -> float:
    """The size that one coordinate of the noise exceeds with probability ``tail``.

    The noise along its widest direction, where directions differ.
    """
    widest = np.array([(noise.largest_sd / noise.coordinate_sd) ** 2])
    return float(quantile(tail, np.zeros(1), widest, noise)[0])
