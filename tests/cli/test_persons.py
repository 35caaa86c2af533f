"""A schema with persons and a ledger that counts for others: refused before any charge."""

from __future__ import annotations

from pathlib import Path

import pytest

from privet.ledger import Ledger
from privet.store import load

from .people import refused, run

PERSON = '\n[person]\ncolumn = "who"\nmost_rows = 3\n'


@pytest.fixture(scope="module")
def visits(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of three rows for each person, its schema, a model, candidates."""
    folder = tmp_path_factory.mktemp("visits")
    rows = (people / "people.csv").read_text().splitlines()[:1201]
    named = [f"{line},{i // 3}" for i, line in enumerate(rows[1:])]
    (folder / "t.csv").write_text("\n".join([rows[0] + ",who", *named]))
    (folder / "other.csv").write_text("\n".join([rows[0] + ",who", *named[:900]]))
    (folder / "s.toml").write_text((people / "schema.toml").read_text() + PERSON)
    (folder / "c.toml").write_text(
        "[[candidate]]\nregularization = 0.01\n[[candidate]]\nregularization = 0.1\n"
    )
    trained = run(
        *("train", folder / "t.csv", "--schema", folder / "s.toml", "--epsilon", 3),
        *("--out", folder / "m.privet"),
    )
    assert trained.exit_code == 0, trained.output
    return folder


def commands(folder: Path, out: Path) -> dict[str, tuple[object, ...]]:
    """Everything that charges a ledger for a table and a schema."""
    table = (folder / "t.csv", "--schema", folder / "s.toml", "--out", out)
    return {
        "train": ("train", *table, "--rho", 1),
        "tune": ("tune", *table, "--candidates", folder / "c.toml", "--rho", 1),
        "evaluate": ("evaluate", folder / "m.privet", folder / "other.csv", "--rho", 1),
        "intervals": ("intervals", folder / "m.privet", folder / "t.csv", "--rho", 400),
    }


@pytest.mark.parametrize("name", ["train", "tune", "evaluate", "intervals"])
@pytest.mark.parametrize("counted", [1, 2])
def test_an_account_for_fewer_rows_than_a_person_has_is_refused_uncharged(
    visits: Path, tmp_path: Path, name: str, counted: int
) -> None:
    ledger = tmp_path / "b.db"
    run("ledger", "open", ledger, "people", "--rho", 500, "--group", counted)
    command = commands(visits, tmp_path / "m")[name]
    result = run(*command, "--ledger", ledger, "--dataset", "people")
    whom = "one row" if counted == 1 else "a person with at most 2 rows"
    refused(result, f"counts for {whom}", "--group 3")
    assert [entry.kind for entry in Ledger(f"sqlite:///{ledger}").entries()] == ["open"]
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("name", ["train", "tune", "evaluate"])
@pytest.mark.parametrize("counted", [3, 5])
def test_an_account_for_persons_is_charged_what_they_pay(
    visits: Path, tmp_path: Path, name: str, counted: int
) -> None:
    ledger = tmp_path / "b.db"
    run("ledger", "open", ledger, "people", "--rho", 500, "--group", counted)
    command = commands(visits, tmp_path / "m")[name]
    result = run(*command, "--ledger", ledger, "--dataset", "people")
    assert result.exit_code == 0, result.output
    spent = 500 - Ledger(f"sqlite:///{ledger}").remaining("people")
    assert spent == pytest.approx((counted / 3) ** 2)
    if name != "evaluate":
        assert load(tmp_path / "m").guarantee_.group == 3


def test_a_plan_opens_with_what_a_person_is_promised(visits: Path) -> None:
    told = run("plan", "--rows", 1200, "--schema", visits / "s.toml", "--epsilon", 1).output
    first = " ".join(told.split("\n\n")[0].split())
    assert first.startswith("For a person with at most 3 rows the guarantee is epsilon = 1.")
    assert "factor of at most 2.72" in first  # e, not the cube root that one row has
    assert "budget and attacker are those of one row" in first


def test_groups_of_persons_are_refused_before_the_look(visits: Path, tmp_path: Path) -> None:
    """The schema alone refuses them; nobody looks at the rows for nothing."""
    words = ("evaluate", visits / "m.privet", visits / "other.csv", "--rho", 1, "--look")
    for group in ("region", "age", "nothing"):
        result = run(*words, "--group", group, "--out", tmp_path / "e.json")
        refused(result, "roup")
        assert "A look at" not in result.stderr
    assert "A look at" in run(*words, "--out", tmp_path / "e.json").stderr


def test_the_look_says_what_becomes_of_rows_beyond_a_persons_most(
    visits: Path, tmp_path: Path
) -> None:
    """It said that such cells count as missing or at the bound, and of labels where none missed."""
    few = tmp_path / "few.toml"
    few.write_text((visits / "s.toml").read_text().replace("most_rows = 3", "most_rows = 1"))
    found = run("schema", "check", few, visits / "t.csv", "--look")
    refused_look = " ".join(found.stderr.split())
    assert (
        "A person's rows beyond most_rows, and rows of nobody, count as constant." in refused_look
    )
    assert "at the bound" not in refused_look
    assert "declared label" not in refused_look
