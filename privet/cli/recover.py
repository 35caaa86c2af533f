"""``privet recover``: results that were paid for and did not reach their place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from privet._files import write_whole
from privet.cli.kept import ENDING, FOLDER, find, folder_for, read_kept, waiting
from privet.cli.options import Force, Json, command
from privet.cli.show import as_json, facts, free_place, table
from privet.errors import DataError, DeclarationError

EXAMPLE = "privet recover --ledger budget.db --out model.privet"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, recover, EXAMPLE)


def recover(
    name: Annotated[
        str | None, typer.Argument(help="Which one, by the name in the list; not needed for one.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that was charged: a file, or sqlite:///file.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="The folder that the message named.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write it to this file; without it, only list.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """List results that were paid for but not delivered, or write one to a file.

    A full disk or Ctrl-C after the charge leaves what was released in a folder beside the ledger,
    in the folder that the environment variable PRIVET_KEPT names, or beside the output. Without
    --ledger and --folder it is looked for in PRIVET_KEPT and in this folder. Costs no privacy.
    """
    folders = _folders(ledger, folder)
    if out is None:
        if name is not None:
            raise typer.BadParameter("--out is missing: where to write it.")
        _list(folders, json=json)
        return
    found = find(folders, name)
    free_place(out, force=force)
    try:
        write_whole(out, found.content, replace=force, mode=found.mode)
    except FileExistsError:
        raise DeclarationError(
            f"{out.name} is already there. Choose another name, or add --force."
        ) from None
    found.file.unlink(missing_ok=True)
    if json:
        as_json({"kind": found.kind, "out": str(out)})
    else:
        facts([("Recovered", f"{out}: {found.kind}")])


def _folders(ledger: str | None, folder: Path | None) -> list[Path]:
    if folder is not None:
        return [folder]
    if ledger is not None:
        return list({folder_for(None, ledger), *_given()})
    return [*_given(), Path("privet-kept"), *(p for p in Path().glob(f"*{ENDING}") if p.is_dir())]


def _given() -> list[Path]:
    return [Path(os.environ[FOLDER])] if os.environ.get(FOLDER) else []


def _list(folders: list[Path], *, json: bool) -> None:
    rows = []
    for file in waiting(folders):
        try:
            found = read_kept(file)
            rows.append((found.name, found.kind, found.out or "the screen", str(file)))
        except (DataError, OSError):
            rows.append((file.stem, "damaged", "", str(file)))
    if json:
        as_json([dict(zip(("name", "kind", "out", "file"), row, strict=True)) for row in rows])
    elif rows:
        table(("name", "kind", "meant for", "kept in"), rows)
        typer.echo("\nWrite one with: privet recover NAME --out FILE")
    else:
        typer.echo("Nothing is kept here.")
