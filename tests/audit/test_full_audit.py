"""``privet audit``: what it shows of real mechanisms, and that it would show a broken one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from privet.audit import doors, full_audit
from privet.audit.attacks import Finding
from privet.audit.black_box import WatchedBound, watched_bound
from privet.audit.cases import AuditCase, audit_cases
from privet.audit.full_audit import EXACT, run_audit, subjects
from privet.audit.precision import precision_findings, process_finding
from privet.audit.release_replay import MODELS, replayed_model
from privet.errors import DeclarationError
from privet.losses import HuberHinge
from privet.mechanisms import MECHANISMS, Mechanism
from privet.privacy import PureDP
from privet.report.audit_page import audit_markdown, audit_page
from tests.cli.people import run
from tests.planted.bugs import HalfSensitivity

#: the same combinations in every run; nothing here is slow enough to sample from
CASES = {str(case): case for case in audit_cases()}


def test_every_mechanism_noise_and_loss_is_a_case() -> None:
    seen = {case.names[:3] for case in CASES.values()}
    margins = ("logistic", "huber", "smooth hinge")
    for loss in (*margins, "softmax", "joint huber"):
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
        assert exact is not None and 0.9 <= exact <= 1.0 + 1e-9, str(one.case)
        assert replay is not None and replay <= 1.0 + 1e-9


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


class OffTheGrid(MECHANISMS["output"]):  # type: ignore[misc]
    """Forgets to round."""

    def perturb_many(self, rows, design, randomness, k):  # type: ignore[no-untyped-def]
        found = super().perturb_many(rows, design, randomness, k)
        return found + 2.0 ** (design.exponent - 3)


class EvenSteps(MECHANISMS["output"]):  # type: ignore[misc]
    """Rounds to every second step of the grid that it names."""

    def perturb_many(self, rows, design, randomness, k):  # type: ignore[no-untyped-def]
        found = super().perturb_many(rows, design, randomness, k)
        return np.ldexp(np.rint(np.ldexp(found, -design.exponent - 1)), design.exponent + 1)


def test_last_bits_are_seen() -> None:
    found = {}
    for kind in (MECHANISMS["output"], OffTheGrid, EvenSteps):
        case = AuditCase(kind(HuberHinge(), PureDP(1.0)), "laplace")
        found[kind] = {one.check: one.passed for one in precision_findings(case, 400)}
    assert found[MECHANISMS["output"]] == {"grid": True, "last bits": True}
    assert not found[OffTheGrid]["grid"]
    assert not found[EvenSteps]["last bits"]


def test_processes_share_no_noise() -> None:
    assert process_finding().passed


@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression, standardized", "pipeline"])
def test_whole_models_are_replayed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = replayed_model(name)
    assert 0.1 < found.measured / found.allowed <= 1.0
    if name == "LinearSVC":  # a model whose rows are not clipped moves further than it declares
        from privet.models import row_view
        from tests.planted.bugs import unclipped_rows

        monkeypatch.setattr(row_view, "checked_rows", _unclipped(unclipped_rows))
        assert not replayed_model(name).passed
    assert name in MODELS


def _unclipped(make):  # type: ignore[no-untyped-def]
    def rows(x, targets, *, norm_bound, constant=None, domain=None):  # type: ignore[no-untyped-def]
        del domain
        wide = x if constant is None else np.column_stack([x, np.full(len(x), constant)])
        return make(wide, targets, norm_bound=norm_bound)

    return rows
