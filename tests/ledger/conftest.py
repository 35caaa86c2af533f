"""Ledgers on every database: each test that takes one runs on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from privet import Ledger
from privet.ledger.beside import Beside
from privet.ledger.memory import FOLDER
from tests import postgres

_NUMBERS = count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")
    try:
        with postgres.server() as url:
            yield url
    except postgres.NoServer as error:
        pytest.skip(f"PostgreSQL cannot be installed here: {error}")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/budget.db"


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    return postgres.fresh(postgres_server, f"ledger_{next(_NUMBERS)}")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A place for a ledger that does not exist yet."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def ledger(url: str) -> Ledger:
    """A ledger that does not exist yet."""
    return Ledger(url)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Ledger], None]:
    """Forget what this machine remembers of a ledger: as another one would see it."""

    def forget(ledger: Ledger) -> None:
        monkeypatch.setenv(FOLDER, str(tmp_path / f"state-{next(_NUMBERS)}"))
        if ledger.url.startswith("sqlite"):
            Beside(ledger.path).begin(ledger.entries()[-1])

    return forget


@pytest.fixture
def tamper(url: str) -> Callable[[str], None]:
    """What somebody with a database client does to a ledger; ``{table}`` is its table."""

    def with_sqlite(statement: str) -> None:
        import sqlite3

        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        connection.execute(statement.format(table="entries"))
        connection.close()

    def with_postgres(statement: str) -> None:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.format(table="privet_entries").encode())

    return with_sqlite if url.startswith("sqlite") else with_postgres
