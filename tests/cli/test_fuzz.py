"""Mutated files of every kind, in little memory: read, or refused with a sentence."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.people import ROWS, run
from tests.fuzz import in_bytes, mutated

#: of each of the nine kinds of files
EACH = 200
#: address space, of which the libraries take about half before the first file is read
MEMORY = 3 << 30
CHILD = f"""
import random, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
from pathlib import Path
from tests.fuzz import attacked
ends, findings = attacked(Path(sys.argv[1]), {EACH}, random.randrange(2**32))
print(sum(ends.values()), *findings, sep="\\n")
"""


def test_every_reader_answers_or_refuses_in_little_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    count, *findings = done.stdout.splitlines()
    assert int(count) == 9 * EACH
    assert findings == []


@pytest.mark.filterwarnings("ignore")  # of other packages; the command line drops them
def test_the_command_line_ends_with_0_1_or_2_and_without_a_traceback(
    people: Path, tmp_path: Path
) -> None:
    dice = random.Random()
    model, schema = (people / "model.privet").read_bytes(), (people / "schema.toml").read_bytes()
    table = b"".join((people / "people.csv").read_bytes().splitlines(keepends=True)[:40])
    places = {name: tmp_path / name for name in ("m.privet", "s.toml", "t.csv", "c.toml")}
    commands = [
        ("statement", places["m.privet"]),
        ("predict", places["m.privet"], places["t.csv"], "--probabilities"),
        ("schema", "check", places["s.toml"], places["t.csv"], "--look"),
        ("schema", "draft", places["t.csv"], "--from-data"),
        ("plan", "--config", places["c.toml"]),
        ("ledger", "show", places["m.privet"]),
    ]
    config = f'rows = {ROWS}\ncolumns = 9\nepsilon = 1.0\nmodel = "svm"\n'.encode()
    for _ in range(30):
        intact = dice.random() < 0.3
        places["m.privet"].write_bytes(model if intact else mutated("model", model, dice))
        places["s.toml"].write_bytes(in_bytes(schema, dice))
        places["t.csv"].write_bytes(in_bytes(table, dice))
        places["c.toml"].write_bytes(in_bytes(config, dice))
        for command in commands:
            result = run(*command)
            assert result.exit_code in (0, 1, 2), (command, result.output)
            assert "Traceback" not in result.output
            assert "unexpected" not in result.stderr, (command, result.stderr)


def test_the_fuzzing_can_find_something(tmp_path: Path) -> None:
    """A mutation reaches what lies behind the digest: of a hundred, some are read."""
    record = json.dumps({"a": 1, "b": [1, 2]}).encode()
    assert len({in_bytes(record, random.Random(i)) for i in range(50)}) > 40
