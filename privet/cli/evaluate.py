"""``privet evaluate`` and ``privet intervals``: releases about a released model, each paid for."""

from __future__ import annotations

from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet._files import file_digest, write_through
from privet.cli.config import Config
from privet.cli.kept import paying
from privet.cli.options import AccountFlags, BudgetFlags, Force, Json, command, required
from privet.cli.output import as_json, clean, facts, free_place, is_screen, working
from privet.cli.reading import Reading
from privet.errors import DeclarationError

if TYPE_CHECKING:
    from privet.evaluation import Evaluation

#: the field of an evaluation's file that says which model file it is about
MODEL = "sha256_of_model"

ModelFile = Annotated[Path | None, typer.Argument(help="A model that privet train wrote.")]
SchemaFile = Annotated[Path | None, typer.Option(help="Schema, for a model file that holds none.")]


def register(app: typer.Typer) -> None:
    """Add both commands."""
    command(app, evaluate, "privet evaluate model.privet held_out.csv --epsilon 0.5 --group region")
    command(
        app, intervals, "privet intervals model.privet people.csv --epsilon 1 --out intervals.json"
    )


def evaluate(
    *,
    model: ModelFile = None,
    data: Annotated[
        Path | None, typer.Argument(help="CSV or Parquet file with labels, not the training one.")
    ] = None,
    budget: BudgetFlags,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="accuracy, confusion, auc, calibration or groups; may be repeated. The "
            "calibration error adds up the gaps in the tenths of the probability, with each row's "
            "probability rounded to the middle of a narrow bin."
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="A categorical column of the schema: rates of each category.")
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    schema: SchemaFile = None,
    account: AccountFlags,
    training_rows: Annotated[
        bool | None,
        typer.Option(
            "--training-rows/--other-rows",
            help="Say that these are the rows the model was trained on, or that they are not.",
        ),
    ] = None,
    reading: Reading,
    out: Annotated[
        Path | None, typer.Option(help="Also write it here as JSON, for privet report.")
    ] = None,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Measure a released model on a table with labels, privately, with intervals.

    Accuracy, confusion matrix, AUC, calibration and rates of groups from a few noisy histograms
    under one budget, which is spent on top of what the training cost. Rows that look like the
    training rows are refused.
    """
    from privet.evaluation import evaluate as run

    options: dict[str, Any] = {"budget": budget.budget(), "level": level, "groups": group}
    options |= {"measures": measure or None, "training_rows": training_rows, **account.options()}
    model, data = required(model, "MODEL"), required(data, "DATA")
    if is_screen(out):
        out, json = None, True
    with paying(out, account.ledger, force=force) as paid:
        released = _looked_at(reading, model, schema, data)
        with working(f"Reading and encoding {data.name}, evaluating"):
            found = run(released, data, **options)
        record = {**found.to_json(), MODEL: file_digest(model)}
        paid.keep("evaluation", dumps(record, indent=2, allow_nan=False) + "\n")
        paid.deliver()
        if json:
            as_json(record)
        else:
            typer.echo(clean(str(found)))


def intervals(
    *,
    model: ModelFile = None,
    data: Annotated[Path | None, typer.Argument(help="The table it was trained on.")] = None,
    budget: BudgetFlags,
    level: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    joint: Annotated[
        bool, typer.Option("--joint", help="Intervals that hold all at once (Sidak).")
    ] = False,
    schema: SchemaFile = None,
    account: AccountFlags,
    reading: Reading,
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write, for privet report --intervals.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Forest plot to write: PNG, SVG or PDF.")
    ] = None,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Confidence intervals for the coefficients of a private model, paid for on top of the fit.

    The table must be the one that the model was trained on: only its number of rows is compared.
    The budget is for the unit that the model's own guarantee names. The intervals are for the
    minimizer of the regularized population risk.
    """
    from privet.inference import confidence_intervals
    from privet.inference.display import drawable

    options: dict[str, Any] = {"budget": budget.budget(), "level": level}
    options |= account.options(named_by_model=True)
    model, data = required(model, "MODEL"), required(data, "DATA")
    if is_screen(out):
        out, json = None, True
    if plot is not None:
        free_place(plot, force=force)
        drawable(plot)
    with paying(out, account.ledger, force=force) as paid:
        released = _looked_at(reading, model, schema, data)
        with working(f"Reading and encoding {data.name}, releasing two matrices"):
            found = confidence_intervals(released, data, **options)
        shown = found.together("sidak") if joint else found
        paid.keep("intervals", shown.file_text())
        paid.deliver()
        if plot is not None:
            write_through(plot, shown.plot, replace=force, mode=0o644)
        if json:
            as_json(shown.to_json())
        else:
            typer.echo(clean(shown.summary()))
            facts([("Written", str(place)) for place in (out, plot) if place is not None])


def _looked_at(reading: Reading, model: Path, schema: Path | None, data: Path) -> Any:
    """The released model, after the curator's look at the table it is to be measured on."""
    released, declared = reading.model(model, schema, data)
    reading.look_first(declared, data)
    return released


def load_evaluation(path: Path, model: Path) -> Evaluation:
    """What ``privet evaluate --out`` wrote, refused where it is about another model file."""
    from privet.evaluation.released_evaluation import evaluation_from_json

    try:
        record = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        record = None
    found = evaluation_from_json(record)
    if record.get(MODEL) != file_digest(model):
        raise DeclarationError(
            f"{path.name} is the evaluation of another model file than {model.name}, or it does "
            "not say of which. Evaluate this one."
        )
    return found
