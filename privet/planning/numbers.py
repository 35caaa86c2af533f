"""The numbers of a plan: an unfitted estimator, the size of its table, and what follows from them.

The estimator is the declaration. The design comes from the estimator itself, so a plan cannot
disagree with the fit that follows it: same regularization, same noise, same tolerance, same grid.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from scipy.optimize import brentq

from privet._checks import is_whole
from privet.errors import DeclarationError, quietly
from privet.mechanisms import Design, Mechanism
from privet.noise import Noise
from privet.planning import bounds
from privet.planning.prediction import Typical, typical
from privet.privacy.attacker import attacker_accuracy, odds_factor
from privet.privacy.budget import Budget, as_budget

if TYPE_CHECKING:  # a plan must be light to load, and scikit-learn is not
    from privet.models import Planned, PrivateLinearClassifier

# A declared regularization below every floor, relative to c R^2: shows where the floor is.
PROBE = 1e-30
#: where a budget is searched for
SMALLEST_AMOUNT, LARGEST_AMOUNT = 1e-4, 1e3


@dataclass(frozen=True)
class Declaration:
    """An unfitted estimator and the public size of the table that it would be fitted to.

    Attributes
    ----------
    model : estimator
        ``LogisticRegression``, ``LinearSVC``, ``LargeMarginGaussian`` or a kernel classifier.
    n, d, classes : int
        Rows, columns and classes of the table.
    """

    model: PrivateLinearClassifier = field(
        compare=False
    )  # two plans are equal where their designs are
    n: int
    d: int
    classes: int

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("d", 1), ("classes", 2)):
            object.__setattr__(self, name, at_least(name, getattr(self, name), least))

    @property
    def budget(self) -> Budget:
        """What the fit may cost, with everything that is released before it."""
        return as_budget(self.model.budget)

    @property
    def loss(self) -> str:
        """The loss by its name."""
        return str(getattr(self.model, "loss", "logistic"))

    @property
    def norm_bound(self) -> float:
        """The declared bound of a row; kernel features have norm one."""
        return float(getattr(self.model, "norm_bound", 1.0))

    @cached_property
    def release(self) -> Mechanism:
        """The mechanism that a fit would run, with its own share of the budget."""
        return self._planned.minimizer[0]

    def design(self) -> Design:
        """The design that the fit would have; the plan itself says where ``Lam`` was raised."""
        if self.model.center is not None:
            raise DeclarationError(
                "A plan is for a ridge around zero: what a center is worth depends on how right it "
                "is. Plan without center=, which is no better informed."
            )
        return self._planned.minimizer[1]

    @cached_property
    def one_release(self) -> bool:
        """Whether the fit is all that is released, and nothing shapes its rows before it."""
        return self._planned.event == self._planned.design.event

    @cached_property
    def _planned(self) -> Planned:
        named = named_classes(self.model)
        with quietly():
            return self.model.planned(self.n, self.d, self.classes if named is None else named)

    def floor(self, kind: str) -> float:
        """The smallest regularization that is not raised; 0 where none is."""
        mechanism = self.release
        probe = PROBE * mechanism.loss.curvature_bound * mechanism.norm_bound**2
        used = self.but(regularization=probe, noise=kind).design().risk.regularization
        return used if used > probe else 0.0

    def but(self, **changes: Any) -> Declaration:
        """A copy with some declarations changed: sizes of the table, or the estimator's own."""
        from sklearn.base import clone

        sizes = {name: changes.pop(name) for name in ("n", "d", "classes") if name in changes}
        model = clone(self.model).set_params(**changes)
        return dataclasses.replace(self, model=model, **sizes)

    def with_amount(self, value: float) -> Declaration:
        """A copy whose epsilon (or rho) is ``value``."""
        return self.but(budget=self.budget.with_amount(value))


def named_classes(model: PrivateLinearClassifier) -> NDArray[Any] | None:
    """The classes that an estimator names, also by their weights; None where it names none."""
    from privet.models.inputs import declared_classes

    if model.predicts_numbers:
        return None
    if model.classes is not None and not isinstance(model.classes, str):
        return declared_classes(model.classes)
    return None if not model.class_weight else declared_classes(list(model.class_weight))


def at_least(name: str, value: Any, least: int) -> int:
    """``value`` as an integer of at least ``least``."""
    if not is_whole(value) or value < least:
        raise DeclarationError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


