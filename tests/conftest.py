"""What every test has: a folder of its own for what Privet remembers of ledgers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from privet.ledger.memory import FOLDER


@pytest.fixture(scope="session", autouse=True)
def remembered() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="privet-state-") as folder:
        os.environ[FOLDER] = folder
        yield
        os.environ.pop(FOLDER)
