"""The door for training jobs: a running service, a real ledger, processes that are killed."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from privet import PureDP, load
from privet._files import file_digest
from privet.cli.demo import write_table
from privet.datasets import census_schema, census_table
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.schema import Label, Numeric, Schema
from privet.schema.file_format import FileFormat
from privet.schema.persons import Person
from privet.service.client import ServiceClient
from privet.service.fit_jobs import ENDED, MOST_WAITING, FitJobs
from privet.service.fit_request import FitRequest, fit_request
from privet.service.fit_runner import run
from privet.service.refusals import Refusal
from privet.service.served_model import example
from tests.service.answer_storm import workers_of
from tests.service.conftest import CANARY, CANARY_NUMBER
from tests.service.running import Reply, RunningService, running

ASKED = {"name": "income", "table": "people.csv", "budget": {"epsilon": 1.0}}
CAP = 4.0
SOON = ("--job-seconds", 0.5)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, a schema, a link out of it, and an account."""
    folder = tmp_path_factory.mktemp("shop")
    table = census_table(1_000, seed=1)
    table["region"][:3] = CANARY
    table["hours"][:3] = CANARY_NUMBER
    write_table(table, folder / "people.csv")
    (folder / "other.csv").symlink_to(folder / "people.csv")
    (folder / "folder.csv").mkdir()
    ledger = Ledger(f"sqlite:///{folder / 'budget.db'}")
    for name in ("people", "other", "folder"):
        (folder / f"{name}.toml").write_text(census_schema().to_toml())
        ledger.open(name, cap=PureDP(CAP))
    return folder


@pytest.fixture(scope="module")
def ledger(shop: Path) -> Ledger:
    return Ledger(f"sqlite:///{shop / 'budget.db'}")


@pytest.fixture(scope="module")
def trainer(shop: Path) -> Iterator[RunningService]:
    options = ("--jobs", shop, "--ledger", shop / "budget.db", "--workers", 2, *SOON)
    with running(shop, *options) as service:
        yield service


def posted(service: RunningService, body: Any, **options: Any) -> Reply:
    return service.ask("POST", "/fit", body, **{"token": service.fit_token, **options})


def ended(service: RunningService, name: str) -> dict[str, Any]:
    """The job's last state; a few seconds on a busy machine."""
    seen = []
    for _ in range(1_000):
        try:
            found = service.ask("GET", f"/fit/{name}", token=service.fit_token).json
        except (OSError, HTTPException):  # its worker was killed, and another is started
            time.sleep(0.05)
            continue
        seen.append(found["state"])
        if found["state"] in ENDED:
            assert seen == sorted(seen, key=["waiting", "fitting", *ENDED].index)
            return dict(found)
        time.sleep(0.05)
    raise AssertionError(f"the job did not end: {seen[-1]}")


@pytest.fixture(scope="module")
def served(trainer: RunningService, shop: Path) -> Path:
    """A model that a job released; tests of one file may run in several processes, in any order."""
    body = {**ASKED, "name": "served", "budget": {"epsilon": 0.5}}
    assert ended(trainer, posted(trainer, body).json["id"])["state"] == "released"
    return shop / "models" / "served.privet"


def test_a_job_charges_once_and_releases_a_whole_model(
    trainer: RunningService, shop: Path, ledger: Ledger
) -> None:
    before = ledger.remaining("people")
    client = ServiceClient(trainer.url, trainer.fit_token)
    begun = client.fit("people.csv", "income", {"epsilon": 1.0}, key="first")
    again = [client.fit("people.csv", "income", {"epsilon": 1.0}, key="first") for _ in range(3)]
    assert {each["id"] for each in again} == {begun["id"]}
    other = posted(trainer, {**ASKED, "name": "x"}, headers={"Idempotency-Key": "first"})
    assert (other.status, other.code) == (409, "key")
    done = ended(trainer, begun["id"])
    assert done == client.job(begun["id"])
    assert (done["state"], done["promise"]) == ("released", "epsilon = 1")
    assert ledger.remaining("people") == before - 1.0
    file = shop / "models" / "income.privet"
    assert done["sha256"] == file_digest(file)
    receipt = load(file).guarantee_.receipt
    assert receipt is not None
    assert ledger.knows(receipt)
    assert [each["dataset"] for each in done["charges"]] == ["people"]
    assert ledger.orphans("people") == []
    assert posted(trainer, {**ASKED, "name": "income"}).code == "name"


def test_the_ledger_refuses_and_the_refusal_says_what_is_left(
    trainer: RunningService, ledger: Ledger
) -> None:
    head = ledger.head()
    reply = posted(trainer, {**ASKED, "name": "large", "budget": {"epsilon": CAP + 1}})
    assert (reply.status, reply.code) == (409, "limit")
    assert b"What fits now" in reply.raw or b"is left" in reply.raw
    assert b"people" in reply.raw
    assert ledger.head() == head


