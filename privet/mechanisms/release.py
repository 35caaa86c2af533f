"""What a mechanism is: declarations in, an event out; rows in, a release out.

``event(n, m)`` answers the privacy question without data. ``run(rows)`` draws fresh noise and
returns a ``Release``. ``sample(rows, k)`` draws ``k`` releases at once from the same law, for
audits. A mechanism is a frozen value: it holds no rows, no noise and no generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import DeclarationError, InfeasibleBudget, RegularizationRaised, warn
from privet.losses import Loss
from privet.noise import Noise
from privet.privacy import Budget, FitEvent
from privet.randomness import Randomness, source
from privet.risk import RegularisedRisk, norm_bound, positive
from privet.rows import Rows

Array = NDArray[np.float64]
NoiseChoice = Literal["auto", "laplace", "gaussian"]
KINDS = ("laplace", "gaussian")


@dataclass(frozen=True)
class Design:
    """Every number of a release that is fixed before a row is read."""

    risk: RegularisedRisk
    n: int
    m: int
    main: Noise  # in the objective (objective perturbation) or on the minimiser (output)
    tolerance: float  # the gradient norm that the minimiser must reach
    gap: Noise | None  # extra output noise that pays for the gap; None where `main` pays for it
    exponent: int  # the release is rounded to multiples of 2^exponent
    event: FitEvent

    @property
    def parameters(self) -> int:
        """Length of the released vector."""
        return self.risk.parameters(self.m)


@dataclass(frozen=True)
class Release:
    """A released vector with the event that covers it and the words for its arithmetic."""

    value: Array
    event: FitEvent
    numerics: str


@dataclass(frozen=True)
class Mechanism(ABC):
    """A private minimiser of the regularised risk, as a value made of declarations."""

    name: ClassVar[str]

    loss: Loss
    budget: Budget
    norm_bound: float = 1.0
    regularization: float | Literal["auto"] = "auto"
    noise: NoiseChoice = "auto"
    calibration: str | None = None
    insecure_seed: int | None = None

    def __post_init__(self) -> None:
        norm_bound(self.norm_bound)
        if self.regularization != "auto":
            positive("regularization", self.regularization)
        if self.noise not in ("auto", *KINDS):
            raise DeclarationError(
                f"noise must be 'auto', 'laplace' or 'gaussian', got {self.noise!r}."
            )
        if self.noise == "gaussian" and not self.budget.allows_gaussian:
            raise DeclarationError(
                "Gaussian noise has no pure epsilon. Use noise='laplace', or a ZCDP or "
                "ApproxDP budget."
            )
        source(self.insecure_seed)  # refuses a malformed seed

    # -- without data --------------------------------------------------------------------------

    @abstractmethod
    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design for one kind of noise."""

    def design(self, n: int, m: int) -> Design:
        """The design for ``n`` rows of ``m`` columns, with the smaller of the allowed noises."""
        for name, value in (("n", n), ("m", m)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise DeclarationError(f"{name} must be a positive integer, got {value!r}.")
        if self.noise != "auto":
            kinds: tuple[str, ...] = (self.noise,)
        elif not self.budget.allows_gaussian or self.calibration not in (None, "exact"):
            kinds = ("laplace",)  # the papers' calibrations are for this noise
        else:
            kinds = KINDS
        designs, refusals = [], []
        for kind in kinds:
            try:
                designs.append(self.design_with(kind, int(n), int(m)))
            except InfeasibleBudget as refusal:
                refusals.append(refusal)
        if not designs:
            raise refusals[0]
        best = min(designs, key=self.noise_in_gradient)
        self._tell_if_raised(best.risk.regularization)
        return best

    def _tell_if_raised(self, total: float) -> None:
        if self.regularization != "auto" and total > self.regularization:
            warn(
                f"regularization = {self.regularization:g} is below the proven floor for this "
                f"budget and was raised to {total:g}.",
                RegularizationRaised,
                stacklevel=3,
            )

    @abstractmethod
    def noise_in_gradient(self, design: Design) -> float:
        """``E|b|`` of the main noise as a linear term of the objective, to compare two kinds."""

    def event(self, n: int, m: int) -> FitEvent:
        """What a release from ``n`` rows of ``m`` columns costs. Declarations only."""
        return self.design(n, m).event

    # -- with data -----------------------------------------------------------------------------

    @abstractmethod
    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """One private minimiser, on the public grid. Raises NotConverged or returns."""

    @abstractmethod
    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """``k`` independent private minimisers on the same rows, shape (k, p)."""

    @abstractmethod
    def numerics(self, design: Design) -> str:
        """A sentence on what is exact and what is idealised in the arithmetic."""

    def run(self, rows: Rows, design: Design | None = None) -> Release:
        """Draw fresh noise, reach the certified minimum, release. Charge the event before this.

        ``design`` is this mechanism's own for these rows, if the caller has it already.
        """
        design = self.design(rows.n, rows.m) if design is None else design
        value = self.perturb(rows, design, source(self.insecure_seed))
        return Release(value, design.event, self.numerics(design))

    def sample(self, rows: Rows, k: int) -> Array:
        """``k`` releases from the law of ``run``, for audits: it spends the event ``k`` times."""
        design = self.design(rows.n, rows.m)
        return self.perturb_many(rows, design, source(self.insecure_seed), k)
