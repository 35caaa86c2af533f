"""What commands print: results on standard output, progress and complaints on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from privet._files import printable
from privet.errors import DeclarationError

#: What a spreadsheet begins a formula with, and a number that may begin the same way.
_FORMULA = ("=", "+", "-", "@")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)


def clean(text: str) -> str:
    """Text for a terminal: a name in somebody's file must not move the cursor."""
    return printable(text, keep="\n")


def say(text: str, *, err: bool = False) -> None:
    """A line or several, cleaned: every word that a command prints goes through here."""
    typer.echo(clean(text), err=err)


def as_json(value: Any) -> None:
    """One JSON document on standard output; signs that a terminal would obey are escaped."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
    typer.echo("".join(c if c.isprintable() or c == "\n" else escaped(c) for c in text))


def escaped(sign: str) -> str:
    """A character by its number, as JSON writes it."""
    return f"\\u{ord(sign):04x}" if sign.isascii() else json.dumps(sign)[1:-1]


def csv_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, and no terminal for a command.

    An apostrophe before it says that it is text; signs alone and numbers stay as they are.
    """
    shown = printable(text)
    first = unicodedata.normalize("NFKC", shown[:1])
    if first not in _FORMULA or len(shown) == 1 or _NUMBER.fullmatch(shown):
        return shown
    return f"'{shown}"


@contextmanager
def working(what: str, *, timed: bool = True) -> Iterator[Callable[[object], None]]:
    """A turning sign on a terminal while something takes its time; nothing elsewhere.

    What is yielded takes words about how far it is, for the person at the terminal alone.

    ``timed=False`` leaves the seconds out, where they would tell what a guarantee hides.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}")]
    if timed:
        columns.append(TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda told: progress.update(task, description=f"{what}: {told}")


def facts(lines: Sequence[tuple[str, str]], *, width: int = 12, err: bool = False) -> None:
    """Names on the left, words on the right, wrapped to the terminal; commands stay whole."""
    import shutil
    import textwrap

    room = max(min(shutil.get_terminal_size((88, 24)).columns, 100), width + 30)
    for name, text in lines:
        lead = f"{name:<{width}} "
        if text.startswith("privet "):
            typer.echo(lead + clean(text), err=err)
            continue
        typer.echo(
            textwrap.fill(
                clean(text),
                room,
                initial_indent=lead,
                subsequent_indent=" " * len(lead),
                break_on_hyphens=False,
                break_long_words=False,
            ),
            err=err,
        )


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[str] = (),
    *,
    err: bool = False,
) -> None:
    """A plain table; the columns named in ``numbers`` are right-aligned."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        found.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        found.add_row(*(_plain(cell) for cell in row))
    Console(file=sys.stderr if err else sys.stdout, highlight=False).print(found)


def _plain(cell: str) -> Any:
    from rich.text import Text

    return Text(clean(cell))  # square brackets of a name are no markup


def is_unseen() -> bool:
    """Whether standard output was closed by whoever started this; see ``privet.cli.main``."""
    return getattr(sys.stdout, "name", None) == os.devnull


def is_screen(path: Path | None) -> bool:
    """Whether ``-`` was given for a file: standard output."""
    return str(path) == "-"


#: What a file of a ledger begins with: it cannot be written again, so no --force replaces it.
_OF_A_LEDGER = (b"SQLite format 3", b"privet-heads-1")


def free_place(path: Path, *, force: bool, apart: Sequence[Path | None] = ()) -> None:
    """Refuse, before anything is spent, a place where the result cannot be written.

    ``apart`` are the other files of the command: with --force, too, none of them is replaced.
    """
    from privet._files import refuse_ledgers_place
    from privet._untrusted import first_bytes

    if is_screen(path):
        raise DeclarationError("This is not written to standard output (-): name a file.")
    folder = path.parent
    if not folder.is_dir():
        raise DeclarationError(f"There is no folder {str(folder)!r} to write {path.name} into.")
    if not os.access(folder, os.W_OK):
        raise DeclarationError(f"{str(path)!r} cannot be written.")
    if path.exists() and not path.is_file():  # with --force a device would be gone
        raise DeclarationError(f"{str(path)!r} is a folder, a pipe or a device: name a file.")
    if os.path.lexists(path) and not force:
        raise DeclarationError(
            f"{path.name} is already there. Choose another name, or add --force."
        )
    refuse_ledgers_place(path)
    real = os.path.realpath(path)
    if any(os.path.realpath(other) == real for other in apart if other is not None):
        raise DeclarationError(
            f"{path.name} is named twice, and one would take the other's place. Choose another "
            "name for what is to be written."
        )
    readable = path.is_file() and os.access(path, os.R_OK)
    if readable and first_bytes(path, 16).startswith(_OF_A_LEDGER):
        raise DeclarationError(
            f"{path.name} is a file of a ledger, and nothing takes its place. Choose another name."
        )


def put(path: Path, content: str | Callable[[str], Any], *, force: bool) -> None:
    """A file that costs nothing, whole or not at all; one that is there stays without --force.

    ``content`` is the text, or what writes into a file of a given name. ``free_place`` was asked
    before the work; another process may have written the file since.
    """
    from privet._files import for_others, write_through, write_whole

    try:
        if isinstance(content, str):
            write_whole(path, content, replace=force, mode=for_others())
        else:
            write_through(path, content, replace=force, mode=for_others())
    except FileExistsError:
        raise DeclarationError(
            f"{path.name} was written by another process in the meantime and is kept as it is. "
            "Choose another name, or add --force."
        ) from None
