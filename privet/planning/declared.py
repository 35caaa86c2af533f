"""What a plan is made from: the declarations of a fit, checked, and the design they lead to.

The designs come from the mechanisms themselves, so a plan cannot disagree with the fit that
follows it: same regularisation, same noise, same tolerance, same grid.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privet._checks import norm_bound
from privet.errors import DeclarationError, quietly
from privet.losses import HuberHinge, JointHuber, Logistic, Loss, SmoothHinge, Softmax
from privet.mechanisms import MECHANISMS, Design, Mechanism
from privet.mechanisms.release import NoiseChoice
from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP

# A declared regularisation below every floor, relative to c R^2: shows where the floor is.
PROBE = 1e-30

#: Loss by name and number of classes, as the linear models choose it.
_TWO: dict[str, Callable[[float], Loss]] = {
    "logistic": lambda h: Logistic(),
    "huber": HuberHinge,
    "smooth_hinge": SmoothHinge,
}
_MANY: dict[str, Callable[[int, float], Loss]] = {
    "logistic": lambda classes, h: Softmax(classes),
    "huber": JointHuber,
}
#: The number of a budget that a curve or a search may vary.
AMOUNTS: dict[type[Budget], str] = {PureDP: "epsilon", ApproxDP: "epsilon", ZCDP: "rho"}


@dataclass(frozen=True)
class Declared:
    """Every declaration that the size of the noise depends on."""

    n: int
    d: int
    budget: Budget
    loss: str
    classes: int
    mechanism: str
    noise: NoiseChoice
    regularization: float | Literal["auto"]
    norm_bound: float
    fit_intercept: bool
    h: float

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("d", 1), ("classes", 2)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        if self.mechanism not in MECHANISMS:
            raise DeclarationError(_one_of("mechanism", MECHANISMS, self.mechanism))
        if isinstance(self.regularization, str) and self.regularization != "auto":
            raise DeclarationError(
                f"regularization must be a positive number or 'auto', got {self.regularization!r}."
            )
        norm_bound(self.norm_bound)
        self.release  # noqa: B018  refuses what the mechanism or the loss refuses

    # -- what the declarations mean ------------------------------------------------------------

    @property
    def columns(self) -> int:
        """``m``: the features, and one constant column where there is an intercept."""
        return self.d + bool(self.fit_intercept)

    @property
    def row_norm(self) -> float:
        """``R``: the norm bound of a row with its constant column."""
        return float(self.norm_bound) * (math.sqrt(2.0) if self.fit_intercept else 1.0)

    @property
    def row_loss(self) -> Loss:
        """The loss that the linear models would use."""
        if self.loss not in _TWO:
            raise DeclarationError(_one_of("loss", _TWO, self.loss))
        if self.classes == 2:
            return _TWO[self.loss](self.h)
        if self.loss not in _MANY:
            raise DeclarationError(
                f"loss={self.loss!r} is for two classes; more need 'logistic' or 'huber'."
            )
        return _MANY[self.loss](self.classes, self.h)

    @property
    def release(self) -> Mechanism:
        """The mechanism that a fit with these declarations would run."""
        return MECHANISMS[self.mechanism](
            loss=self.row_loss,
            budget=self.budget,
            norm_bound=self.row_norm,
            regularization=self.regularization,
            noise=self.noise,
        )

    def design(self) -> Design:
        """Its design; the plan itself says where the regularisation was raised."""
        with quietly():
            return self.release.design(self.n, self.columns)

    def design_with(self, kind: str) -> Design:
        """The design with this kind of noise."""
        return self.release.design_with(kind, self.n, self.columns)

    def floor(self, kind: str) -> float:
        """The smallest regularisation that is not raised; 0 where none is."""
        probe = PROBE * self.row_loss.curvature_bound * self.row_norm**2
        used = self.but(regularization=probe).design_with(kind).risk.regularization
        return used if used > probe else 0.0

    # -- the same declarations with one of them changed ----------------------------------------

    def but(self, **changes: Any) -> Declared:
        """A copy with some declarations changed."""
        return dataclasses.replace(self, **changes)

    def with_amount(self, value: float) -> Declared:
        """A copy whose epsilon (or rho) is ``value``."""
        return self.but(budget=dataclasses.replace(self.budget, **{self.amount_name: value}))

    @property
    def amount_name(self) -> str:
        """``epsilon`` or ``rho``: what this kind of budget is measured in."""
        return AMOUNTS[type(self.budget)]

    @property
    def amount(self) -> float:
        """Epsilon or rho."""
        return float(getattr(self.budget, self.amount_name))


def whole(name: str, value: Any, least: int) -> int:
    """``value`` as an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise DeclarationError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def _one_of(name: str, known: dict[str, Any], value: Any) -> str:
    return f"{name} must be {' or '.join(repr(key) for key in sorted(known))}, got {value!r}."
