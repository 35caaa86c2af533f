"""The schema as a step of a scikit-learn pipeline."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.pipeline import make_pipeline

from privet import LogisticRegression
from privet.errors import DataError, DeclarationError
from privet.models.encoder import SchemaEncoder
from privet.schema import Categorical, Label, Numeric, Schema

pd = pytest.importorskip("pandas")

SCHEMA = Schema(
    {"age": Numeric(0, 100), "ward": Categorical(["A", "B"])}, Label("ill", ["no", "yes"])
)


def table(n: int) -> Any:
    generator = np.random.default_rng(n)
    age, ward = generator.uniform(0, 100, n), generator.choice(["A", "B", "C"], n)
    return pd.DataFrame({"age": age, "ward": ward, "ill": np.where(age > 50, "yes", "no")})


def test_it_encodes_as_the_schema_does() -> None:
    encoder, data = SchemaEncoder(SCHEMA), table(50)
    assert np.array_equal(encoder.fit(data).transform(data), SCHEMA.encode_features(data))
    assert np.array_equal(encoder.transform(data), SCHEMA.encode_features(data))
    assert encoder.get_feature_names_out().tolist() == ["age", "ward=A", "ward=B", "ward=(other)"]


def test_clones_and_pickles() -> None:
    encoder = SchemaEncoder(SCHEMA)
    for other in (clone(encoder), pickle.loads(pickle.dumps(encoder))):
        assert other.schema == SCHEMA
        assert vars(other) == vars(encoder)


def test_fitting_keeps_nothing() -> None:
    encoder = SchemaEncoder(SCHEMA).fit(table(50))
    assert vars(encoder) == {"schema": SCHEMA}


def test_named_output() -> None:
    data = table(5).set_index(pd.Index(list("abcde")))
    out = SchemaEncoder(SCHEMA).set_output(transform="pandas").fit_transform(data)
    assert list(out.columns) == list(SCHEMA.feature_names)
    assert list(out.index) == list("abcde")


@pytest.mark.parametrize("last", [Plain(), LogisticRegression(50.0, classes=["no", "yes"])])
def test_in_a_pipeline(last: Any) -> None:
    data = table(4000)
    pipeline = clone(make_pipeline(SchemaEncoder(SCHEMA), last)).fit(data, data["ill"])
    assert pipeline.score(data, data["ill"]) > 0.9
    assert pipeline.predict(data[["age", "ward"]]).shape == (4000,)


def test_refusals() -> None:
    with pytest.raises(DataError, match="no column 'age'"):
        SchemaEncoder(SCHEMA).fit(pd.DataFrame({"ward": ["A"]}))
    with pytest.raises(DeclarationError, match="must be a Schema"):
        SchemaEncoder("adult.toml").fit(table(3))  # type: ignore[arg-type]
