"""Training jobs find out nothing that was not paid for: no row is read before the charge."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import ZCDP, PureDP, _files, load
from privet.cli.demo import write_table
from privet.datasets import census_schema, census_table
from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.ledger import Ledger
from privet.schema import encode
from privet.service import fit_runner, fit_tables
from privet.service.fit_jobs import FitJobs, Record
from privet.service.fit_request import FitRequest
from privet.service.fit_runner import padding, run
from privet.service.refusals import Refusal, without_values

CAP = 1.0


@pytest.fixture
def jobs(tmp_path: Path) -> FitJobs:
    """A folder with one table of which the public facts are known."""
    write_table(census_table(300, seed=1), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(census_schema().to_toml())
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("people", cap=PureDP(CAP))
    made = FitJobs(tmp_path, ledger, 0.5)
    made.prepare()
    assert list(made.tables.look_through()) == []
    return made


@pytest.fixture
def readings(jobs: FitJobs, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was left of the account each time that the table was opened since the start."""
    seen: list[float] = []
    for room in (encode, fit_tables):
        opened = room.open_table

        def noting(*given: Any, opened: Any = opened) -> Any:
            seen.append(jobs.ledger.remaining("people"))
            return opened(*given)

        monkeypatch.setattr(room, "open_table", noting)
    return seen


def asked(**more: Any) -> FitRequest:
    return FitRequest(**{"name": "a", "table": "people.csv", "budget": {"epsilon": 0.25}, **more})


def ran(jobs: FitJobs, request: FitRequest) -> Record:
    record: Record = {"id": "0" * 32, "holder": "b", "state": "waiting", "charges": []}
    record["request"] = request.to_json()
    run(jobs, record)
    return jobs.look("0" * 32, "b")


def test_no_row_is_read_before_the_charge(jobs: FitJobs, readings: list[float]) -> None:
    done = ran(jobs, asked())
    assert done["state"] == "released"
    assert readings == [CAP - 0.25]
    assert jobs.ledger.remaining("people") == CAP - 0.25  # charged once
    assert jobs.ledger.orphans("people") == []
    receipt = load(jobs.models / "a.privet").guarantee_.receipt
    assert receipt is not None
    assert jobs.ledger.knows(receipt)


