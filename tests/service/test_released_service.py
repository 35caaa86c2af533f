"""A released model behind an address: what it answers, whom it refuses, what it tells."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import load
from privet._files import file_digest
from privet.datasets import census_schema, census_table
from privet.errors import DataError, DeclarationError, PrivetError
from privet.ledger import Ledger
from privet.service.client import ServiceClient, ServiceRefused
from privet.service.served_model import example, served_file
from privet.statement import as_text
from tests.service.conftest import CANARY, CANARY_NUMBER
from tests.service.running import RunningService, running

ROW = example(census_schema())


def people(n: int) -> list[dict[str, Any]]:
    table = census_table(n, seed=7)
    return [{k: np.asarray(table[k][i]).item() for k in census_schema().columns} for i in range(n)]


def test_the_service_predicts_what_the_model_predicts(
    service: RunningService, office: Path
) -> None:
    model, rows = load(office / "model.privet"), people(60)
    rows[0]["age"], rows[1]["region"], rows[2]["hours"] = None, "somewhere else", "40"
    found = service.predict(*rows).json
    table = {
        name: [str(row[name]) if name in ("region", "hours") else row[name] for row in rows]
        for name in census_schema().columns
    }
    assert found["predictions"] == model.predict(table).tolist()
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(table), rtol=1e-12)
    assert found["classes"] == model.classes_.tolist()


def test_what_is_left_and_the_time_line_come_from_the_ledger(
    service: RunningService, office: Path
) -> None:
    ledger = Ledger(f"sqlite:///{office / 'budget.db'}")
    found = service.ask("GET", "/budget").json
    assert found["account"]["left"] == ledger.remaining("people") == 2.0
    line = service.ask("GET", "/ledger").json
    assert [charge["released"] for charge in line["charges"]] == [True]
    assert line["charges"][0]["entry"] == next(iter(ledger.releases("people"))).charged.sequence


def test_the_statement_is_the_one_of_the_file(service: RunningService, office: Path) -> None:
    found = service.ask("GET", "/model", token=None).json
    served = served_file(office / "model.privet", rows=1)
    assert found["statement"] == as_text(served.facts())
    assert found["sha256"] == file_digest(office / "model.privet")
    assert found["card"]["format"] == "privet-deployment-card"
    assert found["card"]["verification"]["numbers"]["value"]["holds"] > 5  # computed a second time


def test_the_door_for_training_is_shut_unless_it_was_opened(service: RunningService) -> None:
    body = {"name": "a", "table": "people.csv", "budget": {"epsilon": 1}}
    assert service.ask("POST", "/fit", body).status == 404
    assert "/fit" not in service.ask("GET", "/openapi.json").json["paths"]


def test_the_client_asks_and_refuses_plain_http_to_others(service: RunningService) -> None:
    client = ServiceClient(service.url, service.token)
    assert client.predict([ROW])["predictions"] == service.predict(ROW).json["predictions"]
    assert client.budget()["promise"] == "epsilon = 3"
    assert client.describe()["sha256"] == client.predict([ROW])["sha256"]
    with pytest.raises(ServiceRefused, match="known here") as caught:
        ServiceClient(service.url, "wrong").predict([ROW])
    assert (caught.value.status, caught.value.code) == (401, "token")
    with pytest.raises(DeclarationError, match="https"):
        ServiceClient("http://models.example.org", "token")
    assert service.token is not None
    assert service.token not in repr(client)


def test_the_client_takes_its_token_nowhere_else(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither to where an answer points nor to a proxy, and what fails has words."""
    seen: list[str | None] = []

    class Pointing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(302)
            self.send_header("Location", f"{service.url}/budget")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Pointing) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        pointing = f"http://127.0.0.1:{other.server_port}"
        with pytest.raises(ServiceRefused) as caught:
            ServiceClient(pointing, service.token).budget()
        assert (caught.value.status, len(seen)) == (302, 1)
        monkeypatch.setenv("http_proxy", pointing)
        assert ServiceClient(service.url, service.token).budget()["model"] == "model"
        assert len(seen) == 1
        other.shutdown()
    with pytest.raises(PrivetError, match="no answer from"):
        ServiceClient(pointing, service.token, timeout=5).budget()
    with pytest.raises(DataError, match="None, which is a missing cell"):
        ServiceClient(service.url, service.token).predict([{**ROW, "age": float("nan")}])


