"""Paid is kept: a result is on disk before it is written where it was asked for.

    with paying(out, ledger, force=force) as paid:    # nothing is spent yet: is there room?
        ...                                           # the release is made
        paid.keep("model", content)                   # on disk, in a folder of its own
        paid.deliver()                                # at its place, whole, and the copy is removed

If the last step fails, or Ctrl-C comes before it, the copy stays and ``privet recover`` writes it.
The folder is beside a ledger's file, or ``PRIVET_KEPT``, or beside the output.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from privet._files import canonical, digest, for_others, probe, sync_folder, write_whole
from privet._untrusted import parsed_json, read_whole
from privet.cli.options import Force, Json, command, ledger_url, open_ledger
from privet.cli.printing import as_json, facts, free_place, say, table
from privet.errors import DataError, DeclarationError

FOLDER = "PRIVET_KEPT"
ENDING = ".kept"
FORMAT = "privet-kept-1"
#: The kind of result that is a model file; the others are JSON.
MODEL = "model"
#: Held on the disk while the release is made; larger than most results.
ROOM = 1 << 20
LARGEST = 1 << 30


def folder_for(out: Path | None, ledger: str | None) -> Path:
    """Where results wait that were paid and not yet delivered."""
    given = os.environ.get(FOLDER)
    if given:
        return Path(given)
    if ledger is not None and ledger_url(ledger).startswith("sqlite:///"):
        file = open_ledger(ledger).path
        return file.with_name(file.name + ENDING)
    return (Path() if out is None else out.parent) / "privet-kept"


@dataclass(frozen=True)
class Kept:
    """One result that waits."""

    file: Path
    kind: str
    out: str  # where it was meant to go; empty for the screen
    content: bytes

    @property
    def name(self) -> str:
        """What ``privet recover`` calls it."""
        return self.file.stem

    @property
    def mode(self) -> int:
        """A model is handed on by its owner; what was measured is for everybody's eyes."""
        return 0o600 if self.kind == MODEL else for_others()


def read_kept(file: Path) -> Kept:
    """A kept result, refused where it is not whole."""
    head, _, content = read_whole(file, LARGEST).partition(b"\n")
    try:
        told = parsed_json(head)
        whole = told["format"] == FORMAT and told["sha256"] == digest(content)
        found = Kept(file, str(told["kind"]), str(told["out"]), content)
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise DataError(f"{file.name} is not a whole result that Privet kept.")
    return found


class Paid:
    """What a paid command makes, on its way to its place."""

    def __init__(self, out: Path | None, folder: Path, *, force: bool) -> None:
        self.out, self.folder, self.force = out, folder, force
        self.kept: Kept | None = None
        self._waits = False  # whether the copy is on disk
        self._room: IO[bytes] | None = None

    def prepare(self) -> None:
        """Refuse, before anything is spent, a place where the result could not be kept."""
        if self.out is not None:
            free_place(self.out, force=self.force)
            try:
                probe(self.out.parent, ROOM)
            except OSError as error:
                raise DeclarationError(
                    f"Nothing was charged: what would be paid for cannot be written into "
                    f"{str(self.out.absolute().parent)!r} ({error.strerror}). Make room there, or "
                    "choose another place with --out."
                ) from error
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._room = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115  closed by keep
            self._room.write(bytes(ROOM))
            self._room.flush()
            os.fsync(self._room.fileno())
        except OSError as error:
            raise DeclarationError(
                f"Nothing was charged: what would be paid for cannot be kept in "
                f"{str(self.folder)!r} ({error.strerror}). Make room, or name another folder in "
                f"the environment variable {FOLDER}."
            ) from error

    def keep(self, kind: str, content: bytes | str) -> None:
        """On disk when this returns."""
        raw = content.encode() if isinstance(content, str) else content
        out = "" if self.out is None else str(self.out.absolute())
        head = {"format": FORMAT, "kind": kind, "out": out, "sha256": digest(raw)}
        file = self.folder / f"{os.urandom(4).hex()}{ENDING}"
        self.release_room()
        self.kept = Kept(file, kind, out, raw)
        with contextlib.suppress(OSError):  # the place itself may still take it
            self.folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(file, canonical(head).encode() + b"\n" + raw, replace=False)
            self._waits = True

    def _result(self) -> Kept:
        if self.kept is None:
            raise RuntimeError("Nothing was kept yet: keep comes before deliver and told.")
        return self.kept

    def deliver(self) -> None:
        """The kept result at its place; another file of that name stays without --force."""
        kept = self._result()
        if self.out is not None:
            try:
                write_whole(self.out, kept.content, replace=self.force, mode=kept.mode)
            except FileExistsError:
                raise DeclarationError(
                    f"{self.out.name} was written by another process in the meantime and is kept "
                    "as it is."
                ) from None

    def forget(self) -> None:
        """Remove the copy: the result is durable where it was asked for."""
        if self.kept is not None:
            self.kept.file.unlink(missing_ok=True)
        self.close()

    def release_room(self) -> None:
        """Give back the room that was held."""
        if self._room is not None:
            self._room.close()
            self._room = None

    def close(self) -> None:
        """Leave no empty folder behind."""
        self.release_room()
        with contextlib.suppress(OSError):  # others wait in it
            self.folder.rmdir()
            sync_folder(self.folder.parent)

    def told(self) -> str:
        """Where the result is and how to get it."""
        kept = self._result()
        if not self._waits:
            return (
                f"The {kept.kind} was released and paid for, but it could be written neither "
                f"to its place nor to {self.folder}: it is lost, and the charge stays."
            )
        out = self.out if self.out is not None else Path(f"{kept.kind}.json")
        return (
            f"The {kept.kind} was released and paid for; it is kept in {kept.file}. Get "
            f"it with: privet recover {kept.name} --folder {self.folder} --out {out}"
        )


