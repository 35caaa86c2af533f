"""A private fit in steps: check, charge, release, forget.

    planned    declarations and the table's shape -> mechanism, design, stages, event; no row is
               read and nothing is drawn
    prepare    table and labels read -> planned -> does it fit under the cap? -> NaN refused -> Fit
    fit        prepare -> ledger reserves -> Fit.release -> ledger settles
    release    labels encoded -> stages before the fit -> arrays of a public map drawn -> rows
               bounded -> noise drawn, minimum certified -> attributes with a trailing underscore

Nothing that depends on the rows survives ``fit`` except what was released. A refused or failed fit
leaves no ``coef_``. What makes several releases at once (intervals, tuning) calls ``prepare`` and
``Fit.release`` itself and reserves once for all of them.

Feature maps
------------
``features=`` of a linear model is a public map of rows, a value with the three members of
``privet.rows.mapped.FeatureMap``:

    columns    how many features it makes; known before a row is read, it is part of the design
    norm       the bound that the features' Euclidean norm is clipped to; it takes the place of
               ``norm_bound``
    __call__   the features of a block of rows, each a function of that row alone

A map with ``to_json`` is written to model files. A model that makes its map itself (the products of
``LargeMarginGaussian``, the random frequencies of ``KernelSVC``) overrides ``_feature_map(d)``,
``_bound()`` and ``_columns(n, d)``, which must not draw, and returns what has to be drawn or
computed once, after the charge, from ``_public_arrays(n, d)``: attributes named in ``map_arrays``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from privet._types import Array, Codes, Targets
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.ledger.charge import Charge, check_ledger, require
from privet.losses import Loss
from privet.mechanisms import Mechanism
from privet.mechanisms.trainer import Design, ReleasedVector
from privet.models.digest import model_digest
from privet.models.inputs import declared_classes, encode_labels
from privet.models.model_view import ModelView
from privet.models.planned import Planned, TrainingTable
from privet.models.row_wise import refuse_charge, why_not_covered
from privet.privacy import Event
from privet.privacy.budget import Budget
from privet.privacy.guarantee import Guarantee, Receipt
from privet.rows import Rows
from privet.rows.streamed import rows_of

#: What a table is called by: known of the rows as a whole, set when they are read.
NAMED = ("n_features_in_", "feature_names_in_")


class PrivateModel(BaseEstimator, ABC):  # type: ignore[misc]
    """A model that is released once, for one charge. See the module's text for the steps."""

    #: attributes that a fit releases; an earlier fit's are forgotten first
    released_names: ClassVar[tuple[str, ...]] = ()
    #: released arrays that the model's own map is made of
    map_arrays: ClassVar[tuple[str, ...]] = ()

    budget: Budget | float
    classes: Any
    ledger: Ledger | None
    dataset: str | None
    insecure_seed: int | None
    guarantee_: Guarantee
    classes_: NDArray[Any]
    n_features_in_: int

    # -- what each model is --------------------------------------------------------------------

    @abstractmethod
    def planned(self, n: int, d: int, classes: NDArray[Any] | int = 2) -> Planned:
        """What a fit on ``n`` rows of ``d`` columns would do and cost. Declarations only."""

    @abstractmethod
    def _table(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """``X`` (and ``y``) as arrays, checked for shape and type; ``reset``: before a fit."""

    @abstractmethod
    def _refuse_unsound(self, data: Any) -> None:
        """Refuse, before a charge, what is not a number (or an object that cannot be compared)."""

    @abstractmethod
    def _public_arrays(self, n: int, d: int) -> dict[str, Array]:
        """Arrays of the public map, drawn or computed without a row, after the charge."""

    @abstractmethod
    def _targets(self, data: Any, codes: Codes, loss: Loss, n_classes: int) -> Targets:
        """What the loss is given for each row: a function of that row and of releases."""

    @abstractmethod
    def _bounded(self, d: int) -> Callable[[Any, Targets], Rows]:
        """What makes bounded rows of a table and its targets, seen through what was released.

        It can be sent to whoever reads the table, so it holds no budget.
        """

    @abstractmethod
    def _publish(self, release: ReleasedVector, fit: Fit[Any]) -> None:
        """Set the released attributes, all of them post-processing of ``release``."""

    @abstractmethod
    def _curvature_spread(self, parameters: int) -> float:
        """A typical table's largest curvature over its smallest, among the model's parameters."""

    def _declared_labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        """What a label can be, from declarations: the classes, or the ends of an interval.

        Called before a charge: of ``labels`` the type counts, unless they are declared public.
        """
        return declared_classes(self.classes, labels)

    def _encoded_labels(self, labels: NDArray[Any], declared: NDArray[Any]) -> NDArray[Any]:
        """Each row's class by its place, or its place in the interval. Called after a charge."""
        return cast(Codes, encode_labels(labels, declared))

    # -- the common road -----------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, **refused: Any) -> Self:
        """Train on ``X`` and ``y``; spends the budget once.

        Rows above the norm bound are clipped. NaN or infinity in ``X`` is an error and costs
        nothing. A label outside ``classes`` is an error that costs the budget: whether there is one
        is private, and a refusal for nothing would tell.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The private rows.
        y : array of shape (n,)
            Their labels.
        **refused
            ``sample_weight`` is refused: a weight chosen after looking at the rows would let one
            record count for many, which no declared bound covers. Use ``class_weight``.

        Returns
        -------
        self
            The released model.
        """
        self._forget()
        _refuse_weights(refused)
        why = why_not_covered()
        refuse_charge(why, self.ledger)
        prepared = self.prepare(X, y)
        charge = Charge(self.ledger, self.dataset, prepared.event, forget=self._forget)
        with charge:
            charge.releases(model_digest(prepared.release()))
        if why:
            self.guarantee_ = self.guarantee_.not_covered(why)
        return prepared.settle(charge.receipt)

    def prepare(self, X: Any, y: Any) -> Fit[Self]:
        """Forget an earlier fit and check everything that can be checked before a charge.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        Fit
            Not charged yet. Whoever calls its ``release`` has charged its ``event``.
        """
        self._forget()
        check_ledger(self.ledger, self.dataset, self.insecure_seed)
        table = self.read(X, y)
        classes = self._declared_labels(table.labels)
        prepared = Fit(self, table, classes, self.planned(*table.shape, classes))
        if self.ledger is not None:
            require(self.ledger, cast(str, self.dataset), prepared.event)
        self._refuse_unsound(table.x)
        return prepared

    def check_rows(self, X: Any, y: Any = None) -> None:
        """Refuse rows that a fitted (or prepared) model would refuse; nothing is charged.

        Parameters
        ----------
        X, y : as in ``fit``; ``y`` may be missing
        """
        given = (X,) if y is None else (X, y)
        found = self._table(*given, reset=False)
        self._refuse_unsound(found if y is None else found[0])

    def read(self, X: Any, y: Any) -> TrainingTable:
        """Rows and labels before a fit, as arrays; only shapes and types have been checked.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        TrainingTable
        """
        return TrainingTable(*self._table(X, y))

    def revisit(self, X: Any, y: Any) -> Fit[Self]:
        """The rows of a fitted model again, checked as for the fit: intervals read them anew.

        They are seen through what the model's stages released.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        Fit
        """
        table = TrainingTable(*self._table(X, y, reset=False))
        self._refuse_unsound(table.x)
        return Fit(self, table, self.classes_, self.planned(*table.shape, self.classes_))

    def _forget(self) -> None:
        for name in (*self.released_names, *self.map_arrays):
            self.__dict__.pop(name, None)


Model = TypeVar("Model", bound=PrivateModel)


@dataclass(frozen=True)
class Fit(Generic[Model]):
    """A fit that passed every public check and has cost nothing yet. It lives while ``fit`` runs.

    ``codes`` and ``rows`` look at the rows, refuse or log: they are for after the charge.

    Attributes
    ----------
    model : PrivateModel
        What ``release`` sets the released attributes of.
    table : TrainingTable
        The private rows and labels.
    classes : array
        The declared classes in their order; of a regressor, the two ends of its interval.
    planned : Planned
        Mechanism, design, stages and the one event.
    """

    model: Model
    table: TrainingTable
    classes: NDArray[Any]
    planned: Planned

    @property
    def mechanism(self) -> Mechanism:
        """The fit's minimizer, with its share of the budget; refused where it is none."""
        return self.planned.minimizer[0]

    @property
    def design(self) -> Design:
        """The design of the fit itself."""
        return self.planned.minimizer[1]

    @property
    def event(self) -> Event:
        """What all of it will cost."""
        return self.planned.event

    @property
    def curvature_spread(self) -> float:
        """A typical table's largest curvature over its smallest; a public rule."""
        return self.model._curvature_spread(self.design.parameters)

    @cached_property
    def codes(self) -> Codes:
        """Each row's class by its place; an undeclared label is refused, with the charge spent."""
        return self.model._encoded_labels(self.table.labels, self.classes)

    @cached_property
    def rows(self) -> Rows:
        """What the mechanism reads; known once the stages have released what shapes it."""
        d, count = self.table.shape[1], len(self.classes)
        view = ModelView.of(self.model, d, self.planned.mechanism.loss, count)
        return rows_of(self.table.x, self.codes, view)

    def with_budget(self, budget: Budget) -> Fit[Model]:
        """The same fit, by a copy of the model with another budget; rows are not checked again."""
        other = clone(self.model).set_params(budget=budget)
        for name in NAMED:
            if hasattr(self.model, name):
                setattr(other, name, getattr(self.model, name))
        return replace(self, model=other, planned=other.planned(*self.table.shape, self.classes))

    def for_intervals(self) -> Fit[Model]:
        """The same fit, as it is best where intervals follow it."""
        return replace(self, planned=self.planned.for_intervals())

    def release(self) -> Model:
        """Draw noise, minimize, publish. Whoever calls this has charged ``event``."""
        model, planned = self.model, self.planned
        try:
            arrays = planned.stages.run(self.table.x, self.codes)
            _set(model, arrays)
            _set(model, model._public_arrays(*self.table.shape))
            model._publish(planned.mechanism.run(self.rows, planned.design), self)
        except BaseException:
            model._forget()  # what the stages released has no guarantee to go with it
            raise
        return model

    def forget(self) -> None:
        """Take back what was set, where something else that was paid with it failed."""
        self.model._forget()

    def settle(self, receipt: Receipt | None) -> Model:
        """Keep where the ledger stood, for the model file and the statement."""
        self.model.guarantee_ = replace(self.model.guarantee_, receipt=receipt)
        return self.model


def _set(model: PrivateModel, arrays: dict[str, Array]) -> None:
    for name, value in arrays.items():
        setattr(model, name, value)


def _refuse_weights(unknown: dict[str, Any]) -> None:
    if unknown.get("sample_weight") is not None:
        raise DeclarationError(
            "sample_weight is refused: a per-row weight changes what one record can do and no "
            "declared bound covers it. Use class_weight with public weights instead."
        )
    if extra := sorted(set(unknown) - {"sample_weight"}):
        raise TypeError(f"fit() got an unexpected keyword argument {extra[0]!r}")
