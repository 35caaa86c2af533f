"""A small raw table, its schema and a model from it, made once for all these tests."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from typer import testing
from typer.testing import CliRunner, Result

from privet.cli.app import app
from privet.cli.demo import write_table
from privet.cli.reading import UNSEEN
from privet.datasets import census_schema, census_table

# Typer's runner builds all commands anew for every call, which takes longer than most of them.
testing._get_command = functools.cache(testing._get_command)

ROWS = 1500
#: a value that is in the rows and may be nowhere else
CANARY = "Xq7canary"


def run(*arguments: Any, **options: Any) -> Result:
    """``privet`` with these arguments, in this process."""
    options["env"] = {"COLUMNS": "160", **options.get("env", {})}
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def refused(result: Result, *words: str, unexpected: bool = False) -> None:
    """Exit code 1, a sentence on standard error after any note, no traceback."""
    assert result.exit_code == 1, result.output
    assert result.stderr.removeprefix(f"{UNSEEN}\n").startswith("privet: ")
    assert "Traceback" not in result.output
    assert ("unexpected" in result.stderr) is unexpected, result.stderr
    assert len(result.stderr) < 600
    for word in words:
        assert word in result.stderr


def misused(result: Result, *words: str) -> None:
    """Exit code 2 and no traceback."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    for word in words:
        assert word in " ".join(result.stderr.split())


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with people.csv, schema.toml and model.privet."""
    folder = tmp_path_factory.mktemp("people")
    table = census_table(ROWS, seed=1)
    table["region"][:3] = CANARY
    write_table(table, folder / "people.csv")
    (folder / "schema.toml").write_text(census_schema().to_toml())
    trained = run(
        "train",
        folder / "people.csv",
        "--schema",
        folder / "schema.toml",
        "--epsilon",
        "3",
        "--out",
        folder / "model.privet",
    )
    assert trained.exit_code == 0, trained.output
    return folder
