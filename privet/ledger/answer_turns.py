"""Transcripts in the ledger's database: who answers next, alone and durably.

A release that several processes answer keeps its transcript here, in a table of its own beside the
entries. A process answers within a *turn*, which is one transaction on the ledger: exclusive from
its first look, durable when it is left, and refused where a charge would be (a copied or restored
file, a promoted server, an entry that this machine remembers and the ledger lacks).

    with turn(ledger, "ward-7") as mine:
        mine.since(number)          # what others have answered meanwhile
        mine.append(record)         # what nobody may see before the turn is over

Records are chained by their digests, as entries are, and the newest is remembered where a ledger's
entries are: beside its file and in the user's own folder. A transcript that lacks it was put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from privet._files import canonical
from privet.errors import LedgerError
from privet.ledger.entries import Transaction
from privet.ledger.entry import checked_name
from privet.ledger.ledger import Ledger
from privet.ledger.memory import Heads, own_heads
from privet.ledger.store import SQLITE

_INSERT = "INSERT INTO {table} VALUES (:release, :number, :key, :asked, :record, :digest)"
_SELECT = "SELECT number, key, asked, record, digest FROM {table} WHERE release = :release"
GENESIS = hashlib.sha256(b"privet-ledger-answers-1").hexdigest()


class AnswerNoted(NamedTuple):
    """One record of a transcript."""

    number: int
    key: str | None  # an idempotency key, and
    asked: str | None  # the digest of the request that it was used for
    text: str
    digest: str

    @property
    def record(self) -> dict[str, Any]:
        """What was noted."""
        return dict(json.loads(self.text))


class _Head(NamedTuple):
    sequence: int
    hash: str


class Turn:
    """One release's transcript while nobody else can answer."""

    def __init__(self, transaction: Transaction, release: str, ledger: str | None) -> None:
        self._transaction, self.release = transaction, release
        self.ledger = ledger  # the identity of the ledger as it is now
        self._table = transaction.answers
        self._made: AnswerNoted | None = None  # the newest that this turn wrote

    def create(self) -> None:
        """Make the table where this is the first release that needs it."""
        if not self._transaction.has_answers():
            self._transaction.create_answers()

    def since(self, number: int, digest: str = GENESIS) -> list[AnswerNoted]:
        """Records after ``number``, whose digest it was; refused where the chain is broken."""
        query = f"{_SELECT} AND number >= :after ORDER BY number"
        found = self._noted(query, after=number) if self._transaction.has_answers() else []
        if number > 0:
            if not found or (found[0].number, found[0].digest) != (number, digest):
                raise LedgerError(
                    f"The transcript of {self.release!r} was rolled back: it lacks an answer that "
                    "was given. Open a new release; this one must not go on."
                )
            found = found[1:]
        for i, each in enumerate(found):
            digest = _digest(digest, each.text, each.key, each.asked)
            if (each.number, each.digest) != (number + 1 + i, digest):
                raise LedgerError(f"Record {each.number} of {self.release!r} was changed.")
        return found

    def keyed(self, key: str) -> AnswerNoted | None:
        """The record that a key was used for."""
        found = self._noted(f"{_SELECT} AND key = :key", key=key)
        return found[0] if found else None

    def append(
        self,
        newest: AnswerNoted | None,
        record: dict[str, Any],
        key: str | None = None,
        asked: str | None = None,
    ) -> AnswerNoted:
        """The record that follows ``newest``; durable when the turn is over, not before."""
        number, before = (1, GENESIS) if newest is None else (newest.number + 1, newest.digest)
        text = canonical(record)
        made = AnswerNoted(number, key, asked, text, _digest(before, text, key, asked))
        values = {"release": self.release, "number": number, "key": key, "asked": asked}
        values |= {"record": text, "digest": made.digest}
        self._transaction.run(_INSERT.format(table=self._table), values)
        self._made = made
        return made

    def check_memories(self, memories: list[Heads]) -> None:
        """Refuse a transcript without an answer that is remembered."""
        for heads in memories:
            with suppress(OSError):  # nothing is remembered, or it cannot be read
                known = heads.newest()
                if known is not None:
                    self.since(*known)
                    if heads.is_long():  # nobody else is writing
                        heads.start("-", [_Head(*known)])

    def remember(self, memories: list[Heads]) -> None:
        """The newest record, once it is durable; what cannot be written is not remembered."""
        if self._made is None:
            return
        head = _Head(self._made.number, self._made.digest)
        for heads in memories:
            with suppress(OSError):
                if heads.path.exists():
                    heads.note(head, durable=False)
                else:
                    heads.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    heads.start("-", [head])

    def _noted(self, query: str, **values: Any) -> list[AnswerNoted]:
        text = query.format(table=self._table)
        found = self._transaction.rows(text, {"release": self.release, **values})
        return [AnswerNoted._make(row) for row in found]


def _digest(before: str, text: str, key: str | None, asked: str | None) -> str:
    whole = f"{before}{canonical([key, asked])}{text}"
    return hashlib.sha256(whole.encode()).hexdigest()


@contextmanager
def turn(ledger: Ledger, release: str) -> Iterator[Turn]:
    """The next turn of a release: waits for others, and is durable when it is left."""
    checked_name("release", release)
    with ledger._writing() as entries:
        newest = entries.newest()
        mine = Turn(entries.transaction, release, None if newest is None else newest.ledger)
        memories = _memories(ledger, mine)
        mine.check_memories(memories)
        yield mine
    mine.remember(memories)


def _memories(ledger: Ledger, mine: Turn) -> list[Heads]:
    """Beside the ledger's file, where it has one, and in the user's own folder."""
    of = f"-answers-{hashlib.sha256(mine.release.encode()).hexdigest()[:16]}"
    own = own_heads(mine.ledger, of)
    found = [] if own is None else [own]
    if ledger.url.startswith(SQLITE):
        found.append(Heads(Path(f"{os.path.realpath(ledger.path)}{of}")))
    return found


@contextmanager
def glance(ledger: Ledger, release: str) -> Iterator[Turn]:
    """As a turn, to look only: others go on meanwhile."""
    checked_name("release", release)
    with ledger._store.reading() as entries:
        newest = entries.newest()
        yield Turn(entries.transaction, release, None if newest is None else newest.ledger)
