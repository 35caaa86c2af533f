"""The database that a URL names; a server's library is loaded only where one is named."""

from __future__ import annotations

from pathlib import Path

from privet.errors import MissingExtra
from privet.ledger.store import SQLITE, Store


def store_at(url: str) -> Store:
    """The store that a checked URL names."""
    if url.startswith(SQLITE):
        from privet.ledger.sqlite import SqliteStore

        return SqliteStore(Path(url.removeprefix(SQLITE)))
    try:
        from privet.ledger.postgres import PostgresStore
    except ImportError as error:
        raise MissingExtra(
            "A ledger on PostgreSQL needs psycopg: pip install 'privet[postgres]'."
        ) from error
    return PostgresStore(url)
