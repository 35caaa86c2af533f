"""What every test has: a folder of its own for what Privet remembers of ledgers.

Tests that start a database server, the service or a cluster, and those that start, kill and race
many processes, are marked ``servers``: ``make test-servers`` runs them, ``make test`` the others,
and plain ``pytest`` all.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.ledger.memory import FOLDER

HERE = Path(__file__).parent
#: Files and folders whose tests start servers by themselves; others take them from a fixture.
STARTING = ("service", "ledger/test_replicas.py", "rows/test_dask_engine.py")
#: Those whose tests start, kill and race dozens of processes.
RACING = (
    "cli/test_interrupted.py",
    "cli/test_paid.py",
    "kernels/test_copied_predictors.py",
    "kernels/test_journals_put_back.py",
    "ledger/test_processes.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts servers or many processes."""
    starting = {HERE / place for place in (*STARTING, *RACING)}
    for item in items:
        given = getattr(item, "callspec", None)
        on_server = given is not None and given.params.get("url") == "postgres"
        asks = "postgres_server" in getattr(item, "fixturenames", ())
        if on_server or asks or not starting.isdisjoint({item.path, *item.path.parents}):
            item.add_marker("servers")


@pytest.fixture(scope="session", autouse=True)
def remembered() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="privet-state-") as folder:
        os.environ[FOLDER] = folder
        yield
        os.environ.pop(FOLDER)
