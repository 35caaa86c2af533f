"""Private linear, robust and Poisson regression with scikit-learn's contract."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privet._checks import positive
from privet._types import Array
from privet.errors import DeclarationError, quietly
from privet.ledger import Ledger
from privet.losses import HuberResidual, Loss, PoissonRate
from privet.mechanisms import TRAINERS, GradientDescent, Mechanism, RidgeStatistics, Trainer
from privet.mechanisms.trainer import KINDS, NoiseChoice
from privet.models.featured import Standardize
from privet.models.regressor import PrivateLinearRegressor
from privet.privacy.budget import Budget
from privet.rows.mapped import FeatureMap

#: The knee of the Huber loss where none is declared, in half widths of the target's interval.
KNEE = 0.5
#: A declared knee is at most this many half widths, and at least one over it: beyond, all residuals
#: are on one side of it and its square may not be a number.
MOST_KNEE = 1e6
#: Noisy statistics are taken where their noise in the mean gradient, times the columns, is at most
#: this, in half widths of the interval: then least squares itself is worth more than the smaller
#: noise of a robust loss. A column of many is short, so that noise in its direction counts more.
NEGLIGIBLE = 0.02


class RobustRegressor(PrivateLinearRegressor):
    """A regressor by the Huber loss, least squares up to a knee."""

    knee: float | None

    def _loss(self, n_classes: int) -> Loss:
        if self.knee is None:
            return HuberResidual(KNEE)
        share = positive("knee", self.knee) / self._unit()
        if not 1.0 / MOST_KNEE <= share <= MOST_KNEE:
            raise DeclarationError(
                "knee is a residual in the target's units, and this one is more than "
                f"{MOST_KNEE:,.0f} times shorter or longer than half of target_bounds. Leave it "
                "out, or declare one of the size of the residuals that you expect."
            )
        return HuberResidual(share)


class LinearRegression(RobustRegressor):
    """Differentially private ridge regression of a number within declared bounds.

    Two mechanisms, the better by a public rule of rows, columns and budget: noisy second moments of
    rows and target, whose ridge solution is least squares, and objective perturbation of a Huber
    loss, whose noise is smaller where there is little data for the budget.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost. A number is the epsilon of pure differential privacy.
    target_bounds : (low, high)
        What the target can be, in its own units; values outside are clipped. Declare it; it is
        never measured. Half its width is the unit of the noise.
    mechanism : "auto", "statistics", "objective" or "output", default "auto"
        "statistics" solves noisy normal equations, "objective" and "output" put noise into the
        objective of the Huber loss or onto its minimizer.
    knee : float or None, default None
        Residuals beyond this, in the target's units, have a linear loss ("objective", "output").
        None: a quarter of the interval.
    noise : "auto", "laplace", "gaussian" or "domain", default "auto"
        The one with the least effect among those that the budget and the declarations allow.
    regularization : float or "auto", default "auto"
        Lam of the mean objective; "auto" is a public rule that reads no data.
    norm_bound : float, default 1.0
        Rows are clipped to this Euclidean norm, in training and in prediction.
    domain : Box, OneHot, a list of them, Domain or None, default None
        What is declared of the columns; see ``LogisticRegression``.
    fit_intercept : bool, default True
        Adds a penalized constant column. A regularized fit shrinks to the middle of the bounds.
    constant : float, default 0.5
        That column, in units of ``norm_bound``.
    features : feature map or None, default None
        A public map of rows; see ``LogisticRegression``.
    standardize : None or "private", default None
        "private" centers and scales the columns by means and mean squares that a few per cent of
        the same budget pay for.
    column_bounds : (low, high), two numbers or two lists, default None
        Declared ranges of the columns for ``standardize``.
    ledger : Ledger or None, default None
        Where the fit is charged.
    dataset : str or None, default None
        The ledger's name for the data set to charge.
    insecure_seed : int or None, default None
        For tests and studies only: the release is stamped as not private.

    Attributes
    ----------
    coef_ : array of shape (1, d)
        The released weights: units of the target per unit of a column.
    intercept_ : array of shape (1,)
        The prediction for a row of zeros.
    classes_ : array of shape (2,)
        The declared bounds of the target.
    regularization_ : float
        The regularization that was used (public).
    guarantee_ : Guarantee
        The promise: budget, neighbors, unit, mechanism, theorem, assumptions, numerics.
    center_, scale_ : array of shape (d,)
        Released centers and scales of the columns, with ``standardize="private"``.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Their names, where the table had any.
    schema_ : str
        The schema's text, after ``fit_table``.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, size=(20000, 2))
    >>> y = 50 + 40 * X[:, 0] + rng.normal(size=20000)
    >>> model = LinearRegression(budget=1.0, target_bounds=(0, 100)).fit(X, y)
    >>> bool(abs(model.predict([[0.5, 0.0]])[0] - 70) < 5)
    True
    """

    takes_domain: ClassVar[bool] = True

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        target_bounds: Any = None,
        mechanism: str = "auto",
        knee: float | None = None,
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
        super().__init__(
            budget,
            target_bounds=target_bounds,
            mechanism=mechanism,
            noise=noise,
            regularization=regularization,
            norm_bound=norm_bound,
            domain=domain,
            fit_intercept=fit_intercept,
            constant=constant,
            features=features,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
        self.knee = knee

    mechanisms: ClassVar[tuple[str, ...]] = (*TRAINERS, RidgeStatistics.name)

    def _chosen(
        self, n_classes: int, weights: tuple[float, ...] | None, budget: Budget, n: int, m: int
    ) -> Trainer:
        """The better mechanism for ``n`` rows of ``m`` columns; declarations only."""
        if self.mechanism != "auto":
            return super()._chosen(n_classes, weights, budget, n, m)
        objective, statistics = (
            cast(Mechanism, self._mechanism(n_classes, weights, budget, name))
            for name in ("objective", RidgeStatistics.name)
        )
        if self.noise not in ("auto", "sphere", *KINDS):
            return objective
        with quietly():  # the fit says it
            whole = statistics.noise_in_gradient(statistics.design(n, m))
            other = objective.noise_in_gradient(objective.design(n, m))
        negligible = NEGLIGIBLE * n * objective.norm_bound / m
        return statistics if whole <= max(other, negligible) else objective

    def _is_gaussian(self, count: int) -> bool:
        """Noisy statistics are a Gaussian mechanism, and so are noisy gradients."""
        gaussian = ("output", GradientDescent.name, RidgeStatistics.name)
        return self.noise != "laplace" and self.mechanism in gaussian


class HuberRegressor(RobustRegressor):
    """Differentially private robust regression of a number within declared bounds.

    Least squares up to a knee, absolute deviations beyond: large residuals pull no harder than the
    knee, and the noise pays for the knee alone.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost.
    target_bounds : (low, high)
        What the target can be, in its own units; values outside are clipped.
    mechanism : "objective" or "output", default "objective"
        Where the noise goes.
    knee : float or None, default None
        Where the loss becomes linear, in the target's units. None: a quarter of the interval.
    noise, regularization, norm_bound, domain, fit_intercept, constant, features :
        As in ``LinearRegression``.
    standardize, column_bounds, ledger, dataset, insecure_seed :
        As in ``LinearRegression``.

    Attributes
    ----------
    coef_, intercept_, classes_, regularization_, guarantee_ : as in ``LinearRegression``
    """

    takes_domain: ClassVar[bool] = True

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        target_bounds: Any = None,
        mechanism: str = "objective",
        knee: float | None = None,
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
        super().__init__(
            budget,
            target_bounds=target_bounds,
            mechanism=mechanism,
            noise=noise,
            regularization=regularization,
            norm_bound=norm_bound,
            domain=domain,
            fit_intercept=fit_intercept,
            constant=constant,
            features=features,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
        self.knee = knee


class PoissonRegressor(PrivateLinearRegressor):
    """Differentially private Poisson regression of a count with a declared largest rate.

    The logarithm of the rate is linear in the features, up to the largest rate; beyond it the loss
    is a line, which bounds what one row can do.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost.
    target_bounds : (0, largest)
        Zero, and the largest rate, which is also what larger counts are clipped to.
    mechanism : "objective" or "output", default "objective"
        Where the noise goes.
    noise, regularization, norm_bound, domain, fit_intercept, constant, features :
        As in ``LinearRegression``. A regularized fit shrinks to a quarter of the largest rate.
    standardize, column_bounds, ledger, dataset, insecure_seed :
        As in ``LinearRegression``.

    Attributes
    ----------
    coef_ : array of shape (1, d)
        The released weights: change of the rate's logarithm per unit of a column.
    intercept_ : array of shape (1,)
        The logarithm of the rate for a row of zeros.
    classes_, regularization_, guarantee_ : as in ``LinearRegression``
    """

    takes_domain: ClassVar[bool] = True

    def _loss(self, n_classes: int) -> Loss:
        return PoissonRate()

    def _interval(self) -> NDArray[np.float64]:
        ends = super()._interval()
        if ends[0] != 0.0:
            raise DeclarationError(
                "target_bounds of a Poisson regression must be (0, largest): counts begin at zero."
            )
        return ends

    def _unit(self) -> float:
        """A score is the logarithm of a rate."""
        return 1.0

    def _start(self) -> float:
        """The logarithm of the rate at score zero."""
        return math.log(self._interval()[1]) + PoissonRate().start

    @property
    def plain_link(self) -> str:
        """The exponential of a score is the rate."""
        return "exp"

    @property
    def changed_words(self) -> str:
        """What a coefficient is a change of."""
        return "logarithm of the predicted rate"

    @property
    def score_words(self) -> str:
        """What a score is, in words for intervals."""
        return f"logarithm of the rate over {math.exp(self._start()):g}"

    def predict(self, X: ArrayLike) -> Array:
        """The predicted rate of each row, at most the declared largest.

        Parameters
        ----------
        X : as in ``LinearRegression.predict``

        Returns
        -------
        array of shape (n,)
        """
        largest = float(self.classes_[1])
        logarithms = np.minimum(self._scores(X)[:, 0], math.log(largest))
        return np.asarray(np.minimum(np.exp(logarithms), largest))
