"""The service beside a bare FastAPI route, and interactive answers after many earlier ones.

    python benchmarks/service.py          writes benchmarks/service.md

All in one run on this machine: one worker, one client on loopback with an open connection, blocks
of requests to either server in turn.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import platform
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[1]))

from privet import LogisticRegression, PureDP
from privet.answers.ledger_answers import LedgerAnswers, resumed_answers
from privet.datasets import census_schema, census_table
from privet.ledger import Ledger
from privet.models import fit_table
from privet.service.supervisor import listening
from tests.service.answer_storm import SCHEMA, ward
from tests.service.running import RunningService, running

BLOCKS, BLOCK = 40, 25
#: Answer times of the interactive service are whole numbers of this, the shortest that it takes.
STEP = 0.01


class Body(BaseModel):
    rows: list[dict[str, float | str | None]]


def echo(where: Any) -> None:
    """A server that gives back what it was sent, as FastAPI's own pages show it.

    The body is parsed, checked by pydantic against the declared type, and written by that type as
    JSON: an answer as long as the question. No token is asked for.
    """
    import uvicorn
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/echo")
    async def give_back(body: Body) -> Body:
        return body

    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[where])


def block(port: int, path: str, body: bytes, token: str | None, n: int = BLOCK) -> list[float]:
    """Seconds of each of ``n`` requests on one connection."""
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.connect()
    # head and body are two packets: without this the second waits for the first's receipt
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    for _ in range(n):
        begun = time.perf_counter()
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        raw = answer.read()
        times.append(time.perf_counter() - begun)
        assert answer.status == 200, raw[:300]
    connection.close()
    return times


def released(folder: Path, lines: list[str]) -> None:
    """``POST /predict`` and the echo in turn, for bodies of 1, 10 and 100 rows."""
    schema, table = census_schema(), census_table(2_000, seed=1)
    fit_table(LogisticRegression(PureDP(1.0)), schema, table).save(folder / "model.privet")
    cells = {k: [None if c != c else c for c in np.asarray(table[k]).tolist()] for k in table}
    rows = [{k: cells[k][i] for k in schema.columns} for i in range(100)]
    where = listening("127.0.0.1", 0)
    process = multiprocessing.get_context("fork").Process(target=echo, args=(where,), daemon=True)
    process.start()
    try:
        with running(folder, folder / "model.privet", "--per-minute", 1e9) as service:
            for size in (1, 10, 100):
                body = json.dumps({"rows": rows[:size]}).encode()
                found: dict[str, list[float]] = {"echo": [], "predict": []}
                for _ in range(BLOCKS):
                    found["echo"] += block(where.getsockname()[1], "/echo", body, None)
                    found["predict"] += block(service.port, "/predict", body, service.token)
                lines.append(row_of(size, found))
                print(lines[-1])
    finally:
        process.terminate()
        process.join()


def row_of(size: int, found: dict[str, list[float]]) -> str:
    cells = [f"{size}"]
    for name in ("echo", "predict"):
        times = found[name]
        cells += [f"{1.0 / statistics.mean(times):,.0f}", f"{1e3 * statistics.median(times):.2f}"]
        cells.append(f"{1e3 * float(np.quantile(times, 0.99)):.2f}")
    ratio = statistics.median(found["predict"]) / statistics.median(found["echo"])
    quick = [float(np.quantile(found[name], 0.1)) for name in ("predict", "echo")]
    return f"| {' | '.join(cells)} | {ratio:.2f} | {quick[0] / quick[1]:.2f} |"


def interactive(folder: Path, lines: list[str]) -> None:
    """New rows after 1, 100 and 10,000 earlier ones, in the process and through the service."""
    ledger = Ledger(f"sqlite:///{folder / 'budget.db'}")
    table = ward(folder, ledger, 20_000)
    release = resumed_answers("ward", table, ledger=ledger)
    random = np.random.default_rng(2)
    served = ("--answers", "ward", "--data", table, "--ledger", folder / "budget.db")
    for earlier in (1, 100, 10_000):
        while len(release) < earlier:
            more = min(256, earlier - len(release))
            release.answer(random.uniform(-0.5, 0.5, (more, SCHEMA.width)))
        times = [_inside(release, random) for _ in range(20)]
        kept = sum(int(batch.marked.sum()) for batch in release.transcript.batches)
        begun = time.perf_counter()
        with running(folder, *served, "--step", STEP) as service:
            started = time.perf_counter() - begun
            new = [_asked(service, 1_000 * earlier + i) for i in range(1, 21)]
            known = [_asked(service, 1_000 * earlier + 20) for _ in range(20)]
        cells = [f"{1e3 * statistics.median(found):.1f}" for found in (times, new, known)]
        lines.append(
            f"| {earlier:,} | {kept:,} | {cells[0]} | {cells[1]} | {1e3 * max(new):.1f} | "
            f"{cells[2]} | {started:.1f} |"
        )
        print(lines[-1])


def _inside(release: LedgerAnswers, random: np.random.Generator) -> float:
    begun = time.perf_counter()
    release.answer(random.uniform(-0.5, 0.5, (1, SCHEMA.width)))
    return time.perf_counter() - begun


def _asked(service: RunningService, number: int) -> float:
    """Seconds of a request for one row, which no other number has."""
    row = {"age": number % 9973 / 100, "dose": number // 9973 / 1000, "sex": "f"}
    body = json.dumps({"rows": [row]}).encode()
    return block(service.port, "/predict", body, service.token, 1)[0]


PAGE = """# The service

`python benchmarks/service.py`, one worker and one client on {here}. Numbers depend on the machine
and on what else runs on it; the ratios are of blocks taken in turn.

## A released model beside a bare FastAPI route

`POST /predict` of a linear model with 14 columns (70 encoded), with its token, and a route of
FastAPI's that gives back the same body: parsed, checked by pydantic as
`rows: list[dict[str, float | str | None]]`, and written by the same declared type as JSON of equal
size; no token, no limits. `/predict` parses the same body, checks every cell, computes, and writes
classes and probabilities. Requests a second, and milliseconds (median, 99 % quantile). The quickest
tenth is what the code takes where nothing else runs meanwhile.

| rows | echo /s | ms | 99 % | predict /s | ms | 99 % | ratio of medians | of 10 % quantiles |
|---|---|---|---|---|---|---|---|---|
{released}

## An interactive release

One new row after so many earlier ones, noted durably in a SQLite ledger before it is answered: in
the process, and through the service, whose answer times are whole steps of {step} s here (0.25 s by
default). *Kept* are the rows on which the next answers depend. A row that was asked before is found
again. The service was started anew for each line, and *start* is how long that took.

| earlier rows | kept | in process, ms | over HTTP, ms | largest of 20 | known row, ms | start, s |
|---|---|---|---|---|---|---|
{interactive}
"""


def main() -> None:
    lines: list[str] = []
    more: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        released(Path(name), lines)
    with tempfile.TemporaryDirectory() as name:
        interactive(Path(name), more)
    here = f"{platform.machine()}, Python {platform.python_version()}"
    parts = {"released": "\n".join(lines), "interactive": "\n".join(more), "step": STEP}
    text = PAGE.format(here=here, **parts)
    Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
