"""A released model as intervals see it: parameters, their noise, and what they mean. All public.

A mechanism's ``theta`` is the ``K x m`` matrix of reduced scores, constant column last.
Coefficients, intercepts, effects in a table's own units, contrasts and decision values are all
linear in it: each is a *direction*, a vector ``a`` with the number ``<a, theta>``. The mechanism is
built again from the model's declarations and its event, so that the law of the noise in ``theta``
is known. No row comes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.pipeline import Pipeline

from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.inference.uncertainty import HINGE, LIKELIHOOD, RESIDUAL, Caution, FitNoise
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms import MECHANISMS, Design
from privet.models import (
    LargeMarginGaussian,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    PrivateLinearClassifier,
    Released,
)
from privet.models.regression import RobustRegressor
from privet.models.row_wise import Trainable
from privet.models.support_vector import LEAST_SQUARES
from privet.rows.ball import in_ball
from privet.rows.mapped import FeatureMap, mapped
from privet.schema import Schema

#: what an interval takes as given where columns were standardized by a release before the fit
STANDARDIZED = (
    "Columns are in units of the released scales from the released centers, which count as given: "
    "theta0 is the minimizer for them."
)


#: how the target of decision values ends
AT_POINTS = " at each point"


@dataclass(frozen=True)
class NamedDirections:
    """Directions with a name and a unit each, and what they are changes of.

    ``stretch`` is what a picture multiplies each number by, so that numbers and categories compare:
    a number's change from the middle of its declared range to the upper end.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    directions: Array  # (q, p)
    target: str
    stretch: tuple[float, ...]

    @property
    def about(self) -> str:
        """What the numbers are, in words: changes of a score, or scores themselves."""
        alone = self.target.endswith(AT_POINTS)
        return f"the {self.target}" if alone else f"changes of the {self.target}"


