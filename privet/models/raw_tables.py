"""``fit_table``: from a raw table and its schema to a released model, in one call.

    declarations -> does the ledger count for the schema's persons? -> table encoded -> fit ->
    the model carries the schema and a guarantee about whom the schema says

It is the same road from Python and on the command line (``privet train``, ``privet tune``).

A model that was fitted through a schema keeps the schema's text (``schema_``, also in its file), so
that it encodes raw tables itself, and its guarantee is about whom the schema says: a row, or a
person with at most ``k`` rows that count (``docs/schema.md``).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar, cast

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from privet.errors import DataError, DeclarationError
from privet.ledger.charge import check_ledger, check_unit, for_persons
from privet.models.encoder import SchemaEncoder
from privet.models.knots import with_knots
from privet.models.planned import Planned
from privet.models.preparation import means_options, mechanism_for, takes_means
from privet.models.row_wise import Promised, Scored, Trainable, parted
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.rows.door import as_stream
from privet.rows.streamed import StreamedTable
from privet.schema import Encoded, Schema
from privet.schema.encode import ChunkEncoder
from privet.schema.tables import is_table

#: A model, or a pipeline that ends in one.
Model = TypeVar("Model")
Unfitted = TypeVar("Unfitted", bound=Trainable)

#: Before the amount, in the sentence on persons.
WORTH = "for a person with all of them the guarantee is "


def fit_table(
    model: Model, schema: Schema, table: Any, *, knots: int | Literal["auto"] | None = None
) -> Model:
    """A fitted copy of ``model``, trained on a raw table by the declarations of its schema.

    Parameters
    ----------
    model : a Privet model, a search of ``privet.tuning``, or a pipeline that ends in one of them
        Unfitted. The steps of a pipeline get encoded rows and must map each by itself
        (``privet.models.row_wise``). The budget is for whom the schema protects: a row, or a
        person with all the rows that count. Classes come from the schema, and the intercept is
        dropped where the encoded columns hold a constant already, which saves its noise.
        ``standardize="auto"`` of a linear model becomes what its ``preparation`` says, and
        ``mechanism="auto"`` what is best with it (``privet/models/preparation.py``).
    schema : Schema
        What is public about the table.
    table :
        A pandas, polars or Arrow table, a DuckDB relation, columns by name in a dictionary, or the
        path of a Parquet or CSV file. A folder of files, and what ``privet.stream`` makes, is read
        in parts and never held (``docs/scale.md``).
    knots : int, "auto" or None, default None
        Of each number that declares none: how many, or what a public rule of rows, columns and
        budget takes (``privet/models/knots.py``; never in a pipeline). The model carries the schema
        with its knots. None keeps numbers straight.

    Returns
    -------
    model
        Fitted. It carries the schema, also in its file: ``predict``, ``predict_proba`` and
        ``decision_function`` take raw tables, without label and person.
    """
    parts = parted(model)
    _refuse_another(parts.schema, schema)
    _refuse_divided(parts.last)
    chosen = for_schema(parts.last, schema, stepped=bool(parts.steps))
    budget, (x, y) = as_budget(parts.last.budget), encoded(schema, table)
    if knots != "auto" or not parts.steps:
        made = partial(for_schema, parts.last, stepped=bool(parts.steps))
        bent = with_knots(schema, knots, len(x), made)
        if bent is not schema:
            schema, chosen, (x, y) = bent, made(bent), encoded(bent, table)
    if not isinstance(model, Pipeline):
        chosen = prepared_for(chosen, len(x), x.shape[1])
        with for_persons(0 if schema.person is None else schema.group_size):
            fitted = chosen.fit(x, y)
        for each in fitted.schema_carriers():
            carrying(each, schema, budget)
        return cast(Model, fitted)
    if isinstance(x, StreamedTable):
        raise DeclarationError(
            "A pipeline's steps take a table that is in memory. Fit the model alone to a folder or "
            "a stream, or read the table first."
        )
    steps = replace(parts, steps=tuple((name, clone(step)) for name, step in parts.steps))
    with for_persons(0 if schema.person is None else schema.group_size):
        fitted = chosen.fit(steps.transformed(x, fit=True), y)
    for each in fitted.schema_carriers():
        each.guarantee_ = promised(each.guarantee_, schema, budget, steps.relied())
    whole = Pipeline([("schema", SchemaEncoder(schema)), *steps.steps, (parts.name, fitted)])
    return cast(Model, whole)


def planned_table(model: Trainable, schema: Schema, n: int) -> Planned:
    """What ``fit_table`` would do and cost on a table of ``n`` rows; no table is needed.

    Everything that declarations and the public size decide is refused here.
    """
    d, classes = schema.width, 2 if schema.classes is None else len(schema.classes)
    return cast(Planned, prepared_for(for_schema(model, schema), n, d).planned(n, d, classes))


def _refuse_divided(model: Trainable) -> None:
    """Refuse a model that was fitted for persons: its budget is a row's share already."""
    guarantee = getattr(model, "guarantee_", None)
    if guarantee is not None and guarantee.group > 1:
        raise DeclarationError(
            "This model was fitted for persons, and its budget is now the share of one row. Pass "
            "an unfitted model with the budget that a person may spend."
        )


