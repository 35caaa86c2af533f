"""Paid is kept: a full disk, Ctrl-C or another process after the charge loses nothing silently."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, PureDP, load
from privet._files import canonical, digest
from privet.cli.kept import FORMAT, paying
from privet.inference import load_intervals
from privet.ledger.charge import Charge, notes
from tests.cli.people import ROWS, refused, run
from tests.cli.test_process import ROOT, start
from tests.strategies import pure_event

#: Runs a command in which the system refuses one thing, once the release has been made.
DISK_FULL = """
import errno, os, sys
def watch(event, given):
    if event in ("os.link", "os.rename") and os.path.basename(str(given[1])) == {name!r}:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), {name!r})
sys.addaudithook(watch)
"""
CTRL_C_AT_THE_END = DISK_FULL.replace(
    "raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), {name!r})",
    "import signal; os.kill(os.getpid(), signal.SIGINT)",
)
#: Ctrl-C while the noise is being drawn.
CTRL_C_WITHIN = """
import os, signal, sys
def watch(frame, event, given):
    if event == "call" and frame.f_code.co_name == "perturb":
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)
sys.setprofile(watch)
"""
#: Ctrl-C when a function of this name is called; "deliver" runs after the charge was settled.
CTRL_C_AT = CTRL_C_WITHIN.replace('"perturb"', "{name!r}")
MAIN = "sys.argv = ['privet', *{arguments!r}]\nfrom privet.cli import main\nmain()\n"


def faulty(fault: str, *arguments: Any, name: str = "") -> subprocess.CompletedProcess[str]:
    words = [str(argument) for argument in arguments]
    return start(code=fault.replace("{name!r}", repr(name)) + MAIN.format(arguments=words))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    Ledger(f"sqlite:///{tmp_path}/budget.db").open("people", PureDP(10.0))
    return tmp_path / "budget.db"


def left(ledger: Path) -> float:
    return Ledger(f"sqlite:///{ledger}").remaining("people")


def train(people: Path, out: Path, *more: object) -> list[object]:
    table = ("train", people / "people.csv", "--schema", people / "schema.toml")
    return [*table, "--epsilon", "3", "--out", out, *more]


def charged(ledger: Path) -> tuple[object, ...]:
    return ("--ledger", ledger, "--dataset", "people")


@pytest.mark.parametrize("fault", [DISK_FULL, CTRL_C_AT_THE_END], ids=["full", "ctrl-c"])
def test_a_paid_model_that_cannot_be_written_is_kept_and_recovered(
    people: Path, tmp_path: Path, ledger: Path, fault: str
) -> None:
    out = tmp_path / "model.privet"
    done = faulty(fault, *train(people, out, *charged(ledger)), name=out.name)
    assert done.returncode in (1, 130), done.stderr
    assert "Traceback" not in done.stderr
    assert "released and paid for" in done.stderr
    assert "privet recover" in done.stderr
    assert not out.exists()
    assert left(ledger) == 7.0
    listed = json.loads(run("recover", "--ledger", ledger, "--json").stdout)
    assert [each["kind"] for each in listed] == ["model"]
    assert listed[0]["out"] == str(out)
    told = run("recover", "--ledger", ledger, "--out", out)
    assert told.exit_code == 0, told.output
    model = load(out)
    assert model.guarantee_.receipt is not None
    assert Ledger(f"sqlite:///{ledger}").knows(model.guarantee_.receipt)
    assert left(ledger) == 7.0
    assert json.loads(run("recover", "--ledger", ledger, "--json").stdout) == []


def test_ctrl_c_while_the_noise_is_drawn_says_what_was_spent(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    out = tmp_path / "model.privet"
    done = faulty(CTRL_C_WITHIN, *train(people, out, *charged(ledger)))
    assert done.returncode == 130
    assert "epsilon = 3 was charged to 'people' and nothing was released" in done.stderr
    assert left(ledger) == 7.0
    assert not out.exists()
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_dir()) == []


@pytest.mark.parametrize("name", ["carrying", "deliver"])
def test_ctrl_c_between_the_release_and_the_kept_copy_says_what_was_lost(
    people: Path, tmp_path: Path, ledger: Path, name: str
) -> None:
    out = tmp_path / "model.privet"
    done = faulty(CTRL_C_AT, *train(people, out, *charged(ledger)), name=name)
    assert done.returncode == 130
    assert left(ledger) == 7.0
    assert "epsilon = 3 was charged to 'people' and the release was made, but lost" in done.stderr
    assert not out.exists()


def test_ctrl_c_before_the_charge_says_that_nothing_was_charged(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    out = tmp_path / "model.privet"
    done = faulty(CTRL_C_AT, *train(people, out, *charged(ledger)), name="fit_table")
    assert done.returncode == 130
    assert left(ledger) == 10.0
    assert "Nothing was charged." in done.stderr


def test_a_disk_that_went_read_only_hides_neither_a_loss_nor_a_result(
    tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system remounts a disk that fails: what was to be removed in the end stays."""

    def refuse(file: Path, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(file))

    monkeypatch.setattr(Path, "unlink", refuse)
    book, out = Ledger(f"sqlite:///{ledger}"), tmp_path / "result.json"
    charge = Charge(book, "people", pure_event(1.0))
    with pytest.raises(MemoryError) as caught, paying(out, str(ledger), force=False), charge:
        raise MemoryError
    assert "epsilon = 1 was charged to 'people' and nothing was released" in notes(caught.value)[0]
    with paying(out, str(ledger), force=False) as paid:
        with Charge(book, "people", pure_event(1.0)):
            pass
        paid.keep("evaluation", "{}")
        paid.deliver()
    assert out.read_text() == "{}"