@contextmanager
def paying(out: Path | None, ledger: str | None, *, force: bool) -> Iterator[Paid]:
    """A command that pays. Whatever ends it, what it had kept stays, and the error says where."""
    from privet.ledger.charge import add_note, charges_seen

    paid = Paid(out, folder_for(out, ledger), force=force)
    with charges_seen() as charges:
        try:
            paid.prepare()
            yield paid
        except BaseException as error:
            if paid.kept is not None:
                add_note(error, paid.told())
                raise
            paid.close()
            for charge in charges:
                charge.note_loss(error)
            stopped = isinstance(error, KeyboardInterrupt)
            if stopped and ledger is not None and not any(charge.spent for charge in charges):
                add_note(error, "Nothing was charged.")
            raise
    paid.forget()


def waiting(folders: list[Path]) -> list[Path]:
    """Files of kept results, by name."""
    return sorted(file for folder in folders for file in folder.glob(f"*{ENDING}"))


def find(folders: list[Path], name: str | None) -> Kept:
    """The kept result of this name, or the only one."""
    files: list[Any] = [f for f in waiting(folders) if name is None or f.stem.startswith(name)]
    if not files:
        raise DeclarationError("No such result is kept here. `privet recover` lists what is.")
    if len(files) > 1:
        raise DeclarationError("Several results are kept here: name one of those listed.")
    return read_kept(files[0])


# -- privet recover ------------------------------------------------------------------------------

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
    --ledger and --folder it is looked for in PRIVET_KEPT and in this folder. With --ledger also
    the charges are listed that no release has settled. Costs no privacy.
    """
    folders = _folders(ledger, folder)
    if out is None:
        if name is not None:
            raise typer.BadParameter("--out is missing: where to write it.")
        _list(folders, _unsettled(ledger), json=json)
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
            rows.append((file.stem, "damaged", "", str(file)))
    if json:
        listed = [dict(zip(("name", "kind", "out", "file"), row, strict=True)) for row in rows]
        names = ("name", "kind", "dataset", "state")
        as_json([*listed, *(dict(zip(names, row, strict=True)) for row in lost)])
        return
    if rows:
        table(("name", "kind", "meant for", "kept in"), rows)
        say("\nWrite one with: privet recover NAME --out FILE")
    else:
        say("Nothing is kept here.")
    if lost:
        say("\nCharged, and never settled: the process was killed, or is still at work.")
        table(("entry", "kind", "data set", "since"), lost)