@pytest.mark.parametrize(
    "wrong",
    [
        *({"table": t} for t in ("../people.csv", "/etc/passwd", "people.toml", "other.csv")),
        *({"table": t} for t in ("folder.csv", "none.csv", "people.csv\x00", "", ".csv", 3, None)),
        *({"table": t} for t in ("fits/a.csv", "..", "people.csv/", "p\u200beople.csv", ["a"])),
        *({"name": n} for n in ("../up", "a/b", "", "." * 3, 7, "x" * 101)),
        *({"budget": b} for b in ({}, {"epsilon": "1"}, {"epsilon": True}, {"epsilon": -1}, 1)),
        *({"budget": b} for b in ({"rho": 1, "mu": 1}, {"epsilon": 1e999}, {"delta": 1e-6}, [])),
        *({"options": o} for o in ({"insecure_seed": 1}, {"ledger": "x"}, {"center": "m"}, [1])),
        *({"options": o} for o in ({"gamma": 1.0}, {"regularization": "x"}, {"noise": True})),
        *({"schema": s} for s in ("people.toml", "/etc/passwd", "a = \n", "[x]\ny = 1\n", 5)),
        {"budget": {"epsilon": 10**400}},
        {"options": {"regularization": 10**400}},
        {"model": "tree"},
        {"model": None},
        {"model": {}},
        {"secret-canary": 1},
        {"dataset": "other"},
    ],
    ids=repr,
)
def test_a_hostile_request_is_refused_and_charges_nothing(
    trainer: RunningService, ledger: Ledger, wrong: dict[str, Any]
) -> None:
    head = ledger.head()
    body = json.dumps({**ASKED, "name": "hostile", **wrong}).encode()
    reply = trainer.ask("POST", "/fit", raw=body, token=trainer.fit_token)
    assert 400 <= reply.status < 500, reply.raw
    assert b"secret-canary" not in reply.raw
    assert b"/etc" not in reply.raw
    assert ledger.head() == head


def test_only_its_own_kind_of_token_opens_the_door(trainer: RunningService) -> None:
    assert posted(trainer, ASKED, token=None).status == 401
    assert posted(trainer, ASKED, token=trainer.token).code == "role"  # a curator's
    assert trainer.ask("GET", f"/fit/{'0' * 32}", token=trainer.fit_token).status == 404
    for odd in ("..%2f..%2fpeople", "x", "0" * 31 + "%2e"):
        assert trainer.ask("GET", f"/fit/{odd}", token=trainer.fit_token).status == 404
    assert trainer.ask("GET", "/metrics", token=trainer.fit_token).code == "role"
    assert b'route="/fit"' in trainer.ask("GET", "/metrics").raw
    assert trainer.ask("GET", "/").status == 404  # nothing is served yet, and it says so


def test_a_killed_job_stays_charged_and_says_so_after_a_restart(
    trainer: RunningService, served: Path, shop: Path, ledger: Ledger
) -> None:
    before = ledger.remaining("people")
    slow = {"model": "kernel-svm", "options": {"frequencies": 1_500, "gamma": 1.0}}
    body = {**ASKED, **slow, "name": "slow", "budget": {"epsilon": 0.5}}
    begun = posted(trainer, body, headers={"Idempotency-Key": "slow"}).json
    record = shop / "fits" / f"{begun['id']}.json"
    for _ in range(5_000):
        told = json.loads(record.read_text())
        if told["state"] == "fitting":
            break
        time.sleep(0.01)
    for process in (told["process"], *workers_of(trainer)):
        os.kill(process, signal.SIGKILL)
    found = ended(trainer, begun["id"])  # told by a new worker
    assert found["state"] == "stopped"
    assert "the charge stays" in found["words"]
    assert ledger.remaining("people") == before - 0.5
    assert [entry.sequence for entry in ledger.orphans("people")] == [found["charges"][0]["entry"]]
    options = ("--jobs", shop, "--ledger", shop / "budget.db", *SOON)
    with running(shop, served, *options) as service:  # the same key is the same job
        again = posted(service, body, headers={"Idempotency-Key": "slow"}).json
        assert (again["id"], again["state"]) == (begun["id"], "stopped")
        assert service.ask("GET", f"/fit/{begun['id']}", token=service.fit_token).json == again
        answer = service.predict(example(census_schema())).json  # what an earlier job released
        assert answer["sha256"] == file_digest(served)
        assert service.ask("GET", "/budget").json["account"]["left"] == before - 0.5
    assert ledger.remaining("people") == before - 0.5
    assert not (shop / "models" / "slow.privet").exists()


def test_no_planted_value_is_in_a_record_or_an_answer(
    trainer: RunningService, served: Path, shop: Path
) -> None:
    files = [
        *filter(Path.is_file, shop.glob("fits/*")),
        *shop.glob("models/*"),
        *shop.glob("*.log"),
    ]
    assert {each.suffix for each in files} >= {".json", ".privet", ".log"}
    for text in (file.read_bytes() for file in files):
        assert CANARY.encode() not in text
        assert str(CANARY_NUMBER).encode() not in text


