"""The socket that the service listens at."""

from __future__ import annotations

import asyncio
import socket

from privet.service.supervisor import listening


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
