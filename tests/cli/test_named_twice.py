"""Names of files that a command must not take: its own inputs, a ledger, what a model names."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from privet import Ledger
from tests.cli.people import refused, run
from tests.cli.test_hostile import rewritten
from tests.cli.test_paid import charged, ledger, left, train

__all__ = ["ledger"]


def paid_interval(people: Path, ledger: Path, *more: object) -> list[object]:
    model = people / "model.privet"
    return ["intervals", model, people / "people.csv", "--epsilon", "1", "--force", *more]


@pytest.mark.parametrize("name", ["budget.db", "budget.db-head"])
def test_no_output_takes_the_place_of_a_ledger(
    people: Path, tmp_path: Path, ledger: Path, name: str
) -> None:
    before = (tmp_path / name).read_bytes()
    told = run(*train(people, tmp_path / name, "--force", *charged(ledger)))
    refused(told, "a file of a ledger")
    assert (tmp_path / name).read_bytes() == before
    assert left(ledger) == 10.0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_no_output_takes_the_place_of_a_pipe_or_a_device(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    """They would be gone: root's /dev/null, too, which here is a link to it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to(os.devnull)
    for name in ("pipe", "null"):
        told = run(*train(people, tmp_path / name, "--force", *charged(ledger)))
        refused(told, "a pipe or a device")
    assert (tmp_path / "pipe").is_fifo()
    assert left(ledger) == 10.0


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_no_output_takes_a_name_that_belongs_to_a_ledger(
    people: Path, tmp_path: Path, ledger: Path, end: str
) -> None:
    """SQLite deletes what is there at the next charge: a model was paid for and lost."""
    out = tmp_path / f"budget.db{end}"
    refused(run(*train(people, out, *charged(ledger))), "name of a file of a ledger")
    refused(run("ledger", "head", ledger, "--append", out), "name of a file of a ledger")
    refused(run("ledger", "verify", ledger, "--checkpoint", out), "name of a file of a ledger")
    assert left(ledger) == 10.0
    assert not out.exists()


def test_a_picture_does_not_take_the_place_of_paid_intervals(people: Path, tmp_path: Path) -> None:
    one = tmp_path / "i.svg"
    (tmp_path / "folder").symlink_to(tmp_path)
    for other in (one, tmp_path / "folder" / "i.svg"):
        told = run(*paid_interval(people, tmp_path, "--out", one, "--plot", other))
        refused(told, "named twice")
    assert not one.exists()


def test_an_evaluation_does_not_take_the_place_of_its_model(people: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.privet"
    model.write_bytes((people / "model.privet").read_bytes())
    before = model.read_bytes()
    data = people / "people.csv"
    for command in (
        ("evaluate", model, data, "--epsilon", "1", "--other-rows"),
        ("predict", model, data),
        ("export", model, "--to", "card"),
        ("statement", model),
    ):
        refused(run(*command, "--out", model, "--force"), "named twice")
    assert model.read_bytes() == before


def test_a_link_to_nothing_is_found_before_the_charge(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "nowhere" / "x")
    refused(run(*train(people, tmp_path / "out", *charged(ledger))), "already there")
    assert left(ledger) == 10.0


def test_a_file_may_have_the_longest_name(people: Path, tmp_path: Path, ledger: Path) -> None:
    out = tmp_path / ("x" * 248 + ".privet")
    assert run(*train(people, out, *charged(ledger))).exit_code == 0
    assert out.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
def test_names_that_are_no_text_and_no_names(people: Path, tmp_path: Path) -> None:
    model = tmp_path / os.fsdecode(b"\xff.privet")
    shutil.copy(people / "model.privet", model)
    told = run("export", model, "--to", "card", "--out", tmp_path / "card.md")
    assert told.exit_code == 0, told.output
    assert "\ufffd" in (tmp_path / "card.md").read_text()
    refused(run(*train(people, tmp_path / "m", *charged(Path("/")))), "ledger")


def test_a_model_does_not_choose_which_files_are_read(people: Path, tmp_path: Path) -> None:
    """The text of a schema in one line is no name of a file."""
    model, secret = tmp_path / "m.privet", tmp_path / "mine.toml"
    secret.write_text((people / "schema.toml").read_text())
    model.write_bytes((people / "model.privet").read_bytes())
    rewritten(model, schema=str(secret))
    for command in (("report", model, "--out", tmp_path / "r.html"), ("statement", model)):
        refused(run(*command), "line 1")
    refused(run("predict", model, people / "people.csv"), "line 1")
    assert not (tmp_path / "r.html").exists()


def test_a_model_has_no_endless_steps(people: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.privet"
    model.write_bytes((people / "model.privet").read_bytes())
    steps = [[str(i), "Normalizer", {"norm": "l2"}] for i in range(101)]
    rewritten(model, steps={"schema": None, "columns": 9, "name": "m", "steps": steps})
    refused(run("statement", model), "more steps")


def test_a_head_that_was_copied_by_hand_has_no_end(ledger: Path, tmp_path: Path) -> None:
    heads, book = tmp_path / "heads.jsonl", Ledger(f"sqlite:///{ledger}")
    heads.write_text(book.witness_line())
    assert run("ledger", "head", ledger, "--append", heads).exit_code == 0
    assert book.verify_witness(heads.read_text().splitlines()) == 2
    line = json.dumps({**json.loads(book.witness_line()), "ledger": ["a"]})
    heads.write_text(line + os.linesep)
    refused(run("ledger", "verify", ledger, "--witness", heads), "Line 1")
