"""The socket that the service listens at."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from privet.errors import DeclarationError
from privet.service import supervisor
from privet.service.supervisor import MOST_SHORT, SHORT_LIFE, Supervisor, listening
from tests.service.answer_storm import workers_of
from tests.service.running import RunningService, running


def test_answers_leave_at_once() -> None:
    """An accepted connection does not wait for a packet to be filled."""

    async def accepted() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def seen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            made = writer.get_extra_info("socket")
            found.set_result(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listening("127.0.0.1", 0) as where:
            async with await asyncio.start_server(seen, sock=where):
                _, writer = await asyncio.open_connection(*where.getsockname())
                told = await found
                writer.close()
                await writer.wait_closed()
        return told

    assert asyncio.run(accepted()) != 0


def two_workers(service: RunningService, gone: int = 0) -> set[int]:
    """Both workers, once there are two and the one that was killed is none of them."""
    until = time.monotonic() + 60
    while len(found := set(workers_of(service)) - {gone}) < 2:
        assert time.monotonic() < until, service.log.read_text()
        time.sleep(0.01)
    return found


def test_a_worker_that_is_killed_again_and_again_does_not_end_the_service(
    office: Path, tmp_path: Path
) -> None:
    """The other one answers meanwhile: what kills the first is no fault of the service's."""
    with running(tmp_path, office / "model.privet", "--workers", 2) as service:
        first, second = two_workers(service)
        time.sleep(SHORT_LIFE)
        for _ in range(MOST_SHORT + 2):
            os.kill(second, signal.SIGKILL)
            (second,) = two_workers(service, gone=second) - {first}
        assert service.process.poll() is None
        assert service.ask("GET", "/health").status == 200


def test_workers_that_all_end_at_once_end_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "PAUSE", 0.0)
    monkeypatch.setattr(Supervisor, "_work", lambda self, place: os._exit(3))
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        with (
            listening("127.0.0.1", 0) as where,
            pytest.raises(DeclarationError, match="see the log"),
        ):
            Supervisor(None, where, 2).run()  # type: ignore[arg-type]
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)
