"""What the private regressors share: a number within declared bounds, in the user's units.

    t       the target's place in ``target_bounds``, clipped to it, as the loss takes it
    theta   the released vector, in units of half the interval (or of the logarithm of a rate)
    coef_   in the target's units: a prediction is ``<coef_, x> + intercept_``, within the bounds

The bounds are a declaration, as the norm bound of the rows is: never measured. How many targets
were outside is told to the curator's terminal and nowhere else.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from privet._checks import as_float, is_number
from privet._types import Array
from privet.errors import DataError, DeclarationError, is_quiet
from privet.ledger import Ledger
from privet.mechanisms import TRAINERS
from privet.mechanisms.trainer import NoiseChoice, ReleasedVector
from privet.models.export import exported
from privet.models.featured import Standardize
from privet.models.fit import Fit
from privet.models.inputs import LOGGER
from privet.models.linear_model import PrivateLinearModel
from privet.models.plain_numbers import LINKS, link_steps, plain_regressor
from privet.models.planned import TrainingTable
from privet.privacy.budget import Budget
from privet.rows.mapped import FeatureMap
from privet.rows.streamed import StreamedLabels
from privet.schema import Schema

LARGEST_BOUND = 1e100


def declared_interval(declared: Any) -> NDArray[np.float64]:
    """``(low, high)`` as an array; refuses what is not an interval of finite numbers."""
    pair = declared if isinstance(declared, tuple | list | np.ndarray) else ()
    ends = [as_float(end) if is_number(end) else np.nan for end in pair]
    if len(ends) != 2 or not -LARGEST_BOUND <= ends[0] < ends[1] <= LARGEST_BOUND:
        raise DeclarationError(
            "target_bounds must be (low, high), two finite numbers with low below high: what the "
            "target can be. Declare what can be known without looking at the rows."
        )
    if ends[1] / 2.0 - ends[0] / 2.0 < sys.float_info.min:  # shares of it would not be numbers
        raise DeclarationError(
            "target_bounds are too close together for floating-point numbers. Give the target in a "
            "smaller unit, so that its interval is longer."
        )
    return np.array(ends)


@dataclass(frozen=True)
class Shares:
    """Targets as shares of their declared interval, clipped to it."""

    low: float
    high: float

    def __call__(self, values: NDArray[Any]) -> Array:
        """From 0 to 1."""
        half = self.high / 2.0 - self.low / 2.0  # an interval of any width is halved first
        shares = (np.clip(values, self.low, self.high) / 2.0 - self.low / 2.0) / half
        return np.asarray(np.clip(shares, 0.0, 1.0))


def _refuse_gaps(targets: NDArray[Any]) -> None:
    if isinstance(targets, StreamedLabels):  # a schema has made numbers of them
        return
    if targets.dtype.kind not in "biuf" or not np.isfinite(targets).all():
        raise DataError(
            "The targets must be finite numbers. Put a declared constant, such as the middle of "
            "the bounds, where one is missing; leaving such rows out would tell about them."
        )


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """Common contract of regressors that are linear in the features or in a public map of them."""

    predicts_numbers: ClassVar[bool] = True
    mechanisms: ClassVar[tuple[str, ...]] = tuple(TRAINERS)

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        target_bounds: Any = None,
        mechanism: str = "objective",
        noise: NoiseChoice = "auto",
        regularization: float | Literal["auto"] = "auto",
        norm_bound: float = 1.0,
        domain: Any = None,
        fit_intercept: bool = True,
        constant: float = 0.5,
        features: FeatureMap | None = None,
        standardize: Standardize | None = None,
        column_bounds: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.budget = budget
        self.target_bounds = target_bounds
        self.mechanism = mechanism
        self.noise = noise
        self.regularization = regularization
        self.norm_bound = norm_bound
        self.domain = domain
        self.fit_intercept = fit_intercept
        self.constant = constant
        self.features = features
        self.standardize = standardize
        self.column_bounds = column_bounds
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _interval(self) -> NDArray[np.float64]:
        """The declared ends of the target."""
        return declared_interval(self.target_bounds)

    def _declared_labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        return self._interval()

    def _counted(self, classes: NDArray[Any] | int) -> tuple[int, tuple[float, ...] | None]:
        self._interval()  # refused before anything else is asked
        if self.standardize in ("unit", "whiten"):
            raise DeclarationError(
                f"standardize={self.standardize!r} changes a row's length, which a number depends "
                "on. Use standardize='private', or None."
            )
        return 2, None

    def _encoded_labels(self, labels: NDArray[Any], declared: NDArray[Any]) -> NDArray[Any]:
        """Shares of the interval; how many targets were outside is for the terminal alone."""
        low, high = declared
        if isinstance(labels, StreamedLabels):
            return cast(Any, replace(labels, coded=Shares(low, high)))
        values = np.asarray(labels, dtype=np.float64)
        outside = int(((values < low) | (values > high)).sum())
        if outside and not is_quiet():
            LOGGER.warning(
                "%d of %d targets are outside target_bounds and were clipped to them. For the "
                "curator's eyes only: if they are many, declare wider bounds.",
                outside,
                len(values),
            )
        return Shares(low, high)(values)

    def read(self, X: Any, y: Any) -> TrainingTable:
        """Rows and targets before a fit; targets must be finite numbers.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        TrainingTable
        """
        table = super().read(X, y)
        _refuse_gaps(table.labels)
        return table

    def revisit(self, X: Any, y: Any) -> Fit[Self]:
        """The rows of a fitted model again; targets must be finite numbers.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        Fit
        """
        again = super().revisit(X, y)
        _refuse_gaps(again.table.labels)
        return again

    def _assumptions(self) -> tuple[str, ...]:
        low, high = self._interval()
        target = f"the target's interval, from {low:g} to {high:g}; values outside are clipped"
        return (*self._told_table(), target)

    # -- releasing -----------------------------------------------------------------------------

    def _publish(self, release: ReleasedVector, fit: Fit[Any]) -> None:
        """Released parameters in the target's units."""
        scores = fit.planned.mechanism.loss.scores
        self._set_weights(release.value.reshape(scores, -1) * self._unit())
        self.intercept_ = self.intercept_ + self._start()
        self._promise(release, fit)

    def _unit(self) -> float:
        """What one unit of a score is in the target's units: half the interval."""
        low, high = self._interval()
        return float(high / 2.0 - low / 2.0)

    def _start(self) -> float:
        """The prediction at score zero: the middle of the interval."""
        low, high = self._interval()
        return float(low / 2.0 + high / 2.0)

    @property
    def target_unit(self) -> float:
        """What one unit of the loss's score is in the target's units."""
        return self._unit()

    @property
    def target_ends(self) -> tuple[float, float]:
        """The declared bounds of the target."""
        low, high = self._interval()
        return float(low), float(high)

    @property
    def changed_words(self) -> str:
        """What a coefficient is a change of."""
        return "prediction"

    @property
    def score_words(self) -> str:
        """What a score is, in words for intervals."""
        return f"prediction, counted from {self._start():g} (the middle of its bounds)"

    # -- predicting ----------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> Array:
        """The predicted number of each row, within the declared bounds.

        Rows are clipped as in training. A model that carries a schema also takes raw tables.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a raw table

        Returns
        -------
        array of shape (n,)
        """
        return np.asarray(np.clip(self._scores(X)[:, 0], *self.classes_))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R^2 on these rows, as scikit-learn computes it. It is NOT private.

        The number is computed from the rows without noise and no guarantee covers it: look at it,
        do not publish it.

        Parameters
        ----------
        X, y : rows and their targets
        sample_weight : array, optional
            Weights of the rows in the mean.

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    @property
    def plain_link(self) -> str:
        """What a prediction is of a score before it is clipped: "identity" or "exp"."""
        return "identity"

    def to_plain(self, coef: Array | None = None, intercept: Array | None = None) -> Any:
        """The released numbers as plain scikit-learn, for rows within the norm bound.

        Parameters
        ----------
        coef, intercept : arrays, default None
            Those of the model, or of rows in another form.

        Returns
        -------
        sklearn.compose.TransformedTargetRegressor
            A linear model, its link, and the clip to the declared bounds.
        """
        check_is_fitted(self, "coef_")
        self.refuse_unscored()
        weights = self.coef_ if coef is None else coef
        offset = self.intercept_ if intercept is None else intercept
        if self.plain_link not in LINKS:
            raise DeclarationError(
                f"A {type(self).__name__} with this loss has no plain form: its prediction is not "
                "one linear score or its exponential. Keep the model file, or export it to MLflow."
            )
        steps = link_steps(self.plain_link, *self.target_ends)
        return plain_regressor(weights[0], float(offset[0]), steps)

    def to_sklearn(self) -> Any:
        """A pipeline of the clipping and a plain scikit-learn regression.

        It predicts what this model predicts, for every row, carries ``guarantee_`` and
        ``statement_``, and refuses to be fitted again.

        Returns
        -------
        sklearn.pipeline.Pipeline
        """
        return exported(self, self.to_plain())

    # -- schemas -------------------------------------------------------------------------------

    def _schema_label(self, schema: Schema) -> dict[str, Any]:
        bounds = schema.target_bounds
        if bounds is None:
            raise DeclarationError(
                "The schema's label has classes. A regression needs a label with low and high."
            )
        if self.target_bounds is not None and tuple(self._interval()) != bounds:
            raise DeclarationError(
                "The model's target_bounds are not the schema's. Leave target_bounds away: the "
                "schema has them."
            )
        return {"target_bounds": bounds}
