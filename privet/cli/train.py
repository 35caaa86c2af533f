"""``privet train``: from a raw table and a schema to a released model."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privet.cli.config import Config
from privet.cli.options import (
    Delta,
    Epsilon,
    Force,
    Json,
    Mechanism,
    Noise,
    Regularization,
    Rho,
    budget_from,
    command,
    ledger_url,
    required,
)
from privet.cli.show import as_json, facts, free_place, working
from privet.errors import DataError

if TYPE_CHECKING:
    from privet.privacy.budget import Budget
    from privet.schema import Schema

EXAMPLE = "privet train people.csv --schema schema.toml --epsilon 1 --out model.privet"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, train, EXAMPLE)


def train(
    data: Annotated[Path | None, typer.Argument(help="CSV or Parquet file.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Declared columns and label, TOML.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Annotated[Literal["logistic", "svm"], typer.Option(help="What to fit.")] = "logistic",
    mechanism: Mechanism = "objective",
    noise: Noise = "auto",
    regularization: Regularization = None,
    ledger: Annotated[
        str | None, typer.Option(help="Charge this ledger: a file, or sqlite:///file.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set's name in the ledger.")] = None,
    out: Annotated[Path | None, typer.Option(help="The model file to write.")] = None,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Fit a private classifier on a raw table and write the released model.

    Every column is encoded by its declaration in the schema; columns that the schema does not name
    are not read. The budget is spent once, and from a ledger if one is given.
    """
    budget = budget_from(epsilon, delta, rho)
    if (ledger is None) != (dataset is None):
        raise typer.BadParameter("--ledger and --dataset go together.")
    data, out = required(data, "DATA"), required(out, "--out")
    free_place(out, force=force)
    declared = confirmed_schema(required(schema, "--schema"))
    options: dict[str, Any] = {"mechanism": mechanism, "noise": noise}
    options["regularization"] = "auto" if regularization is None else regularization
    if ledger is not None:
        from privet.privacy.ledger import Ledger

        account = Ledger(ledger_url(ledger))
        options |= {"ledger": account, "dataset": dataset}
        _mind_the_unit(declared, account.terms(required(dataset, "--dataset")).group)
    start = time.perf_counter()
    fitted = fit(data, declared, budget, model, options)
    fitted.save(out)
    tell_released(fitted, out, time.perf_counter() - start, json=json)


def _mind_the_unit(schema: Schema, counted: int) -> None:
    """A ledger counts for persons with so many rows; where one may have more, say so."""
    if schema.group_size > counted:
        whom = "one row" if counted == 1 else f"a person with at most {counted} rows"
        typer.echo(
            f"Note: the ledger's cap is for {whom}; a person may have {schema.group_size} by this "
            "schema, and spends more than the ledger counts: in epsilon by the ratio of the two, "
            "in rho by its square. Open the account with --group to count for persons.",
            err=True,
        )


def confirmed_schema(path: Path) -> Schema:
    """The schema, refused while a declaration still waits for a person."""
    from privet.errors import DeclarationError
    from privet.schema import Schema

    declared = Schema.from_toml(path)
    if declared.unconfirmed:
        names = ", ".join(declared.unconfirmed[:5]) + (" ..." if declared.unconfirmed[5:] else "")
        raise DeclarationError(
            f"The schema has declarations that were read from the data and that nobody has "
            f"confirmed: {names}. Replace each by what you can name without looking, and remove "
            'its mark, or take it over with from_data = "confirmed".'
        )
    return declared


def fit(data: Path, schema: Schema, budget: Budget, model: str, options: dict[str, Any]) -> Any:
    """Encode and fit; the model carries the schema's text from then on."""
    from privet.privacy.group import per_row

    chosen = unfitted(schema, model, budget=per_row(budget, schema.group_size), **options)
    x, y = encoded(data, schema)
    with working(f"Fitting on {len(x):,} rows of {x.shape[1]} encoded columns"):
        fitted = chosen.fit(x, y)
    return carrying(fitted, schema, budget)


def unfitted(schema: Schema, model: str, **options: Any) -> Any:
    """The model for what the schema declares."""
    from privet.models import LinearSVC, LogisticRegression

    kind = {"logistic": LogisticRegression, "svm": LinearSVC}[model]
    classes = list(schema.label.classes)
    return kind(classes=classes, fit_intercept=not schema.has_constant, **options)


def encoded(data: Path, schema: Schema) -> tuple[Any, Any]:
    """Rows and labels of a file."""
    with working(f"Reading and encoding {data.name}"):
        x, y = schema.encode(data)
    if len(x) == 0:
        raise DataError("The table has no rows.")
    return x, y


def carrying(fitted: Any, schema: Schema, budget: Budget) -> Any:
    """The released model with the schema's text and what it adds to the guarantee."""
    fitted.schema_ = schema.to_toml()
    told = (*fitted.guarantee_.assumptions, *declarations(schema, budget))
    fitted.guarantee_ = replace(fitted.guarantee_, assumptions=told, **_unit(schema))
    return fitted


def _unit(schema: Schema) -> dict[str, Any]:
    """Whom the guarantee is about: a person, where the schema says whose row it is."""
    if schema.person is None:
        return {}
    k = schema.group_size
    rows = "one row" if k == 1 else f"{k} rows"
    return {"unit": f"one person, with at most {rows} by {schema.person.column}", "group": k}


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
        rows = "one row" if k == 1 else f"{k} rows"
        told.append(
            f"that the column {schema.person.column!r} says whose row it is: at most {rows} of a "
            f"person count, and for a person with all of them the guarantee is {budget}"
        )
    return told


def tell_released(model: Any, out: Path, seconds: float | None, *, json: bool) -> None:
    """What was released, where, and what to do next; None says nothing of time and memory."""
    guarantee, memory = model.guarantee_, peak_memory()
    if json:
        used = (
            {} if seconds is None else {"seconds": round(seconds, 3), "peak_memory_bytes": memory}
        )
        as_json(
            {
                "model": str(out),
                "guarantee": guarantee.to_json(),
                "classes": model.classes_.tolist(),
                "columns": int(model.coef_.shape[1]),
                "regularization": model.regularization_,
                **used,
            }
        )
        return
    mega = "" if memory is None else f", at most {memory / 2**20:,.0f} MB of memory"
    facts(
        [
            (
                "Released",
                f"{out}: {type(model).__name__} on {model.coef_.shape[1]} encoded columns",
            ),
            ("Guarantee", str(guarantee)),
            ("Theorem", guarantee.theorem),
            *(() if seconds is None else (("Took", f"{seconds:.1f} s{mega}"),)),
            ("Next", f"privet statement {out}"),
            ("", f"privet report {out}"),
        ]
    )


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes, where the system tells."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)
