"""A released model as the subject of intervals: everything about it that is public.

The mechanism is built again from the model's declarations and its event, so that the law of the
noise in the coefficients is known. No row comes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privet.errors import DeclarationError
from privet.inference.geometry import Geometry, shown_scores
from privet.inference.variance import FitNoise
from privet.mechanisms import Design
from privet.models import LargeMarginGaussian, LinearSVC, LogisticRegression
from privet.models.design import is_one_fit, released_design

Array = NDArray[np.float64]
#: what an interval takes as given where columns were standardised by a release before the fit
STANDARDISED = (
    "Columns are in units of the released scales from the released centers, which count as given: "
    "theta0 is the minimiser for them."
)


@dataclass(frozen=True)
class Subject:
    """Released parameters with the design that they were released by."""

    theta: Array
    design: Design
    geometry: Geometry

    @property
    def noise(self) -> FitNoise:
        """The law of the noise in the parameters."""
        gap = self.design.gap
        return FitNoise(
            self.design.event.mechanism,
            self.design.main,
            0.0 if gap is None else gap.coordinate_sd,
        )


def refuse_unsuited(model: Any) -> None:
    """Intervals are for scores that are linear in columns or in their products.

    A mixture's are not: a class's score is a maximum or a log-sum-exp over its components, and
    which component a row belongs to was learnt from the rows.
    """
    linear = isinstance(model, LogisticRegression | LinearSVC) and not model.maps_rows
    if not linear and not isinstance(model, LargeMarginGaussian):
        raise DeclarationError(
            f"There are no intervals for {type(model).__name__}: they are for LogisticRegression, "
            "LinearSVC and LargeMarginGaussian, whose coefficients are numbers about the columns "
            "or their products."
        )
    if isinstance(model, LargeMarginGaussian) and model.components != 1:
        raise DeclarationError(
            "There are no intervals for mixtures: the score of a class with several components is "
            "not linear in their parameters. Use components=1."
        )


def subject(model: Any) -> Subject:
    """The public side of a fitted model; refuses a model that cannot have intervals."""
    refuse_unsuited(model)
    check_is_fitted(model, "guarantee_")
    if not is_one_fit(model):
        made = model.guarantee_.event.mechanism
        raise DeclarationError(
            f"There are no intervals for a model by {made!r}: they are for output and "
            "objective perturbation, whose noise has a known law in the coefficients."
        )
    geometry = geometry_of(model)
    theta = geometry.parameters(model.coef_, model.intercept_)
    return Subject(theta, released_design(model), geometry)


def geometry_of(model: Any) -> Geometry:
    """Names and shapes of a fitted model's parameters."""
    loss = model._loss(len(model.classes_))
    names, d = getattr(model, "feature_names_in_", None), int(model.n_features_in_)
    columns = [f"column {i + 1}" for i in range(d)] if names is None else list(map(str, names))
    return Geometry(
        scores=shown_scores(loss.family, loss.classes, loss.scores),
        columns=tuple(model._term_names(columns)),
        bound=float(model._bound()),
        intercept=bool(model.fit_intercept),
        classes=tuple(map(str, model.classes_)),
        kind="log-odds" if hasattr(model, "predict_proba") else "score",
        inputs=d,
        steps=tuple(model._feature_steps(d).tolist()),
        given="" if model.standardize is None else STANDARDISED,
        feature_map=model._whole_map(d, fitted=True),
    )