@dataclass(frozen=True)
class ParameterLayout:
    """What the columns of ``theta`` stand for."""

    scores: Array  # (rows of coef_, K): each score that is shown, in reduced scores
    columns: tuple[str, ...]
    bound: float  # rows are clipped to it
    constant: float | None  # the column behind the intercept; None where there is none
    classes: tuple[str, ...]
    kind: str  # "log-odds" or "score"
    inputs: int  # columns of a point
    steps: tuple[float, ...] = ()  # what multiplies the named term in each feature
    given: str = ""  # what was released before the fit and counts as known
    feature_map: FeatureMap | None = None
    lost_map: bool = False  # read from a file, which keeps no map

    @property
    def width(self) -> int:
        """Columns of ``theta`` as a matrix."""
        return len(self.columns) + (self.constant is not None)

    def parameters(self, coef: Array, intercept: Array) -> Array:
        """``theta`` of released coefficients."""
        weights = coef
        if self.constant is not None:
            weights = np.concatenate([coef, intercept[:, None] / self.constant], axis=1)
        return np.asarray(np.linalg.pinv(self.scores) @ weights, dtype=np.float64).reshape(-1)

    def lift(self, features: Array, score: int = 0) -> Array:
        """Directions of one score for rows of ``features`` (q, width)."""
        return np.kron(self.scores[score][None, :], features)

    def coefficients(self) -> NamedDirections:
        """Every coefficient, and the intercept in its own unit, score by score.

        A coefficient is what multiplies the column, or the product of columns, in the score.
        """
        names, parts = [], []
        steps = np.array(self.steps or [1.0] * len(self.columns))
        unit = np.diag(steps if self.constant is None else np.append(steps, self.constant))
        for score in range(len(self.scores)):
            parts.append(self.lift(unit, score))
            names += [self._of(name, score) for name in self._column_names()]
        return self.named(names, np.concatenate(parts))

    def named(self, names: Sequence[str], directions: Array) -> NamedDirections:
        """Directions without units."""
        count = len(names)
        return NamedDirections(
            tuple(names), ("",) * count, directions, self.target(), (1.0,) * count
        )

    def effects(self, schema: Schema) -> NamedDirections:
        """Changes of the score in the table's own units, as the schema explains coefficients.

        Of two classes, the score is told for the second, as everywhere.
        """
        told = schema.explain(np.eye(schema.width))[1:]
        changes = np.array([effect.changes for effect in told])
        stretch = [schema.factor / float(np.abs(row).max()) for row in changes]
        names = [effect.name.replace("=", ": ") for effect in told]
        # being in a category needs no unit
        units = ["" if effect.middle is None else effect.unit for effect in told]
        if self.constant is not None:
            baseline = np.eye(self.width)[-1:] * self.constant
            changes = np.concatenate([np.pad(changes, ((0, 0), (0, 1))), baseline])
            names, units, stretch = [*names, "(baseline)"], [*units, ""], [*stretch, 1.0]
        scores = range(len(self.scores))
        return NamedDirections(
            tuple(self._of(name, score) for score in scores for name in names),
            tuple(units) * len(scores),
            np.concatenate([self.lift(changes, score) for score in scores]),
            self.target(),
            tuple(stretch) * len(scores),
        )

    def decisions(self, points: Any) -> NamedDirections:
        """The decision value of each public point, for every score."""
        features = self._features(points)
        if self.constant is not None:
            constant = np.full((len(features), 1), self.constant)
            features = np.concatenate([features, constant], axis=1)
        names, parts = [], []
        for score in range(len(self.scores)):
            parts.append(self.lift(features, score))
            names += [self._of(f"point {i + 1}", score) for i in range(len(features))]
        found = self.named(names, np.concatenate(parts))
        return replace(found, target=found.target + AT_POINTS)

    def _features(self, points: Any) -> Array:
        """Points as the model sees them: mapped and clipped."""
        if self.lost_map:
            raise DeclarationError(
                "The model sees its columns through a map that a file of intervals does not keep. "
                "Ask the intervals that confidence_intervals returned."
            )
        table = np.atleast_2d(np.asarray(points, dtype=np.float64))
        if table.ndim != 2 or table.shape[1] != self.inputs:
            raise DataError(f"A point has {self.inputs} columns, as the model's rows have.")
        if self.feature_map is not None:
            features, factors = mapped(self.feature_map, table)
        else:
            features, factors = in_ball(table, self.bound)
        return features if factors is None else features * factors[:, None]

    def _column_names(self) -> tuple[str, ...]:
        return self.columns if self.constant is None else (*self.columns, "(intercept)")

    def _of(self, name: str, score: int) -> str:
        return name if len(self.scores) == 1 else f"{name} → {self.classes[score]}"

    @property
    def caution(self) -> Caution:
        """By the kind of score: log-odds are those of a log-likelihood, and numbers have none."""
        if not self.classes:
            return RESIDUAL
        return LIKELIHOOD if self.kind == "log-odds" else HINGE

    @property
    def mapped(self) -> bool:
        """Whether the model sees its columns through a map."""
        return self.lost_map or self.feature_map is not None

    def to_json(self) -> dict[str, Any]:
        """Plain values for a file, which keeps of the map only that there is one."""
        return {
            "scores": self.scores.tolist(),
            "columns": list(self.columns),
            "bound": self.bound,
            "intercept": self.constant is not None,
            "constant": self.constant,
            "classes": list(self.classes),
            "kind": self.kind,
            "inputs": self.inputs,
            "steps": list(self.steps),
            "given": self.given,
            "mapped": self.mapped,
        }

    def target(self) -> str:
        """What the numbers are changes of; of two classes, the second one's score."""
        alone = len(self.scores) > 1 or not self.classes  # of classes, or of a number
        return self.kind if alone else f"{self.kind} of {self.classes[1]}"


def shown_scores(family: str, classes: int, reduced: int) -> Array:
    """The scores that a model shows, as combinations of the reduced ones."""
    if family in ("margin", "residual"):
        return np.ones((1, 1))
    basis = sum_zero_basis(classes)
    if basis.shape[1] != reduced:
        raise DeclarationError("Intervals need one score for each class.")
    return basis if classes > 2 else basis[1:] - basis[:1]


