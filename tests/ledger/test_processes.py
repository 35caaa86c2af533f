"""Faults 14 and 15: processes that are killed, and processes that all want the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def children(what: str, url: str, count: int, *, alone: bool = False) -> Any:
    """What the processes found; ``alone``: with mounts of their own."""
    if alone and subprocess.run(["unshare", "-m", "mount", "--bind", "/tmp", "/tmp"]).returncode:
        pytest.skip("mounts are not permitted here")
    return told_by("children", what, url, str(count), namespace=["unshare", "-m"] if alone else [])


def told_by(module: str, *arguments: str, namespace: Sequence[str] = ()) -> Any:
    done = subprocess.run(
        [*namespace, sys.executable, "-m", f"tests.ledger.{module}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("backend", "kills"), [("sqlite", 100), ("postgres", 40)])
def test_14_kill_9_loses_nothing_and_gains_nothing(
    backend: str, kills: int, request: pytest.FixtureRequest
) -> None:
    """At random moments; what a killed process had told is there, and at most one entry more."""
    found = children("kill", request.getfixturevalue(f"{backend}_url"), kills)
    assert found["kills"] == kills
    assert found["reserved"] > kills / 10  # the children were at work
    # a child spends about half of its time between a reservation and its settlement
    assert found["orphans"] > 0


@pytest.mark.usefixtures("postgres_server")
def test_14_a_server_that_is_stopped_at_once_loses_nothing() -> None:
    """While three processes charge; what was confirmed is there, and little beside it."""
    found = told_by("storms", "crashes", "3", "3")
    assert found["crashes"] == 3
    assert found["confirmed"] > 10  # they were at work
    assert found["refused"] + found["unknown"] > 0  # and were hit


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


@pytest.mark.parametrize(
    ("how", "first", "second"),
    [
        ("hard_link", {"refused": 10}, {"refused": 10}),
        ("symbolic_link", None, None),
        ("copy", {"granted": 1, "spent": 9}, {"refused": 10}),
        ("mount", {"granted": 1, "spent": 9}, {"refused": 10}),
    ],
)
def test_15_racers_on_a_second_name(
    how: str, first: dict[str, int] | None, second: dict[str, int] | None, sqlite_url: str
) -> None:
    """The last unit is granted once at most; twenty here, fifty in benchmarks/storm.py."""
    found = children(how, sqlite_url, 20, alone=how == "mount")
    told = Counter(found["told"])
    granted = sum(count for line, count in told.items() if line.endswith("granted"))
    assert granted == (0 if how == "hard_link" else 1)
    for name, expected in (("first", first), ("second", second)):
        if expected is not None:
            assert {word: told[f"{name} {word}"] for word in expected} == expected
    assert found["remaining"] == (0.5 if how == "hard_link" else 0.0)
