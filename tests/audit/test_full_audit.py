"""``privet audit``: what it shows of real mechanisms, and that it would show a broken one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet._types import Array, Targets
from privet.audit import doors, full_audit
from privet.audit.attacks import Finding
from privet.audit.black_box import WatchedBound, watched_bound
from privet.audit.cases import audit_cases
from privet.audit.full_audit import EXACT, run_audit, subjects
from privet.audit.precision import precision_findings, process_finding
from privet.audit.release_replay import replayed_model
from privet.errors import DeclarationError
from privet.grid import round_to_grid
from privet.losses import HuberHinge
from privet.mechanisms import Design, Mechanism, OutputPerturbation
from privet.models import row_view
from privet.privacy import PureDP
from privet.randomness import Randomness
from privet.report.audit_page import audit_markdown, audit_page
from privet.rows import ArrayRows, Rows
from tests.cli.people import run
from tests.planted.bugs import HalfSensitivity

#: the same combinations in every run; nothing here is slow enough to sample from
CASES = {str(case): case for case in audit_cases()}


def test_every_mechanism_noise_and_loss_is_a_case() -> None:
    seen = {case.names[:3] for case in CASES.values()}
    margins = ("logistic", "huber", "smooth hinge")
    for loss in (*margins, "softmax", "joint huber"):
        assert ("gradient", "gaussian", loss) in seen
        assert {("output", kind, loss) for kind in ("laplace", "gaussian")} <= seen
        shaped = ("product", "hull") if loss in margins else ("matrix laplace", "class product")
        assert {("objective", kind, loss) for kind in ("laplace", "gaussian", *shaped)} <= seen


@pytest.fixture(scope="module")
def quick() -> full_audit.AuditResult:
    """One mechanism, with fewer draws than the command makes."""
    small = full_audit.Effort(draws=300, bits=200, box=20_000, fits=50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_audit, "SHORT", small)
        patch.setattr(doors, "FALSE_ALARM", 1e-6)
        return run_audit("objective", quick=True)


def test_the_exact_loss_reaches_the_budget_and_no_more(quick: full_audit.AuditResult) -> None:
    assert quick.passed
    for one in quick.cases:
        exact, replay = one.share(*EXACT), one.share("replay")
        assert exact is not None
        assert 0.9 <= exact <= 1.0 + 1e-9, str(one.case)
        assert replay is not None
        assert replay <= 1.0 + 1e-9


def test_table_page_and_json_say_the_same(quick: full_audit.AuditResult) -> None:
    plain, text, page = quick.to_json(), audit_markdown(quick), audit_page(quick, "objective")
    assert json.loads(json.dumps(plain))["passed"]
    assert text.count("| objective |") == len(plain["mechanisms"]) == len(quick.cases)
    assert page.count("<figure>") == 2  # logistic and Huber loss, in two columns
    assert "No attack succeeded" in page
    failed = replace(quick.cases[0], findings=(Finding("exact loss", 1.1, 1.0, "planted"),))
    broken = full_audit.AuditResult([failed, *quick.cases[1:]])
    assert "AN ATTACK SUCCEEDED" in audit_page(broken, "objective")
    assert "FAILED" in audit_markdown(broken)


def test_the_command_and_its_refusals(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    done = run("audit", "intervals", "--html", page)
    assert done.exit_code == 0, done.output
    assert "no attack succeeded" in done.stdout
    assert "intervals" in page.read_text()
    assert run("audit", "nobody").exit_code == 1
    assert {"objective", "output", "LinearSVC", "PublicSearch", "pipeline"} <= set(subjects())
    with pytest.raises(DeclarationError, match="cannot be audited"):
        run_audit("nobody")


# -- broken on purpose ---------------------------------------------------------------------------


def test_a_black_box_with_too_little_noise_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    half: Mechanism = HalfSensitivity(HuberHinge(), PureDP(1.0), regularization=10.0)
    monkeypatch.setitem(doors.BOXES, "output, laplace", half)
    found = doors.through_many_draws("output, laplace", 20_000)
    assert found.epsilon > 1.0
    assert not full_audit.BoxAudited("output", found, 1.0).passed


def test_looks_share_the_false_alarm_rate() -> None:
    """Equal laws: the bound stays below zero at every look, however often one looks."""
    rng = np.random.default_rng()
    told: list[WatchedBound] = []
    watched_bound(
        lambda side, k: rng.normal(size=k),
        most=4000,
        enough=0.5,
        false_alarm=1e-6,
        tell=told.append,
    )
    assert len(told) == 5  # never enough
    assert max(one.epsilon for one in told) == 0.0
    assert [one.draws for one in told] == sorted(one.draws for one in told)


class OffTheGrid(OutputPerturbation):
    """Forgets to round."""

    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        found = super().perturb_many(rows, design, randomness, k)
        return np.asarray(found + 2.0 ** (design.exponent - 3))


class EvenSteps(OutputPerturbation):
    """Rounds to every second step of the grid that it names."""

    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        found = super().perturb_many(rows, design, randomness, k)
        return round_to_grid(found, design.exponent + 1)


def test_last_bits_are_seen() -> None:
    found = {}
    for kind in (OutputPerturbation, OffTheGrid, EvenSteps):
        probed = precision_findings(kind(HuberHinge(), PureDP(1.0)), 400)
        found[kind] = {one.check: one.passed for one in probed}
    assert found[OutputPerturbation] == {"grid": True, "last bits": True}
    assert not found[OffTheGrid]["grid"]
    assert not found[EvenSteps]["last bits"]


def test_processes_share_no_noise() -> None:
    assert process_finding().passed


@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression, standardized", "pipeline"])
def test_whole_models_are_replayed(name: str) -> None:
    found = replayed_model(name)
    assert 0.1 < found.measured / found.allowed <= 1.0


def test_a_model_whose_rows_are_not_clipped_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    def unclipped(x: Array, targets: Targets, *, constant: float, **_: Any) -> Rows:
        return ArrayRows(np.column_stack([x, np.full(len(x), constant)]), targets)

    monkeypatch.setattr(row_view, "checked_rows", unclipped)
    monkeypatch.setattr(row_view, "tell_clipped", lambda rows: None)
    assert not replayed_model("LinearSVC").passed