def test_without_tokens_no_page_of_another_site_asks(office: Path, tmp_path: Path) -> None:
    with running(tmp_path, office / "model.privet", "--open") as found:
        own = f"127.0.0.1:{found.port}"
        for headers, status in (
            ({}, 200),
            ({"Sec-Fetch-Site": "same-origin", "Origin": "https://in.front"}, 200),
            ({"Origin": f"http://{own}"}, 200),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Sec-Fetch-Site": "same-site"}, 403),
            ({"Origin": "http://elsewhere.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://["}, 403),
        ):
            reply = found.predict(ROW, token=None, headers=headers)
            assert reply.status == status, headers
            assert status == 200 or reply.code == "site"


# -- faults: hostile bodies, sizes and tokens ----------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b'{"rows": [{"age": NaN}]}',
        b'{"rows": [{"age": 1e999}]}',
        b'{"rows": [{"age": -Infinity}]}',
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"rows": []}',
        b'{"rows": {}}',
        b'{"rows": [1]}',
        b'{"rows": [[1, 2]]}',
        b'{"rows": [{}], "more": 1}',
        b'{"rows": [{}], "rows": [{}]}',
        b"\xff\xfe",
        b'{"rows": ' + b"[" * 100_000,
        b'{"rows": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001,
        b'{"rows": [{"age": ' + b"9" * 5_000 + b"}]}",
        json.dumps({"rows": [{**ROW, "secret-canary": 1}]}).encode(),
        json.dumps({"rows": [{**ROW, "age": ["secret-canary"]}]}).encode(),
        json.dumps({"rows": [{k: v for k, v in ROW.items() if k != "age"}]}).encode(),
    ],
)
def test_a_hostile_body_is_refused_and_nothing_of_it_is_repeated(
    service: RunningService, raw: bytes
) -> None:
    reply = service.ask("POST", "/predict", raw=raw)
    assert reply.status == 422
    assert reply.code == "rows"
    assert b"secret-canary" not in reply.raw
    assert b"999" not in reply.raw


def test_large_bodies_and_batches_are_refused_before_they_are_read(
    service: RunningService,
) -> None:
    many = json.dumps({"rows": [{}] * 1_000_000}).encode()  # 4 MB: within the size, not the rows
    assert len(many) < 4 << 20
    reply = service.ask("POST", "/predict", raw=many)
    assert (reply.status, reply.code) == (413, "size")
    connection = HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.putrequest("POST", "/predict")
    connection.putheader("Authorization", f"Bearer {service.token}")
    connection.putheader("Content-Length", str(100 << 20))
    connection.endheaders()  # 100 MB are announced and never sent
    answer = connection.getresponse()
    assert answer.status == 413
    connection.close()


def test_a_body_without_a_length_is_cut_off(service: RunningService) -> None:
    def pieces() -> Any:
        for _ in range(80):
            yield b" " * (1 << 16)

    connection = HTTPConnection("127.0.0.1", service.port, timeout=30)
    try:
        connection.request(
            "POST",
            "/predict",
            pieces(),
            {"Authorization": f"Bearer {service.token}", "Transfer-Encoding": "chunked"},
            encode_chunked=True,
        )
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the service closed while the rest was being sent
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/predict", "/budget", "/ledger", "/metrics"])
@pytest.mark.parametrize("token", [None, "x", "privet_" + "A" * 43, "ü", " "])
def test_nobody_is_let_in_without_a_known_token(
    service: RunningService, path: str, token: str | None
) -> None:
    method = "POST" if path == "/predict" else "GET"
    headers = {} if token is None else {"Authorization": f"Bearer {token}".encode("latin-1")}
    reply = service.ask(method, path, raw=b"{}", token=None, headers=headers)  # type: ignore[arg-type]
    assert (reply.status, reply.code) == (401, "token")
    assert reply.headers["www-authenticate"] == "Bearer"


