"""The schema that a model carries, and what it adds to the model's guarantee.

A model that was fitted through a schema keeps the schema's text (``schema_``, also in its file), so
that it encodes raw tables itself, and its guarantee is about whom the schema says: a row, or a
person with at most ``k`` rows that count (``docs/schema.md``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from privet.errors import DeclarationError
from privet.models.encoder import SchemaEncoder
from privet.privacy.budget import Budget
from privet.privacy.guarantee import Guarantee
from privet.schema import Schema
from privet.schema.tables import is_table


def carried(model: Any) -> Schema | None:
    """The schema that a fitted model or pipeline carries, if any."""
    if isinstance(model, Pipeline):
        first = model[0]
        return first.schema if isinstance(first, SchemaEncoder) else None
    text = getattr(model, "schema_", None)
    return None if text is None else Schema.from_toml(text)


def with_schema(model: Any, schema: Schema) -> Any:
    """The fitted model with this schema in place of its own, for another way of writing files."""
    if isinstance(model, Pipeline):
        return Pipeline([("schema", SchemaEncoder(schema)), *after_schema(model).steps])
    model.schema_ = schema.to_toml()
    return model


def after_schema(model: Any) -> Any:
    """What takes encoded rows: a pipeline without its encoder, or the model itself."""
    return model[1:] if isinstance(model, Pipeline) and carried(model) is not None else model


def encoded_features(model: Any, X: Any) -> Any:
    """``X`` for prediction: a raw table encoded by the model's schema, anything else as it is."""
    schema = carried(model)
    return schema.encode_features(X) if schema is not None and is_table(X) else X


def refuse_unconfirmed(schema: Schema) -> None:
    """Refuse a schema with a declaration that still waits for a person."""
    if schema.unconfirmed:
        names = ", ".join(schema.unconfirmed[:5]) + (" ..." if schema.unconfirmed[5:] else "")
        raise DeclarationError(
            f"The schema has declarations that were read from the data and that nobody has "
            f"confirmed: {names}. Replace each by what you can name without looking, and remove "
            'its mark, or take it over with from_data = "confirmed".'
        )


def carrying(fitted: Any, schema: Schema, budget: Budget) -> Any:
    """The released model with the schema's text and what it adds to the guarantee."""
    fitted.schema_ = schema.to_toml()
    fitted.guarantee_ = promised(fitted.guarantee_, schema, budget)
    return fitted


def promised(
    guarantee: Guarantee, schema: Schema, budget: Budget, more: tuple[str, ...] = ()
) -> Guarantee:
    """The guarantee of a release from a table that the schema encoded; ``budget`` is a unit's."""
    told = (*guarantee.assumptions, *declarations(schema, budget), *more)
    return replace(guarantee, assumptions=told, **unit(schema))


def unit(schema: Schema) -> dict[str, Any]:
    """Whom the guarantee is about: a person, where the schema says whose row it is."""
    if schema.person is None:
        return {}
    column, k = schema.person.column, schema.group_size
    rows = "one row counts" if k == 1 else f"{k} rows count"
    return {
        "unit": f"one person (told apart by {column}, at most {rows})",
        "group": k,
        "neighbours": (
            "tables of the same public size that differ in the rows of one person, each replaced "
            f"in its place: in either table all of these rows share one value of {column} that no "
            f"other row has, or all have none; at most {rows}, and rows without a value never do"
        ),
    }


def declarations(schema: Schema, budget: Budget) -> list[str]:
    """What the schema adds to the list of things relied upon."""
    told = [
        f"the schema: bounds, categories and classes of {len(schema.columns)} columns and the "
        "label, named without looking at the rows"
    ]
    if schema.confirmed:
        told.append(
            f"bounds, categories or classes of {', '.join(schema.confirmed)}, which were read from "
            "the data and taken over by a person: no guarantee covers what they tell of the rows"
        )
    if schema.person is not None:
        k = schema.group_size
        rows = "one row of a person counts" if k == 1 else f"{k} rows of a person count"
        told.append(
            f"that the column {schema.person.column!r} says whose row it is, the same value in all "
            f"rows of a person and another for everybody else: at most {rows}, and for a person "
            f"with all of them the guarantee is {budget}"
        )
    return told
