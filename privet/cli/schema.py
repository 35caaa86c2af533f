"""``privet schema``: draft a declaration of a table, and check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.options import Force, Json, command
from privet.cli.output import as_json, facts, free_place, is_screen, table, working
from privet.cli.reading import FileFlags, looked, open_noting_separator
from privet.errors import DataError

if TYPE_CHECKING:
    from privet.schema import Column, Schema

app = typer.Typer(
    help="Declare what is public about a table: bounds, categories, classes.",
    epilog="Example: privet schema draft people.csv --label income --out schema.toml",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def draft(
    *,
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    label: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    from_data: Annotated[
        bool, typer.Option("--from-data", help="Propose bounds from the rows, each marked.")
    ] = False,
    file: FileFlags,
    out: Annotated[Path | None, typer.Option(help="TOML file; without it, the screen.")] = None,
    force: Force = False,
) -> None:
    """Write a first schema, with a question mark for everything that a person must name.

    With --from-data, bounds and categories are proposed from the rows and marked; they tell about
    these rows, and privet train refuses them until a person has replaced or confirmed each.
    """
    from privet.schema import draft as first

    if is_screen(out):
        out = None
    if out is not None:
        free_place(out, force=force)
    written = file.format()
    open_noting_separator(data, written)
    with working(f"Reading {data.name}"):
        text = first(data, label=label, from_data=from_data, file=written)
    if out is None:
        typer.echo(text)
        return
    out.write_text(text, encoding="utf-8")
    facts(
        [
            ("Draft", str(out)),
            ("Next", "answer what it asks, then:"),
            ("", f"privet schema check {out} {data} --look"),
        ]
    )


def check(
    *,
    schema: Annotated[Path, typer.Argument(help="TOML file.")],
    data: Annotated[
        Path | None, typer.Argument(help="A table that must have the declared columns.")
    ] = None,
    look: Annotated[
        bool,
        typer.Option(
            "--look", help="Compare the cells too and show counts, for your eyes only, on stderr."
        ),
    ] = False,
    file: FileFlags,
    json: Json = False,
) -> None:
    """Read a schema, show what it declares, and refuse what train would refuse.

    Of the table, only the names of its columns are read. With --look the cells are compared with
    the schema: the counts are exact, no guarantee covers them, and they are for you alone.
    """
    from privet.models.tables import refuse_unconfirmed
    from privet.schema import Schema

    if look and data is None:
        raise typer.BadParameter("--look needs a table.")
    declared = Schema.from_toml(schema)
    if data is not None:
        declared = file.schema(declared, data)
    if json:
        as_json(_as_dict(declared))
    else:
        show_schema(declared)
    exceeding = looked(declared, data).exceeding if look and data is not None else ()
    refuse_unconfirmed(declared)
    if exceeding:
        raise DataError(
            "The table does not fit its schema well enough: see the look above. Correct the "
            "table or the schema, or declare under [look] which share of cells and labels may miss."
        )
    if not json:
        typer.echo("\nEvery declaration is confirmed: privet train accepts this schema.")
        if not look:
            typer.echo(
                "The cells were not compared with it: --look compares them, for your eyes only."
            )


def _as_dict(declared: Schema) -> dict[str, Any]:
    return {
        "label": {"name": declared.label.name, "classes": list(declared.label.classes)},
        "person": None
        if declared.person is None
        else {"column": declared.person.column, "most_rows": declared.person.most_rows},
        "rows": declared.rows,
        "columns": list(declared.columns),
        "encoded_columns": list(declared.feature_names),
        "unconfirmed": list(declared.unconfirmed),
    }


def show_schema(declared: Schema) -> None:
    """What a schema declares, as a table on standard output."""
    rows = [
        (name, _words(column) + (" (from the data)" if column.from_data else ""), str(column.width))
        for name, column in declared.columns.items()
    ]
    table(("column", "declared", "encoded"), rows, numbers=("encoded",))
    classes = ", ".join(str(value) for value in declared.label.classes)
    lines = [
        ("Label", f"{declared.label.name}: {classes}"),
        ("Encoded", f"{declared.width} columns, rows {declared.rows}"),
    ]
    if declared.person is not None:
        most = declared.person.most_rows
        rows_each = "one row" if most == 1 else f"{most} rows"
        lines.append(("Person", f"{declared.person.column}, at most {rows_each} each"))
    facts(lines, width=9)


def _words(column: Column) -> str:
    from privet.schema import Categorical, Numeric

    if isinstance(column, Numeric):
        scale = ", logarithmic" if column.log else ""
        return f"{column.low:g} to {column.high:g}{scale}"
    assert isinstance(column, Categorical)
    few = ", ".join(str(value) for value in column.categories[:4])
    more = len(column.categories) - 4
    return few + (f" and {more} more" if more > 0 else "") + (" or other" if column.other else "")


command(app, draft, "privet schema draft people.csv --label income --out schema.toml")
command(app, check, "privet schema check schema.toml people.csv --look")
