"""An interactive release behind an address: faults 20 to 22, and workers that die."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.ledger import Ledger
from privet.service.web import padding
from tests.service.answer_storm import row, ward
from tests.service.running import RunningService, running

LIMIT = 12
STEP = 0.2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ward")


@pytest.fixture(scope="module")
def ledger(folder: Path) -> Ledger:
    return Ledger(f"sqlite:///{folder / 'budget.db'}")


@pytest.fixture(scope="module")
def options(folder: Path, ledger: Ledger) -> tuple[object, ...]:
    table = ward(folder, ledger, LIMIT)
    return ("--answers", "ward", "--data", table, "--ledger", folder / "budget.db", "--step", STEP)


@pytest.fixture(scope="module")
def asked(folder: Path, options: tuple[object, ...]) -> Iterator[RunningService]:
    with running(folder, *options, "--workers", 2) as service:
        yield service


def test_the_same_point_ten_thousand_times_is_one_answer(
    asked: RunningService, ledger: Ledger
) -> None:
    first = asked.predict(row(1)).json["scores"][0]
    again = asked.predict(*[row(1)] * 10_000).json["scores"]
    assert set(again) == {first}
    budget = asked.ask("GET", "/budget").json
    assert (budget["answered"], budget["left"]) == (1, LIMIT - 1)
    assert budget["account"]["left"] == ledger.remaining("patients") == 0.5


def test_near_duplicates_do_not_average_the_noise_away(asked: RunningService) -> None:
    """Beside a point that was asked the path's noise is the same: their mean is no closer."""
    near = [{**row(1), "age": row(1)["age"] + 1e-5 * i} for i in range(1, 4)]
    told = [asked.predict(each).json for each in near]
    center = asked.predict(row(1)).json["scores"][0]
    spread = max(abs(each["scores"][0] - center) for each in told)
    assert spread < 0.1 * told[0]["noise_sd"]


def test_a_key_is_for_one_request_whichever_worker_has_it(asked: RunningService) -> None:
    key = {"Idempotency-Key": "new"}
    first = asked.predict(row(3), headers=key)
    assert {asked.predict(row(3), headers=key).raw for _ in range(4)} == {first.raw}
    assert {asked.predict(row(1), headers=key).code for _ in range(4)} == {"key"}


def test_a_number_that_no_record_keeps_is_refused(asked: RunningService) -> None:
    text = '{"rows": [{"age": 1e999, "dose": 1, "sex": "f"}]}'
    reply = asked.ask("POST", "/predict", raw=text.encode())
    assert (reply.status, reply.code) == (422, "rows")


def test_answer_times_are_whole_steps_whatever_is_answered(asked: RunningService) -> None:
    """New, known and refused: none comes before its step is over."""
    for rows in ([row(2)], [row(2)], [{"age": 1}]):
        begun = time.monotonic()
        asked.predict(*rows)
        assert time.monotonic() - begun >= STEP
    assert padding(0.0, 0.05, 0.2) == pytest.approx(0.15)
    assert padding(0.0, 0.2, 0.2) == pytest.approx(0.0)
    assert padding(0.0, 0.31, 0.2) == pytest.approx(0.09)


def test_the_limit_is_kept_by_all_workers_and_after_a_restart(
    asked: RunningService, folder: Path, options: tuple[object, ...], ledger: Ledger
) -> None:
    replies = [asked.predict(row(10 + i)) for i in range(LIMIT + 3)]
    codes = [reply.status for reply in replies]
    left = codes.index(409)
    assert set(codes[left:]) == {409}
    assert replies[-1].code == "limit"
    known = replies[0].json["scores"]
    with running(folder, *options) as again:
        assert again.predict(row(10)).json["scores"] == known
        assert again.predict(row(500)).code == "limit"
        assert again.ask("GET", "/budget").json["left"] == 0
    ledger.verify()


def test_no_key_is_noted_for_rows_that_were_answered_before(asked: RunningService) -> None:
    """Any number of keys can be sent, and the ledger's file does not grow by them."""
    first = asked.predict(row(10), headers={"Idempotency-Key": "one"})
    assert {asked.predict(row(10), headers={"Idempotency-Key": "two"}).raw} == {first.raw}
    assert asked.predict(row(11), headers={"Idempotency-Key": "one"}).status == 200
    assert asked.predict(row(10), headers={"Idempotency-Key": "a b"}).status == 400
    assert asked.predict(row(10), headers={"Idempotency-Key": "a" * 201}).status == 400


def test_no_row_of_the_table_is_in_an_answer_or_the_log(
    asked: RunningService, folder: Path
) -> None:
    table = (folder / "patients.csv").read_text().splitlines()[1:]
    ages = {line.split(",")[0] for line in table}
    told = b"".join(asked.ask("GET", path).raw for path in ("/", "/model", "/budget", "/ledger"))
    told += asked.log.read_bytes() + (folder / "budget.db").read_bytes()
    assert min(map(len, ages)) > 8  # long enough to be nobody else's number
    assert not [age for age in ages if age.encode() in told]
