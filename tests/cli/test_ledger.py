"""``privet ledger``: parts, persons, what remains, what a model file knows, older files."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from privet import Ledger, PureDP
from privet.ledger.memory import FOLDER
from tests.cli.people import misused, refused, run
from tests.strategies import pure_event

OLD = Path(__file__).parents[1] / "reference" / "ledger-format-1.db"


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A ledger of a data set in two parts, for persons with two rows."""
    place = tmp_path / "b.db"
    opened = run(
        *("ledger", "open", place, "people", "--epsilon", 2, "--group", 2),
        *("--part", "south=0:500", "--part", "north=500:900"),
    )
    assert opened.exit_code == 0
    assert "a person with at most 2 rows" in " ".join(opened.stdout.split())
    assert "rows 500 to 899" in opened.stdout
    return place


@pytest.mark.parametrize(
    "name", ["open", "show", "remaining", "verify", "export", "migrate", "adopt", "roles"]
)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = run("ledger", name, "--help", env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert f"Example: privet ledger {name}" in result.stdout


def test_what_remains_of_parts(parts: Path) -> None:
    Ledger(f"sqlite:///{parts}").reserve("people", pure_event(0.5), part="south")
    assert run("ledger", "remaining", parts, "people").stdout == "1\n"
    assert run("ledger", "remaining", parts, "people", "--part", "north").stdout == "2\n"
    told = json.loads(run("ledger", "remaining", parts, "people", "--json").stdout)
    assert told["remaining"] == 1.0
    assert told["group"] == 2
    assert told["parts"] == {"north": [500, 900], "south": [0, 500]}
    assert told["ledger"] == str(parts)
    refused(run("ledger", "remaining", parts, "people", "--part", "east"), "no part 'east'")
    refused(run("ledger", "remaining", parts, "nobody"), "not open")
    shown = run("ledger", "show", parts)
    assert "Left in north 2" in " ".join(shown.stdout.split())
    assert "of south" in shown.stdout
    assert "never released" in shown.stdout
    account = json.loads(run("ledger", "show", parts, "--json").stdout)["accounts"][0]
    assert account["remaining_in_parts"] == {"north": 2.0, "south": 1.0}
    assert account["releases"][0]["part"] == "south"
    assert account["cap"] == {"kind": "pure", "epsilon": 2.0}


@pytest.mark.parametrize("part", ["a", "a=1", "=1:2", "a=x:2", "a=1:", "a=-1:2"])
def test_parts_are_ranges(tmp_path: Path, part: str) -> None:
    place = tmp_path / "b.db"
    misused(run("ledger", "open", place, "p", "--epsilon", 1, "--part", part), "--part")
    assert not place.exists()


def test_parts_that_overlap_are_refused(tmp_path: Path) -> None:
    both = ["--part", "a=0:10", "--part", "b=5:20"]
    refused(run("ledger", "open", tmp_path / "b.db", "p", "--epsilon", 1, *both), "share rows")
    refused(run("ledger", "open", tmp_path / "b.db", "p", "--epsilon", 1, "--group", 0), "group")
    twice = ["--part", "a=0:10", "--part", "a=10:20"]
    misused(run("ledger", "open", tmp_path / "b.db", "p", "--epsilon", 1, *twice), "new name")
    assert list(tmp_path.iterdir()) == []


def test_a_model_file_knows_its_entry(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, model = tmp_path / "b.db", tmp_path / "m.privet"
    run("ledger", "open", ledger, "people", "--epsilon", 2)
    trained = run(
        *("train", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 1),
        *("--ledger", ledger, "--dataset", "people", "--out", model),
    )
    assert trained.exit_code == 0
    assert run("ledger", "verify", ledger, "--model", model).exit_code == 0
    misused(run("ledger", "verify", ledger, "--model", model, "--head", "0"), "not both")
    refused(run("ledger", "verify", ledger, "--model", people / "model.privet"), "no receipt")
    connection = sqlite3.connect(ledger)
    connection.execute("DELETE FROM entries WHERE sequence > 1")
    connection.commit()
    connection.close()
    refused(run("ledger", "verify", ledger), "rolled back")  # this machine remembers
    monkeypatch.setenv(FOLDER, str(tmp_path / "another machine"))
    ledger.with_name("b.db-head").unlink()
    assert run("ledger", "verify", ledger).exit_code == 0
    refused(run("ledger", "verify", ledger, "--model", model), "rolled back")


def test_an_older_ledger_is_brought_up_to_date(tmp_path: Path) -> None:
    place = tmp_path / "b.db"
    shutil.copy(OLD, place)
    refused(run("ledger", "show", place), "privet ledger migrate")
    told = json.loads(run("ledger", "migrate", place, "--json").stdout)
    assert (told["from"], told["to"]) == ("privet-ledger-1", "privet-ledger-3")
    assert "up to date" in " ".join(run("ledger", "migrate", place).stdout.split())
    assert json.loads(run("ledger", "verify", place, "--json").stdout)["entries"] == 8
    shutil.copy(OLD, tmp_path / "c.db")
    assert "Migrated" in run("ledger", "migrate", tmp_path / "c.db").stdout
    assert run("ledger", "remaining", place, "patients").stdout == "0.5\n"


def test_a_server_without_a_password_on_the_screen() -> None:
    result = run("ledger", "show", "postgresql://me:s3cret@127.0.0.1:1/db?connect_timeout=2")
    assert result.exit_code == 1
    assert "s3cret" not in result.stdout + result.stderr


def test_what_is_shown_to_fit_is_admitted(tmp_path: Path) -> None:
    """Under each kind of cap, in words and as JSON; slightly more is refused."""
    from privet.errors import BudgetExceeded
    from tests.strategies import gaussian_event

    for kind, words in (("--epsilon", "pure"), ("--rho", "Gaussian"), ("--delta", "the first")):
        place = tmp_path / f"{kind.strip('-')}.db"
        amounts = ["--epsilon", "0.7", "--delta", "1e-6"] if kind == "--delta" else [kind, "0.7"]
        opened = run("ledger", "open", place, "people", *amounts, "--group", "3")
        assert words in opened.stdout
        assert "Fits now" in opened.stdout
        ledger = Ledger(f"sqlite:///{place}")
        told = json.loads(run("ledger", "remaining", place, "people", "--json").stdout)["fits"]
        shown = json.loads(run("ledger", "show", place, "--json").stdout)["accounts"][0]["fits"]
        assert told == shown
        assert (told["epsilon_delta"] is None) == (kind != "--delta")
        for number, made in (("epsilon", pure_event), ("rho", gaussian_event)):
            if told[number] is None:
                assert number == "rho"
                continue
            ledger.require("people", made(told[number]))
            with pytest.raises(BudgetExceeded):
                ledger.require("people", made(told[number] * 1.000001))
        assert isinstance(ledger.terms("people").cap, PureDP) == (told["rho"] is None)


def test_a_charge_that_a_kill_has_lost_is_listed(tmp_path: Path) -> None:
    place = tmp_path / "b.db"
    run("ledger", "open", place, "people", "--epsilon", 2)
    assert json.loads(run("recover", "--ledger", place, "--json").stdout) == []
    Ledger(f"sqlite:///{place}").reserve("people", pure_event(0.5))  # and killed just here
    (found,) = json.loads(run("recover", "--ledger", place, "--json").stdout)
    assert (found["name"], found["dataset"]) == ("entry 2", "people")
    assert "never settled" in run("recover", "--ledger", place).stdout


@pytest.mark.parametrize(
    ("told", "instead"),
    [
        ('"epsilon":0.25', '"epsilon":1e-380'),
        # a server takes the last of two fields, and so never looks at the first
        ('"claim":', f'"claim":{"[" * 2500}{"]" * 2500},"claim":'),
        ('"claim":', f'"claim":{"9" * 5000},"claim":'),
    ],
    ids=["small", "deep", "long"],
)
def test_a_charge_that_nobody_can_read_does_not_hide_the_others(
    tmp_path: Path, told: str, instead: str
) -> None:
    """One of an analyst's own making, on a server; verify names it."""
    place = tmp_path / "b.db"
    run("ledger", "open", place, "people", "--epsilon", 2)
    ledger = Ledger(f"sqlite:///{place}")
    ledger.settle(ledger.reserve("people", pure_event(0.5)))
    with ledger._store.writing() as entries:
        account = entries.account("people")
        body = pure_event(0.25).canonical().replace(told, instead)
        totals = account.last.totals_text
        entries.append(account.newest, "people", "reserve", body=body, totals=totals)
    shown = run("ledger", "show", place)
    assert shown.exit_code == 0
    assert "epsilon = 0.5" in shown.stdout
    assert "cannot be read" in shown.stdout
    assert len(json.loads(run("ledger", "show", place, "--json").stdout)["accounts"]) == 1
    assert [each.charged.claim for each in ledger.releases("people")] == [PureDP(0.5), None]
    refused(run("ledger", "verify", place), "Entry 4")


def test_a_backup_is_taken_over_and_what_it_lacks_is_charged_again(
    people: Path, tmp_path: Path
) -> None:
    place, model = tmp_path / "b.db", tmp_path / "m.privet"
    run("ledger", "open", place, "people", "--epsilon", 2)
    before, head = place.read_bytes(), Ledger(f"sqlite:///{place}").head()
    train = ("train", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 1)
    account = ("--ledger", place, "--dataset", "people")
    assert run(*train, *account, "--out", model).exit_code == 0
    place.write_bytes(before)
    refused(run(*train, *account, "--out", tmp_path / "n.privet"), "rolled back", "adopt")
    asked = ("--head", head, "--reason", "a new disk", "--lost", model, "--json")
    told = json.loads(run("ledger", "adopt", place, *asked).stdout)
    assert told["charged_again"] == [str(model)]
    assert run("ledger", "remaining", place, "people").stdout == "1\n"
    assert run(*train, *account, "--out", tmp_path / "n.privet").exit_code == 0
    assert run("ledger", "verify", place).exit_code == 0
