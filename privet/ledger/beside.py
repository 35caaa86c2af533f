"""What is remembered beside the file of a ledger: its newest entries, and which file it was.

``budget.db-head`` is written with every entry. A file without it was copied, moved or mounted
alone; one with another number (inode) than it tells is a copy, also of the whole folder; one that
lacks an entry which it tells was rolled back, or has lost what its log held. None of them is
charged until it is taken over.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from privet.errors import LedgerError
from privet.ledger.entries import Entries
from privet.ledger.entry import Entry
from privet.ledger.memory import Heads

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
        if known != self._number():
            raise LedgerError(COPIED.format(place=self.path.name))
        newest = entries.newest()
        if newest is not None and self.heads.is_long():
            self.heads.start(known, [newest])

    def compare(self, entries: Entries) -> None:
        """Refuse a ledger that lacks a noted entry; an archive may be without notes."""
        if self.heads.path.exists():
            self.heads.check(entries)

    def expect_none(self) -> None:
        """Refuse to begin a ledger where the entries of another are remembered."""
        name = self.heads.path.name
        if self.heads.path.exists() and self.heads.read()[1]:
            raise LedgerError(
                f"{name} remembers the entries of a ledger whose file is gone or empty. Restore "
                f"{self.path.name}; if it was thrown away on purpose, remove {name} too."
            )

    def start(self) -> None:
        """For a ledger that is just being created."""
        self.heads.start(self._number())

    def note(self, made: Entry | None, *, anew: bool) -> None:
        """What was committed, on disk before anybody is told; ``anew`` forgets what was before."""
        if made is None:
            return
        try:
            if anew:
                self.heads.start(self._number(), [made])
            else:
                self.heads.note(made)
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.path.name} was written, but {self.heads.path.name} beside it "
                f"could not be ({error.strerror}). Nothing was released; what was charged stays."
            ) from error

    def _number(self) -> str:
        """The number of the file, which a copy does not have; a rename keeps it."""
        return str(os.stat(self.path).st_ino)
