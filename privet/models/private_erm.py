"""Any convex loss: private empirical risk minimization with a loss that the user brings.

The road of a fit is that of ``HuberRegressor`` and ``PoissonRegressor``, which bring the losses of
``privet/losses/residual.py``: a target within declared bounds, rows of bounded norm, output or
objective perturbation by the bounds of the loss. Proof: ``private_erm.proof.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from privet._types import Array, Targets
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.losses import ConvexLoss, Loss, OwnLoss
from privet.losses.loss_attack import attack
from privet.mechanisms.trainer import NoiseChoice
from privet.models.column_weights import Ridge, WeightedColumns
from privet.models.featured import Standardize
from privet.models.regressor import PrivateLinearRegressor
from privet.models.row_view import RowView
from privet.privacy.budget import Budget
from privet.rows import Rows
from privet.rows.mapped import FeatureMap


class PrivateERM(PrivateLinearRegressor):
    """Differentially private minimizer of a convex loss that you bring.

    The loss is a function of scores ``W x`` and of a target within declared bounds, with declared
    bounds on gradient, curvature and rank. They are attacked numerically before any fit, and a
    wrong one is refused with the score at which it fails. What is not found is not proved: the
    guarantee rests on your word and says so.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost.
    loss : ConvexLoss
        Value, gradient and Hessian in the scores, and their bounds. A model file keeps its name and
        bounds, never its code.
    regularizer : Ridge or None, default None
        Public weights of the columns in the ridge; None: all alike. See ``Ridge``.
    target_bounds : (low, high)
        What the target can be; values outside are clipped. The loss's bounds are for targets
        within.
    mechanism : "objective" or "output", default "objective"
        Where the noise goes.
    noise, regularization, norm_bound, domain, fit_intercept, constant, features :
        As in ``LinearRegression``. With several scores there is no theorem for Gaussian noise in
        the objective; "auto" takes Laplace noise there.
    standardize, column_bounds, ledger, dataset, insecure_seed :
        As in ``LinearRegression``.

    Attributes
    ----------
    coef_ : array of shape (K, d)
        The released weights: change of each score per unit of a column.
    intercept_ : array of shape (K,)
        The scores of a row of zeros.
    classes_, regularization_, guarantee_ : as in ``LinearRegression``

    Examples
    --------
    >>> import numpy as np
    >>> from privet import ConvexLoss, PrivateERM
    >>> smooth = ConvexLoss(  # a smooth absolute value
    ...     "pseudo-Huber",
    ...     value=lambda z, t: np.sqrt(1 + (z - t) ** 2) - 1,
    ...     gradient=lambda z, t: (z - t) / np.sqrt(1 + (z - t) ** 2),
    ...     hessian=lambda z, t: (1 + (z - t) ** 2) ** -1.5,
    ...     gradient_bound=1.0,
    ...     curvature_bound=1.0,
    ... )
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, size=(20000, 2))
    >>> y = 3 + 4 * X[:, 0] + rng.normal(size=20000)
    >>> model = PrivateERM(1.0, loss=smooth, target_bounds=(0, 6)).fit(X, y)
    >>> bool(abs(model.predict([[0.5, 0.0]])[0] - 5) < 0.5)
    True
    """

    takes_domain = True

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        loss: ConvexLoss | None = None,
        regularizer: Ridge | None = None,
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
        self.loss = loss
        self.regularizer = regularizer

    # -- declarations --------------------------------------------------------------------------

    def _own(self) -> ConvexLoss:
        if not isinstance(self.loss, ConvexLoss):
            raise DeclarationError(
                "loss must be a ConvexLoss: value, gradient and hessian as functions of scores and "
                "target, with gradient_bound and curvature_bound."
            )
        return self.loss

    def _loss(self, n_classes: int) -> Loss:
        """The loss on targets within their bounds; refused where an attack on it succeeds."""
        found = self._within()
        attack(found)
        return found

    def _described_loss(self, n_classes: int) -> Loss:
        """Without an attack: a model file keeps no functions."""
        return self._within()

    @property
    def _law_is_known(self) -> bool:
        """Not without the loss's functions, nor for columns with weights of their own."""
        return self._own().has_code and self._weights() is None

    def _within(self) -> OwnLoss:
        low, high = self._interval()
        if self._own().link == "exp" and not high > 0.0:
            raise DeclarationError(
                "link='exp' predicts numbers above zero, and target_bounds end at zero or below."
            )
        return OwnLoss(self._own(), float(low), float(high))

    def _weights(self) -> Ridge | None:
        """The ridge, where some weights are not one."""
        if self.regularizer is None:
            return None
        if not isinstance(self.regularizer, Ridge):
            raise DeclarationError("regularizer must be a Ridge, or None for equal weights.")
        return self.regularizer if self.regularizer.weights is not None else None

    def _bound(self) -> float:
        """With weights: that of the rows that a plain ridge sees."""
        ridge = self._weights()
        return super()._bound() if ridge is None else ridge.stretched(super()._bound())

    def _columns(self, n: int, d: int) -> int:
        ridge = self._weights()
        if ridge is not None:
            if (self.features, self.standardize, self.domain) != (None, None, None):
                raise DeclarationError(
                    "The weights of a Ridge are for the columns as they are: use them without "
                    "features=, standardize= and domain=."
                )
            if len(ridge.weights) != d:
                raise DeclarationError(
                    f"The Ridge has {len(ridge.weights)} weights, but the table has {d} columns."
                )
        return super()._columns(n, d)

    def schema_parameters(self, schema: Any, *, stepped: bool = False) -> dict[str, Any]:
        """As of every regression; weights of the columns take the place of a domain.

        Parameters
        ----------
        schema : Schema
            What is public about the table.
        stepped : bool, default False
            Whether other steps come between.

        Returns
        -------
        dict
            For ``set_params``.
        """
        options = super().schema_parameters(schema, stepped=stepped)
        if self._weights() is not None:
            options.pop("domain", None)
        return options

    def _assumptions(self) -> tuple[str, ...]:
        own = self._own()
        tried = attack(self._within())
        told = (
            f"the loss {own.name!r} is code of the user's: that it is convex, with gradients of at "
            f"most {own.gradient_bound:g}, curvature of at most {own.curvature_bound:g} and rank "
            f"of at most {own.rank}, is its author's word; {tried:,} pairs of scores and target "
            "were tried, and none was found to contradict it"
        )
        ridge = self._weights()
        weights = () if ridge is None else (f"the {len(ridge.weights)} weights of the ridge",)
        return (*super()._assumptions(), told, *weights)

    # -- releasing -----------------------------------------------------------------------------

    def _bounded(self, d: int) -> Callable[[Any, Targets], Rows]:
        ridge = self._weights()
        if ridge is None:
            return super()._bounded(d)
        columns = WeightedColumns(ridge, super()._bound())
        return RowView(columns, columns.norm, self._constant()).rows

    def _view(self, d: int) -> RowView:
        """Coefficients are about the columns: what predicts needs no weights."""
        if self._weights() is None:
            return super()._view(d)
        return RowView(None, super()._bound(), self._constant())

    def _set_weights(self, weights: Array) -> None:
        super()._set_weights(weights)
        ridge = self._weights()
        if ridge is not None:
            self.coef_ = self.coef_ / np.sqrt(np.array(ridge.weights))

    def _unit(self) -> float:
        """Scores are in the units of the loss."""
        return 1.0

    def _start(self) -> float:
        """And start at zero."""
        return 0.0

    def refuse_unscored(self) -> None:
        """Refuse several scores, which make no prediction."""
        if self._own().scores > 1:
            raise DeclarationError(
                "A loss of several scores has no single prediction, which searches, services and "
                "exports need. Use decision_function."
            )

    @property
    def plain_link(self) -> str:
        """The loss's own."""
        return self._own().link

    @property
    def changed_words(self) -> str:
        """What a coefficient is a change of."""
        return "score"

    def _score_rows(self) -> int:
        return self._own().scores

    def _score_names(self) -> list[str]:
        return [f"score {k + 1}" for k in range(self._own().scores)]

    # -- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, (n,) for one score and (n, K) for more.

        Parameters
        ----------
        X : as in ``LinearRegression.predict``

        Returns
        -------
        array
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> Array:
        """The loss's link of each row's score, within the declared bounds.

        Parameters
        ----------
        X : as in ``LinearRegression.predict``

        Returns
        -------
        array of shape (n,)
        """
        self.refuse_unscored()
        scores, (low, high) = self._scores(X)[:, 0], self.classes_
        with np.errstate(over="ignore"):
            linked: dict[str, Callable[[Array], NDArray[Any]]] = {
                "identity": lambda z: z,
                "exp": np.exp,
                "expit": lambda z: low + (high - low) * expit(z),
            }
            found = linked[self._own().link](scores)
        return np.asarray(np.clip(found, low, high))
