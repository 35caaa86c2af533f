"""``privet evaluate``: how good a released model is on rows kept apart, told privately."""

from __future__ import annotations

from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet._files import file_digest
from privet.cli.config import Config
from privet.cli.kept import paying
from privet.cli.options import (
    Delta,
    Epsilon,
    Force,
    Json,
    Rho,
    budget_from,
    charged_to,
    command,
    required,
)
from privet.cli.predict import schema_of
from privet.cli.reading import Decimal, Encoding, LookFirst, Reading, Separator, Yes
from privet.cli.show import as_json, clean, is_screen, working
from privet.errors import DeclarationError

if TYPE_CHECKING:
    from privet.evaluation import Evaluation

EXAMPLE = "privet evaluate model.privet held_out.csv --epsilon 0.5 --group region"
OTHER = "(other)"
#: the field of an evaluation's file that says which model file it is about
MODEL = "sha256_of_model"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, evaluate, EXAMPLE)


def evaluate(
    model: Annotated[Path | None, typer.Argument(help="A model that privet train wrote.")] = None,
    data: Annotated[
        Path | None, typer.Argument(help="CSV or Parquet file with labels, not the training one.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="accuracy, confusion, auc, calibration or groups; may be repeated."),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="A categorical column of the schema: rates of each category.")
    ] = None,
    level: Annotated[float, typer.Option(help="Of each interval.")] = 0.95,
    schema: Annotated[
        Path | None, typer.Option(help="Schema, for a model file that holds none.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Charge this ledger: a file, or sqlite:///file.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set's name in the ledger.")] = None,
    training_rows: Annotated[
        bool | None,
        typer.Option(
            "--training-rows/--other-rows",
            help="Say that these are the rows the model was trained on, or that they are not.",
        ),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    look: LookFirst = None,
    yes: Yes = False,
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
    budget = budget_from(epsilon, delta, rho)
    if (ledger is None) != (dataset is None):
        raise typer.BadParameter("--ledger and --dataset go together.")
    model, data = required(model, "MODEL"), required(data, "DATA")
    if is_screen(out):
        out, json = None, True
    options: dict[str, Any] = {"level": level, "training_rows": training_rows}
    options["measures"] = measure or None
    options |= charged_to(ledger, dataset)
    reading = Reading(separator, encoding, decimal, look, yes)
    with paying(out, ledger, force=force) as paid:
        found = evaluated(model, data, budget, (schema, reading), group, options)
        record = {**found.to_json(), MODEL: file_digest(model)}
        paid.keep("evaluation", dumps(record, indent=2, allow_nan=False) + "\n")
        paid.deliver()
        if json:
            as_json(record)
        else:
            typer.echo(clean(str(found)))


def load_evaluation(path: Path, model: Path) -> Evaluation:
    """What ``--out`` wrote, refused where it is about another model file."""
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


def evaluated(
    path: Path,
    data: Path,
    budget: Any,
    how: tuple[Path | None, Reading],
    group: str | None,
    options: Any,
) -> Any:
    """The evaluation of a model file on a table; ``how`` is what the flags say of reading it."""
    from privet.evaluation import evaluate as run
    from privet.models.tables import with_schema
    from privet.store import load

    model = load(path)
    schema, reading = how
    declared = reading.schema(schema_of(model, schema), data)
    reading.look_first(declared, data)
    model = with_schema(model, declared)  # with what the flags say of the file
    with working(f"Reading and encoding {data.name}, evaluating"):
        return run(model, data, budget=budget, groups=group, **options)
