"""Whether what is measured has the noise that its event states, and a fresh one each time.

Releases of one table with noise from the operating system differ by noise alone: over many pairs
the mean square of their distance is twice that of the stated law. It is computed here from the
event, and not from what drew the noise:

    independent    2 s^2 for each Laplace number          s^2 for each Gaussian one
    spherical      s^2 p (p + 1), Laplace
    cone           s^2 (k + 1) for each entry of two symmetric matrices of side k
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privet._types import Array
from privet.audit.attacks import Finding

#: Pairs of releases; the mean of their squares then misses by a tenth at most, in one case of ten.
PAIRS = 200
#: The least share of the stated mean square that chance leaves, but for one case in a million.
LEAST = 0.5


def spherical_square(noise: str, scale: float, numbers: int) -> float:
    """The mean squared norm of one draw on ``numbers`` coordinates together."""
    return numbers * scale**2 * (1.0 if noise == "gaussian" else numbers + 1.0)


def independent_square(noise: str, scale: float, numbers: int) -> float:
    """That of ``numbers`` draws on one coordinate each."""
    return numbers * scale**2 * (1.0 if noise == "gaussian" else 2.0)


def cone_square(scale: float, side: int) -> float:
    """That of noise in two symmetric matrices."""
    return side * (side + 1) * (side + 1) * scale**2


def noise_finding(
    released: Callable[[], Array], square: float, told: str, pairs: int = PAIRS
) -> Finding:
    """The stated mean square of the noise over the one found, which may be larger by chance."""
    squares = [float(((released() - released()) ** 2).sum()) for _ in range(pairs)]
    found = float(np.mean(squares)) / 2.0
    measured = square / found if found > 0.0 else np.inf
    return Finding("noise", measured, 1.0 / LEAST, told, random=True)
