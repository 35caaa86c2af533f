"""Heads that somebody outside has kept."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from privet import Ledger, PureDP
from privet.errors import DataError, LedgerError
from tests.cli.people import refused, run
from tests.strategies import pure_event


def spend(ledger: Ledger) -> None:
    ledger.settle(ledger.reserve("people", pure_event(0.125)))


@pytest.fixture
def people(sqlite_url: str) -> Ledger:
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    spend(ledger)
    return ledger


def test_every_witnessed_head_must_be_on_the_chain(people: Ledger, tmp_path: Path) -> None:
    heads, other = tmp_path / "heads.jsonl", Ledger(f"sqlite:///{tmp_path}/other.db")
    other.open("people", PureDP(1.0))
    for ledger in (people, other, people):
        printed = run("ledger", "head", ledger.path, "--append", heads)
        assert json.loads(printed.stdout)["head"] == ledger.head()
        spend(ledger)
    assert people.verify_witness(heads.read_text().splitlines()) == 2
    told = json.loads(run("ledger", "verify", people.path, "--witness", heads, "--json").stdout)
    assert told["release"][0]["told"].startswith("2 heads")
    before = people.path.read_bytes()
    spend(people)
    run("ledger", "head", people.path, "--append", heads)
    people.path.write_bytes(before)
    with pytest.raises(LedgerError, match="the witness has seen another entry 9"):
        people.verify_witness(heads.read_text().splitlines())
    refused(run("ledger", "verify", people.path, "--witness", heads), "rolled back")


def test_a_head_is_added_only_to_a_file_of_heads(people: Ledger, tmp_path: Path) -> None:
    paid = tmp_path / "m.privet"
    paid.write_bytes(b"PRIVET\x01\n\xffweights")
    refused(run("ledger", "head", people.path, "--append", paid), "not a head that Privet wrote")
    assert paid.read_bytes() == b"PRIVET\x01\n\xffweights"


@pytest.mark.parametrize("number", [0, 1 << 63, 10**30])
def test_a_number_that_no_entry_can_have(people: Ledger, number: int) -> None:
    line = json.dumps({**json.loads(people.witness_line()), "sequence": number})
    with pytest.raises(DataError, match="Line 1"):
        people.verify_witness([line])


def test_a_ledger_begun_anew_is_found(people: Ledger, tmp_path: Path) -> None:
    line = people.witness_line()
    other = Ledger(f"sqlite:///{tmp_path}/other.db")
    other.open("people", PureDP(1.0))
    with pytest.raises(LedgerError, match="No line of the witness is about this ledger"):
        other.verify_witness([line])
    forged = json.dumps({**json.loads(line), "head": "0" * 64})
    with pytest.raises(LedgerError, match="another entry 3"):
        people.verify_witness([line, forged])


@pytest.mark.parametrize("line", ["{}", "x", "[]", '{"format":"privet-head-1","head":1}', "1"])
def test_a_line_that_is_none_is_refused(people: Ledger, line: str) -> None:
    with pytest.raises(DataError, match="Line 2"):
        people.verify_witness([people.witness_line(), line])


def test_a_head_is_posted(people: Ledger) -> None:
    taken: list[bytes] = []

    class Witness(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if self.path == "/heads" else 500)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quietly."""

    with HTTPServer(("127.0.0.1", 0), Witness) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        assert run("ledger", "head", people.path, "--post", f"{place}/heads").exit_code == 0
        refused(run("ledger", "head", people.path, "--post", f"{place}/other"), "did not take")
        server.shutdown()
    assert taken[0].decode().strip() == people.witness_line()
    refused(run("ledger", "head", people.path, "--post", "ftp://x"), "https://")
