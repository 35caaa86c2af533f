"""Every command stopped at every step: outputs whole or not at all, and nothing lost in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, load
from privet.inference import load_intervals
from tests.cli.people import run
from tests.cli.test_paid import census_like
from tests.cli.test_process import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
CHARGED = ["--ledger", "budget.db", "--dataset", "people"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
PIPE = subprocess.PIPE
OLD = b"an old file\n"
Left = dict[str, bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows.csv, schema.toml and model.privet, of one column."""
    return census_like(tmp_path_factory.mktemp("interrupted"), rows=6_000)


def all_runs(
    how: str, made: Path, *command: str, more: str = "", every: int = 1
) -> list[dict[str, Any]]:
    """What became of the command, stopped at each of its steps; the last run was not."""
    setup = f"""
import shutil
from pathlib import Path
from privet import Ledger, PureDP
for name in ("rows.csv", "schema.toml", "model.privet", "candidates.toml"):
    if Path({str(made)!r}, name).exists():
        shutil.copy(Path({str(made)!r}, name), name)
Ledger("sqlite:///budget.db").open("people", PureDP(10.0))
{more}
"""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.cli.interrupted",
            how,
            str(every),
            setup,
            *command,
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    for each in runs:
        each["left"] = {name: bytes.fromhex(text) for name, text in each["left"].items()}
        assert "Traceback" not in each["said"], each["said"]
    assert runs[-1]["code"] == 0, runs[-1]["said"]
    return runs


def restored(left: Left, folder: Path) -> Ledger:
    """The files of a stopped run; the ledger among them is intact."""
    for name, content in left.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    ledger = Ledger(f"sqlite:///{folder / 'budget.db'}")
    ledger.verify()
    return ledger


def reads(kind: str, file: Path) -> None:
    """The file is a whole result."""
    if kind == "model":
        load(file)
    elif kind == "intervals":
        load_intervals(file)
    else:
        assert json.loads(file.read_text())["measures"]


TABLE = ["rows.csv", "--schema", "schema.toml", "--epsilon", "3"]
PAID = {
    "train": ("model", ["train", *TABLE]),
    "tune": ("model", ["tune", *TABLE, "--candidates", "candidates.toml"]),
    "evaluate": (
        "evaluation",
        ["evaluate", "model.privet", "rows.csv", "--epsilon", "3", "--other-rows"],
    ),
    "intervals": ("intervals", ["intervals", "model.privet", "rows.csv", "--epsilon", "3"]),
}


@pytest.mark.parametrize("how", ["killed", "full"])
@pytest.mark.parametrize("name", PAID)
def test_what_is_paid_is_kept_or_its_loss_is_told(
    name: str, how: str, made: Path, tmp_path: Path
) -> None:
    (made / "candidates.toml").write_text(
        "[[candidate]]\nregularization = 0.5\n[[candidate]]\nregularization = 0.1\n"
    )
    kind, words = PAID[name]
    # all of them take the same road as train, of which every step is tried
    every = 1 if name == "train" else 4
    runs = all_runs(how, made, *words, "--out", "result", *CHARGED, every=every)
    charged = 0
    for each in runs:
        folder = tmp_path / str(each["at"])
        folder.mkdir()
        ledger = restored(each["left"], folder)
        if (folder / "result").exists():
            reads(kind, folder / "result")
        listed = json.loads(run("recover", "--ledger", ledger.path, "--json").stdout)
        waits = [one for one in listed if one["kind"] == kind]
        lost = [one for one in listed if one["kind"].startswith("lost")]
        open_ = [one for one in listed if one["kind"] == "charge"]  # no release has settled it
        assert len(waits) + len(lost) + len(open_) == len(listed)
        for one in waits:
            out = folder / "recovered"
            told = run("recover", one["name"], "--ledger", ledger.path, "--out", out)
            assert told.exit_code == 0, told.output
            reads(kind, out)
        if ledger.remaining("people") == 10.0:
            assert listed == []
            assert not (folder / "result").exists()
            continue
        charged += 1
        assert ledger.remaining("people") == 7.0
        settled = any(entry.kind == "settle" for entry in ledger.entries())
        assert len(open_) == (not settled)
        has = (folder / "result").exists() or waits or lost
        told = any(word in each["said"] for word in ("nothing was released", "lost", "not settled"))
        assert has or told or not settled, each
        if how == "full" and each["code"] and not (folder / "result").exists():
            assert "charged" in each["said"] or "paid for" in each["said"]
    assert len(runs) * every >= 10
    assert charged * every >= 4


FREE = {
    "statement": (["statement", "model.privet", "--out", "out.txt"], "out.txt"),
    "page": (["statement", "model.privet", "--html", "out.html"], "out.html"),
    "report": (["report", "model.privet", "--out", "out.html"], "out.html"),
    "predict": (["predict", "model.privet", "rows.csv", "--out", "out.csv"], "out.csv"),
    "draft": (["schema", "draft", "rows.csv", "--label", "label", "--out", "out.toml"], "out.toml"),
    "plan": (
        ["plan", "--rows", "9000", "--columns", "3", "--epsilon", "1", "--picture", "out.svg"],
        "out.svg",
    ),
}


#: all go through one writer of files; pages are drawn again for each step, so few ways are tried
TRIED = [("statement", "killed"), ("statement", "full"), ("predict", "full"), ("plan", "killed")]
TRIED += [("draft", "killed"), ("report", "full"), ("page", "killed")]


@pytest.mark.parametrize(("name", "how"), TRIED)
def test_other_files_are_whole_and_the_old_one_stays_until_then(
    name: str, how: str, made: Path
) -> None:
    command, out = FREE[name]
    old = f"Path({out!r}).write_bytes({OLD!r})"
    ways = [("", command), (old, [*command, "--force"])]
    # statement takes all the ways; drawing the others' pages again and again would take minutes
    for more, words in ways if name == "statement" else ways[how == "killed" :][:1]:
        runs = all_runs(how, made, *words, more=more)
        whole = runs[-1]["left"][out]
        for each in runs:
            found = each["left"].get(out)
            assert found in ((OLD,) if more else (None,)) or len(found) == len(whole)
            if how == "full" and each["code"]:
                assert not [each for each in each["left"] if ".part." in each]
        assert len(runs) >= 3


@pytest.mark.parametrize("name", ["statement", "predict"])
def test_of_four_processes_one_writes_the_file(name: str, made: Path, tmp_path: Path) -> None:
    """And one that is there before is never touched."""
    command, out = FREE[name]
    place = tmp_path / out
    words = [str(place) if word == out else word for word in command]
    how: dict[str, Any] = {"cwd": made, "text": True, "env": ENVIRONMENT}
    four = [
        subprocess.Popen([sys.executable, "-m", "privet", *words], stderr=PIPE, stdout=PIPE, **how)
        for _ in range(4)
    ]
    said = [each.communicate()[1] for each in four]
    assert sorted(each.returncode for each in four) == [0, 1, 1, 1], said
    assert place.stat().st_size > len(OLD)
    place.write_bytes(OLD)
    program = [sys.executable, "-m", "privet", *words]
    again = subprocess.run(program, capture_output=True, check=False, **how)
    assert again.returncode == 1
    assert "already there" in again.stderr
    assert place.read_bytes() == OLD
