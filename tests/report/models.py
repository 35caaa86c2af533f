"""Released models of every kind that the report can meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet import ZCDP, ApproxDP, LinearSVC, LogisticRegression, PureDP
from privet.datasets import census_schema, census_table
from tests.models.tables import three_classes, two_classes

KINDS: dict[str, Any] = {
    "pure objective": lambda: LogisticRegression(1.0).fit(*two_classes()),
    "zcdp objective": lambda: LogisticRegression(ZCDP(0.2)).fit(*two_classes()),
    "approx output": lambda: LinearSVC(
        ApproxDP(1.0, 1e-6), mechanism="output", noise="gaussian"
    ).fit(*two_classes()),
    "pure output": lambda: LogisticRegression(PureDP(0.5), mechanism="output").fit(*two_classes()),
    "three classes": lambda: LogisticRegression(2.0, classes=["a", "b", "c"]).fit(*three_classes()),
    "weighted, no intercept": lambda: LinearSVC(
        1.0, fit_intercept=False, class_weight={0: 2.0}, norm_bound=2.0
    ).fit(*two_classes()),
    "seeded": lambda: LogisticRegression(1.0, insecure_seed=1).fit(*two_classes()),
    "large epsilon": lambda: LogisticRegression(50.0).fit(*two_classes()),
    "one column": lambda: LogisticRegression(1.0).fit(*two_classes(d=1)),
    "declared regularization": lambda: LogisticRegression(1.0, regularization=0.1).fit(
        *two_classes()
    ),
    "standardized": lambda: LogisticRegression(
        2.0, standardize="private", column_bounds=(-1.0, 1.0)
    ).fit(*two_classes()),
}


def one_hot(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of categories, some common, some rare, the last of each empty."""
    generator = np.random.default_rng()
    shares = np.array([0.5, 0.3, 0.15, 0.04, 0.009, 0.001, 0.0])
    parts = [np.eye(7)[generator.choice(7, size=n, p=shares)] for _ in range(3)]
    x = np.concatenate(parts, axis=1) / np.sqrt(3.0)
    log_odds = x @ np.tile([1.0, -1.0, 0.5, 2.0, -2.0, 1.0, 0.0], 3)
    y = (generator.random(n) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    return x, y


def with_schema() -> Any:
    """A model of the made-up census with the schema that its file would keep."""
    import pyarrow as pa

    schema = census_schema()
    table = census_table(800)
    encoded = schema.encode(pa.table({name: pa.array(v.tolist()) for name, v in table.items()}))
    assert np.linalg.norm(encoded.x, axis=1).max() <= 1.0
    # so generous that the largest coefficients are the same in every run
    model = LogisticRegression(500.0, classes=list(schema.label.classes)).fit(*encoded)
    model.schema_ = schema.to_toml()
    return model