# -- the folder by itself --------------------------------------------------------------------------


def test_a_table_that_the_schema_does_not_fit_is_refused_without_its_columns(
    tmp_path: Path,
) -> None:
    jobs = jobs_in(tmp_path)
    schema = Schema({"nothing": Numeric(0, 1)}, Label("ill", ("no", "yes"))).to_toml()
    request = FitRequest(**ASKED, schema=schema).to_json()
    record = {"id": "0" * 32, "holder": "b", "state": "waiting", "charges": [], "request": request}
    run(jobs, record)
    told = jobs.look("0" * 32, "b")
    assert (told["state"], told["charges"]) == ("refused", [])
    assert "Nothing was charged" in told["words"]
    assert "reason" not in told
    with pytest.raises(Refusal, match="not all of the columns"):  # and before it is a job
        jobs.submit(FitRequest(**ASKED, schema=schema), "b", None)
    assert "age" not in json.dumps(told)
    assert jobs.ledger.remaining("people") == 1.0


def test_the_queue_is_bounded_and_one_name_is_trained_once(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path)
    request = fit_request(dict(ASKED))
    with ExitStack() as held:
        for i in range(MOST_WAITING):
            name = f"{i:032x}"
            lock = held.enter_context((jobs.fits / f"{name}.running").open("wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            record = {"id": name, "name": "income", "state": "waiting", "charges": []}
            jobs.note({**record, "holder": "b", "asked": "", "table": "", "model": ""})
            with pytest.raises(Refusal) as caught:
                jobs.submit(request, "b", None)
            assert caught.value.code == ("busy" if i == MOST_WAITING - 1 else "name")
        assert jobs.look(name, "b")["state"] == "waiting"
        with pytest.raises(Refusal, match="no such job"):
            jobs.look(name, "somebody else")
    assert jobs.look(name, "b")["state"] == "stopped"  # who held it is gone


def test_the_table_s_own_schema_says_whose_row_it_is(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path, group=3)
    columns, label = {"age": Numeric(0, 100)}, Label("ill", ("no", "yes"))
    own = Schema(columns, label, person=Person("patient", 3))
    asked = FitRequest(**ASKED, schema=own.to_toml())
    with pytest.raises(DeclarationError, match="lays it beside"):
        jobs.tables.schema(asked)  # who asks must not choose who counts as a person
    (tmp_path / "people.toml").write_text(own.to_toml())
    assert jobs.tables.schema(asked) == jobs.tables.schema(FitRequest(**ASKED)) == own
    for other in (None, Person("ward", 3), Person("patient", 1)):
        with pytest.raises(DeclarationError, match="Whose row it is"):
            jobs.tables.schema(
                FitRequest(**ASKED, schema=Schema(columns, label, person=other).to_toml())
            )


def test_who_asks_declares_neither_persons_nor_how_a_file_is_written(tmp_path: Path) -> None:
    """One row would change the rows of a made-up person; an encoding would tell of cells, free."""
    jobs = jobs_in(tmp_path)
    columns, label = {"age": Numeric(0, 100)}, Label("ill", ("no", "yes"))
    (tmp_path / "people.toml").unlink()
    for beside in (False, True):
        if beside:
            (tmp_path / "people.toml").write_text(Schema(columns, label).to_toml())
        plain = Schema(columns, label)
        assert jobs.tables.schema(FitRequest(**ASKED, schema=plain.to_toml())) == plain
        for given in (
            Schema(columns, label, person=Person("region", 1)),
            Schema(columns, label, file=FileFormat(encoding="ascii")),
        ):
            with pytest.raises(DeclarationError, match="for the schema beside the table"):
                jobs.tables.schema(FitRequest(**ASKED, schema=given.to_toml()))


def test_a_record_that_cannot_be_read_stops_nobody_else(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path)
    (jobs.fits / f"{7:032x}.json").write_text("[" * 100_000)
    text = Schema({"age": Numeric(0, 100)}, Label("ill", ("no", "yes"))).to_toml()
    request = FitRequest(**ASKED, schema=f"{text}\n#" + "\U0001f600" * 250_000)
    with pytest.raises(Refusal, match="too large"):  # and not that a record cannot be read
        jobs.submit(request, "b", None)


def jobs_in(folder: Path, group: int = 1) -> FitJobs:
    (folder / "people.csv").write_text("age,ill\n" + "1,no\n" * 100)
    schema = Schema({"age": Numeric(0, 100)}, Label("ill", ("no", "yes")))
    (folder / "people.toml").write_text(schema.to_toml())
    if group > 1:
        (folder / "people.toml").unlink()
    ledger = Ledger(f"sqlite:///{folder / 'budget.db'}")
    ledger.open("people", cap=PureDP(1.0), group=group)
    jobs = FitJobs(folder, ledger, 0.5)
    jobs.prepare()
    assert list(jobs.tables.look_through()) == []
    return jobs
