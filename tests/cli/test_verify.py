"""``privet verify`` and ``privet sign``: what a released file is checked against."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import Ledger, LogisticRegression, PureDP
from privet.cli import verify_commands
from privet.store import load
from tests.cli.people import misused, refused, run


@pytest.fixture
def paid(tmp_path: Path) -> Path:
    """A model file; its ledger is ``b.db`` beside it."""
    ledger = Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.open("people", PureDP(2.0))
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 2))
    model = LogisticRegression(0.5, ledger=ledger, dataset="people").fit(x, x[:, 0] > 0)
    model.save(tmp_path / "m.privet")
    return tmp_path / "m.privet"


def told(*arguments: Any, code: int) -> dict[str, str]:
    result = run("verify", *arguments, "--json")
    assert result.exit_code == code, result.output
    return {
        each["check"]: each["verdict"]
        for each in json.loads(result.stdout)
        if "release" not in each  # a recomputed number
    }


def changed(path: Path, **attributes: Any) -> Path:
    model = load(path)
    for name, value in attributes.items():
        setattr(model, name, value)
    made = path.with_name("forged.privet")
    model.save(made, overwrite=True)
    return made


def test_a_file_by_itself_and_against_its_ledger(paid: Path) -> None:
    book = paid.with_name("b.db")
    assert told(paid, code=0) == {"file": "holds", "promise": "holds"}
    found = told(paid, "--ledger", book, code=0)
    assert set(found) == {"file", "promise", "ledger", "receipt", "claim", "persons", "numbers"}
    assert set(found.values()) == {"holds"}
    shown = run("verify", paid, "--ledger", book).stdout
    assert "names these very numbers" in shown


def test_every_check_is_of_the_same_bytes(paid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is exchanged between two checks does not pass each of them with another one."""
    run("sign", "--new-key", paid.with_name("c.key"))
    run("sign", paid, "--key", paid.with_name("c.key"))
    honest, real = paid.read_bytes(), verify_commands.released_file
    made = changed(paid, intercept_=load(paid).intercept_ + 1.0).read_bytes()
    paid.write_bytes(made)

    def then_exchanged(path: Path) -> Any:
        found = real(path)
        paid.write_bytes(honest)
        return found

    monkeypatch.setattr(verify_commands, "released_file", then_exchanged)
    found = told(paid, "--key", paid.with_name("c.key.pub"), "--no-recompute", code=1)
    assert found["signature"] == "FAILS"


def test_forged_files_fail_by_both_commands(paid: Path) -> None:
    book, promise = paid.with_name("b.db"), load(paid).guarantee_
    cheap = replace(promise, event=replace(promise.event, claim=PureDP(0.001)))
    for attributes, check in (
        ({"coef_": load(paid).coef_ * 2}, "numbers"),
        ({"guarantee_": cheap}, "claim"),
        ({"guarantee_": replace(promise, receipt=None)}, "receipt"),
    ):
        forged = changed(paid, **attributes)
        assert told(forged, "--ledger", book, code=1)[check] == "FAILS"
        refused(run("ledger", "verify", book, "--model", forged), "does not go with the ledger")
    assert run("ledger", "verify", book, "--model", paid).exit_code == 0
    named = json.loads(run("ledger", "verify", book, "--model", paid, "--json").stdout)
    assert [each["holds"] for each in named["release"]] == [True] * 4


def test_a_damaged_ledger_is_told(paid: Path) -> None:
    import sqlite3

    book = paid.with_name("b.db")
    with sqlite3.connect(book) as connection:
        connection.execute("UPDATE entries SET time = 'x' WHERE sequence = 2")
    connection.close()
    assert told(paid, "--ledger", book, code=1)["ledger"] == "FAILS"


def test_what_is_no_released_file_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"[]", b"{}", b"PRIVET\x01\nxx", b"\xff\xfe", b'{"format": 1}'):
        (tmp_path / "x").write_bytes(content)
        refused(run("verify", tmp_path / "x"))


# -- signatures ----------------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path: Path) -> Path:
    pytest.importorskip("cryptography")
    place = tmp_path / "curator.key"
    assert run("sign", "--new-key", place).exit_code == 0
    return place


def test_a_signature_is_of_one_file_by_one_key(paid: Path, key: Path, tmp_path: Path) -> None:
    public = Path(f"{key}.pub")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert told(paid, "--key", public, code=1)["signature"] == "FAILS"  # none yet
    assert run("sign", paid, "--key", key).exit_code == 0
    assert told(paid, "--key", public, code=0)["signature"] == "holds"
    refused(run("sign", paid, "--key", key), "already there")
    assert run("sign", paid, "--key", key, "--force").exit_code == 0
    signature = Path(f"{paid}.sig")
    forged = changed(paid, coef_=load(paid).coef_ * 2)
    asked = (forged, "--key", public, "--signature", signature)
    assert told(*asked, code=1)["signature"] == "FAILS"
    other = tmp_path / "other.key"
    run("sign", "--new-key", other)
    assert told(paid, "--key", f"{other}.pub", code=1)["signature"] == "FAILS"


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b'{"format": "privet-signature-1", "signature": "zz"}', b"\xff"],
)
def test_a_damaged_signature_fails(paid: Path, key: Path, content: bytes) -> None:
    Path(f"{paid}.sig").write_bytes(content)
    assert told(paid, "--key", f"{key}.pub", code=1)["signature"] == "FAILS"


def test_keys_are_refused_in_words(paid: Path, key: Path) -> None:
    before = key.read_bytes()
    refused(run("sign", "--new-key", key), "already there")
    for folder in ("", ".", "/"):
        refused(run("sign", "--new-key", folder), "name a file")
    assert key.read_bytes() == before
    refused(run("sign", paid, "--key", f"{key}.pub"), "not a private key")
    run("sign", paid, "--key", key)
    refused(run("verify", paid, "--key", key), "not a public key")
    misused(run("sign", paid))
    misused(run("sign"))
    misused(run("sign", paid, "--key", key, "--new-key", key))
