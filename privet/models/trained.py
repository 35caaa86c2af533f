"""What a model was trained on, by its public names: for the statement."""

from __future__ import annotations

from typing import Any

from privet.schema import Schema
from privet.statement.making import Trained


def trained(model: Any) -> Trained:
    """Label and columns of a fitted model: its schema's, or named by its table, or nameless."""
    classes = tuple(str(label) for label in model.classes_)
    features = int(model.n_features_in_)
    text = getattr(model, "schema_", None)
    if text is not None:
        schema = Schema.from_toml(text)
        return Trained(features, classes, tuple(schema.columns), schema.label.name, schema=True)
    names = getattr(model, "feature_names_in_", ())
    return Trained(features, classes, tuple(str(name) for name in names))
