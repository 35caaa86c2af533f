"""The battery finds every planted bug and nothing in the real mechanisms."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

import privet
from privet.audit.attacks import Finding
from privet.audit.battery import audit_mechanism
from privet.domain import Box, Domain, OneHot
from privet.losses import HuberHinge, JointHuber, Logistic, SmoothHinge, Softmax
from privet.mechanisms import Mechanism, ObjectivePerturbation, OutputPerturbation
from privet.privacy import ZCDP, ApproxDP, PureDP
from tests.planted.bugs import PLANTED
from tests.planted.table import HEADER, row
from tests.strategies import name_of

ROOT = Path(__file__).parents[2]
DOMAIN = Domain((Box(1, 0.5), OneHot(3, 0.4), OneHot(1, 0.6)))
#: beside what a quick audit has, which ``test_full_audit.py`` runs
REAL: tuple[Mechanism, ...] = (
    OutputPerturbation(Softmax(3), ApproxDP(1.0, 1e-6), noise="gaussian"),
    ObjectivePerturbation(Logistic(), ApproxDP(1.0, 1e-4), noise="gaussian"),
    ObjectivePerturbation(SmoothHinge(), PureDP(0.5), norm_bound=12.0, calibration="exact"),
    ObjectivePerturbation(Softmax(3), PureDP(2.0)),
    ObjectivePerturbation(JointHuber(3, lifted=True), ZCDP(0.5), noise="gaussian"),
    ObjectivePerturbation(Logistic(), PureDP(1.0), insecure_seed=5),
    OutputPerturbation(Logistic(), PureDP(1.0), center=(0.7, -2.0)),
    ObjectivePerturbation(HuberHinge(), PureDP(1.0), center=(30.0, 40.0)),
    ObjectivePerturbation(Logistic(), ApproxDP(1.0, 1e-4), noise="gaussian", center=(1.0, 2.0)),
    ObjectivePerturbation(Softmax(3), PureDP(2.0), noise="class product", domain=DOMAIN),
)


@pytest.mark.parametrize("mechanism", REAL, ids=name_of)
def test_real_mechanisms_pass_every_check(mechanism: Mechanism) -> None:
    found = audit_mechanism(mechanism, seed=20)
    assert [str(finding) for finding in found if not finding.passed] == []
    assert len(found) >= 14


def test_every_planted_bug_is_caught_as_the_committed_table_says() -> None:
    """Rewrite it with ``python -m tests.planted.table docs/planted-bugs.md``.

    One test, so that no bug is audited twice where tests run side by side.
    """
    caught = {name: bug.findings() for name, bug in PLANTED.items()}
    assert [name for name, found in caught.items() if not found] == []
    rows = [row(PLANTED[name], finding) for name, found in caught.items() for finding in found]
    committed = (ROOT / "docs" / "planted-bugs.md").read_text(encoding="utf-8")
    assert committed == HEADER + "".join(rows)


def test_no_planted_bug_is_shipped() -> None:
    package = Path(privet.__path__[0])
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            found = getattr(node, "names", [])  # of an import; a global statement has plain names
            names = [alias.name for alias in found if isinstance(alias, ast.alias)]
            assert "planted" not in f"{getattr(node, 'module', '')} {names}", file
    assert not list(package.rglob("*planted*"))


def test_a_number_that_is_not_one_never_passes() -> None:
    assert not Finding("a check", math.nan, 1.0, "A sentence.").passed
    assert not Finding("a check", 1.1, 1.0, "A sentence.").passed
    assert Finding("a check", 1.0, 1.0, "A sentence.").passed
