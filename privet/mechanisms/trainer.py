"""What fits the parameters of a model: its design, and what every trainer declares.

A ``Trainer`` is a ``Release`` of one vector of parameters. A ``Mechanism`` is a trainer that
minimizes the regularized risk, with noise in the objective or on the minimizer; gradient descent is
another one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from privet._checks import norm_bound, positive, positive_whole
from privet._types import Array
from privet.domain import Domain
from privet.errors import DeclarationError, InfeasibleBudget, RegularizationRaised, warn
from privet.losses import Loss
from privet.mechanisms.release import Draw, Release, ReleaseDesign, draw, grid_draw
from privet.noise import Noise
from privet.privacy import Budget, FitEvent
from privet.privacy.kinds import GradientEvent, MeansEvent
from privet.randomness import Randomness, source
from privet.risk import RegularizedRisk
from privet.rows import Rows

NoiseChoice = Literal[
    "auto",
    "laplace",
    "sphere",
    "gaussian",
    "domain",
    "product",
    "hull",
    "grouped",
    "matrix laplace",
    "class product",
    "class laplace",
    "class hull",
]
KINDS = ("laplace", "gaussian")
#: laws of sums by class, which no minimizer has
OF_SUMS = ("class laplace", "class hull")
#: Scores this large are certain of their class, whatever the row.
LONGEST_CENTER = 1e6
#: What ``noise=`` may ask for: by name, or "domain", the best of those that a domain shapes.
CHOICES = get_args(NoiseChoice)


class VectorDesign(ReleaseDesign):
    """The design of a released parameter vector."""

    event: FitEvent | GradientEvent | MeansEvent

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Length of the released vector."""


