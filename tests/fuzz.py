"""Mutated files of every kind, thousands of them: each is read or refused with a sentence.

    python -m tests.fuzz 20000 [seed]

Bytes are flipped, cut, repeated and swapped; numbers, texts and lists inside the JSON of a file are
replaced by hostile ones and the digests made to fit again, so that what lies behind them is
reached. A reader may answer or raise one of Privet's own errors; anything else is a finding.
"""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from privet import (
    ZCDP,
    LargeMarginGaussian,
    Ledger,
    LinearSVC,
    LogisticRegression,
    PureDP,
    Schema,
    evaluate,
    fit_with_intervals,
    load,
)
from privet._untrusted import sealed
from privet.answers.records import line
from privet.datasets import census_schema
from privet.errors import PrivetError
from privet.evaluation.evaluation_files import evaluation_from_json, read_evaluation
from privet.inference import load_intervals
from privet.kernels import InteractivePredictor, KernelLogisticRegression, load_transcript
from privet.models.model_file import MAGIC
from privet.statement import as_text, statement_facts

Reader = Callable[[Path], Any]
#: what stands in for a value in a JSON text or a TOML text
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 10**6, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**300),
    *(
        0.0,
        -0.0,
        0.5,
        -1.5,
        1e-320,
        1e308,
        -1e308,
        "",
        "a",
        "\x1b[2J",
        "\u202e",
        "\0",
        "=1+1",
        "nan",
    ),
    *(
        "x" * 10_000,
        "<script>",
        "O",
        "U999999999",
        "<f8",
        "inf",
        [],
        [[]],
        [1],
        [[1.0]],
        {},
        {"": 1},
    ),
    *([0] * 5000, [["a"] * 50] * 50, ["a"], [1e308] * 3, {"kind": "pure", "epsilon": 1e-300}),
)
BYTES = (b"\0", b"\xff", b"[", b"{", b'"', b"9" * 50, b"\n", b"'", b"]", b"}", b"e999", b"-", b".")


# -- files to begin with ---------------------------------------------------------------------------


def originals(folder: Path) -> Iterator[tuple[str, Path, Reader]]:
    """A file of every kind with its reader, which also uses what it has read."""
    rng = np.random.default_rng()
    x = rng.uniform(-0.5, 0.5, size=(400, 3))
    y = x[:, 0] > 0
    models = {
        "logistic": LogisticRegression(4.0),
        "svm": LinearSVC(4.0),
        "gaussian": LargeMarginGaussian(8.0),
        "kernel": KernelLogisticRegression(4.0, n_frequencies=5),
    }
    for name, model in models.items():
        model.fit(x, y).save(folder / name)
        yield f"model {name}", folder / name, _use_model
    wide = rng.uniform(-0.5, 0.5, size=(20_000, 2))
    fitted, intervals = fit_with_intervals(
        LogisticRegression(regularization=0.1), wide, wide[:, 0] > 0, budget=30.0
    )
    intervals.save(folder / "intervals.json")
    yield "intervals", folder / "intervals.json", _use_intervals
    found = evaluate(fitted, wide[:500], wide[:500, 0] > 0, budget=3.0, training_rows=False)
    (folder / "evaluation.json").write_text(found.dumps())
    yield "evaluation", folder / "evaluation.json", _use_evaluation
    answers = InteractivePredictor(ZCDP(4.0), queries=20).fit(x, y)
    answers.predict(x[:4])
    answers.transcript_.save(folder / "transcript")
    yield "transcript", folder / "transcript", _use_transcript
    (folder / "schema.toml").write_text(census_schema().to_toml())
    yield "schema", folder / "schema.toml", lambda path: Schema.from_toml(path).to_toml()
    ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
    ledger.open("people", cap=PureDP(9.0))
    LogisticRegression(1.0, ledger=ledger, dataset="people").fit(x, y)
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    yield "ledger", folder / "ledger.db", _use_ledger


def _use_model(path: Path) -> None:
    model = load(path)
    model.predict(np.zeros((2, model.n_features_in_)))
    as_text(statement_facts(model.guarantee_, model=type(model).__name__))


def _use_intervals(path: Path) -> None:
    found = load_intervals(path)
    found.summary()
    found.together("sidak").to_json()


def _use_evaluation(path: Path) -> None:
    str(evaluation_from_json(read_evaluation(path)))


def _use_transcript(path: Path) -> None:
    list(load_transcript(path).records())


def _use_ledger(path: Path) -> None:
    ledger = Ledger(f"sqlite:///{path}")
    ledger.verify()
    ledger.remaining("people")
    list(ledger.export())


# -- mutations -------------------------------------------------------------------------------------


