"""What private models share whose scores are linear in a row's features.

The features are the columns, or a public map of them (``features=``, ``privet.models.fit``), after
a private standardization if it is asked for. Declarations become a mechanism; what a released
vector becomes, and how a score is read, is the classifiers' and the regressors' own.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privet._types import Array
from privet.errors import DeclarationError
from privet.losses import Loss
from privet.losses.weighted import Weighted
from privet.mechanisms import MECHANISMS, TRAINERS, ClassMeans, RidgeStatistics, Trainer
from privet.mechanisms.trainer import NoiseChoice, ReleasedVector
from privet.models.featured import Standardize
from privet.models.fit import Fit
from privet.models.habits import RefusesHabits
from privet.models.informed import InformedModel
from privet.models.inputs import table_shape
from privet.models.model_display import Displayed
from privet.models.model_file import save
from privet.models.model_view import told_engine
from privet.models.planned import Planned
from privet.models.raw_tables import encoded_features
from privet.models.standardize import (
    Stage,
    Standardization,
    declared_ranges,
    staged_budget,
)
from privet.models.whiten import Whitening, refuse_pure
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.privacy.kinds import regularization_of
from privet.schema import Schema


class PrivateLinearModel(RefusesHabits, Displayed, InformedModel):
    """A model whose scores are linear in the features or in a public map of them."""

    released_names: ClassVar[tuple[str, ...]] = (
        "coef_",
        "intercept_",
        "classes_",
        "guarantee_",
        "regularization_",
        "schema_",
        "center_",
        "scale_",
        "whitening_",
    )

    #: what ``mechanism=`` may say
    mechanisms: ClassVar[tuple[str, ...]] = tuple(MECHANISMS)

    mechanism: str
    noise: NoiseChoice
    calibration: str | None = None
    regularization: float | Literal["auto"]
    class_weight: dict[Any, float] | None = None
    regularization_: float

    # -- declarations --------------------------------------------------------------------------

    @abstractmethod
    def _loss(self, n_classes: int) -> Loss:
        """The loss for this many classes."""

    def label_parameters(self, labels: NDArray[Any]) -> dict[str, Any]:
        """What is declared of the labels, as parameters of a copy; of a number nothing is left.

        Parameters
        ----------
        labels : array
            The labels, which are looked at only where nothing is declared of them.

        Returns
        -------
        dict
            For ``set_params``.
        """
        return {}

    def refuse_undeclared(self, labels: NDArray[Any]) -> None:
        """Refuse labels that were not declared; a number outside its bounds is clipped.

        Parameters
        ----------
        labels : array
            The labels.
        """

    def refuse_unscored(self) -> None:
        """Refuse a model whose predictions cannot be compared with labels; most can."""

    def _described_loss(self, n_classes: int) -> Loss:
        """The loss as a released model tells of it; nothing is fitted with it."""
        return self._loss(n_classes)

    @property
    def _law_is_known(self) -> bool:
        """Whether the declarations give the law of the noise in a coefficient again."""
        return True

    @property
    def mechanism_name(self) -> str:
        """The mechanism of a fit; "auto" of a classifier is settled by ``fit_table`` alone."""
        return "objective" if self.mechanism == "auto" else self.mechanism

    def _mechanism(
        self,
        n_classes: int,
        weights: tuple[float, ...] | None,
        budget: Budget | None = None,
        name: str | None = None,
    ) -> Trainer:
        """The fit's mechanism; ``budget`` is its share where stages come before it.

        ``name`` is that of the mechanism, where it is known otherwise than by declaration.
        """
        name = self.mechanism_name if name is None else name
        if name not in self.mechanisms:
            names = ", ".join(repr(known) for known in self.mechanisms)
            raise DeclarationError(f"mechanism must be one of {names}; got {name!r}.")
        loss = self._loss(n_classes)
        more = (RidgeStatistics, ClassMeans)
        kinds: dict[str, type[Trainer]] = {**TRAINERS, **{each.name: each for each in more}}
        return kinds[name](
            loss=loss if weights is None else Weighted(loss, weights),
            budget=as_budget(self.budget) if budget is None else budget,
            norm_bound=self._row_norm(),
            regularization=self.regularization,
            noise=self.noise,
            calibration=self.calibration,
            insecure_seed=self.insecure_seed,
            domain=self._mechanism_domain(),
        )

    def _stages(self, d: int, n_classes: int) -> tuple[Stage, ...]:
        """What is released before the fit, for a table with ``d`` columns."""
        if self.standardize not in (None, *get_args(Standardize)):
            raise DeclarationError(
                "standardize must be None, 'auto', 'private', 'unit' or 'whiten', got "
                f"{self.standardize!r}."
            )
        if self.standardize != "private" and self.column_bounds is not None:
            raise DeclarationError(
                "column_bounds are for standardize='private'; without it rows are bounded by "
                "norm_bound alone."
            )
        match self.standardize:
            case "private":
                ranges = declared_ranges(self.column_bounds, d)
                return (Standardization(ranges, self.insecure_seed),)
            case "whiten" if self.public_rows is not None:
                self._public_whitener(d)  # refuses rows that do not fit
            case "whiten":
                refuse_pure(as_budget(self.budget))
                return (Whitening(self._sphere_rows(d), self.insecure_seed),)
            case "unit":
                self._sphere_rows(d)  # refuses a model that has a map of its own
        return ()

    def _chosen(
        self, n_classes: int, weights: tuple[float, ...] | None, budget: Budget, n: int, m: int
    ) -> Trainer:
        """The mechanism for ``n`` rows of ``m`` columns: the declared one."""
        return self._mechanism(n_classes, weights, budget)

    @abstractmethod
    def _counted(self, classes: NDArray[Any] | int) -> tuple[int, tuple[float, ...] | None]:
        """How many classes there are, and their public weights where some are not one."""

    def planned(self, n: int, d: int, classes: NDArray[Any] | int = 2) -> Planned:
        """What a fit would do and cost, from declarations and the table's shape.

        Parameters
        ----------
        n, d : int
            Rows and columns of the table.
        classes : array or int, default 2
            The classes in their order, or their number.

        Returns
        -------
        Planned
            Mechanism, design, stages and the one event. Nothing is drawn.
        """
        count, weights = self._counted(classes)
        parts = staged_budget(
            as_budget(self.budget), self._stages(d, count), n, gaussian=self._is_gaussian(count)
        )
        chosen = self._chosen(count, weights, parts.fit, n, self._columns(n, d))
        mechanism = self._centered(chosen, d)
        design = mechanism.design(n, self._columns(n, d))
        return Planned(mechanism, design, parts, parts.event(design.event, n))

    def _is_gaussian(self, count: int) -> bool:
        """Whether Gaussian noise of the fit is that of a Gaussian mechanism, at little cost.

        On the minimizer and on gradients it is; in the objective it lies inside one, which is
        cheap for logistic loss alone.
        """
        return self.noise != "laplace" and (
            self.mechanism_name != "objective" or self._loss(count).jacobian_family == "logistic"
        )

    # -- releasing -----------------------------------------------------------------------------

    def _set_weights(self, weights: Array) -> None:
        """``coef_`` and ``intercept_`` of released parameters, one row for each score."""
        constant = self._constant()
        if constant is not None:
            self.coef_ = np.ascontiguousarray(weights[:, :-1])
            self.intercept_ = weights[:, -1] * constant
        else:
            self.coef_ = np.ascontiguousarray(weights)
            self.intercept_ = np.zeros(len(weights))

    def _told_table(self) -> list[str]:
        """What a guarantee relies on about the table, whatever is predicted from it."""
        named = " and the columns' names" if hasattr(self, "feature_names_in_") else ""
        told = [f"the number of rows and columns{named}"]
        if self.standardize == "private":
            told.append("each column's range, clipped to the declared column_bounds")
        return [*told, *self._told_features()]

    @abstractmethod
    def _assumptions(self) -> tuple[str, ...]:
        """What the guarantee relies upon, in words."""

    def _promise(self, release: ReleasedVector, fit: Fit[Any]) -> None:
        """Classes, regularization and guarantee of a release."""
        self.classes_ = fit.classes
        self.regularization_ = regularization_of(release.event)
        numerics = fit.planned.stages.numerics(release.numerics, release.event.n)
        constants = fit.planned.design.constants
        told = *self._assumptions(), *told_engine(fit.table.x, fit.planned.design)
        self.guarantee_ = Guarantee(fit.event, numerics, told, constants=constants)

    # -- predicting ----------------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """Scores of each row, shape (n, K); rows are encoded and clipped as in training."""
        check_is_fitted(self, "coef_")
        data = self._table(encoded_features(self, X), reset=False)
        view = self._view(table_shape(data)[1])
        return view.scores(data, self.coef_, self.intercept_)

    # -- schemas and files ---------------------------------------------------------------------

    def preparation(self, n: int, d: int) -> Standardize | None:
        """How ``n`` rows of ``d`` encoded columns are prepared where that is left to Privet.

        Parameters
        ----------
        n, d : int
            Rows and columns of the table.

        Returns
        -------
        None
            Not at all; a classifier has a public rule.
        """
        return None

    @abstractmethod
    def _schema_label(self, schema: Schema) -> dict[str, Any]:
        """What the schema says of the label, as parameters."""

    def schema_parameters(self, schema: Schema, *, stepped: bool = False) -> dict[str, Any]:
        """Parameters for rows that a schema encodes.

        The intercept goes where the encoded columns, used as they are, hold a constant already.
        Centered columns do not: private standardization takes the constant out of them; it uses
        the bounds that the encoding keeps by itself. Columns that are used as they are have the
        domain that the schema declares.

        Parameters
        ----------
        schema : Schema
            What is public about the table.
        stepped : bool, default False
            Whether other steps come between: what is constant after them is not known.

        Returns
        -------
        dict
            For ``set_params``.
        """
        options = self._schema_label(schema)
        used_as_they_are = self.standardize != "private" and not self.maps_rows and not stepped
        if self.fit_intercept and schema.has_constant and used_as_they_are:
            options["fit_intercept"] = False
        if self.standardize == "private" and self.column_bounds is None:
            options["column_bounds"] = schema.column_bounds
        as_they_are = used_as_they_are and self.standardize in (None, "auto")
        declared = self.norm_bound != 1.0  # rows are clipped as the user says, to a ball
        if as_they_are and self.takes_domain and self.domain is None and not declared:
            options["domain"] = schema.domain
        return options

    def schema_carriers(self) -> tuple[Self]:
        """What a fit through a schema leaves that must carry it.

        Returns
        -------
        tuple
            The model itself.
        """
        return (self,)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the released model to a file; see ``privet.save``.

        Parameters
        ----------
        path : path of the file
        overwrite : whether another file of that name is replaced, default False
        """
        save(self, path, overwrite=overwrite)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
