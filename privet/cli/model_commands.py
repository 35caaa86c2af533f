"""Releases about a released model, each paid for: ``privet evaluate``, ``privet intervals``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privet._files import file_digest
from privet._untrusted import sealed
from privet.cli.config import Config
from privet.cli.kept import paying
from privet.cli.options import (
    AccountFlags,
    BudgetFlags,
    EngineFlags,
    Force,
    Json,
    command,
    required,
)
from privet.cli.predict_command import ModelFile, SchemaFile
from privet.cli.printing import as_json, facts, free_place, is_screen, put, say, working
from privet.cli.reading import Reading
from privet.errors import DeclarationError

if TYPE_CHECKING:
    from privet.evaluation import Evaluation


#: the field of an evaluation's file that says which model file it is about
MODEL = "sha256_of_model"


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
            help="accuracy, confusion, auc, calibration or groups; may be repeated. Of a "
            "regression: residuals, their histogram beside the errors. The "
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
    engine: EngineFlags,
    out: Annotated[
        Path | None, typer.Option(help="Also write it here as JSON, for privet report.")
    ] = None,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Measure a released model on a table with labels, privately, with intervals.

    Accuracy, confusion matrix, AUC, calibration and rates of groups from a few noisy histograms
    under one budget, which is spent on top of what the training cost; of a regression the mean
    absolute error, the RMSE and R^2. Rows that look like the training rows are refused.
    """
    from privet.evaluation import evaluate as run

    options: dict[str, Any] = {"budget": budget.budget(), "level": level, "groups": group}
    options |= {"measures": measure or None, "training_rows": training_rows, **account.options()}
    model, data = required(model, "MODEL"), required(data, "DATA")
    if is_screen(out):
        out, json = None, True
    with paying(out, account.ledger, force=force, apart=(model, data, schema)) as paid:
        table = engine.table(data)
        released = _looked_at(reading, model, schema, table, group)
        with working(f"Reading and encoding {data.name}, evaluating"):
            found = run(released, table, **options)
        record = {**found.to_json(), MODEL: file_digest(model)}
        paid.keep("evaluation", sealed(record))
        paid.deliver()
        if json:
            as_json(record)
        else:
            say(str(found))
            if group is not None:
                say(f"Groups: the categories of the column {group}.")


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
    engine: EngineFlags,
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write, for privet report --intervals.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Forest plot to write: PNG, SVG or PDF.")
    ] = None,
    form: Annotated[
        Literal["text", "html", "latex"],
        typer.Option("--format", help="The table on the screen."),
    ] = "text",
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
    from privet.inference.interval_display import drawable

    options: dict[str, Any] = {"budget": budget.budget(), "level": level}
    options |= account.options(named_by_model=True)
    model, data = required(model, "MODEL"), required(data, "DATA")
    if is_screen(out):
        out, json = None, True
    if out is not None and out.suffix.lower() in (".html", ".htm", ".tex"):
        raise typer.BadParameter("--out is a JSON file; --format is for the table on the screen.")
    if plot is not None:
        free_place(plot, force=force, apart=(model, data, schema))
        drawable(plot)
    with paying(out, account.ledger, force=force, apart=(model, data, schema, plot)) as paid:
        table = engine.table(data)
        released = _looked_at(reading, model, schema, table)
        with working(f"Reading and encoding {data.name}, releasing two matrices"):
            found = confidence_intervals(released, table, **options)
        shown = found.together("sidak") if joint else found
        paid.keep("intervals", shown.file_text())
        paid.deliver()
        if plot is not None:
            put(plot, shown.plot, force=force)
        if json:
            as_json(shown.to_json())
        else:
            tables = {"text": shown.summary, "html": shown.to_html, "latex": shown.to_latex}
            say(tables[form]())
            written = [("Written", str(place)) for place in (out, plot) if place is not None]
            facts(written, err=form != "text")  # a table for a page or a paper is all of the output


def _looked_at(
    reading: Reading, model: Path, schema: Path | None, data: Any, group: str | None = None
) -> Any:
    """The released model, after the curator's look at the table it is to be measured on.

    What the declarations refuse is refused before: nobody looks at rows for nothing.
    """
    released, declared = reading.model(model, schema, data)
    if group is not None:
        from privet.evaluation.row_groups import declared_column

        declared_column(declared, group)
    reading.look_first(declared, data)
    return released


def load_evaluation(path: Path, model: Path) -> Evaluation:
    """What ``privet evaluate --out`` wrote, refused where it is about another model file."""
    from privet.evaluation.evaluation_files import evaluation_from_json, read_evaluation

    record = read_evaluation(path)
    found = evaluation_from_json(record)
    if record.get(MODEL) != file_digest(model):
        raise DeclarationError(
            f"{path.name} is the evaluation of another model file than {model.name}, or it does "
            "not say of which. Evaluate this one."
        )
    return found
