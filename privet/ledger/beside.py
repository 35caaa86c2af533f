"""What is remembered beside the file of a ledger: its newest entries, and which file it was.

``budget.db-head`` is written with every entry. A file without it was copied, moved or mounted
alone; one with another number (inode) or another time of birth than it tells is a copy, also of the
whole folder; one that lacks an entry which it tells was rolled back, or has lost what its log held.
None of them is charged until it is taken over.

The number alone would not do. A new disk begins to count anew, so that the copy of a folder often
has the numbers of the original; a system reuses the number of a file that was removed and put back;
and a layered file system (containers of one image) keeps it while each layer goes its own way. When
a file was born is noted by the system, and no program that copies or restores it can set that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from privet._files import LEDGER_ENDS, create_new
from privet.errors import LedgerError
from privet.ledger.entries import Entries
from privet.ledger.entry import Entry
from privet.ledger.memory import Heads, View, expect_taken_over, note_taken_over
from privet.ledger.statx import birth
from privet.ledger.store import FORMAT

NO_HEADS = (
    "The ledger {place} lies without the file {place}-head that remembers its newest entries: it "
    "was copied, moved or mounted alone. Nothing was released. Move both together; a backup that "
    "must go on is taken over with `privet ledger adopt`, which notes that in the ledger."
)
COPIED = (
    "The ledger {place} is a copy: its file is not the one that {place}-head was written for, and "
    "the other may still be charged. Nothing was released. Charge the original; a backup or a "
    "ledger that was moved to another disk is taken over with `privet ledger adopt`, which notes "
    "that in the ledger."
)
PUT_BACK = (
    "The ledger {place} was rolled back: it was brought up to date before, and what was charged "
    "since is not in it. It was left as it is. If it is a backup that must go on, copy the file "
    "alone to another name, and bring the copy up to date."
)
UNWRITABLE = (
    "The file {place}-head beside the ledger {place} cannot be written ({why}). Nothing was "
    "charged. Whoever may charge the ledger must be able to write both: give them the same owner, "
    "group and rights, and room on the disk."
)


@dataclass(frozen=True)
class Beside:
    """The heads beside the ledger in the file ``path``; SQLite's own files are there, too."""

    path: Path

    @property
    def heads(self) -> Heads:
        """The file of heads."""
        return Heads(Path(f"{os.path.realpath(self.path)}-head"))

    def check(self, entries: Entries) -> None:
        """Refuse a file that is not the one whose entries were noted; nobody else is writing."""
        try:
            known = self.heads.check(entries)
        except FileNotFoundError:
            raise LedgerError(NO_HEADS.format(place=self.path.name)) from None
        except OSError as error:
            raise LedgerError(
                UNWRITABLE.format(place=self.path.name, why=error.strerror)
            ) from error
        try:
            mine = self._is_mine(known)
        except FileNotFoundError:
            gone = f"The ledger {self.path.name} was removed while it was opened."
            raise LedgerError(f"{gone} Nothing was released.") from None
        if not mine:
            raise LedgerError(COPIED.format(place=self.path.name))
        self._expect_taken_over(entries)
        newest = entries.newest()
        try:
            if newest is not None and self.heads.is_long():
                self._start([newest])
            self.heads.expect_writable()
        except OSError as error:
            raise LedgerError(
                UNWRITABLE.format(place=self.path.name, why=error.strerror)
            ) from error

    def compare(self, entries: Entries, later: View | None = None) -> None:
        """Refuse a ledger that lacks a noted entry; an archive may be without notes."""
        if self.heads.path.exists():
            self.heads.check(entries, later)
        self._expect_taken_over(entries, later)

    def expect_first(self, entries: Entries, found: str) -> None:
        """Refuse to bring a file up to date that was put back since the first time."""
        try:
            self.compare(entries)
        except LedgerError as error:
            if found == FORMAT:
                raise
            raise LedgerError(PUT_BACK.format(place=self.path.name)) from error

    def _expect_taken_over(self, entries: Entries, later: View | None = None) -> None:
        """Refuse what this very file held before it was taken over, also with its old heads."""
        with suppress(OSError):
            place = self._place()
            if place is not None:
                expect_taken_over(place, entries, later)

    def expect_none(self) -> None:
        """Refuse to begin a ledger where the entries of another are remembered, or in its files."""
        if os.path.realpath(self.path).endswith(LEDGER_ENDS):
            raise LedgerError(
                f"A ledger is not called {self.path.name}: SQLite would take it for a part of the "
                "file without that ending, and overwrite it. Choose another name."
            )
        name = self.heads.path.name
        if self.heads.path.exists() and self.heads.read()[1]:
            raise LedgerError(
                f"{name} remembers the entries of a ledger whose file is gone or empty. Restore "
                f"{self.path.name}; if it was thrown away on purpose, remove {name} too."
            )

    def make(self) -> None:
        """An empty file for its owner alone: whoever reads a ledger can hold a lock on it.

        SQLite would let everybody read it, and its own files beside it have the rights that it has.
        """
        try:
            with suppress(FileExistsError):
                create_new(os.path.realpath(self.path))
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.path.name} cannot be created ({error.strerror})."
            ) from error

    def start(self) -> None:
        """For a ledger that is just being created."""
        try:
            self._start([])
        except OSError as error:
            raise LedgerError(
                UNWRITABLE.format(place=self.path.name, why=error.strerror)
            ) from error

    def begin(self, newest: Entry | None) -> None:
        """Forget what was before the newest entry; nobody else is writing."""
        with self._told():
            self._start([] if newest is None else [newest])
        place = self._place()
        if newest is not None and place is not None:
            note_taken_over(place, newest)

    def note(self, made: Entry | None) -> None:
        """What was committed, on disk before anybody is told."""
        if made is not None:
            with self._told():
                self.heads.note(made)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.path.name} was written, but {self.heads.path.name} beside it "
                f"could not be ({error.strerror}). Nothing was released; what was charged stays."
            ) from error

    def _start(self, newest: list[Entry]) -> None:
        """For those who may write the ledger, nobody else: the rights of its own file."""
        found = os.stat(self.path)
        self.heads.start(self._number(), newest, mode=stat.S_IMODE(found.st_mode) & 0o666)
        if hasattr(os, "chown"):
            for owner in (-1, found.st_uid):  # only some may give a file away, others its group
                with suppress(OSError):
                    os.chown(self.heads.path, owner, found.st_gid, follow_symlinks=False)

    def _number(self) -> str:
        """Which file this is; a rename keeps its number and its birth."""
        number, born = os.stat(self.path).st_ino, birth(self.path)
        return f"{number}" if born is None else f"{number} {born}"

    def _place(self) -> str | None:
        """This file for ever; None where its birth is not known, for numbers are used again."""
        number = self._number()
        return f"file {number}" if " " in number else None

    def _is_mine(self, known: str) -> bool:
        """Whether this is the file that was noted."""
        (noted, _, then), (number, _, born) = (
            each.partition(" ") for each in (known, self._number())
        )
        return noted == number and (not then or not born or then == born)  # some do not tell
