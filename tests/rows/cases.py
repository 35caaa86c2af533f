"""Models that every engine must fit to the same numbers as arrays do."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from privet import (
    ZCDP,
    ApproxDP,
    HuberRegressor,
    LargeMarginGaussian,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    fit_table,
)
from privet.kernels import KernelSVC
from privet.schema import Schema
from privet.tuning import PartitionSearch
from tests.rows.tables import N, schema, table

NAMES = ("coef_", "intercept_")
SEED = {"insecure_seed": 5}
TWO = [{"regularization": 0.01}, {"regularization": 0.1}]
MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(1.0, **SEED),
    "whitened": LogisticRegression(ZCDP(0.5), standardize="whiten", **SEED),
    "svm": LinearSVC(1.0, mechanism="output", **SEED),
    "softmax": LogisticRegression(2.0, mechanism="objective", **SEED),
    "class means": LogisticRegression(2.0, mechanism="means", **SEED),
    "gaussian": LargeMarginGaussian(ZCDP(1.0), covariance="diagonal", **SEED),
    "mixture": LargeMarginGaussian(
        ZCDP(1.0), covariance="diagonal", components=2, standardize="private", **SEED
    ),
    "random features": KernelSVC(ApproxDP(2.0, 1e-6), n_frequencies=20, **SEED),
    "least squares": LinearRegression(ZCDP(0.5), **SEED),
    "Huber regression": HuberRegressor(2.0, **SEED),
    "Poisson regression": PoissonRegressor(2.0, **SEED),
    "private gradients": LogisticRegression(
        ApproxDP(2.0, 1e-6), mechanism="gradient", standardize=None, **SEED
    ),
    "partition search": PartitionSearch(LogisticRegression(), TWO, 1.0, **SEED),
}


def schema_for(name: str) -> Schema:
    """Many classes for two of them, a number for regressions, two classes for the others."""
    if "regression" in name or name == "least squares":
        return schema("commute")
    return schema("marriage" if name in ("softmax", "class means") else "income")


@cache
def in_memory(name: str) -> Any:
    """The model fitted to arrays: what every engine is compared with."""
    return fit_table(MODELS[name], schema_for(name), pa.table(table()))


def grid_steps(one: Any, other: Any) -> float:
    """The largest difference of released coefficients, in steps of their grid."""
    one, other = (getattr(each, "best_estimator_", each) for each in (one, other))
    design: Any = one.planned(N, one.n_features_in_, one.classes_).design
    shifts = [np.abs(getattr(one, name) - getattr(other, name)).max() for name in NAMES]
    return float(max(shifts) / 2.0**design.exponent)
