"""Workers on one PostgreSQL ledger, killed under load; run by ``make test-service``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from privet.ledger import Ledger
from tests.postgres import NoServer
from tests.postgres import running as postgres
from tests.service.answer_storm import check, storm
from tests.service.running import only_by_make_test_service

pytestmark = only_by_make_test_service


def test_workers_that_are_killed_lose_nothing_and_answer_nothing_twice(tmp_path: Path) -> None:
    """A small storm on PostgreSQL; ``benchmarks/answer_storm.py`` kills twenty times."""
    try:
        with postgres() as server:
            ledger = Ledger(server.url)
            seen = storm(tmp_path, ledger, kills=2, rows=40, limit=30, clients=3)
            recorded = check(seen, ledger, 30)
    except NoServer as error:
        pytest.skip(f"no PostgreSQL server: {error}")
    assert recorded == 30
    assert seen.kills >= 1
    assert seen.refused > 0
    assert np.isfinite([value for found in seen.answers.values() for value in found]).all()
