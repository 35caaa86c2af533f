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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from privet._files import canonical, digest, for_others, hold, probe, sync_folder, write_whole
from privet._untrusted import parsed_json, read_whole
from privet.cli import stopped_runs
from privet.cli.options import ledger_url, open_ledger
from privet.cli.printing import free_place, is_unseen
from privet.errors import DataError, DeclarationError

if TYPE_CHECKING:
    from privet.ledger.charge import Charge

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
        return file.parent / f"{file.name}{ENDING}"  # a ledger's name is checked when it is charged
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
        return token_of(self.file)

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

    def __init__(
        self, out: Path | None, folder: Path, *, force: bool, apart: Sequence[Path | None] = ()
    ) -> None:
        self.out, self.folder, self.force, self.apart = out, folder, force, apart
        self.kept: Kept | None = None
        self._waits = False  # whether the copy is on disk
        self._token = os.urandom(4).hex()
        self._note = stopped_runs.ChargedNote(folder / f"{self._token}{stopped_runs.ENDING}", out)
        self._room: IO[bytes] | None = None

    def prepare(self) -> None:
        """Refuse, before anything is spent, a place where the result could not be kept."""
        if self.out is None and is_unseen():
            raise DeclarationError(
                "Nothing was charged: standard output is closed, and nobody would see what would "
                "be paid for. Name a file with --out."
            )
        if self.out is not None:
            free_place(self.out, force=self.force, apart=self.apart)
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
            self._room = hold(self.folder, ROOM)
        except OSError as error:
            raise DeclarationError(
                f"Nothing was charged: what would be paid for cannot be kept in "
                f"{str(self.folder)!r} ({error.strerror}). Make room, or name another folder in "
                f"the environment variable {FOLDER}."
            ) from error

    def note_charge(self, charge: Charge) -> None:
        """The account was charged: if this process is killed now, ``privet recover`` tells so."""
        self._note.add(charge.facts)

    def keep(self, kind: str, content: bytes | str) -> None:
        """On disk when this returns."""
        raw = content.encode() if isinstance(content, str) else content
        out = "" if self.out is None else str(self.out.absolute())
        head = {"format": FORMAT, "kind": kind, "out": out, "sha256": digest(raw)}
        file = self.folder / f"{self._token}{ENDING}"
        self.release_room()
        self.kept = Kept(file, kind, out, raw)
        with contextlib.suppress(OSError):  # the place itself may still take it
            self.folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(file, canonical(head).encode() + b"\n" + raw, replace=False)
            self._waits = True
        if self._waits:
            self._note.end()

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
            with contextlib.suppress(OSError):  # a second copy is no reason to call the run failed
                self.kept.file.unlink(missing_ok=True)
        self.close()

    def release_room(self) -> None:
        """Give back the room that was held."""
        if self._room is not None:
            self._room.close()
            self._room = None

    def close(self) -> None:
        """Leave no empty folder behind; what was lost has been said."""
        self.release_room()
        self._note.end()
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
def paying(
    out: Path | None, ledger: str | None, *, force: bool, apart: Sequence[Path | None] = ()
) -> Iterator[Paid]:
    """A command that pays. Whatever ends it, what it had kept stays, and the error says where.

    ``apart`` are the other files of the command, whose place the result must not take.
    """
    from privet.ledger.charge import add_note, charges_seen

    paid = Paid(out, folder_for(out, ledger), force=force, apart=apart)
    with charges_seen(paid.note_charge) as charges:
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


def token_of(file: Path) -> str:
    """The name of a run, by which its result and its note are called; also of a file in the making.

    A kill may leave such a file, under its temporary name, with the whole result in it.
    """
    return file.name.lstrip(".").partition(".")[0]


def waiting(folders: list[Path]) -> list[Path]:
    """Files of kept results, by name; of those in the making only whole ones."""
    files = (file for folder in folders for file in folder.glob(f"*{ENDING}"))
    return sorted(file for file in files if not file.name.startswith(".") or _only_copy(file))


def _only_copy(making: Path) -> bool:
    """Whether a file in the making is whole and has not got its name yet."""
    if making.with_name(f"{token_of(making)}{ENDING}").exists():
        return False
    try:
        return bool(read_kept(making))
    except (DataError, OSError):
        return False


def left_of(kept: Kept) -> list[Path]:
    """The copy of a result, and what a kill left of its run: not files that only begin as it does.

    The folder may be anybody's, and hold a table or a model beside it under the same name.
    """
    ends = (ENDING, stopped_runs.ENDING)
    return [
        file
        for file in kept.file.parent.iterdir()
        if file.name in {f"{kept.name}{end}" for end in ends}
        or (file.name.startswith(f".{kept.name}.part.") and file.suffix in ends)
    ]


def find(folders: list[Path], name: str | None) -> Kept:
    """The kept result of this name, or the only one."""
    files: list[Any] = [f for f in waiting(folders) if name is None or token_of(f).startswith(name)]
    if not files:
        raise DeclarationError("No such result is kept here. `privet recover` lists what is.")
    if len(files) > 1:
        raise DeclarationError("Several results are kept here: name one of those listed.")
    return read_kept(files[0])
