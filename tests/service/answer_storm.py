"""Two workers under load, one of them killed again and again; then every answer is looked up."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from privet.answers.ledger_answers import open_answers
from privet.ledger import Ledger
from privet.ledger.answer_turns import glance
from privet.privacy.budget import ZCDP
from privet.schema import Categorical, Label, Numeric, Schema
from tests.service.running import RunningService, running

SCHEMA = Schema(
    {"age": Numeric(0, 100), "dose": Numeric(0, 10), "sex": Categorical(("f", "m"))},
    Label("ill", ("no", "yes")),
)


def patients(n: int = 300) -> dict[str, Any]:
    source = np.random.default_rng(5)
    age, dose = source.uniform(0, 100, n), source.uniform(0, 10, n)
    ill = np.where(age / 100 + dose / 10 + source.normal(0, 0.3, n) > 1, "yes", "no")
    return {"age": age, "dose": dose, "sex": source.choice(["f", "m"], n), "ill": ill}


def ward(folder: Path, ledger: Ledger, limit: int, **more: Any) -> Path:
    """A table, and a release called ward in the ledger; the table's file."""
    table = patients()
    lines = [",".join(map(str, each)) for each in zip(*table.values(), strict=True)]
    (folder / "patients.csv").write_text("\n".join([",".join(table), *lines, ""]))
    ledger.open("patients", cap=ZCDP(1.0))
    options = {"budget": ZCDP(0.5), "ledger": ledger, "dataset": "patients", "queries": limit}
    open_answers("ward", SCHEMA, folder / "patients.csv", **options, **more)
    return folder / "patients.csv"


def row(number: int) -> dict[str, Any]:
    return {"age": number % 97, "dose": number // 97, "sex": "fm"[number % 2]}


def workers_of(service: RunningService) -> list[int]:
    pid = service.process.pid
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in told.split()]


@dataclass
class Seen:
    """What clients saw."""

    answers: dict[int, set[float]] = field(default_factory=dict)
    refused: int = 0
    broken: int = 0
    kills: int = 0
    unexpected: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, number: int, score: float) -> None:
        with self.lock:
            self.answers.setdefault(number, set()).add(score)


def client(service: RunningService, seen: Seen, numbers: list[int], prefix: str) -> None:
    """Ask for each row until there is an answer or a refusal; the same key for the same row."""
    for number in numbers:
        for _ in range(200):
            try:
                reply = service.predict(
                    row(number), headers={"Idempotency-Key": f"{prefix}-{number}"}
                )
            except (OSError, http.client.HTTPException):
                with seen.lock:
                    seen.broken += 1  # the worker was killed: ask again
                time.sleep(0.05)
                continue
            if reply.status == 200:
                seen.note(number, reply.json["scores"][0])
            elif reply.status == 409:
                with seen.lock:
                    seen.refused += 1
            elif reply.status in (429, 503):
                time.sleep(0.05)
                continue
            else:
                seen.unexpected.append(f"{reply.status} {reply.raw[:200]!r}")
            break
        else:
            seen.unexpected.append(f"row {number} was never answered")


def storm(
    folder: Path,
    ledger: Ledger,
    *,
    kills: int,
    rows: int,
    limit: int,
    clients: int = 4,
    told: Callable[[str], None] = lambda words: None,
) -> Seen:
    """Ask ``rows`` rows from several clients while workers die ``kills`` times."""
    table, seen = ward(folder, ledger, limit), Seen()
    options = ("--answers", "ward", "--data", table, "--ledger", ledger.url)
    with running(folder, *options, "--workers", 2, "--step", "0.01") as service:
        threads = []
        for i in range(clients):
            numbers = list(range(rows))
            random.Random(i).shuffle(numbers)
            work = (service, seen, numbers, f"client{i}")
            threads.append(threading.Thread(target=client, args=work))
        for thread in threads:
            thread.start()
        while seen.kills < kills:
            alive = workers_of(service)
            if len(alive) == 2:
                os.kill(random.choice(alive), signal.SIGKILL)
                seen.kills += 1
                told(f"killed {seen.kills} of {kills}, {len(seen.answers)} rows answered")
            time.sleep(random.uniform(0.3, 1.3))  # longer than a short life
            if not any(thread.is_alive() for thread in threads):
                break
        for thread in threads:
            thread.join(300)
        seen.unexpected += [] if service.process.poll() is None else ["the service ended"]
    return seen


def check(seen: Seen, ledger: Ledger, limit: int) -> int:
    """Every answer that was seen is the one on record; how many are."""
    assert seen.unexpected == []
    assert {number: len(found) for number, found in seen.answers.items() if len(found) > 1} == {}
    with glance(ledger, "ward") as look:
        noted = look.since(0)  # also checks the chain of digests
    recorded: dict[bytes, float] = {}
    for each in noted:
        if "queries" in each.record:
            for query, answer in zip(each.record["queries"], each.record["answers"], strict=True):
                key = np.array(query).tobytes()
                assert key not in recorded, "a query was answered twice"
                recorded[key] = answer
    assert len(recorded) <= limit
    from privet.schema.row_encoder import RowEncoder

    encode = RowEncoder(SCHEMA)
    for number, found in seen.answers.items():
        assert found == {recorded[encode([row(number)])[0].tobytes()]}, "an answer was lost"
    assert ledger.remaining("patients") == 0.5
    ledger.verify()
    return len(recorded)


def summary(seen: Seen, recorded: int) -> str:
    return json.dumps(
        {
            "kills": seen.kills,
            "rows answered": len(seen.answers),
            "on record": recorded,
            "refused at the limit": seen.refused,
            "broken connections": seen.broken,
        }
    )