def test_a_good_run_leaves_nothing_behind(people: Path, tmp_path: Path, ledger: Path) -> None:
    out = tmp_path / "model.privet"
    assert run(*train(people, out, *charged(ledger))).exit_code == 0
    assert {each.name for each in tmp_path.iterdir()} <= {
        *("budget.db", "budget.db-head", "budget.db-wal", "budget.db-shm", "model.privet")
    }


def test_searches_evaluations_and_intervals_are_kept_too(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    candidates = tmp_path / "candidates.toml"
    candidates.write_text(
        "[[candidate]]\nregularization = 0.5\n[[candidate]]\nregularization = 0.1\n"
    )
    table = (people / "people.csv", "--epsilon", "2")
    many = census_like(tmp_path)
    commands = {
        "model": ("tune", *table, "--schema", people / "schema.toml", "--candidates", candidates),
        "evaluation": ("evaluate", people / "model.privet", *table, "--other-rows"),
        "intervals": ("intervals", many / "model.privet", many / "rows.csv", "--epsilon", "4"),
    }
    for kind, words in commands.items():
        out = tmp_path / f"{kind}.out"
        done = faulty(DISK_FULL, *words, "--out", out, *charged(ledger), name=out.name)
        assert done.returncode == 1, (kind, done.stderr)
        assert f"The {kind} was released and paid for" in done.stderr
        assert run("recover", "--ledger", ledger, "--out", out).exit_code == 0
    assert load(tmp_path / "model.out").guarantee_.budget.facts() == {"epsilon": 2.0}
    assert json.loads((tmp_path / "evaluation.out").read_text())["measures"]
    assert len(load_intervals(tmp_path / "intervals.out")) > 0


def census_like(folder: Path, rows: int = 30_000) -> Path:
    """Many rows of one column, so that intervals are worth their price."""
    import numpy as np

    made = folder / "many"
    made.mkdir()
    x = np.random.default_rng().uniform(0.0, 1.0, rows)
    lines = [f"{a:.4f},{'yes' if a > 0.5 else 'no'}" for a in x]
    (made / "rows.csv").write_text("a,label\n" + "\n".join(lines) + "\n")
    (made / "schema.toml").write_text(
        '[columns.a]\nlow = 0.0\nhigh = 1.0\n[label]\nname = "label"\nclasses = ["no", "yes"]\n'
    )
    done = run(
        *("train", made / "rows.csv", "--schema", made / "schema.toml", "--epsilon", "4"),
        *("--out", made / "model.privet", "--standardize", "none"),
    )
    assert done.exit_code == 0, done.output
    return made


def test_without_a_ledger_the_model_is_kept_beside_its_place(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.privet"
    done = faulty(DISK_FULL, *train(people, out), name=out.name)
    assert done.returncode == 1
    kept = tmp_path / "privet-kept"
    assert str(kept) in done.stderr
    assert kept.stat().st_mode & 0o077 == 0  # for the curator alone
    assert run("recover", "--folder", kept, "--out", out).exit_code == 0
    assert load(out).guarantee_.private


def test_a_folder_for_kept_results_can_be_named(people: Path, tmp_path: Path) -> None:
    out, state = tmp_path / "model.privet", tmp_path / "state"
    os.environ["PRIVET_KEPT"] = str(state)
    try:
        done = faulty(DISK_FULL, *train(people, out), name=out.name)
        assert str(state) in done.stderr
        assert run("recover", "--out", out).exit_code == 0
    finally:
        del os.environ["PRIVET_KEPT"]
    assert load(out).guarantee_.private


def test_recover_overwrites_nothing_and_names_what_it_found(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.privet"
    for _ in range(2):
        assert faulty(DISK_FULL, *train(people, out), name=out.name).returncode == 1
    kept = tmp_path / "privet-kept"
    assert run("recover", "--folder", kept, "--out", out).exit_code == 1  # which of the two?
    out.write_text("other")
    name = json.loads(run("recover", "--folder", kept, "--json").stdout)[0]["name"]
    assert run("recover", name, "--folder", kept, "--out", out).exit_code == 1
    assert out.read_text() == "other"
    assert run("recover", name, "--folder", kept, "--out", out, "--force").exit_code == 0
    assert load(out).guarantee_.private
    (file,) = kept.glob("*.kept")
    file.write_bytes(file.read_bytes()[:-1])
    assert "damaged" in run("recover", "--folder", kept).stdout
    assert run("recover", "--folder", kept, "--out", tmp_path / "cut").exit_code == 1
    assert not (tmp_path / "cut").exists()


def kept_as(file: Path, content: bytes) -> None:
    """A whole result that waits under this name."""
    head = {"format": FORMAT, "kind": "model", "out": "", "sha256": digest(content)}
    file.write_bytes(f"{canonical(head)}\n".encode() + content)


def test_recover_removes_the_copy_and_no_other_file(people: Path, tmp_path: Path) -> None:
    """Neither a table that begins with the same name, nor what it has just written."""
    model = (people / "model.privet").read_bytes()
    run_left = ("people.charged", ".people.part.x1.kept", ".people.part.x2.charged")
    others = ("people", "people.csv", "people.privet", ".people.csv", "people.old.kept.csv")
    for name in (*run_left, *others):
        (tmp_path / name).write_text("other")
    kept_as(tmp_path / "people.kept", model)
    out = tmp_path / "people.recovered"
    refused(
        run("recover", "--folder", tmp_path, "--out", tmp_path / "people.kept", "--force"),
        "named twice",
    )
    assert run("recover", "--folder", tmp_path, "--out", out).exit_code == 0
    assert out.read_bytes() == model
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*others, out.name])


@pytest.mark.skipif(os.name != "posix", reason="file sizes are limited by the system's call")
def test_a_disk_without_room_is_found_before_the_charge(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    limit = "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
    done = faulty(limit, *train(people, tmp_path / "model.privet", *charged(ledger)))
    assert done.returncode == 1
    assert "Nothing was charged" in done.stderr
    assert left(ledger) == 10.0


#: No file can be made in the folder of this name.
FOLDER_FULL = """
import errno, os, sys
def watch(event, given):
    if event == "open" and {name!r} in str(given[0]).split(os.sep)[-2:]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), {name!r})
sys.addaudithook(watch)
"""


@pytest.mark.parametrize("full", ["results", "budget.db.kept"])
def test_the_folder_without_room_is_the_one_that_is_named(
    people: Path, tmp_path: Path, ledger: Path, full: str
) -> None:
    (tmp_path / "results").mkdir()
    command = train(people, tmp_path / "results" / "model.privet", *charged(ledger))
    done = faulty(FOLDER_FULL, *command, name=full)
    assert done.returncode == 1
    assert "Nothing was charged" in done.stderr
    named = [each for each in ("results", "budget.db.kept") if f"/{each}'" in done.stderr]
    assert named == [full]
    assert left(ledger) == 10.0


@pytest.mark.parametrize("plot", ["forest.xyz", "forest.png"])
def test_a_picture_that_cannot_be_drawn_is_found_before_the_charge(
    people: Path, tmp_path: Path, ledger: Path, plot: str
) -> None:
    missing = "import sys\nsys.modules['matplotlib'] = None\n" if plot.endswith("png") else ""
    done = faulty(
        missing or "import sys\n",
        *("intervals", people / "model.privet", people / "people.csv", "--epsilon", "3"),
        *("--plot", tmp_path / plot, *charged(ledger)),
    )
    assert done.returncode == 1
    assert "matplotlib" in done.stderr if missing else ".png" in done.stderr
    assert left(ledger) == 10.0


def test_of_four_at_once_one_wins_and_the_others_keep_what_they_paid(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    out = tmp_path / "model.privet"
    words = [str(word) for word in train(people, out, *charged(ledger))]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    four = [
        subprocess.Popen(
            [sys.executable, "-m", "privet", *words], env=environment, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    for each in four:
        each.communicate()
    assert sorted(each.returncode for each in four) == [0, 1, 1, 1]
    assert load(out).guarantee_.event.n == ROWS
    waits = json.loads(run("recover", "--ledger", ledger, "--json").stdout)
    paid = round((10.0 - left(ledger)) / 3.0)
    assert len(waits) == paid - 1


@pytest.mark.skipif(os.name != "posix", reason="a shell closes streams")
def test_what_nobody_would_see_is_not_paid_for(people: Path, ledger: Path) -> None:
    """A closed standard output took the result of an evaluation, and nothing said so."""
    flags = f"--ledger {ledger} --dataset people --other-rows"
    command = f"evaluate model.privet people.csv --epsilon 1 {flags}"
    done = subprocess.run(
        f"{sys.executable} -m privet {command} >&-",
        shell=True,
        cwd=people,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Nothing was charged: standard output is closed" in " ".join(done.stderr.split())
    assert left(ledger) == 10.0


@pytest.mark.skipif(os.name != "posix", reason="a shell closes streams")
def test_closed_streams_stop_no_command_that_writes_a_file(
    people: Path, tmp_path: Path, ledger: Path
) -> None:
    out = tmp_path / "model.privet"
    flags = f"--schema schema.toml --epsilon 1 --ledger {ledger} --dataset people --out {out}"
    command = f"{sys.executable} -m privet train people.csv {flags} <&- >&- 2>&-"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.run(command, shell=True, cwd=people, env=environment).returncode == 0
    assert load(out).guarantee_.receipt is not None
    assert left(ledger) == 9.0
