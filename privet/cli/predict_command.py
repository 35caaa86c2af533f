"""``privet predict``: what a released model says of new rows. It costs nothing."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.config import Config
from privet.cli.options import EngineFlags, Force, Json, command, required
from privet.cli.printing import as_json, csv_cell, facts, free_place, is_screen, put, working
from privet.cli.reading import FileFlags, note_misfits
from privet.errors import DataError, DeclarationError

ModelFile = Annotated[Path | None, typer.Argument(help="A model that privet train wrote.")]
SchemaFile = Annotated[Path | None, typer.Option(help="Schema, for a model file that holds none.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, predict, "privet predict model.privet new.csv --out predictions.csv")


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
        free_place(out, force=force, apart=(model, data, schema))
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