def test_a_thousand_clients_at_once_are_answered_or_refused_and_never_lost(
    service: RunningService, office: Path
) -> None:
    before = Ledger(f"sqlite:///{office / 'budget.db'}").head()
    wanted, held = service.predict(ROW).json["predictions"], _held(service)
    found = asyncio.run(_together(service, 1_000))
    assert {status for status, _ in found} <= {200, 429}
    assert all(json.loads(raw)["predictions"] == wanted for status, raw in found if status == 200)
    assert sum(status == 200 for status, _ in found) >= 100
    assert _held(service) - held < 100 << 20
    assert Ledger(f"sqlite:///{office / 'budget.db'}").head() == before
    assert service.ask("GET", "/health").status == 200


def _held(service: RunningService) -> int:
    """The most memory that the service has held, in bytes."""
    told = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(told.split("VmHWM:")[1].split()[0]) << 10


async def _together(service: RunningService, clients: int) -> list[tuple[int, bytes]]:
    """Every connection is open before the first request is sent."""
    body = json.dumps({"rows": [ROW]}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n"
    sent = f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    every = [await asyncio.open_connection("127.0.0.1", service.port) for _ in range(clients)]
    for _, writer in every:
        writer.write(sent)
    found = []
    for reader, writer in every:
        raw = await asyncio.wait_for(reader.read(), 60)
        found.append((int(raw.split()[1]), raw.partition(b"\r\n\r\n")[2]))
        writer.close()
    return found


def test_every_answer_has_the_headers_and_the_page_loads_nothing_from_elsewhere(
    service: RunningService,
) -> None:
    for reply in (service.ask("GET", "/"), service.ask("GET", "/nothing"), service.predict(ROW)):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
    page = service.ask("GET", "/", token=None)
    assert page.status == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not re.search(rb"(?:src|href)=\"(?:https?:)?//", page.raw)
    for name in census_schema().columns:
        assert f'data-column="{name}"'.encode() in page.raw


def test_a_planted_value_is_nowhere_to_be_read(service: RunningService, office: Path) -> None:
    told = [service.ask("GET", path).raw for path in ("/", "/model", "/budget", "/ledger")]
    told += [service.ask("GET", path).raw for path in ("/metrics", "/openapi.json", "/nothing")]
    told += [service.predict({**ROW, "region": [CANARY]}).raw, service.log.read_bytes()]
    for text in told:
        assert CANARY.encode() not in text
        assert str(CANARY_NUMBER).encode() not in text


def test_metrics_count_requests_by_route_and_kind_of_answer_alone(service: RunningService) -> None:
    service.ask("GET", "/budget")
    for line in service.ask("GET", "/metrics").raw.decode().splitlines()[1:]:
        assert re.fullmatch(
            r'privet_requests_total\{route="(/[a-z]*|other)",status="[2345]xx"\} \d+', line
        )


def test_roles_rates_and_the_open_door(office: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from privet.cli.app import app

    tokens = {}
    for name, role in (("b", "ask"), ("officer", "curate")):
        made = CliRunner().invoke(
            app, ["token", str(tmp_path / "tokens.json"), name, "--role", role, "--json"]
        )
        tokens[name] = json.loads(made.stdout)["token"]
    kept = (tmp_path / "tokens.json").read_text()
    assert not any(token in kept for token in tokens.values())
    options = ("--tokens", tmp_path / "tokens.json", "--per-minute", 5, "--workers", 2)
    with running(tmp_path, office / "model.privet", *options) as found:
        assert found.token is None
        assert found.ask("GET", "/metrics", token=tokens["b"]).code == "role"
        assert found.ask("GET", "/metrics", token=tokens["officer"]).status == 200
        assert found.ask("GET", "/ledger", token=tokens["officer"]).code == "unknown"
        replies = [found.predict(ROW, token=tokens["b"]) for _ in range(14)]
        assert [reply.status for reply in replies].count(429) >= 2  # 5 in each of two workers
        late = next(reply for reply in replies if reply.status == 429)
        assert late.code == "rate"
        assert int(late.headers["retry-after"]) >= 1