def labeled_rows(carried: Schema | None, X: Any, y: Any) -> tuple[Any, Any, Schema | None]:
    """Rows and labels for a release about a fitted model, and the schema of a raw table.

    Arrays come with their labels and have no schema. A raw table comes alone: the schema that the
    model carries says which column is the label and whose row it is.
    """
    schema = carried if is_table(X) or as_stream(X) is not None else None
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


def for_schema(model: Unfitted, schema: Schema, *, stepped: bool = False) -> Unfitted:
    """An unfitted copy for rows that the schema encodes, with the budget of each row.

    ``stepped``: other steps come between, and what is constant after them is not known.
    """
    if not hasattr(model, "schema_parameters"):
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
    options = model.schema_parameters(schema, stepped=stepped)
    return cast(Unfitted, clone(model).set_params(budget=budget, **options))


def prepared_for(model: Any, n: int, d: int) -> Any:
    """The unfitted model with what is "auto" settled for this many rows and columns.

    Whoever says how rows are prepared has the objective perturbed, which intervals need.
    """
    if getattr(model, "standardize", None) != "auto":
        return model
    if takes_means(model, n, d):
        return model.set_params(**means_options(model, n, d))
    chosen = model.preparation(n, d)
    if chosen is not None and getattr(model, "takes_domain", False):
        model.set_params(domain=None)  # prepared rows are not in it any more
    model.set_params(standardize=chosen)
    if model.mechanism == "auto":
        model.set_params(mechanism=mechanism_for(model, n, d))
    return model


def _refuse_another(inside: Schema | None, given: Schema) -> None:
    if inside is not None and inside != given:
        raise DeclarationError("The pipeline's SchemaEncoder has another schema than was given.")


def encoded(schema: Schema, table: Any) -> Encoded:
    """Rows and labels of a table; one without rows is refused."""
    streamed = as_stream(table)
    if streamed is not None:
        return Encoded(*streamed.encoded(schema))
    found = schema.encode(table, as_rows=True)  # whoever calls this divides the budget
    if len(found.x) == 0:
        raise DataError("The table has no rows.")
    return found


# -- the schema that a model carries, and what it adds to the guarantee --------------------------


def carried(model: Promised | Pipeline) -> Schema | None:
    """The schema that a fitted model or pipeline carries, if any."""
    if isinstance(model, Pipeline):
        first = model[0]
        return first.schema if isinstance(first, SchemaEncoder) else None
    text = getattr(model, "schema_", None)
    return None if text is None else Schema.from_text(text)


def with_schema(model: Promised | Pipeline, schema: Schema) -> Promised | Pipeline:
    """The fitted model with this schema in place of its own, for another way of writing files."""
    if isinstance(model, Pipeline):
        steps = model.steps if carried(model) is None else model.steps[1:]
        return Pipeline([("schema", SchemaEncoder(schema)), *steps])
    model.schema_ = schema.to_toml()
    return model


def after_schema(model: Scored | Pipeline) -> Scored | Pipeline:
    """What takes encoded rows: a pipeline without its encoder, or the model itself."""
    return model[1:] if isinstance(model, Pipeline) and carried(model) is not None else model


def encoded_features(model: Promised, X: Any) -> Any:
    """``X`` for prediction: a raw table encoded by the model's schema, anything else as it is."""
    if isinstance(X, np.ndarray) or not (
        is_table(X) or as_stream(X)
    ):  # a schema's text takes long to read
        return X
    schema = carried(model)
    if schema is None:
        return X
    streamed = as_stream(X)
    if streamed is not None:
        return StreamedTable(streamed.source(ChunkEncoder(schema, label=False)))
    return schema.encode_features(X)


def refuse_unconfirmed(schema: Schema) -> None:
    """Refuse a schema with a declaration that still waits for a person."""
    if schema.unconfirmed:
        more = f" and {len(schema.unconfirmed) - 5} more" if schema.unconfirmed[5:] else ""
        names = ", ".join(schema.unconfirmed[:5]) + more
        raise DeclarationError(
            f"The schema has declarations that were read from the data and that nobody has "
            f"confirmed: {names}. Replace each by what you can name without looking, and remove "
            'its mark, or take it over with from_data = "confirmed".'
        )


def carrying(fitted: Promised, schema: Schema, budget: Budget) -> None:
    """The released model with the schema's text and what it adds to the guarantee."""
    fitted.schema_ = schema.to_toml()
    fitted.guarantee_ = promised(fitted.guarantee_, schema, budget)


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
        "neighbors": (
            "tables of the same public size that differ in the rows of one person, each replaced "
            f"in its place: in either table all of these rows share one value of {column} that no "
            f"other row has, or all have none; at most {rows}, and rows without a value never do"
        ),
    }


def worth(assumptions: tuple[str, ...], budget: Budget) -> tuple[str, ...]:
    """The same list for another release about the same persons, which costs them ``budget``."""
    return tuple(
        f"{told}{WORTH}{budget}" if found else told
        for told, found, _ in (each.partition(WORTH) for each in assumptions)
    )


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
            f"rows of a person and another for everybody else: at most {rows}, and {WORTH}{budget}"
        )
    return told
