"""No two processes draw the same noise, whatever memory they share and whatever their numbers.

A generator that lives in memory and looks at the number of its process to find out that it was
copied draws the same in two containers, where every first process is number 1. What is released
from neighboring tables then differs by exactly the neighbor.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tests.laws.forked import DRAWING, WAYS, WORKERS

UNSHARE = ["unshare", "--fork", "--pid"]


def namespaces() -> bool:
    """Whether this system lets us open process namespaces."""
    if shutil.which(UNSHARE[0]) is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@pytest.mark.parametrize("way", WAYS)
def test_every_draw_of_every_release_is_its_own(way: str) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.laws.forked", way]
    if way == "containers":
        if not namespaces():
            pytest.skip("process namespaces are not permitted here")
        command = [*UNSHARE, *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert len(found) >= WORKERS + 1
    shared = {
        name: len(found) - len({each[name] for each in found})
        for name in found[0]
        if len({each[name] for each in found}) < len(found)
    }
    assert shared == {}
    assert len(found[0]) >= len(DRAWING)
