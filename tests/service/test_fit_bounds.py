"""No request keeps the door for training jobs shut: numbers have ends, and so does a job's time."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from privet.schema import Label, Numeric, Schema
from privet.schema.columns import Column
from privet.service import fit_runner
from privet.service.fit_jobs import ENDED, FitJobs
from privet.service.fit_request import BETWEEN, FitRequest
from privet.service.refusals import Refusal
from tests.service.running import ROOT
from tests.service.test_fit_jobs import ASKED, jobs_in

CLASSES = Label("ill", ("no", "yes"))


@pytest.mark.parametrize("name", BETWEEN)
def test_a_number_beyond_its_ends_is_refused_with_its_field_and_them(name: str) -> None:
    least, most = BETWEEN[name]
    for number in (0, -1.0, 5e-324, least / 2, most * 2, 1e200, 1e300, 10**400, float("inf")):
        wrong: Any = {"yes": number} if name == "class_weight" else number
        with pytest.raises(Refusal, match=name) as caught:
            FitRequest(**ASKED, options={name: wrong})
        assert caught.value.status == 422


@pytest.mark.parametrize(
    "column",
    [Numeric(0, 1e-322), Numeric(0, 1e99), Numeric(-1e31, 0), Numeric(0, 1e-300, knots=3)],
    ids=repr,
)
def test_bounds_of_a_column_that_no_arithmetic_is_made_for_charge_nothing(
    tmp_path: Path, column: Column
) -> None:
    jobs = jobs_in(tmp_path)
    schema = Schema({"age": column}, CLASSES).to_toml()
    with pytest.raises(Refusal, match="low and high") as caught:
        jobs.submit(FitRequest(**ASKED, schema=schema), "b", None)
    assert caught.value.status == 422
    assert jobs.ledger.remaining("people") == 1.0
    assert list(jobs.fits.glob("*.json")) == []


#: a fit that never comes back, in whatever it is: the process does not listen to polite signals
ENDLESS = """
import signal, time
import privet.models.raw_tables  # takes long on a busy machine; not of the job's time
from privet.service import fit_runner
def endless(*given):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)
fit_runner.{where} = endless
fit_runner.main()
"""


@pytest.mark.parametrize(("where", "charged"), [("_released", True), ("hold", False)])
def test_a_job_that_does_not_end_is_ended_as_paid_and_the_next_has_its_turn(
    tmp_path: Path, where: str, charged: bool
) -> None:
    limit = 5.0 if charged else 0.5  # time for a charge, where there is one
    jobs = FitJobs(tmp_path, jobs_in(tmp_path).ledger, 0.5, limit)
    name, budget = "0" * 32, {"epsilon": 0.25}
    request = FitRequest(**{**ASKED, "budget": budget}).to_json()
    record = {"id": name, "holder": "b", "name": "income", "state": "waiting", "charges": []}
    jobs.note({**record, "request": request})
    told = {"folder": str(tmp_path), "ledger": jobs.ledger.url, "step": 0.5, "limit": limit}
    subprocess.run(
        [sys.executable, "-c", ENDLESS.format(where=where)],
        input=json.dumps({**told, "id": name}).encode(),
        cwd=ROOT,
        check=True,
        timeout=60,
    )
    found = jobs.look(name, "b")
    assert found["state"] == "stopped"
    assert "longer than this service lets a job take" in found["words"]
    assert ("the charge stays" in found["words"]) == charged
    assert jobs.ledger.remaining("people") == 1.0 - 0.25 * charged
    assert len(jobs.ledger.orphans("people")) == len(found["charges"]) == charged
    assert list(jobs.models.iterdir()) == []
    patient = FitJobs(tmp_path, jobs.ledger, 0.5)
    begun = patient.submit(FitRequest(**{**ASKED, "budget": budget}), "b", None)
    for _ in range(1_200):
        if patient.look(begun["id"], "b")["state"] in ENDED:
            break
        time.sleep(0.05)
    assert patient.look(begun["id"], "b")["state"] == "released"


def test_no_module_of_the_current_folder_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever starts the service may do so where others lay down files."""
    jobs = jobs_in(tmp_path)
    here = tmp_path / "here"
    (here / "privet").mkdir(parents=True)
    for name in ("json.py", "select.py", "privet/__init__.py", "numpy.py"):
        (here / name).write_text(
            f"open({str(tmp_path / 'run')!r}, 'w').close()\nraise SystemExit\n"
        )
    monkeypatch.chdir(here)
    assert jobs.tables.look_through_apart() == []
    begun = jobs.submit(FitRequest(**{**ASKED, "budget": {"epsilon": 0.25}}), "b", None)
    for _ in range(1_200):
        if jobs.look(begun["id"], "b")["state"] in ENDED:
            break
        time.sleep(0.05)
    assert jobs.look(begun["id"], "b")["state"] == "released"
    assert not (tmp_path / "run").exists()


#: says that its turn has come and that it is charged, and has its model a little late
SLOW = """
import os, time
for word, seconds in ((b"t", 0.0), (b"c", 0.5), (b"m", 0.0)):
    os.write({says}, word)
    time.sleep(seconds)
os._exit(7)
"""


def test_a_model_that_is_made_while_its_process_is_being_ended_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine time passes between the end of a job's time and the end of its process."""
    heard, says = os.pipe()
    command = [sys.executable, "-c", SLOW.format(says=says)]
    with subprocess.Popen(command, pass_fds=(says,)) as process:
        os.close(says)
        real = select.select

        def tardy(*given: Any) -> Any:
            found = real(*given)
            if not found[0] and given[-1]:
                real([heard], [], [])  # the model is made before anything else is done
            return found

        monkeypatch.setattr(select, "select", tardy)
        assert fit_runner.in_time(process.pid, heard, 0.1)
        assert process.wait(60) == 7  # nobody killed it
    os.close(heard)
