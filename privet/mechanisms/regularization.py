"""How much regularisation: the public default rule, and the floor below which proofs get dear.

    default     Lam = tau R E|b_0| / n
    floor       Lam_0 = R^2/(n q_0), q_0 the largest relative row norm the calibration accepts

``b_0`` is the noise at infinite regularisation: ``E|b_0| = D R p/eps`` for spherical Laplace and
``sigma_0 sqrt p`` for Gaussian noise, ``D`` the loss's difference bound and ``p`` the number of
parameters. The rule compares the noise's pull on a row's score with the regulariser and obeys the
unit law: (a X, a R, a^2 Lam) is the same problem. It reads no data, so it costs nothing.
"""

from __future__ import annotations

from typing import Literal

from privet.errors import DeclarationError
from privet.losses import Loss

#: tau by mechanism, kind of noise and whether there are more than two classes
TAU: dict[tuple[str, str, bool], float] = {
    ("objective", "laplace", False): 0.1,
    ("objective", "laplace", True): 0.05,
    ("objective", "gaussian", False): 0.015,
    ("objective", "gaussian", True): 0.015,
    ("output", "laplace", False): 0.4,
    ("output", "laplace", True): 0.25,
    ("output", "gaussian", False): 0.4,
    ("output", "gaussian", True): 0.25,
}

# Above this multiple of c R^2 the minimiser is zero to working precision.
LARGEST_RELATIVE = 1e12


def default_regularization(
    mechanism: str, kind: str, loss: Loss, norm_bound: float, expected_noise: float, n: int
) -> float:
    """``tau R E|b_0| / n``."""
    tau = TAU[mechanism, kind, loss.classes > 2]
    return tau * norm_bound * expected_noise / n


def regularization_floor(norm_bound: float, n: int, largest_q: float) -> float:
    """``Lam_0 = R^2/(n q_0)``."""
    return norm_bound**2 / (n * largest_q)


def choose_regularization(
    declared: float | Literal["auto"], default: float, floor: float, loss: Loss, norm_bound: float
) -> float:
    """The total regularisation: declared or default, never below ``floor``, never absurd."""
    if declared == "auto":
        return max(default, floor)
    ceiling = LARGEST_RELATIVE * loss.curvature_bound * norm_bound**2
    if declared > ceiling:
        raise DeclarationError(
            f"regularization = {declared:g} leaves nothing to learn. Use 'auto', or a value "
            f"below {ceiling:g}."
        )
    return max(float(declared), floor)
