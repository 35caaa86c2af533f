"""The curve of a mechanism of which a rho is known, and perhaps a pure epsilon, but no more.

The exponential mechanism at ``eps`` has range ``eps``, so it is ``eps^2/8``-zCDP (Cesar and Rogers
2021); a sparse vector with Gaussian answers is zCDP by composition. Neither is a Gaussian
mechanism, whose exact profile would promise too much for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privet.privacy.budget import amount
from privet.privacy.curves import LARGEST, SMALLEST, Curve


@dataclass(frozen=True)
class ConcentratedCurve(Curve):
    """``renyi(order) <= min(order rho, loss)``; ``loss`` 0 where there is no pure epsilon."""

    kind: ClassVar[str] = "concentrated"
    rho: float
    loss: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", amount("rho", self.rho, LARGEST, SMALLEST))
        object.__setattr__(self, "loss", amount("loss", self.loss, LARGEST, 0.0))

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
