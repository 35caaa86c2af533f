"""The table of planted bugs and the checks that find them: ``docs/planted-bugs.md``.

``python -m tests.planted.table docs/planted-bugs.md`` rewrites it; a test fails when the committed
file is not what the battery finds today.
"""

from __future__ import annotations

import sys
from pathlib import Path

from privet.audit.attacks import Finding
from tests.planted.bugs import PLANTED, Planted

HEADER = """# Planted bugs, and what finds them

Each line is a deliberate mistake (`tests/planted/bugs.py`) and every check of the battery
(`privet/audit/battery.py`; `descent_replay.py` and `means_replay.py` beside it) that it fails. The
real mechanisms fail none. Statistical checks say "p < 1e-6": under the claim the recovered noise
would be that improbable. Rewrite this file with `python -m tests.planted.table
docs/planted-bugs.md`.

| bug | what is wrong | check that catches it | measured | allowed |
|---|---|---|---|---|
"""


def row(bug: Planted, finding: Finding) -> str:
    """One line; random numbers are left out, others rounded so that they are stable."""
    measured = "p < 1e-6" if finding.random else _digits(finding.measured)
    allowed = "p >= 1e-6" if finding.random else _digits(finding.allowed)
    return f"| {bug.name} | {bug.sentence} | {finding.check} | {measured} | {allowed} |\n"


def _digits(number: float) -> str:
    return f"{number:.2g}"


def render() -> str:
    """The whole file."""
    rows = [row(bug, finding) for bug in PLANTED.values() for finding in bug.findings()]
    return HEADER + "".join(rows)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), encoding="utf-8")