@dataclass(frozen=True)
class PlanNumbers:
    """Everything that follows from declarations and their design; ``Plan`` says what is proved."""

    declared: Declaration
    design: Design

    # -- the noise -----------------------------------------------------------------------------

    @property
    def regularization(self) -> float:
        """``Lam`` that the fit will use."""
        return self.design.risk.regularization

    @cached_property
    def floor(self) -> float:
        """The smallest ``Lam`` that is not raised; 0 where there is no floor."""
        return self.declared.floor(self.main.kind)

    @property
    def raised(self) -> bool:
        """Whether the declared regularization was below the floor."""
        asked = self.declared.model.regularization
        return not isinstance(asked, str) and self.regularization > asked

    @property
    def main(self) -> Noise:
        """The noise: in the objective (``b``), or on the minimizer with output perturbation."""
        return self.design.main

    @property
    def gap(self) -> Noise | None:
        """Extra noise on the release that pays for stopping short of the exact minimum."""
        return self.design.gap

    @cached_property
    def release_noise(self) -> bounds.ReleaseNoise:
        """Bounds on the norm of the noise in the released vector."""
        return bounds.release_noise(self.design)

    @cached_property
    def coefficient_noise(self) -> float:
        """Noise moves a coefficient by at most this in 95 of 100 fits, whatever the table.

        Exact with output perturbation, to first order in the noise with objective perturbation; see
        ``bounds.coefficient_noise``. Of the parameters as they are released; of more than two
        classes, before they are mixed.
        """
        return bounds.coefficient_noise(self.design)

    # -- the price in risk ---------------------------------------------------------------------

    def excess_risk(self, beta: float = bounds.TAIL) -> float:
        """``J(release) - min J`` is at most this with probability ``1 - beta``, for every table.

        Parameters
        ----------
        beta : float, default 0.05
            How often it may be more.

        Returns
        -------
        float
            A risk, in units of the loss.
        """
        return bounds.excess_quantile(self.design, beta)

    @property
    def excess_risk_mean(self) -> float:
        """The mean of ``J(release) - min J`` over the noise is at most this, for every table."""
        return bounds.excess_mean(self.design)

    @property
    def excess_true_risk(self) -> float | None:
        """The mean excess of the regularized risk on new rows is at most this.

        Over noise and rows that are drawn independently; see ``bounds.generalization``. None where
        something that is released before the fit depends on the rows.
        """
        if not self.declared.one_release:
            return None
        return self.excess_risk_mean + bounds.generalization(self.design)

    @property
    def zero_risk(self) -> float:
        """What the model that knows nothing loses: a larger excess bound says nothing."""
        return bounds.zero_risk(self.design)

    @property
    def attacker_accuracy(self) -> float:
        """The best guess, from even odds, which of two records was in the table."""
        return attacker_accuracy(self.declared.budget)

    @property
    def odds_factor(self) -> float | None:
        """By what factor an attacker's odds can change; None for zCDP."""
        return odds_factor(self.declared.budget)

    # -- what to expect ------------------------------------------------------------------------

    @cached_property
    def typical(self) -> Typical:
        """Rough sizes for a table whose columns all vary alike."""
        return typical(self.design)

    @cached_property
    def meeting(self) -> float | None:
        """The epsilon (zCDP: rho) at which noise equals sampling error in an even table.

        At this plan's regularization and kind of noise; None if there is none in a wide range.
        """
        held = self.declared.but(regularization=self.regularization, noise=self.main.kind)

        def log_ratio(log_amount: float) -> float:
            found = typical(held.with_amount(math.exp(log_amount)).design())
            return math.log(found.noise_sd / found.sampling_sd)

        ends = math.log(SMALLEST_AMOUNT), math.log(LARGEST_AMOUNT)
        try:
            if log_ratio(ends[0]) <= 0.0 or log_ratio(ends[1]) >= 0.0:
                return None
        except DeclarationError:
            return None
        return math.exp(float(brentq(log_ratio, *ends, xtol=1e-4)))

    @property
    def half_width(self) -> float:
        """Rough 95 % half-width of a coefficient's interval, in an even table."""
        return self.typical.half_width()

    @property
    def verdict(self) -> str:
        """``comfortable``, ``tight`` or ``hopeless``, by a stated public rule."""
        return self.typical.verdict

    @property
    def verdict_sentence(self) -> str:
        """The verdict and what it means; the rule is ``privet.planning.prediction.RULE``."""
        meaning = {
            "comfortable": "expect nearly the model that you would get without privacy",
            "tight": "expect a noisy model; more rows, fewer columns or more budget help",
            "hopeless": "expect noise; do not spend the budget on this",
        }[self.verdict]
        share = self.typical.noise_to_signal
        return f"{self.verdict}: {meaning} (noise to signal {share:.2g})."
