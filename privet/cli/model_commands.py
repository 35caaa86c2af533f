"""With a released model: ``privet predict``, ``privet evaluate`` and ``privet intervals``.

Predictions cost nothing. An evaluation and intervals are releases about the model, each paid for.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from functools import partial
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
from privet.cli.printing import as_json, csv_cell, facts, free_place, is_screen, put, say, working
from privet.cli.reading import FileFlags, Reading, note_misfits
from privet.errors import DataError, DeclarationError

if TYPE_CHECKING:
    from privet.evaluation import Evaluation


#: the field of an evaluation's file that says which model file it is about
MODEL = "sha256_of_model"

ModelFile = Annotated[Path | None, typer.Argument(help="A model that privet train wrote.")]
SchemaFile = Annotated[Path | None, typer.Option(help="Schema, for a model file that holds none.")]


def register(app: typer.Typer) -> None:
    """Add the three commands."""
    command(app, predict, "privet predict model.privet new.csv --out predictions.csv")
    command(app, evaluate, "privet evaluate model.privet held_out.csv --epsilon 0.5 --group region")
    command(
        app, intervals, "privet intervals model.privet people.csv --epsilon 1 --out intervals.json"
    )


def predict(
    *,
    model: ModelFile = None,
    data: Annotated[Path | None, typer.Argument(help="CSV or Parquet file.")] = None,
    out: Annotated[
        Path, typer.Option(help="CSV or Parquet file to write; - is standard output.")
    ] = Path("-"),
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column for each class.")
    ] = False,
    schema: SchemaFile = None,
    file: FileFlags,
    engine: EngineFlags,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Predict the class or the number of each row of a table, in its order. Costs no privacy.

    Rows are encoded by the schema in the model file; the table needs no label.
    """
    model, data = required(model, "MODEL"), required(data, "DATA")
    to_screen = is_screen(out)
    if to_screen and json:
        raise typer.BadParameter("--json needs --out with a file.")
    if not to_screen:
        free_place(out, force=force)
    from privet.rows.door import as_stream

    table = engine.table(data)
    if as_stream(table) is not None:
        rows = _predict_in_parts(model, table, schema, file, out, probabilities, force)
        _tell_predicted(rows, data, out, json=json)
        return
    columns = predictions(model, data, schema, file, probabilities=probabilities)
    if to_screen:
        _write_csv(columns, sys.stdout)
        return
    write(columns, out, force=force)
    _tell_predicted(len(columns["prediction"]), data, out, json=json)


def _tell_predicted(rows: int, data: Path, out: Path, *, json: bool) -> None:
    if json:
        as_json({"predictions": str(out), "rows": rows})
    else:
        facts([("Predicted", f"{rows:,} rows, in the order of {data.name}"), ("File", str(out))])


def _predict_in_parts(
    path: Path,
    table: Any,
    schema: Path | None,
    file: FileFlags,
    out: Path,
    probabilities: bool,
    force: bool,
) -> int:
    """Predictions for a table that is read in parts, written to Parquet as they come."""
    from privet.models.predictions import write_predictions
    from privet.rows.threads import watched

    if out.suffix.lower() not in (".parquet", ".pq"):
        raise typer.BadParameter("a table that is read in parts needs --out with a .parquet file.")
    model, _ = file.model(path, schema, table, label=False)
    found: list[int] = []

    def fill(place: str) -> None:
        found.append(write_predictions(model, table, place, probabilities=probabilities))

    with working(f"Reading and encoding {table.name}, predicting") as tell, watched(tell):
        put(out, fill, force=force)
    return found[0]


def predictions(
    path: Path,
    data: Path,
    schema: Path | None,
    file: FileFlags,
    *,
    probabilities: bool,
) -> dict[str, Any]:
    """Columns of the answer by name."""
    from privet.models.raw_tables import after_schema

    model, declared = file.model(path, schema, data, label=False)
    with working(f"Reading and encoding {data.name}"):
        x = declared.encode_features(data)
    model = after_schema(model)
    if x.shape[1] != getattr(model, "n_features_in_", x.shape[1]):
        raise DeclarationError(
            "The schema does not fit the model: it has another number of columns."
        )
    if len(x) == 0:
        raise DataError("The table has no rows.")
    note_misfits(declared, data)
    found = {"prediction": model.predict(x)}
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise DeclarationError(f"A {type(model).__name__} has no probabilities.")
        shares = model.predict_proba(x)
        found |= {f"probability of {c}": shares[:, i] for i, c in enumerate(model.classes_)}
    return found


def write(columns: dict[str, Any], out: Path, *, force: bool) -> None:
    """CSV, or Parquet by its name; all or nothing."""
    if out.suffix.lower() in (".parquet", ".pq"):
        fill: Callable[[str], None] = partial(_write_parquet, columns)
    else:
        fill = partial(_write_csv_file, columns)
    put(out, fill, force=force)


def _write_csv_file(columns: dict[str, Any], path: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        _write_csv(columns, file)


def _write_csv(columns: dict[str, Any], file: Any) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(csv_cell, columns))
    labels = columns["prediction"].tolist()
    cells = {label: csv_cell(label) if isinstance(label, str) else label for label in set(labels)}
    texts = [
        [f"{value:.6g}" for value in values] if name != "prediction" else map(cells.get, labels)
        for name, values in columns.items()
    ]
    writer.writerows(zip(*texts, strict=True))
    file.write(buffer.getvalue())


def _write_parquet(columns: dict[str, Any], path: str) -> None:
    from privet.errors import MissingExtra

    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra(
            "Writing Parquet needs pyarrow: pip install 'privet[parquet]'."
        ) from error
    parquet.write_table(pa.table({name: pa.array(v.tolist()) for name, v in columns.items()}), path)


# -- paid for ------------------------------------------------------------------------------------


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
    if plot is not None:
        free_place(plot, force=force)
        drawable(plot)
    with paying(out, account.ledger, force=force) as paid:
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
            facts([("Written", str(place)) for place in (out, plot) if place is not None])


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
