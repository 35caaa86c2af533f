"""Faults 14 and 15: processes that are killed, and processes that all want the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def children(what: str, url: str, count: int) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.children", what, url, str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("backend", "kills"), [("sqlite", 200), ("postgres", 40)])
def test_14_kill_9_loses_nothing_and_gains_nothing(
    backend: str, kills: int, request: pytest.FixtureRequest
) -> None:
    """At random moments; what a killed process had told is there, and at most one entry more."""
    found = children("kill", request.getfixturevalue(f"{backend}_url"), kills)
    assert found["kills"] == kills
    assert found["reserved"] > kills / 10  # the children were at work
    # a child spends about half of its time between a reservation and its settlement
    assert found["orphans"] > 0


def test_15_fifty_processes_for_the_last_unit(url: str) -> None:
    found = children("last", url, 50)
    words = [line.split() for line in found["told"]]
    assert Counter(word[0] for word in words) == {"granted": 1, "refused": 49}
    assert len({noise for _, noise in words}) == 50
    assert found["remaining"] == 0.0


def test_15_twenty_processes_create_one_ledger(url: str) -> None:
    found = children("open", url, 20)
    assert Counter(found["told"]) == {"granted": 1, "refused True": 19}
    assert found["entries"] == 1
