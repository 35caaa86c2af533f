"""Tokens drawn and taken back by several processes at once."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from privet.cli.serve_commands import token
from privet.errors import DeclarationError
from privet.service import tokens
from privet.service.tokens import read_tokens
from tests.cli.people import run


@pytest.mark.skipif(os.name != "posix", reason="the system has no such locks")
def test_no_token_that_was_taken_back_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who draws one has read the file before it is removed, and writes it afterwards."""
    file = tmp_path / "tokens.json"
    assert run("token", file, "former").exit_code == 0
    written, drawing = tokens.write_tokens, threading.Event()

    def slowly(path: Path, holders: list[tokens.Holder]) -> None:
        if any(each.name == "new" for each in holders):
            drawing.set()
            time.sleep(0.5)  # long enough for the other, which does not wait, to be done
        written(path, holders)

    monkeypatch.setattr(tokens, "write_tokens", slowly)
    first = threading.Thread(target=token, args=(file, "new"))
    first.start()
    assert drawing.wait(60)
    token(file, "former", remove=True)
    first.join()
    assert [each.name for each in read_tokens(file).holders] == ["new"]


def test_tokens_take_no_name_of_a_ledgers(tmp_path: Path) -> None:
    run("ledger", "open", tmp_path / "budget.db", "people", "--epsilon", "1")
    for end in ("-wal", "-shm", "-journal"):
        told = run("token", tmp_path / f"budget.db{end}", "new")
        assert told.exit_code != 0
        assert "name of a file of a ledger" in told.output
        assert not (tmp_path / f"budget.db{end}").exists()


def test_a_journal_takes_no_name_of_a_ledgers(tmp_path: Path) -> None:
    from tests.kernels.test_continued import X, Y, predictor

    run("ledger", "open", tmp_path / "budget.db", "people", "--epsilon", "1")
    with pytest.raises(DeclarationError, match="name of a file of a ledger"):
        predictor(tmp_path / "budget.db-wal").fit(X, Y)
