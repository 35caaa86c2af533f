"""What was last seen of a ledger, kept apart from it: so that a roll-back or a second copy is seen.

A file of heads has one line for each entry that was written, its number and its hash, and now and
then only the newest are kept. A ledger that does not have these very entries was rolled back, has
lost entries, or is a copy while another copy was charged: it is not charged until somebody has
taken it over (``Ledger.adopt``). These files are:

beside the ledger's file     ``budget.db-head``: also the number (inode) of the file itself, which
                             a copy does not have
in the user's own folder     one for each ledger, files and servers alike, by its identity;
                             and one for each file or server's table that was taken over, by which
                             it is

A line is written after the commit and before the charge is granted: what is missing in the ledger
was granted, what is missing here was not.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from privet._files import write_whole
from privet._untrusted import read_whole
from privet.errors import LedgerError
from privet.ledger.entries import Entries
from privet.ledger.entry import Entry

#: Names the user's own folder in place of the system's choice.
FOLDER = "PRIVET_STATE"
_LEAD = "privet-heads-1"
_LINE = re.compile(r"([1-9][0-9]{0,17}) ([0-9a-f]{64})", re.ASCII)
_IDENTITY = re.compile("[0-9a-f]{32}", re.ASCII)
# a name that became somebody's link is not followed
_APPENDING = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
#: Beyond this size only the newest head is kept: every charge reads them all.
_LARGEST = 1 << 13
#: No file of heads is larger: those who do not tidy add a line each.
_MOST = 1 << 26
_TAKE_OVER = (
    "If it is a backup that must go on, take it over with `privet ledger adopt`, which notes that "
    "in the ledger."
)


#: What opens another look at a ledger.
View = Callable[[], AbstractContextManager[Entries]]


class Noted(Protocol):
    """What is remembered by its number and its hash."""

    @property
    def sequence(self) -> int:
        """Its number."""

    @property
    def hash(self) -> str:
        """Its hash."""


@dataclass(frozen=True)
class Heads:
    """A file of heads. ``file`` in it is the number of the ledger's own file, where it has one."""

    path: Path

    def read(self) -> tuple[str, dict[int, str]]:
        """The ledger file's number and the heads; raises where it cannot be trusted."""
        whole = read_whole(self.path, _MOST)
        lead, _, rest = whole.decode("ascii", "replace").partition("\n")
        name, _, file = lead.partition(" ")
        heads: dict[int, str] = {}
        lines = rest.split("\n")[:-1]  # a last line without its end was not granted
        for line in lines:
            found = _LINE.fullmatch(line)
            if found is None or heads.setdefault(int(found[1]), found[2]) != found[2]:
                raise self._damaged()
        if name != _LEAD:
            raise self._damaged()
        return file, heads

    def newest(self) -> tuple[int, str] | None:
        """The newest head; None where there is none."""
        _, heads = self.read()
        return max(heads.items(), default=None)

    def check(self, entries: Entries, later: View | None = None) -> str:
        """Refuse a ledger without an entry that is noted here; returns its file's number.

        Where others are writing, an entry may be noted that was written after ``entries`` were
        looked at: a ``later`` look at the same ledger has it.
        """
        file, heads = self.read()
        newest = max(heads, default=0)
        if newest and not _has(entries, newest, heads[newest]):
            if later is not None and _went_on(entries, newest, heads[newest], later):
                return file
            raise LedgerError(
                f"The ledger was rolled back, has lost entries, or is a copy of one that was "
                f"charged elsewhere: entry {newest}, which {self.path} remembers, is not in "
                f"it. Nothing was released. {_TAKE_OVER}"
            )
        return file

    def start(self, file: str, newest: Iterable[Noted] = (), *, mode: int = 0o600) -> None:
        """A new file, with the newest heads alone."""
        lines = [f"{_LEAD} {file}", *(f"{entry.sequence} {entry.hash}" for entry in newest)]
        write_whole(self.path, "".join(f"{line}\n" for line in lines), mode=mode)

    def note(self, entry: Noted, *, durable: bool = True) -> None:
        """One more head; on disk when this returns, if it must be ``durable``."""
        handle = os.open(self.path, _APPENDING)
        try:
            line = f"{entry.sequence} {entry.hash}\n".encode()
            if os.write(handle, line) < len(line):  # half of a line remembers nothing
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)

    def expect_writable(self) -> None:
        """Raise the ``OSError`` that ``note`` would, before there is something to note."""
        os.close(os.open(self.path, _APPENDING))

    def is_long(self) -> bool:
        """Whether older heads may go, or a crash has left half of a line."""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            return size > _LARGEST or file.read() != b"\n"

    def _damaged(self) -> LedgerError:
        return LedgerError(
            f"{self.path} is damaged, or two copies of the ledger were charged: what it remembers "
            f"cannot be compared with the ledger. Nothing was released. {_TAKE_OVER}"
        )


