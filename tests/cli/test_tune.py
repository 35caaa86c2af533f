"""``privet tune``: one budget, one best model, clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from privet import load
from tests.cli.people import ROWS, misused, refused, run

CANDIDATES = "[[candidate]]\nregularization = 0.5\n[[candidate]]\nnorm_bound = 2.0\n"


def tune(people: Path, folder: Path, *more: object, candidates: str = CANDIDATES) -> Any:
    (folder / "candidates.toml").write_text(candidates)
    return run(
        *("tune", people / "people.csv", "--schema", people / "schema.toml"),
        *("--candidates", folder / "candidates.toml", "--out", folder / "best.privet", *more),
    )


@pytest.mark.parametrize("search", ["stopping", "partition"])
def test_the_best_model_carries_the_whole_guarantee(
    people: Path, tmp_path: Path, search: str
) -> None:
    result = tune(people, tmp_path, "--epsilon", "3", "--search", search)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Chosen       ")
    assert " = " in result.stdout.splitlines()[0]
    model = load(tmp_path / "best.privet")
    assert model.guarantee_.budget.facts() == {"epsilon": 3.0}
    assert model.guarantee_.event.n == ROWS
    assert any("candidates" in told for told in model.guarantee_.assumptions)
    assert run("statement", tmp_path / "best.privet").exit_code == 0
    assert run("predict", tmp_path / "best.privet", people / "people.csv").exit_code == 0


def test_public_rows_validate_for_free(people: Path, tmp_path: Path) -> None:
    result = tune(
        *(people, tmp_path, "--epsilon", "3", "--search", "partition", "--json"),
        *("--public", people / "people.csv"),
    )
    told = json.loads(result.stdout)
    assert told["guarantee"]["event"]["mechanism"] == "search with public validation"


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_nothing_printed_tells_how_long_the_search_took(
    people: Path, tmp_path: Path, form: tuple[str, ...]
) -> None:
    """Seconds and memory grow with the number of runs, which random stopping must hide."""
    result = tune(people, tmp_path, "--epsilon", "3", *form)
    assert result.exit_code == 0, result.output
    assert "Time" not in result.output
    assert "seconds" not in result.output
    assert "memory" not in result.output


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("candidate = 3", "[[candidate]]"),
        ("regularization = 1", "[[candidate]]"),
        ("[[", "TOML"),
        ("[[candidate]]\nregularization = 1.0\n", "two candidates"),
        ("[[candidate]]\nC = 1.0\n[[candidate]]\nC = 2.0\n", "no parameter"),
    ],
)
def test_odd_lists_are_refused(people: Path, tmp_path: Path, text: str, word: str) -> None:
    refused(tune(people, tmp_path, "--epsilon", "1", candidates=text), word)
    assert not (tmp_path / "best.privet").exists()


def test_a_budget_and_a_list_are_needed(people: Path, tmp_path: Path) -> None:
    misused(tune(people, tmp_path))
    misused(run("tune", people / "people.csv", "--epsilon", "1", "--out", tmp_path / "m"))


def test_a_configuration_file(people: Path, tmp_path: Path) -> None:
    for name in ("people.csv", "schema.toml"):
        (tmp_path / name).write_bytes((people / name).read_bytes())
    (tmp_path / "c.toml").write_text(
        "[[candidate]]\nregularization = 1.0\n[[candidate]]\nregularization = 0.1\n"
    )
    (tmp_path / "run.toml").write_text(
        'data = "people.csv"\nschema = "schema.toml"\ncandidates = "c.toml"\nepsilon = 3.0\n'
        'search = "partition"\npublic = "people.csv"\nout = "best.privet"\n'
    )
    done = run("tune", "--config", tmp_path / "run.toml", "--epsilon", 2, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["guarantee"]["event"]["claim"]["epsilon"] == 2.0
    assert (tmp_path / "best.privet").exists()