def test_room_for_the_model_is_held_from_before_the_charge(
    jobs: FitJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that others fill during the fit would lose what was paid for."""
    rooms: list[BinaryIO] = []

    def hold(*given: Any) -> BinaryIO:
        rooms.append(_files.hold(*given))
        return rooms[0]

    def write(*given: Any, **named: Any) -> None:
        assert rooms[0].closed
        _files.write_whole(*given, **named)

    def say(word: bytes) -> None:
        assert not rooms[0].closed
        assert os.fstat(rooms[0].fileno()).st_size == fit_runner.ROOM

    monkeypatch.setattr(fit_runner, "hold", hold)
    monkeypatch.setattr(fit_runner, "write_whole", write)
    record: Record = {"id": "0" * 32, "holder": "b", "state": "waiting", "charges": []}
    record["request"] = asked().to_json()
    run(jobs, record, say)
    assert jobs.look("0" * 32, "b")["state"] == "released"


@pytest.mark.parametrize("budget", [{"rho": 0.1}, {"mu": 0.3}, {"epsilon": 1, "delta": 1e-6}])
def test_a_parquet_file_is_charged_first_in_every_kind_of_budget(
    jobs: FitJobs, budget: dict[str, float]
) -> None:
    table = census_table(300, seed=1)
    arrow = pa.table({name: list(column) for name, column in table.items()})
    pq.write_table(arrow, jobs.folder / "others.parquet")
    (jobs.folder / "others.toml").write_text(census_schema().to_toml())
    jobs.ledger.open("others", cap=ZCDP(1.0))
    assert list(jobs.tables.look_through()) == []
    left = jobs.ledger.remaining("others")
    done = ran(jobs, asked(table="others.parquet", budget=budget))
    assert done["state"] == "released"
    assert jobs.ledger.remaining("others") < left
    assert len(list(jobs.ledger.releases("others"))) == 1
    assert jobs.ledger.orphans("others") == []


REFUSED: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "budget": ({"budget": {"epsilon": CAP + 1}}, BudgetExceeded),
    "mechanism": ({"options": {"mechanism": "none"}}, DeclarationError),
    "noise": ({"options": {"noise": "none"}}, DeclarationError),
    "noise for a budget": ({"options": {"noise": "gaussian"}}, DeclarationError),
    "standardize": ({"options": {"standardize": "none of these"}}, DeclarationError),
    "whiten": ({"options": {"standardize": "whiten"}}, DeclarationError),
    "label": ({"model": "linear"}, DeclarationError),
    "knee": ({"options": {"knee": 1.0}}, DeclarationError),
    "loss": ({"model": "svm", "options": {"loss": "hinge"}}, DeclarationError),
    "option": ({"options": {"gamma": 1.0}}, DeclarationError),
    "classes": ({"options": {"class_weight": {"maybe": 2.0}}}, Refusal),
    "account": ({"table": "others.csv"}, Refusal),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused_is_refused_before_it_is_a_job_and_reads_nothing(
    jobs: FitJobs, readings: list[float], why: str
) -> None:
    """Who repeats refused jobs would learn of cells by the time that it takes to read them."""
    (jobs.folder / "others.csv").write_text("age\n1\n")
    wrong, kind = REFUSED[why]
    with pytest.raises(kind):
        jobs.submit(asked(**wrong), "b", None)
    assert list(jobs.fits.glob("*.json")) == []
    assert ran(jobs, asked(**wrong))["state"] == "refused"  # had it been refused later only
    assert readings == []
    assert jobs.ledger.remaining("people") == CAP


def test_a_table_that_was_changed_is_not_read_until_the_operator_starts_anew(
    jobs: FitJobs, readings: list[float]
) -> None:
    table = jobs.folder / "people.csv"
    text = table.read_text()
    table.write_text(text + text.splitlines()[1] + "\n")
    with pytest.raises(Refusal, match="changed since"):
        jobs.submit(asked(), "b", None)
    assert readings == []
    assert list(jobs.tables.look_through()) == []
    jobs.tables.priced(asked())
    table.write_text(text + "1,2,3\n")  # a row with too few cells
    [(name, why)] = jobs.tables.look_through_apart()
    assert name == "people.csv"
    assert "cells" in why  # to the operator
    with pytest.raises(Refusal, match="looked through") as caught:
        jobs.submit(asked(), "b", None)
    assert "cells" not in str(caught.value)
    assert jobs.ledger.remaining("people") == CAP


def test_a_table_that_is_not_the_one_that_was_priced_is_charged_once_and_not_released(
    jobs: FitJobs,
) -> None:
    note = jobs.fits / "people.csv.seen"
    facts = json.loads(note.read_text())
    note.write_text(json.dumps({**facts, "rows": facts["rows"] + 1}))
    done = ran(jobs, asked())
    assert done["state"] == "refused"
    assert "the charge stays" in done["words"]
    assert jobs.ledger.remaining("people") == CAP - 0.25
    assert not list(jobs.models.iterdir())


def test_a_job_that_is_killed_while_it_waits_to_tell_its_end_has_that_end(
    jobs: FitJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(seconds: float) -> None:
        assert jobs.look("0" * 32, "b")["state"] == "released"  # nobody holds this job's lock
        assert json.loads((jobs.fits / f"{'0' * 32}.json").read_text())["state"] == "fitting"
        raise Killed

    monkeypatch.setattr(fit_runner.time, "sleep", killed)
    with pytest.raises(Killed):
        ran(jobs, asked())
    told = jobs.look("0" * 32, "b")
    assert (told["state"], told["file"]) == ("released", "a.privet")
    assert "last" not in told


def test_after_so_many_charges_no_job_reads_the_table(
    jobs: FitJobs, readings: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_tables, "MOST_CHARGES", 1)
    assert ran(jobs, asked(budget={"epsilon": 1e-6}))["state"] == "released"
    assert len(readings) == 1
    with pytest.raises(Refusal, match="no job reads its table"):
        jobs.submit(asked(name="b"), "b", None)
    assert len(readings) == 1


def test_a_failed_ledger_lets_nothing_be_read(
    jobs: FitJobs, readings: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any) -> int:
        raise LedgerError("The disk is full.")

    monkeypatch.setattr(Ledger, "reserve", failing)
    assert ran(jobs, asked())["state"] == "refused"
    assert readings == []


def test_the_end_is_told_after_a_step_or_a_power_of_two_of_it() -> None:
    for step in (0.5, 15.0):
        for seconds in (0.001, 0.7, 1.0, 1.3, 5.0, 100.0):
            whole = seconds + padding(seconds, step, 1e6)
            assert whole >= seconds
            assert padding(seconds, step, seconds + 0.1) <= 0.1 + 1e-9  # the limit is an end, too
            assert any(abs(whole - step * 2.0**k) < 1e-9 for k in range(9))


def test_refusals_repeat_no_number_that_was_sent(jobs: FitJobs) -> None:
    for wrong in ({"budget": {"epsilon": 4711.0}}, {"options": {"regularization": -4711.0}}):
        with pytest.raises((Refusal, DeclarationError)) as caught:
            jobs.submit(asked(**wrong), "b", None)
        assert "4711" not in without_values(str(caught.value))
        record: Record = {"id": "0" * 32, "holder": "b", "state": "waiting", "charges": []}
        run(jobs, {**record, "request": {**asked().to_json(), **wrong}})
        told = jobs.look("0" * 32, "b")
        assert told["state"] == "refused"
        assert "4711" not in str(told)


def test_class_weights_go_by_the_names_of_the_classes(jobs: FitJobs) -> None:
    label = str(census_schema().label.classes[1])  # type: ignore[union-attr]
    request = asked(options={"class_weight": {label: 2.0}})
    assert jobs.tables.priced(request).model.class_weight == {label: 2.0}
    assert ran(jobs, request)["state"] == "released"
    for wrong in ({label: 0}, {label: "2"}, {label: True}, {label: 10**400}):
        with pytest.raises(Refusal, match="class_weight"):
            asked(options={"class_weight": wrong})
