"""Servers that fail while processes charge: stopped at once, or replaced by a replica that is late.

Run as a process of its own without threads, so that it can fork; prints what it found as JSON.

    python -m tests.ledger.storms crashes CRASHES CLIENTS
    python -m tests.ledger.storms stale RACERS
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import suppress

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger.stores import store_at
from tests import postgres
from tests.ledger.children import CAP, EACH, asking, at_once_each, drained, fork, lines
from tests.strategies import pure_event


def main() -> None:
    """Do what the arguments say."""
    what = {"crashes": crashes, "stale": stale}[sys.argv[1]]
    with postgres.running() as server:
        print(json.dumps(what(server, *map(int, sys.argv[2:]))))


def crashes(server: postgres.Server, count: int, clients: int) -> dict[str, int]:
    """Crash the server while clients charge; compare the ledger with what they told."""
    ledger = Ledger(postgres.fresh(server.url, "storm"))
    store_at(ledger.url)  # imports what the children will need
    ledger.open("people", PureDP(CAP))
    moments = random.SystemRandom()
    children = [fork(lambda pipe: charge_and_go_on(ledger, pipe)) for _ in range(clients)]
    for _ in range(count):
        time.sleep(moments.uniform(0.2, 0.6))
        server.crash()
        server.start()
    time.sleep(0.5)
    for child, _ in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    told = [line.split() for _, reading in children for line in lines(drained(reading))]
    ledger.verify()
    return {"crashes": count, "clients": clients, **compared(ledger, told, clients)}


def stale(server: postgres.Server, count: int) -> dict[str, int]:
    """Half of the racers for the last unit ask a promoted replica that lacks the newest charge."""
    ledger = Ledger(postgres.fresh(server.url, "race"))
    ledger.open("people", PureDP(1.0))
    with server.replica() as second:
        other = Ledger(ledger.url.replace(server.url, second.url))
        follows(other, ledger)
        second.leave(server)
        kept = ledger.settle(ledger.reserve("people", pure_event(0.5)))
        second.promote()
        assert other.remaining("people") == 1.0  # it does not know
        asked = [asking(each, name) for each, name in ((ledger, "old"), (other, "new"))]
        told = Counter(at_once_each([asked[i % 2] for i in range(count)], ready=lambda: None))
        ledger.verify(kept)
        assert told == {
            "old granted": 1,
            "old spent": count - count // 2 - 1,
            "new refused": count // 2,
        }
        with suppress(LedgerError):
            other.verify(kept)
            raise AssertionError("a replica without the charge verifies against its receipt")
    return {"racers": count, **{name.replace(" ", "_"): number for name, number in told.items()}}


def follows(replica: Ledger, primary: Ledger) -> None:
    """Wait until the replica has what the primary has."""
    head = primary.head()
    for _ in range(600):
        if replica.head() == head:
            return
        time.sleep(0.05)
    raise AssertionError("the replica does not follow")


def charge_and_go_on(ledger: Ledger, pipe: int) -> None:
    """Reserve and settle, and tell each that was confirmed; an error is told and gone past."""
    while True:
        try:
            number = ledger.reserve("people", pure_event(EACH))
            os.write(pipe, b"reserve %d\n" % number)
            os.write(pipe, b"settle %d\n" % ledger.settle(number).sequence)
        except LedgerError as error:
            os.write(pipe, b"unknown 0\n" if "is not known" in str(error) else b"refused 0\n")
            time.sleep(0.1)  # what is told must fit into a pipe


def compared(ledger: Ledger, told: list[list[str]], clients: int) -> dict[str, int]:
    """Everything confirmed is there; what is there beside it was unknown to somebody."""
    there = {entry.sequence: entry.kind for entry in ledger.entries()}
    confirmed = [(int(number), word) for word, number in told if word in ("reserve", "settle")]
    lost = [number for number, word in confirmed if there.get(number) != word]
    assert lost == [], f"lost: {lost}"
    assert len({number for number, _ in confirmed}) == len(confirmed), "granted twice"
    unknown = sum(word == "unknown" for word, _ in told)
    beside = len(there) - 1 - len(confirmed)
    assert 0 <= beside <= unknown + clients, f"{beside} entries that nobody asked for"
    spent = sum(kind == "reserve" for kind in there.values())
    assert round(ledger.remaining("people") / EACH) == round(CAP / EACH) - spent
    refused = sum(word == "refused" for word, _ in told)
    return {
        "confirmed": len(confirmed),
        "refused": refused,
        "unknown": unknown,
        "there_beside_the_confirmed": beside,
    }


if __name__ == "__main__":
    main()
