"""A released regression as plain scikit-learn: a linear model, then its link within the bounds.

What is made here needs scikit-learn and numpy alone to be read: no class and no function of
Privet's is inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from privet._types import Array


def clipped(low: float | None, high: float | None) -> Any:
    """What limits a number, as scikit-learn undoes it."""
    return partial(np.clip, a_min=low, a_max=high)


#: what ``link`` may say: steps from a score to a prediction
LINKS = ("identity", "exp")


def link_steps(link: str, low: float, high: float) -> list[Any]:
    """Functions from a score to a prediction within the bounds, in their order."""
    if link == "exp":
        return [clipped(None, math.log(high)), np.exp, clipped(low, high)]
    return [clipped(low, high)]


def plain_regressor(coef: Array, intercept: float, steps: Sequence[Any]) -> Any:
    """A fitted ``TransformedTargetRegressor`` with these numbers."""
    linear = LinearRegression()
    linear.coef_, linear.intercept_ = np.array(coef), float(intercept)
    linear.n_features_in_ = len(linear.coef_)
    # undone from the last to the first
    named = [(f"step{place}", _undone(step)) for place, step in enumerate(reversed(steps))]
    made = TransformedTargetRegressor(
        regressor=LinearRegression(), transformer=Pipeline(named), check_inverse=False
    )
    made.regressor_, made.transformer_ = linear, Pipeline(named)
    made._training_dim = 1
    return made


def _undone(step: Any) -> FunctionTransformer:
    """A fitted step whose inverse is this function; forward it does nothing."""
    return FunctionTransformer(inverse_func=step, check_inverse=False).fit(np.zeros((1, 1)))