@dataclass(frozen=True)
class Design(VectorDesign):
    """The design of a private minimizer."""

    risk: RegularizedRisk
    n: int
    m: int
    main: Noise  # in the objective (objective perturbation) or on the minimizer (output)
    tolerance: float  # the gradient norm that the minimizer must reach
    gap: Noise | None  # extra output noise that pays for the gap; None where `main` pays for it
    exponent: int  # the release is rounded to multiples of 2^exponent
    event: FitEvent
    domain: Domain | None = None  # what is declared of the rows beside their norm
    center: tuple[float, ...] | None = None  # what the ridge pulls to; None: zero

    @property
    def shift(self) -> Array:
        """``n Lam c``: what a public center ``c`` adds to the noise in the objective."""
        zero = (0.0,) * self.parameters
        return self.n * self.risk.regularization * np.array(self.center or zero)

    @property
    def parameters(self) -> int:
        """Length of the released vector."""
        return self.risk.parameters(self.m)

    @property
    def constants(self) -> dict[str, Any]:
        """How near to the minimum the release is, and the noise that pays for the rest."""
        gap = {} if self.gap is None else {"gap_scale": self.gap.scale}
        center = {} if self.center is None else {"center_norm": math.hypot(*self.center)}
        return {"tolerance": self.tolerance, **gap, **center}

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The main noise, and what pays for the gap."""
        if self.gap is None:
            return (grid_draw(self.main, self.exponent),)
        return draw(self.main), draw(self.gap)

    @property
    def numerics(self) -> str:
        """Exact where Gaussian noise is added to the minimizer, idealized otherwise.

        Noise in the objective needs a density, so it is a floating-point sample.
        """
        if self.gap is not None:
            how = f"idealized numerics: floating-point {self.main.kind} noise, release rounded to"
        elif self.main.kind == "gaussian":
            how = "exact discrete Gaussian on"
        else:
            how = "idealized numerics: floating-point spherical Laplace rounded to"
        return f"{how} the grid 2^{self.exponent}; conditional on convergence of the minimizer"


@dataclass(frozen=True)
class ReleasedVector:
    """A released vector with the event that covers it and the words for its arithmetic."""

    value: Array
    event: FitEvent | GradientEvent | MeansEvent
    numerics: str


@dataclass(frozen=True)
class Trainer(Release):
    """What fits the parameters of a linear model: a private minimizer, or gradient descent."""

    loss: Loss
    budget: Budget
    norm_bound: float = 1.0
    regularization: float | Literal["auto"] = "auto"
    noise: NoiseChoice = "auto"
    calibration: str | None = None
    insecure_seed: int | None = None
    #: what is declared of the rows beside their norm, constant column included
    domain: Domain | None = None
    #: the public point that the ridge pulls to, as one vector of parameters; None: zero
    center: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        norm_bound(self.norm_bound)
        if self.domain is not None and self.domain.norm > self.norm_bound * (1.0 + 1e-9):
            raise DeclarationError(
                f"Rows of the declared domain have norms up to {self.domain.norm:g}, above "
                f"norm_bound = {self.norm_bound:g}."
            )
        if self.regularization != "auto":
            positive("regularization", self.regularization)
        source(self.insecure_seed)  # refuses a malformed seed

    def center_norm(self, m: int) -> float:
        """``|c|``; refuses a center that does not fit rows of ``m`` columns."""
        if self.center is None:
            return 0.0
        if len(self.center) != self.loss.scores * m:
            raise DeclarationError(
                f"The center has {len(self.center)} numbers, but the model has "
                f"{self.loss.scores * m} parameters."
            )
        found = math.hypot(*self.center)
        if not found <= LONGEST_CENTER / self.norm_bound:
            raise DeclarationError(
                "The center must be finite, and its scores of declared rows at most "
                f"{LONGEST_CENTER:g}."
            )
        return found

    @abstractmethod
    def design(self, n: int, m: int) -> VectorDesign:
        """The design for ``n`` rows of ``m`` columns."""

    @abstractmethod
    def perturb(self, rows: Rows, design: Any, randomness: Randomness) -> Array:
        """One private vector of parameters, on the public grid."""

    def run(self, rows: Rows, design: Any = None) -> ReleasedVector:
        """Draw fresh noise and release. Charge the design's event before this.

        ``design`` is this trainer's own for these rows, if the caller has it already.
        """
        design = self.design(rows.n, rows.m) if design is None else design
        value = self.perturb(rows, design, source(self.insecure_seed))
        return ReleasedVector(value, design.event, design.numerics)


@dataclass(frozen=True)
class Mechanism(Trainer):
    """A private minimizer of the regularized risk.

    ``run(rows)`` draws fresh noise and releases; ``sample(rows, k)`` draws ``k`` releases at once
    from the same law, for audits.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in CHOICES:
            raise DeclarationError(
                "noise must be 'auto', 'laplace' (also called 'sphere'), 'gaussian' or 'domain', "
                f"got {self.noise!r}."
            )
        if self.noise == "gaussian" and not self.budget.allows_gaussian:
            raise DeclarationError(
                "Gaussian noise has no pure epsilon. Use noise='laplace', or a ZCDP, GDP or "
                "ApproxDP budget (on the command line --rho, --mu or --delta)."
            )

    # -- without data --------------------------------------------------------------------------

    @abstractmethod
    def design_with(self, kind: str, n: int, m: int) -> Design:
        """The design for one kind of noise."""

    @property
    def shaped(self) -> tuple[str, ...]:
        """The laws of noise with a shape of their own that are proved for these declarations."""
        return ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The laws that were asked for; the one with the least effect is taken."""
        if self.noise == "auto":
            if self.calibration not in (None, "exact"):
                return ("laplace",)  # the papers' calibrations are for this noise
            gaussian = ("gaussian",) if self.budget.allows_gaussian else ()
            return "laplace", *self.shaped, *gaussian
        if self.noise in KINDS:
            return (self.noise,)
        if self.noise == "sphere":
            return ("laplace",)
        if self.noise in OF_SUMS:
            raise DeclarationError(
                f"noise={self.noise!r} is that of mechanism='means'. Use noise='auto'."
            )
        found = tuple(kind for kind in self.shaped if self.noise in (kind, "domain"))
        if not found or (self.noise == "domain" and self.domain is None):
            raise DeclarationError(
                f"noise={self.noise!r} is for objective perturbation of rows with a declared "
                "domain, or of more than two classes. Declare domain=, or use noise='auto'."
            )
        return found

    def design(self, n: int, m: int) -> Design:
        """The design for ``n`` rows of ``m`` columns, with the smaller of the allowed noises."""
        n, m = positive_whole("n", n), positive_whole("m", m)
        if self.domain is not None and self.domain.columns != m:
            raise DeclarationError(
                f"The declared domain has {self.domain.columns} columns, but the rows have {m}."
            )
        designs, refusals = [], []
        for kind in self.kinds:
            try:
                designs.append(self.design_with(kind, n, m))
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
        """One private minimizer, on the public grid. Raises NotConverged or returns."""

    @abstractmethod
    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """``k`` independent private minimizers on the same rows, shape (k, p)."""

    def sample(self, rows: Rows, k: int) -> Array:
        """``k`` releases from the law of ``run``, for audits: it spends the event ``k`` times."""
        design = self.design(rows.n, rows.m)
        return self.perturb_many(rows, design, source(self.insecure_seed), k)
