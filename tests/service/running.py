"""A service in a process of its own, on loopback, for as long as a test needs it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60.0
#: Servers, browsers and storms take longer than the rest of the tests may.
only_by_make_test_service = pytest.mark.skipif(
    not os.environ.get("PRIVET_TEST_SERVICE"), reason="run by make test-service"
)
ROOT = Path(__file__).parents[2]


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


@dataclass
class RunningService:
    """Its address, its token, its process and its log."""

    port: int
    token: str | None
    process: subprocess.Popen[str]
    log: Path
    fit_token: str | None = None  # for training jobs, where the service takes them

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """One request; ``token=None`` sends none, the empty text the service's own."""
        sent = dict(headers or {})
        given = self.token if token == "" else token
        if given is not None:
            sent["Authorization"] = f"Bearer {given}"
        if body is not None:
            raw = json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, raw, sent)
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def predict(self, *rows: dict[str, Any], **options: Any) -> Reply:
        return self.ask("POST", "/predict", {"rows": list(rows)}, **options)


@contextmanager
def running(folder: Path, *arguments: Any) -> Iterator[RunningService]:
    """``privet serve`` with these arguments, at a port that the system chooses."""
    log = folder / f"serve-{os.urandom(4).hex()}.log"
    command = [sys.executable, "-m", "privet", "serve", *map(str, arguments)]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*command, "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        )
    try:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, log.read_text()
            text += line
        told = json.loads(text)
        port = int(told["url"].rpartition(":")[2])
        yield RunningService(port, told["token"], process, log, told.get("fit_token"))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
