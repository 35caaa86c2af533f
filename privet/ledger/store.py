"""What a database must give a ledger, and how a URL names one.

sqlite:///budget.db                    a file, by the standard library
postgresql://user@host/database        a server, by psycopg (extra ``postgres``)
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from privet.errors import DeclarationError
from privet.ledger.entries import Entries

#: The format that this release writes. Older ones are migrated; any other is refused.
FORMAT = "privet-ledger-3"
#: Without identity and nonces: read and verified, and charged after a migration.
SECOND_FORMAT = "privet-ledger-2"
FIRST_FORMAT = "privet-ledger-1"

#: The table of answers (``answer_turns.py``), which a ledger has once a release needs it.
ANSWER_COLUMNS = """(
  release TEXT NOT NULL,
  number BIGINT NOT NULL,
  key TEXT,
  asked TEXT,
  record TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (release, number),
  UNIQUE (release, key)
)"""

#: How long a charge waits for another process to finish its own, in seconds.
PATIENCE = 30.0

SQLITE = "sqlite:///"
POSTGRES = "postgresql://"

NOT_THERE = (
    "There is no ledger at {place}. Create it with Ledger.open or `privet ledger open`; a ledger "
    "that disappeared must be restored, not re-created."
)
FOREIGN = (
    "What is at {place} is not a ledger that this Privet knows: its tables are another "
    "program's, or a newer Privet's. It was left as it is; check the address, or upgrade Privet."
)
OLDER = (
    "The ledger at {place} was written by an earlier Privet ({found}). Bring it up to date with "
    "`privet ledger migrate` or Ledger.migrate(); its entries and their hashes stay."
)


class Store(Protocol):
    """A place where a ledger is kept. Each operation has a connection of its own."""

    def reading(self) -> AbstractContextManager[Entries]:
        """The entries in one consistent view."""

    def writing(self, *, create: bool = False) -> AbstractContextManager[Entries]:
        """The entries while nobody else can write; durable when the context is left.

        Nothing is written where the context is left by an exception.
        """

    def adopting(self) -> AbstractContextManager[Entries]:
        """As ``writing``, also where the ledger has been moved: it is at home here from now on."""

    def upgrading(self) -> AbstractContextManager[tuple[Entries, str]]:
        """As ``writing``, of any known format, which is told, with the tables of today's."""

    def compare(self, entries: Entries) -> None:
        """Raise ``LedgerError`` where its place remembers entries that the ledger lacks."""

    def check(self) -> None:
        """Raise ``LedgerError`` where the database itself finds that it is damaged."""


def checked_url(url: Any) -> str:
    """The URL of a ledger; a file's is made absolute, so that it means the same everywhere."""
    if not isinstance(url, str) or not url.startswith((SQLITE, POSTGRES)):
        raise DeclarationError(
            f"A ledger URL looks like {SQLITE}budget.db or {POSTGRES}user@host/database, got "
            f"{without_password(url) if isinstance(url, str) else url!r}."
        )
    if url.startswith(POSTGRES):
        return url
    place = url.removeprefix(SQLITE)
    if not place or place.startswith((":", "file:")):
        raise DeclarationError("A ledger needs a file: one in memory would forget the budget.")
    return SQLITE + str(Path(place).absolute())


def without_password(url: str) -> str:
    """The URL for people's eyes."""
    if url.startswith(SQLITE):
        return url
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{':***' if colon else ''}@{host}" if user else host
    query = "?..." if "password" in parts.query else f"?{parts.query}" if parts.query else ""
    return urlunsplit((parts.scheme, netloc, parts.path, "", "")) + query
