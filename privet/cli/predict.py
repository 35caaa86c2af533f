"""``privet predict``: a released model on a new table."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from privet._files import write_through
from privet.cli.config import Config
from privet.cli.options import Force, Json, command, required
from privet.cli.output import as_json, facts, free_place, is_screen, working
from privet.cli.reading import FileFlags
from privet.errors import DataError, DeclarationError

EXAMPLE = "privet predict model.privet new.csv --out predictions.csv"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, predict, EXAMPLE)


def predict(
    *,
    model: Annotated[Path | None, typer.Argument(help="A model that privet train wrote.")] = None,
    data: Annotated[Path | None, typer.Argument(help="CSV or Parquet file.")] = None,
    out: Annotated[
        Path, typer.Option(help="CSV or Parquet file to write; - is standard output.")
    ] = Path("-"),
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column for each class.")
    ] = False,
    schema: Annotated[
        Path | None, typer.Option(help="Schema, for a model file that holds none.")
    ] = None,
    file: FileFlags,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Predict the class of each row of a table, in its order. Costs no privacy.

    Rows are encoded by the schema in the model file; the table needs no label.
    """
    model, data = required(model, "MODEL"), required(data, "DATA")
    to_screen = is_screen(out)
    if to_screen and json:
        raise typer.BadParameter("--json needs --out with a file.")
    if not to_screen:
        free_place(out, force=force)
    columns = predictions(model, data, schema, file, probabilities=probabilities)
    if to_screen:
        _write_csv(columns, sys.stdout)
        return
    write(columns, out, force=force)
    rows = len(columns["prediction"])
    if json:
        as_json({"predictions": str(out), "rows": rows, "columns": list(columns)})
    else:
        facts([("Predicted", f"{rows:,} rows, in the order of {data.name}"), ("File", str(out))])


def predictions(
    path: Path,
    data: Path,
    schema: Path | None,
    file: FileFlags,
    *,
    probabilities: bool,
) -> dict[str, Any]:
    """Columns of the answer by name."""
    from privet.models.tables import after_schema

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
    found = {"prediction": model.predict(x)}
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise DeclarationError(f"A {type(model).__name__} has no probabilities.")
        shares = model.predict_proba(x)
        found |= {f"probability of {c}": shares[:, i] for i, c in enumerate(model.classes_)}
    return found


def write(columns: dict[str, Any], out: Path, *, force: bool = True) -> None:
    """CSV, or Parquet by its name; all or nothing."""
    if out.suffix.lower() in (".parquet", ".pq"):
        fill: Callable[[str], None] = partial(_write_parquet, columns)
    else:
        fill = partial(_write_csv_file, columns)
    write_through(out, fill, replace=force, mode=0o644)


def _write_csv_file(columns: dict[str, Any], path: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        _write_csv(columns, file)


def _write_csv(columns: dict[str, Any], file: Any) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    texts = [
        [f"{value:.6g}" for value in values] if name != "prediction" else values.tolist()
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
