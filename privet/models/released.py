"""A released model as other rooms take it: everything public about it, as one typed value.

A model file keeps declarations and an event. Reports, intervals and audits need the law of the
noise in the coefficients, which is the design that the fit had: the fit's own share of the budget
(not the whole claim, where other releases came with it), its regularization and its noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privet._types import Array
from privet.errors import DeclarationError, quietly
from privet.losses import Loss
from privet.mechanisms import MECHANISMS, Design, Mechanism
from privet.mechanisms.trainer import NoiseChoice
from privet.models.classifier import PrivateLinearClassifier
from privet.models.inputs import class_weights
from privet.models.raw_tables import carried
from privet.models.regressor import PrivateLinearRegressor
from privet.models.row_view import RowView
from privet.privacy.guarantee import Guarantee
from privet.privacy.kinds import FitEvent, fit_part
from privet.schema import Schema


@dataclass(frozen=True)
class Released:
    """What a fitted linear, Gaussian or kernel model released, and what is public about it.

    Attributes
    ----------
    model : PrivateLinearClassifier or PrivateLinearRegressor
        The fitted model itself, to predict with.
    coef, intercept : array
        The released parameters, as ``coef_`` and ``intercept_``.
    classes : array
        The declared classes in their order.
    guarantee : Guarantee
        What was promised.
    loss : Loss
        The loss that was minimized, without class weights.
    view : RowView
        What the model sees of a row; ``view.bound`` is the features' norm bound.
    inputs : int
        Columns of the table as it was passed.
    schema : Schema or None
        The declarations that the model carries.
    """

    model: PrivateLinearClassifier | PrivateLinearRegressor
    coef: Array
    intercept: Array
    classes: NDArray[np.generic]
    guarantee: Guarantee
    loss: Loss
    view: RowView
    inputs: int
    schema: Schema | None

    @classmethod
    def of(cls, model: PrivateLinearClassifier | PrivateLinearRegressor) -> Released:
        """What ``model`` released; refused unless it is fitted."""
        check_is_fitted(model, "guarantee_")
        inputs = int(model.n_features_in_)
        return cls(
            model=model,
            coef=model.coef_,
            intercept=model.intercept_,
            classes=model.classes_,
            guarantee=model.guarantee_,
            loss=model._described_loss(len(model.classes_)),
            view=model._view(inputs),
            inputs=inputs,
            schema=carried(model),
        )

    # -- names ---------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """Names of the table's columns: its own, or their places."""
        names = getattr(self.model, "feature_names_in_", None)
        if names is None:
            return [f"column {i + 1}" for i in range(self.inputs)]
        return [str(name) for name in names]

    def features(self, columns: list[str]) -> list[str]:
        """Names of the features that ``coef`` is about, for columns of these names."""
        return self.model._feature_names(columns)

    def terms(self, columns: list[str]) -> list[str]:
        """Names of what each feature is a multiple of; ``steps`` are the multiples."""
        return self.model._term_names(columns)

    @property
    def steps(self) -> Array:
        """What multiplies the term in each feature."""
        return self.model._feature_steps(self.inputs)

    @property
    def scores(self) -> list[str]:
        """What each row of ``coef`` speaks for, where there are several."""
        return self.model._score_names()

    @property
    def kind(self) -> str:
        """What a score is: log-odds where the model has probabilities."""
        if isinstance(self.model, PrivateLinearRegressor):
            return self.model.score_words
        return "log-odds" if hasattr(self.model, "predict_proba") else "score"

    @property
    def changed(self) -> str:
        """What a coefficient is a change of, in a few words."""
        if isinstance(self.model, PrivateLinearRegressor):
            return self.model.changed_words
        return self.kind

    @property
    def unit(self) -> float:
        """What one unit of the loss's score is in the units of ``coef``: half an interval."""
        return self.model._unit() if isinstance(self.model, PrivateLinearRegressor) else 1.0

    @property
    def moved(self) -> Array:
        """The intercept as the loss sees it: a regression starts from the middle of its bounds."""
        if isinstance(self.model, PrivateLinearRegressor):
            return np.asarray(self.intercept - self.model._start())
        return self.intercept

    @property
    def standardized(self) -> bool:
        """Whether columns are in units of released scales from released centers."""
        return self.model.standardize == "private"

    @property
    def features_are_columns(self) -> bool:
        """Whether a coefficient is about a column as it was passed."""
        return self.view.feature_map is None

    @property
    def law_is_known(self) -> bool:
        """Whether ``design`` gives the law of the noise in a coefficient.

        Not of a model that a search chose, of noisy statistics, which are solved after the noise,
        of columns with weights of their own, and of a user's loss whose functions are not here.
        """
        return self.is_one_fit and self.fit.mechanism in MECHANISMS and self.model._law_is_known

    # -- the fit -------------------------------------------------------------------------------

    @property
    def is_one_fit(self) -> bool:
        """Whether the law of the noise in the coefficients is known.

        The model that a search chose carries the event of the search: its own fit is one of many,
        and which one was best depends on the noise of all of them.
        """
        return fit_part(self.guarantee.event) is not None

    @cached_property
    def fit(self) -> FitEvent:
        """The event of the fit itself; refused where the model has none of its own."""
        found = fit_part(self.guarantee.event)
        if found is None:
            raise DeclarationError(
                "The noise in the coefficients of a model by "
                f"{self.guarantee.event.mechanism!r} has no known law; it has one after a single "
                "fit by output or objective perturbation."
            )
        return found

    @cached_property
    def mechanism(self) -> Mechanism:
        """The fit's mechanism, with the budget, regularization and kind of noise of its event."""
        event = self.fit
        weights = class_weights(self.model.class_weight, self.classes)
        made = replace(
            self.model._centered(
                self.model._mechanism(len(self.classes), weights, name=event.mechanism), self.inputs
            ),
            budget=event.claim,
            regularization=event.regularization,
            noise=cast(NoiseChoice, event.noise),
        )
        return cast(Mechanism, made)  # a FitEvent is a minimizer's

    @cached_property
    def design(self) -> Design:
        """The design that the release had; noise and event are the event's own."""
        event = self.fit
        with quietly():  # the fit has said it
            design = self.mechanism.design(event.n, event.columns)
        return replace(design, main=replace(design.main, scale=event.scale), event=event)

    @property
    def curvature_spread(self) -> float:
        """A typical table's largest curvature over its smallest, among the parameters."""
        return self.model._curvature_spread(self.design.parameters)
