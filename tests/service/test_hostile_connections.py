"""Connections that are begun and not finished, and headers that contradict each other."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack

from privet.datasets import census_schema
from privet.service.limits import ServiceLimits
from privet.service.served_model import example
from tests.service.running import RunningService

HEAD = "POST /predict HTTP/1.1\r\nHost: x\r\n"


def begun(service: RunningService, text: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", service.port), timeout=20)
    made.sendall(text.encode())
    return made


def status(connection: socket.socket) -> int:
    with connection:
        return int(connection.recv(1_000).split()[1])


def test_one_token_s_slow_bodies_leave_room_for_others(service: RunningService) -> None:
    token = f"Authorization: Bearer {service.token}\r\n"
    body = f"{HEAD}{token}Content-Length: 1000\r\n\r\nx"
    most = ServiceLimits().at_once // 2
    with ExitStack() as held:
        slow = [held.enter_context(begun(service, body)) for _ in range(2 * most)]
        time.sleep(0.5)
        one_more = begun(service, body)
        assert status(one_more) == 429
        # who has no token is told so: the service has room to answer
        assert service.predict(example(census_schema()), token=None).status == 401
        assert service.ask("GET", "/budget").status == 200
        assert len(slow) == 2 * most
    for _ in range(100):  # until the service has seen that they are gone
        if service.predict(example(census_schema())).status == 200:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the slow bodies are still counted")


def test_who_goes_away_is_no_fault_of_the_service(service: RunningService) -> None:
    token = f"Authorization: Bearer {service.token}\r\n"
    faults = re.compile(r'status="5xx"} (\d+)')

    def counted() -> list[str]:
        return faults.findall(service.ask("GET", "/metrics").raw.decode())

    before = counted()
    for _ in range(5):
        begun(service, f"{HEAD}{token}Content-Length: 1000\r\n\r\nx").close()
    time.sleep(0.5)
    assert counted() == before
    assert "Disconnect" not in service.log.read_text()


def test_a_body_with_a_length_and_chunks_is_refused(service: RunningService) -> None:
    token = f"Authorization: Bearer {service.token}\r\n"
    both = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    assert status(begun(service, f"{HEAD}{token}{both}")) == 400


def test_no_address_is_sent_on_to_another_host(service: RunningService) -> None:
    for path in ("/predict/", "/model/", "/budget/"):
        reply = service.ask("GET", path, headers={"Host": "elsewhere.example"})
        assert reply.status == 404
        assert "location" not in reply.headers


def test_a_number_beyond_a_double_is_answered_or_refused(service: RunningService) -> None:
    text = '{"rows": [{"age": 1e999}]}'
    reply = service.ask("POST", "/predict", raw=text.encode())
    assert reply.status in (200, 422)