def _has(entries: Entries, number: int, digest: str) -> bool:
    found = entries.numbered(number)
    return found is not None and found.hash == digest


def _went_on(entries: Entries, number: int, digest: str, later: View) -> bool:
    """Whether a later look shows the same ledger, with this entry after all that was seen."""
    seen = entries.newest()
    if seen is None or seen.sequence >= number:
        return False
    with later() as now:
        return _has(now, seen.sequence, seen.hash) and _has(now, number, digest)


# -- the user's own folder -----------------------------------------------------------------------


def own_heads(identity: str | None, of: str = "") -> Heads | None:
    """Where this user remembers a ledger, or something ``of`` it; None without identity or home."""
    if identity is None or _IDENTITY.fullmatch(identity) is None:
        return None
    given = os.environ.get(FOLDER)
    if given:
        return Heads(Path(given) / f"{identity}{of}")
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:  # nobody's home
        return None
    return Heads(Path(state) / "privet" / "ledgers" / f"{identity}{of}")


def check_own(entries: Entries, *, tidy: bool = False, later: View | None = None) -> None:
    """Refuse a ledger that lacks what this user has seen in it; ``later`` as in ``Heads.check``.

    ``tidy`` drops older heads where there are many: for who is alone with the ledger.
    """
    newest = entries.newest()
    heads = None if newest is None else own_heads(newest.ledger)
    if heads is None or newest is None:
        return
    try:
        heads.check(entries, later)
        if tidy and heads.is_long():
            heads.start("-", [newest])
    except OSError:  # nothing is remembered, or it cannot be read
        return


def note_own(entry: Entry | None) -> None:
    """Remember an entry that was written; a folder that cannot be written remembers nothing."""
    heads = None if entry is None else own_heads(entry.ledger)
    if heads is None or entry is None:
        return
    with suppress(OSError):
        if not heads.path.exists():
            heads.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                write_whole(heads.path, f"{_LEAD} -\n", replace=False)
        # the commit itself is durable: what a power cut takes from here is only a memory
        heads.note(entry, durable=False)


def _taken_over(place: str) -> Heads | None:
    """Where this user remembers that this very place was taken over."""
    digest = hashlib.sha256(place.encode()).hexdigest()[:32]
    return own_heads(digest, "-taken-over")


def expect_taken_over(place: str, entries: Entries, later: View | None = None) -> None:
    """Refuse what this very place held before it was taken over.

    It bears another identity, under which the user's own folder knows nothing of what came after. A
    copy is in another place, and the original of a copy goes on.
    """
    heads = _taken_over(place)
    with suppress(OSError):  # never taken over by this user, or it cannot be read
        if heads is not None:
            heads.check(entries, later)


def note_taken_over(place: str, newest: Entry) -> None:
    """Remember an entry that what this place held before does not have."""
    heads = _taken_over(place)
    if heads is not None:
        with suppress(OSError):
            heads.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            heads.start("-", [newest])
