"""How much regularization: the public default rule, and the floor below which proofs get dear.

    default     Lam = tau R^2 s^k,    s = E|b_0|/(n R)
    floor       Lam_0 = R^2/(n q_0), q_0 the largest relative row norm the calibration accepts

``b_0`` is the noise at infinite regularization: ``E|b_0| = D R p/eps`` for spherical Laplace and
``sigma_0 sqrt p`` for Gaussian noise, ``D`` the loss's difference bound and ``p`` the number of
parameters. ``s`` compares the noise with what all rows together can pull, and the rule obeys the
unit law: (a X, a R, a^2 Lam) is the same problem. It reads no data, so it costs nothing.

With ``k = 1`` noise and regularizer pull a row's score equally far whatever ``n`` is. Measured
(``reproduce/default_rule.md``), Laplace noise in the objective wants more than that where it is
large and less where it is small, ``k = 3/2``; Gaussian noise with two classes, under (eps, delta)
where the floor is low, ``k = 1.3``; for the others 1 is best or as good.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from privet.errors import DeclarationError
from privet.losses import Loss


class Rule(NamedTuple):
    """``Lam = tau R^2 s^power``."""

    tau: float
    power: float = 1.0


#: by mechanism, kind of noise and whether there are more than two classes
RULES: dict[tuple[str, str, bool], Rule] = {
    ("objective", "laplace", False): Rule(0.4, 1.5),
    ("objective", "laplace", True): Rule(0.12, 1.5),
    ("objective", "gaussian", False): Rule(0.2, 1.3),
    ("objective", "gaussian", True): Rule(0.015),
    ("output", "laplace", False): Rule(0.4),
    ("output", "laplace", True): Rule(0.25),
    ("output", "gaussian", False): Rule(0.4),
    ("output", "gaussian", True): Rule(0.25),
}

#: of a loss of regression, by mechanism and kind of noise: its curvature is one, and a number is
#: shrunk to the middle of its bounds, which costs more than a smaller margin does
NUMBER_RULES: dict[tuple[str, str], Rule] = {
    ("objective", "laplace"): Rule(30.0, 2.0),
    ("objective", "gaussian"): Rule(30.0, 2.0),
    ("output", "laplace"): Rule(1.0),
    ("output", "gaussian"): Rule(1.0),
}

# Above this multiple of c R^2 the minimizer is zero to working precision; below the other one the
# noise on a minimizer is longer than numbers can tell.
LARGEST_RELATIVE, SMALLEST_RELATIVE = 1e12, 1e-30


def default_regularization(
    mechanism: str, kind: str, loss: Loss, norm_bound: float, expected_noise: float, n: int
) -> float:
    """``tau R^2 s^k`` with ``s = E|b_0|/(n R)``.

    Of regressions ``tau c R^2 (s/(c u))^k``: a loss in other units, or of scores that reach ``u``
    as far, is the same problem. ``c`` and ``u`` are one for the losses that the rule was set with.
    """
    share = expected_noise / (n * norm_bound)
    if loss.family in ("residual", "scores"):
        rule, c = NUMBER_RULES[mechanism, kind], loss.curvature_bound
        return rule.tau * c * norm_bound**2 * math.pow(share / (c * loss.reach), rule.power)
    rule = RULES[mechanism, kind, loss.classes > 2]
    return rule.tau * norm_bound**2 * math.pow(share, rule.power)


def regularization_floor(norm_bound: float, n: int, largest_q: float) -> float:
    """``Lam_0 = R^2/(n q_0)``."""
    return norm_bound**2 / (n * largest_q)


def choose_regularization(
    declared: float | Literal["auto"], default: float, floor: float, loss: Loss, norm_bound: float
) -> float:
    """The total regularization: declared or default, never below ``floor``, never absurd."""
    if declared == "auto":
        return max(default, floor)
    ceiling = LARGEST_RELATIVE * loss.curvature_bound * norm_bound**2
    if declared > ceiling:
        raise DeclarationError(
            f"regularization = {declared:g} leaves nothing to learn. Use 'auto', or a value "
            f"below {ceiling:g}."
        )
    return max(float(declared), floor)


def expect_more_than_noise(regularization: float, loss: Loss, norm_bound: float) -> None:
    """Refuse a minimizer so free that its noise is longer than numbers can tell."""
    least = SMALLEST_RELATIVE * loss.curvature_bound * norm_bound**2
    if regularization < least:
        raise DeclarationError(
            f"regularization = {regularization:g} leaves nothing but noise. Use 'auto', or a value "
            f"above {least:g}."
        )
