"""``fit_table``: from a raw table and its schema to a released model, in one call.

    declarations -> does the ledger count for the schema's persons? -> table encoded -> fit ->
    the model carries the schema and a guarantee about whom the schema says

It is the same road from Python and on the command line (``privet train``, ``privet tune``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from privet.errors import DataError, DeclarationError
from privet.ledger.charge import check_ledger, check_unit
from privet.models.carried import carrying, promised, refuse_unconfirmed
from privet.models.encoder import SchemaEncoder
from privet.models.row_wise import parted
from privet.privacy.budget import as_budget
from privet.schema import Encoded, Schema
from privet.schema.tables import is_table


def fit_table(model: Any, schema: Schema, table: Any) -> Any:
    """A fitted copy of ``model``, trained on a raw table by the declarations of its schema.

    Parameters
    ----------
    model : a Privet model, a search of ``privet.tuning``, or a pipeline that ends in one of them
        Unfitted. The steps of a pipeline get encoded rows and must map each by itself
        (``privet.models.row_wise``). The budget is for whom the schema protects: a row, or a
        person with all the rows that count. Classes come from the schema, and the intercept is
        dropped where the encoded columns hold a constant already, which saves its noise.
    schema : Schema
        What is public about the table.
    table :
        A pandas, polars or Arrow table, a DuckDB relation, columns by name in a dictionary, or the
        path of a Parquet or CSV file.

    Returns
    -------
    model
        Fitted. It carries the schema, also in its file: ``predict``, ``predict_proba`` and
        ``decision_function`` take raw tables, without label and person.
    """
    parts = parted(model)
    _refuse_another(parts.schema, schema)
    chosen = for_schema(parts.last, schema, stepped=bool(parts.steps))
    budget, (x, y) = as_budget(parts.last.budget), encoded(schema, table)
    if not isinstance(model, Pipeline):
        fitted = chosen.fit(x, y)
        for each in fitted._carriers():
            carrying(each, schema, budget)
        return fitted
    steps = replace(parts, steps=tuple((name, clone(step)) for name, step in parts.steps))
    fitted = chosen.fit(steps.transformed(x, fit=True), y)
    for each in fitted._carriers():
        each.guarantee_ = promised(each.guarantee_, schema, budget, steps.relied())
    return Pipeline([("schema", SchemaEncoder(schema)), *steps.steps, (parts.name, fitted)])


def labelled_rows(carried: Schema | None, X: Any, y: Any) -> tuple[Any, Any, Schema | None]:
    """Rows and labels for a release about a fitted model, and the schema of a raw table.

    Arrays come with their labels and have no schema. A raw table comes alone: the schema that the
    model carries says which column is the label and whose row it is.
    """
    schema = carried if is_table(X) else None
    if schema is None and y is None:
        raise DeclarationError(
            "y is missing. Only a model that carries a schema, as fit_table gives it, takes a raw "
            "table alone; pass encoded rows and their labels."
        )
    if schema is None:
        return X, y, None
    if y is not None:
        raise DeclarationError(
            "The model carries a schema, which names the label's column. Pass the raw table alone, "
            "or encoded rows and their labels."
        )
    return *encoded(schema, X), schema


def for_schema(model: Any, schema: Schema, *, stepped: bool = False) -> Any:
    """An unfitted copy for rows that the schema encodes, with the budget of each row.

    ``stepped``: other steps come between, and what is constant after them is not known.
    """
    if not hasattr(model, "_by_schema"):
        raise DeclarationError(
            f"{type(model).__name__} cannot be fitted to a table: give a Privet model, for example "
            "LogisticRegression(), or a search of privet.tuning."
        )
    if not isinstance(schema, Schema):
        raise DeclarationError("schema must be a Schema, for example Schema.from_toml(path).")
    refuse_unconfirmed(schema)
    check_ledger(model.ledger, model.dataset, model.insecure_seed)
    check_unit(model.ledger, model.dataset, schema.group_size)
    budget = as_budget(model.budget).per_row(schema.group_size)
    options = model._by_schema(schema, stepped=stepped)
    return clone(model).set_params(budget=budget, **options)


def _refuse_another(inside: Schema | None, given: Any) -> None:
    if inside is not None and inside != given:
        raise DeclarationError("The pipeline's SchemaEncoder has another schema than was given.")


def encoded(schema: Schema, table: Any) -> Encoded:
    """Rows and labels of a table; one without rows is refused."""
    found = schema.encode(table, as_rows=True)  # whoever calls this divides the budget
    if len(found.x) == 0:
        raise DataError("The table has no rows.")
    return found