@dataclass(frozen=True)
class ReleasedModel:
    """Released parameters with the design that they were released by."""

    released: Released
    theta: Array
    layout: ParameterLayout

    @property
    def design(self) -> Design:
        """The design that the release had."""
        return self.released.design

    @property
    def noise(self) -> FitNoise:
        """The law of the noise in the parameters."""
        gap = self.design.gap
        return FitNoise(
            self.design.event.mechanism,
            self.design.main,
            0.0 if gap is None else gap.coordinate_sd,
        )


def refuse_unsuited(model: object) -> None:
    """Intervals are for scores that are linear in columns or in their products.

    A mixture's are not: a class's score is a maximum or a log-sum-exp over its components, and
    which component a row belongs to was learned from the rows.
    """
    suited = LogisticRegression | LinearSVC | RobustRegressor | PoissonRegressor
    if isinstance(model, Pipeline):
        raise DeclarationError(
            "fit_with_intervals takes no pipeline. Fit the pipeline, and pass it with its rows to "
            "confidence_intervals; or pass transformed rows and the last step here."
        )
    linear = isinstance(model, suited)
    if not linear and not isinstance(model, LargeMarginGaussian):
        raise DeclarationError(
            f"There are no intervals for {type(model).__name__}: they are for "
            "LogisticRegression, LinearSVC, LargeMarginGaussian, LinearRegression, HuberRegressor "
            "and PoissonRegressor, whose coefficients are numbers about the columns or their "
            "products."
        )
    if isinstance(model, suited) and not model.features_are_columns:
        raise DeclarationError(
            f"There are no intervals for this {type(model).__name__}: rows at norm 1, whitened "
            "rows and feature maps leave no coefficient that is the effect of a column. Use "
            "standardize=None or 'private' (privet train --standardize none) and no feature map."
        )
    if getattr(model, "loss", None) == LEAST_SQUARES:
        raise DeclarationError(
            "There are no intervals for loss='least_squares': how well they would hold for labels "
            "as numbers was not measured. Use loss='huber', or LogisticRegression."
        )
    if linear and getattr(model, "center", None) is not None:
        raise DeclarationError(
            "There are no intervals for a model with a center: its ridge does not shrink to zero, "
            "which they undo. Fit without center=."
        )
    if isinstance(model, LargeMarginGaussian) and model.components != 1:
        raise DeclarationError(
            "There are no intervals for mixtures: the score of a class with several components is "
            "not linear in their parameters. Use components=1."
        )


def refuse_other_noise(made: str) -> None:
    """Refuse a mechanism whose noise has no known law in the coefficients."""
    if made not in MECHANISMS:
        raise DeclarationError(
            f"There are no intervals for a model by {made!r}: they are for output and "
            "objective perturbation, whose noise has a known law in the coefficients. Fit one "
            "model with mechanism='objective' and standardize=None (privet train --mechanism "
            "objective --standardize none)."
        )


def released_model(model: Trainable) -> ReleasedModel:
    """The public side of a fitted model; refuses a model that cannot have intervals."""
    refuse_unsuited(model)
    released = Released.of(cast(PrivateLinearClassifier, model))
    event = released.guarantee.event
    refuse_other_noise(released.fit.mechanism if released.is_one_fit else event.mechanism)
    if released.design.center is not None:
        raise DeclarationError(
            "There are no intervals for a ridge that is not centered at zero: their target would "
            "be the minimizer with that ridge. Fit without a center."
        )
    layout = layout_of(released)
    return ReleasedModel(released, layout.parameters(released.coef, released.moved), layout)


def layout_of(released: Released) -> ParameterLayout:
    """Names and shapes of a fitted model's parameters."""
    loss, view, numbers = released.loss, released.view, released.model.predicts_numbers
    return ParameterLayout(
        scores=released.unit * shown_scores(loss.family, loss.classes, loss.scores),
        columns=tuple(released.terms(released.columns)),
        bound=view.bound,
        constant=view.constant,
        classes=() if numbers else tuple(map(str, released.classes)),
        kind=released.kind,
        inputs=released.inputs,
        steps=tuple(released.steps.tolist()),
        given=STANDARDIZED if released.standardized else "",
        feature_map=view.feature_map,
    )
