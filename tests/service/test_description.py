"""Requests made up from the service's own description: none finds a fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from privet.cli.demo import write_table
from privet.datasets import census_schema, census_table
from tests.service.answer_storm import ward
from tests.service.running import RunningService, only_by_make_test_service, running

pytestmark = only_by_make_test_service
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance"


def swept(service: RunningService, folder: Path, examples: int, token: str | None = None) -> str:
    """What schemathesis reports; it ends with an error where a check fails."""
    program = Path(sys.executable).with_name("schemathesis")
    done = subprocess.run(
        [
            *(program, "run", f"{service.url}/openapi.json"),
            *("-H", f"Authorization: Bearer {token or service.token}"),
            *("--checks", CHECKS, "--max-examples", str(examples)),
            *("--generation-deterministic", "--phases", "examples,coverage,fuzzing"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_a_released_model_has_no_fault(service: RunningService, tmp_path: Path) -> None:
    told = swept(service, tmp_path, 25)
    assert "No issues found" in told
    assert service.ask("GET", "/health").status == 200
    assert 'status="5xx"' not in service.ask("GET", "/metrics").raw.decode()


def test_an_interactive_release_has_no_fault(tmp_path: Path) -> None:
    from privet.ledger import Ledger

    table = ward(tmp_path, Ledger(f"sqlite:///{tmp_path / 'budget.db'}"), 40)
    options = ("--answers", "ward", "--data", table, "--ledger", tmp_path / "budget.db")
    with running(tmp_path, *options, "--step", "0.01", "--workers", 2) as service:
        swept(service, tmp_path, 15)
        assert 'status="5xx"' not in service.ask("GET", "/metrics").raw.decode()


def test_training_jobs_have_no_fault(tmp_path: Path) -> None:
    from privet.ledger import Ledger
    from privet.privacy.budget import PureDP

    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("people", cap=PureDP(0.001))
    write_table(census_table(50, seed=1), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(census_schema().to_toml())
    with running(tmp_path, "--jobs", tmp_path, "--ledger", tmp_path / "budget.db") as service:
        swept(service, tmp_path, 25, service.fit_token)
        assert 'status="5xx"' not in service.ask("GET", "/metrics").raw.decode()
    assert ledger.remaining("people") == 0.001
