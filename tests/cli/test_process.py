"""The command as its users start it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import privet
from tests.cli.people import ROWS

ROOT = Path(privet.__file__).parent.parent
HEAVY = (
    *("sklearn", "scipy.stats", "dp_accounting", "opendp", "matplotlib", "pandas", "pyarrow"),
    *("numpy", "jinja2", "narwhals", "sqlite3"),
)


def start(
    *arguments: object, code: str = "", **options: object
) -> subprocess.CompletedProcess[str]:
    program = ["-c", code] if code else ["-m", "privet", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, *program], capture_output=True, text=True, env=environment, **options
    )  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["schema", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        f"import sys\nsys.argv = ['privet', *{arguments!r}]\n"
        "from privet.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code\n"
        f"print('loaded', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = start(code=code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_codes_and_streams(people: Path) -> None:
    good = start("statement", people / "model.privet")
    assert (good.returncode, good.stderr) == (0, "")
    bad = start("statement", people / "people.csv")
    assert bad.returncode == 1
    assert bad.stdout == ""
    assert bad.stderr.startswith("privet: people.csv is not a Privet model file")
    wrong = start("statement")
    assert wrong.returncode == 2
    assert "Traceback" not in bad.stderr + wrong.stderr


def test_processes_that_a_command_starts_look_for_no_module_in_this_folder(tmp_path: Path) -> None:
    """Dask starts its workers with python -c, which looks in the current folder first."""
    (tmp_path / "multiprocessing.py").write_text("raise SystemExit('somebody else is run')\n")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "privet"
    script.write_text(
        "import subprocess, sys\nfrom privet.cli import main\ntry:\n    main()\nfinally:\n"
        "    subprocess.run([sys.executable, '-c', 'import multiprocessing'], check=True)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, script, "--version"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)


def test_a_reader_that_leaves_early_is_no_error(people: Path) -> None:
    command = f"{sys.executable} -m privet predict model.privet people.csv | head -1"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, shell=True, cwd=people, env=environment, capture_output=True, text=True
    )
    assert done.stdout == "prediction\n"
    assert done.stderr == ""


def test_the_demo_walks_the_whole_road(tmp_path: Path) -> None:
    done = start("demo", "--rows", ROWS, "--no-study", "--epsilon", 5, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "demo-output"
    for name in ("people.csv", "schema.toml", "model.privet", "statement.txt", "report.html"):
        assert (folder / name).stat().st_size > 100
        assert name in done.stdout
    assert len((folder / "predictions.csv").read_text().splitlines()) == 10_001
    for word in ("epsilon = 5", "the released model", "scikit-learn, not private", "Done in"):
        assert word in done.stdout
    again = start("demo", "--rows", ROWS, cwd=tmp_path)
    assert again.returncode == 1
    assert "'demo-output' already holds people.csv" in " ".join(again.stderr.split())


def test_without_its_extra_the_command_says_which(tmp_path: Path) -> None:
    code = "import sys\nsys.modules['typer'] = None\nfrom privet.cli import main\nmain()"
    done = start(code=code)
    assert done.returncode == 1
    assert "privet[cli]" in done.stderr