def in_bytes(raw: bytes, dice: random.Random) -> bytes:
    """A few bytes changed, cut, doubled or moved."""
    content = bytearray(raw)
    for _ in range(dice.choice((1, 1, 2, 5))):
        place, size = dice.randrange(len(content) + 1), dice.choice((1, 2, 8, 64, 512))
        kind = dice.randrange(5)
        if kind == 0 and place < len(content):
            content[place] ^= 1 << dice.randrange(8)
        elif kind == 1:
            del content[place : place + size]
        elif kind == 2:
            content[place:place] = content[place : place + size]
        elif kind == 3:
            content[place : place + 1] = dice.choice(BYTES)
        else:
            content[place : place + size] = dice.randbytes(size)
    return bytes(content)


def in_value(value: Any, dice: random.Random) -> Any:
    """A copy in which one or two values, keys or lengths are hostile."""
    copy = json.loads(json.dumps(value))
    for _ in range(dice.choice((1, 1, 2))):
        homes = list(_containers(copy))
        home = dice.choice(homes) if dice.random() < 0.7 else homes[0]
        keys = list(home) if isinstance(home, dict) else list(range(len(home)))
        if not keys:
            continue
        key, kind = dice.choice(keys), dice.randrange(6)
        if kind == 0:
            del home[key]
        elif kind == 1 and isinstance(home, list):
            home.append(home[key])
        elif kind == 2 and isinstance(home, dict):
            home[dice.choice(("", "format", "kind", "version", "x"))] = home.pop(key)
        else:
            home[key] = json.loads(json.dumps(dice.choice(HOSTILE)))
    return copy


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value[:40]:
            yield from _containers(inner)


def mutated(kind: str, raw: bytes, dice: random.Random) -> bytes:
    """A mutation of a file; two of three keep its digest right."""
    if dice.random() < 1 / 3 or kind in ("schema", "ledger"):
        return in_bytes(raw, dice)
    if kind.startswith("model"):
        return _model(raw, dice)
    if kind == "transcript":
        return _lines(raw, dice)
    record = json.loads(raw)
    record.pop("sha256")
    changed = in_value(record, dice)
    return sealed(changed).encode() if "sha256" not in changed else raw


def _model(raw: bytes, dice: random.Random) -> bytes:
    start = len(MAGIC) + 8
    length = int.from_bytes(raw[len(MAGIC) : start], "little")
    header, arrays = json.loads(raw[start : start + length]), raw[start + length : -32]
    if dice.random() < 0.15:
        arrays = in_bytes(arrays, dice)
    text = json.dumps(in_value(header, dice)).encode()
    body = MAGIC + len(text).to_bytes(8, "little") + text + arrays
    return body + hashlib.sha256(body).digest()


def _lines(raw: bytes, dice: random.Random) -> bytes:
    records = [json.loads(each.partition(b"\t")[0]) for each in raw.splitlines()]
    place = dice.randrange(len(records))
    records[place] = in_value(records[place], dice)
    digest, out = hashlib.sha256(b"privet-answers-1").hexdigest(), ""
    for record in records:
        text, digest = line(record, digest)
        out += text
    return out.encode()


# -- running ---------------------------------------------------------------------------------------


def attacked(folder: Path, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Read ``count`` mutations of each kind; how each ended, and what should not have happened."""
    dice, ends, findings = random.Random(seed), Counter[str](), list[str]()
    for kind, original, use in originals(folder):
        raw = original.read_bytes()
        use(original)
        place = folder / "mutated"
        for number in range(count):
            for ending in ("", "-wal", "-shm", "-journal"):
                Path(f"{place}{ending}").unlink(missing_ok=True)
            place.write_bytes(mutated(kind, raw, dice))
            end = _ended(use, place)
            ends[f"{kind}: {end if end in ('read', 'refused') else 'finding'}"] += 1
            if end not in ("read", "refused"):
                findings.append(f"{kind}, seed {seed}, number {number}: {end}")
    return ends, findings


def _ended(use: Reader, place: Path) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(place)
    except (PrivetError, OSError):
        return "refused"
    except Exception as error:
        frames = [
            f"{Path(frame.filename).name}:{frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if "privet" in Path(frame.filename).parts
        ]
        where = " < ".join(frames[-1:-4:-1])
        return f"{type(error).__name__} at {where}: {str(error)[:80]}"
    return "read"


def main() -> None:
    """Fuzz by hand."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    with tempfile.TemporaryDirectory() as folder:
        ends, findings = attacked(Path(folder), count, seed)
    for name, number in sorted(ends.items()):
        print(f"{name:<28}{number:>8}")
    for words, number in Counter(f.partition(": ")[2] for f in findings).most_common(40):
        print(number, words)
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
