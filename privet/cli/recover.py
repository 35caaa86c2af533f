"""``privet recover``: results that were paid for and not delivered, charges without a result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from privet._files import write_whole
from privet.cli import stopped_runs
from privet.cli.kept import ENDING, FOLDER, find, folder_for, left_of, read_kept, token_of, waiting
from privet.cli.options import Force, Json, command, open_ledger
from privet.cli.printing import as_json, facts, free_place, say, table
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
    --ledger and --folder it is looked for in PRIVET_KEPT and in this folder. A run that was killed
    between its charge and its result is listed as lost, with the entry of the ledger; with --ledger
    also the charges that no release has settled. Costs no privacy.
    """
    folders = _folders(ledger, folder)
    if out is None:
        if name is not None:
            raise typer.BadParameter("--out is missing: where to write it.")
        _list(folders, _unsettled(ledger), json=json)
        return
    found = find(folders, name)
    free_place(out, force=force, apart=(found.file,))
    try:
        write_whole(out, found.content, replace=force, mode=found.mode)
    except FileExistsError:
        raise DeclarationError(
            f"{out.name} is already there. Choose another name, or add --force."
        ) from None
    for file in left_of(found):
        if os.path.realpath(file) != os.path.realpath(out):
            file.unlink(missing_ok=True)
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


def _unsettled(ledger: str | None) -> list[tuple[str, str, str, str]]:
    """Charges of a ledger that no release has settled: their process was killed, or is at work."""
    if ledger is None:
        return []
    book = open_ledger(ledger)
    return [
        (f"entry {entry.sequence}", "charge", dataset, f"{entry.time}, never settled")
        for dataset in book.datasets()
        for entry in book.orphans(dataset)
    ]


def _list(folders: list[Path], lost: list[tuple[str, str, str, str]], *, json: bool) -> None:
    rows = []
    for file in waiting(folders):
        try:
            found = read_kept(file)
            rows.append((found.name, found.kind, found.out or "the screen", str(file)))
        except (DataError, OSError):
            rows.append((token_of(file), "damaged", "", str(file)))
    kept = {row[0] for row in rows}
    rows += [
        (token_of(run.file), run.told(), run.out or "the screen", str(run.file))
        for run in stopped_runs.stopped(folders)
        if token_of(run.file) not in kept
    ]
    if json:
        listed = [dict(zip(("name", "kind", "out", "file"), row, strict=True)) for row in rows]
        names = ("name", "kind", "dataset", "state")
        as_json([*listed, *(dict(zip(names, row, strict=True)) for row in lost)])
        return
    if rows:
        table(("name", "kind", "meant for", "kept in"), rows)
        say(
            "\nWrite one with: privet recover NAME --out FILE. What is lost stays charged; remove "
            "its file to have it listed no more."
        )
    else:
        say("Nothing is kept here.")
    if lost:
        say("\nCharged, and never settled: the process was killed, or is still at work.")
        table(("entry", "kind", "data set", "since"), lost)
