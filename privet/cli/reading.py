"""How commands read a table: the way its file is written, and the curator's look at it.

The look is exact and covered by no guarantee. It is for the person at the terminal: it goes to
standard error, never into a file or a JSON document, and without a terminal nobody looks unless
asked to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.printing import say, table, working
from privet.errors import DataError, DeclarationError

if TYPE_CHECKING:
    from privet.schema import FileFormat, Look, Schema
    from privet.schema.tables import OpenTable


@dataclass(frozen=True)
class FileFlags:
    """What the flags say about the way a CSV file is written."""

    separator: Annotated[
        str | None,
        typer.Option(help="Of a CSV file: ',', ';', '|' or tab; else the schema's, else guessed."),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="Of a CSV file, such as latin-1 or cp1252; else the schema's."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="Decimal sign of a CSV file, '.' or ','; else the schema's.")
    ] = None

    def format(self, declared: FileFormat | None = None) -> FileFormat | None:
        """How the file is written: by the flags, else by the schema."""
        from privet.schema import FileFormat

        given = {"separator": self.separator, "encoding": self.encoding, "decimal": self.decimal}
        known = {name: value for name, value in given.items() if value is not None}
        try:
            return replace(declared or FileFormat(), **known) if known else declared
        except DeclarationError as error:
            raise typer.BadParameter(str(error)) from None

    def schema(self, declared: Schema, data: Any, *, label: bool = True) -> Schema:
        """The schema with the flags, after a check of the file's columns; notes a guess."""
        found = replace(declared, file=self.format(declared.file))
        names = list(found.columns)
        if label:
            names.append(found.label.name)
            names += [] if found.person is None else [found.person.column]
        opened = open_noting_separator(data, found.file)
        opened.require(names)
        return found

    def model(
        self, path: Path, schema: Path | None, data: Any, *, label: bool = True
    ) -> tuple[Any, Schema]:
        """A released model, and the schema that it carries and by which ``data`` is to be read.

        The schema is the one in the model file, or the given one for a file without. Numbers of a
        given one that declare no knots have those with which the model was trained.
        """
        from privet.models.raw_tables import carried, with_schema
        from privet.schema import Schema
        from privet.store import load

        model = load(path)
        held = carried(model)
        declared = held if schema is None else Schema.from_toml(schema).bent_like(held)
        if declared is None:
            raise DeclarationError(
                "The model file holds no schema, so rows of a table cannot be encoded. Give one "
                "with --schema, or predict in Python with encoded rows."
            )
        declared = self.schema(declared, data, label=label)
        return with_schema(model, declared), declared


UNSEEN = (
    "Note: the cells were not compared with the schema, since nobody is at a terminal. Add --look "
    "to compare them and stop where too few fit, or --no-look to drop this note."
)


@dataclass(frozen=True)
class Reading(FileFlags):
    """What the flags say about reading a table that a budget will be spent on."""

    look: Annotated[
        bool | None,
        typer.Option(
            "--look/--no-look",
            help="Show how well the cells fit the schema before anything is spent; on a terminal "
            "the default. For your eyes only.",
        ),
    ] = None
    yes: Annotated[
        bool, typer.Option("--yes", help="Go on whatever the look shows, without a question.")
    ] = False

    def look_first(
        self, schema: Schema, data: Any, warned: Callable[[int], str] = lambda rows: ""
    ) -> None:
        """Show how well the cells fit, and stop or ask where too few do.

        ``warned`` says what speaks against spending the budget on so many rows; then a person at a
        terminal is asked too.
        """
        terminal = sys.stdin.isatty() and sys.stderr.isatty()
        if self.look is None and not terminal:
            say(UNSEEN, err=True)  # whatever the cells are: a log may be read by anyone
            return
        if self.look is False:
            return
        look = looked(schema, data)
        warning = warned(look.rows)
        if warning:
            say(f"Note: {warning}", err=True)
        if self.yes or not (look.exceeding or (warning and terminal)):
            return
        if terminal:
            # not typer.confirm, which prints a blank on standard output
            typer.echo("Spend the budget on this table? [y/N]: ", err=True, nl=False)
            if sys.stdin.readline().strip().lower() in ("y", "yes"):
                return
            raise DataError("Stopped before anything was charged.")
        raise DataError(
            "The table does not fit its schema well enough; nothing was charged. Correct the table "
            "or the schema, or add --yes."
        )


def open_noting_separator(data: Any, file: FileFormat | None) -> OpenTable:
    """Open a table; a separator that was guessed and is not a comma is noted."""
    opened = open_either(data, file)
    if opened.separator not in (None, ",") and (file is None or file.separator is None):
        shown = {"\t": "a tab"}.get(opened.separator, repr(opened.separator))
        say(
            f"Note: the separator of {data.name} is {shown}, guessed from its first line.", err=True
        )
    return opened


def open_either(data: Any, file: FileFormat | None) -> OpenTable:
    """A file, or a table that is read in parts, opened; no row is read."""
    from privet.rows.door import as_stream
    from privet.schema.tables import open_table

    streamed = as_stream(data)
    return open_table(data, file) if streamed is None else streamed.opened(file)


def note_misfits(schema: Schema, data: Any) -> None:
    """Tell the person at a terminal which columns of a table to predict do not fit the schema.

    Their cells are filled in by the declarations: a prediction is made all the same.
    """
    if not sys.stderr.isatty():
        return
    with working(f"Looking at {data.name}"):
        look = schema.compare(open_either(data, schema.file), label=False)
    for column in look.columns:
        if column.exceeds:
            why = f" ({column.hint.rstrip('.')})" if column.hint else ""
            say(
                f"Note: of {column.name}, {100 * column.affected / look.rows:.1f} % of the cells "
                f"are not as declared{why}. They count as missing, undeclared or at the bound.",
                err=True,
            )


#: what becomes of the cells that do not fit, by the role of their column
AS_WHAT = {
    "column": "They count as missing, undeclared or at the bound.",
    "label": "Rows without a declared label count as constant.",
    "person": "A person's rows beyond most_rows, and rows of nobody, count as constant.",
}


def looked(schema: Schema, data: Any) -> Look:
    """Compare the cells with the schema and show the curator what misses it."""
    with working(f"Looking at {data.name}"):
        look = schema.compare(open_either(data, schema.file))
    rows = [
        (
            f"{column.name} ({column.role})" if column.role != "column" else column.name,
            f"{column.missing:,}",
            ", ".join(f"{count:,} {kind}" for kind, count in column.misses.items()),
            f"{100 * column.affected / look.rows:.1f} %" + (" !" if column.exceeds else ""),
            column.hint,
        )
        for column in look.columns
        if column.missing or column.misses
    ]
    say(
        f"A look at {look.rows:,} row{'s' * (look.rows != 1)}, for your eyes only: no guarantee "
        "covers these counts.",
        err=True,
    )
    if rows:
        head = ("column", "missing", "not as declared", "affected", "likely cause")
        table(head, rows, numbers=("missing", "affected"), err=True)
    else:
        say("Every cell is as declared.", err=True)
    if look.exceeding:
        say(
            f"Too many cells (!) do not fit their declaration in: {', '.join(look.exceeding)}. "
            + " ".join(
                AS_WHAT[role]
                for role in AS_WHAT
                if role in {column.role for column in look.columns if column.exceeds}
            ),
            err=True,
        )
    return look
