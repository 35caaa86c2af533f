"""A connection to a ledger on a PostgreSQL server, on which every statement is a transaction."""

from __future__ import annotations

import contextlib
import re
import select
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

import psycopg
from psycopg.errors import SerializationFailure
from psycopg.pq import TransactionStatus

from privet.errors import LedgerError
from privet.privacy.ledger.entry import COLUMNS, Entry
from privet.privacy.ledger.idle import Idle
from privet.privacy.ledger.memory import Memory
from privet.privacy.ledger.storage import FOREIGN, FORMAT, without_password

# a query's rows with the format beside each, which comes alone where there are no rows
_LOOK = "SELECT format, found.* FROM privet_ledger LEFT JOIN ({sql}) AS found ON true"
_ROW = ", ".join("%s::bigint" if name == "sequence" else "%s::text" for name in COLUMNS)
_INSERT = f"""
INSERT INTO privet_entries ({", ".join(COLUMNS)})
SELECT {_ROW} FROM privet_ledger, set_config('synchronous_commit', 'on', true)
WHERE format = '{FORMAT}'
"""
# an entry that the charge was decided on is there, unchanged
_UNCHANGED = f"""
AND EXISTS (
  SELECT FROM privet_entries WHERE sequence = %s::bigint
  AND ({", ".join(COLUMNS)}) IS NOT DISTINCT FROM ({_ROW})
)
"""
_NEVER_TWICE = "ON CONFLICT DO NOTHING"

#: How long a connection may have waited, in seconds, and still be trusted not to have been cut.
_FRESH = 5.0


class Again(Exception):
    """What a charge was decided on is not all that there is: look, and decide again."""


class Lost(Exception):
    """The connection was lost while nothing was being written."""


@dataclass(eq=False, slots=True)
class Line:
    """A connection on which every statement is a transaction."""

    place: str  # the URL
    connection: psycopg.Connection[tuple[Any, ...]]
    cursor: psycopg.Cursor[tuple[Any, ...]]
    memory: Memory = field(default_factory=Memory)
    since: float = 0.0  # when it was used last
    asked: bool = False  # whether anything was asked since it was taken
    table: str = "privet_entries"

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a query finds."""
        self.asked = True
        try:
            found = self.cursor.execute(_query(sql), values).fetchall()
        except psycopg.OperationalError as error:
            if self.connection.closed:
                raise Lost from error
            raise
        if not found or any(row[0] != FORMAT for row in found):
            raise LedgerError(FOREIGN.format(place=without_password(self.place)))
        return sorted([row[1:] for row in found if row[1] is not None])

    def insert(self, entry: Entry, found: Iterable[Entry | None]) -> None:
        """Append an entry if all that it was decided on is there unchanged, and nothing newer."""
        self.asked = True
        known = list(dict.fromkeys(each for each in found if each is not None))
        values = [*entry, *chain.from_iterable((each.sequence, *each) for each in known)]
        try:
            made = self.cursor.execute(_insertion(len(known)), values).rowcount
        except SerializationFailure as error:
            raise Again from error
        if made != 1:
            raise Again
        if self.connection.pgconn.transaction_status != TransactionStatus.IDLE:
            raise LedgerError("The server has not committed the charge. Nothing was released.")

    def doubtful(self) -> bool:
        """Whether the connection may have been cut while it waited."""
        if time.monotonic() - self.since > _FRESH:
            return True
        try:
            readable, _, _ = select.select([self.connection.fileno()], [], [], 0.0)
        except (ValueError, OSError, psycopg.Error):
            return True
        return bool(readable)

    def close(self) -> None:
        """Close the connection, which undoes what was not committed."""
        with contextlib.suppress(psycopg.Error):
            self.connection.close()


#: Connections that wait for the next transaction of this process.
IDLE: Idle[Line] = Idle(8)


@lru_cache(maxsize=8)
def _insertion(known: int) -> bytes:
    """The insertion of an entry that was decided on so many others."""
    return (_INSERT + known * _UNCHANGED + _NEVER_TWICE).encode()


@lru_cache(maxsize=64)
def _query(sql: str) -> bytes:
    """With the format beside, and names bound as psycopg does it."""
    return re.sub(r":(\w+)", r"%(\1)s", _LOOK.format(sql=sql)).encode()
