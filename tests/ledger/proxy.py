"""What stands between a client and its server, and may stop passing on what it takes."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: How a client says that it will hang up, which is never answered.
FAREWELL = b"X\x00\x00\x00\x04"


class Proxy:
    """Passes messages on until it has passed ``limit`` of the client's; then it swallows all.

    It goes on taking and confirming packets, as a firewall's or a load balancer's kernel does, so
    that only a clock can tell the client that nobody is there.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.limit: int | None = None
        self.passed = 0
        self.unanswered: bytes | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listening.getsockname()[1]
        return port

    def swallow_after(self, messages: int | None, unanswered: bytes | None = None) -> None:
        """From the next connection on; None passes everything.

        ``unanswered`` is what a message says that still arrives, but whose answer is lost.
        """
        self.limit, self.passed, self.unanswered = messages, 0, unanswered

    def serve(self) -> None:
        """Take connections until it is stopped."""
        while not self._stopped.is_set():
            ready, _, _ = select.select([self._listening], [], [], 0.05)
            if ready:
                client, _ = self._listening.accept()
                thread = threading.Thread(target=self._carry, args=(client,))
                self._threads.append(thread)
                thread.start()
        self._listening.close()

    def _carry(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.target)
        swallowing = False
        with client, server, suppress(OSError):
            while not self._stopped.is_set():
                for end in select.select([client, server], [], [], 0.05)[0]:
                    content = end.recv(1 << 16)
                    if not content:
                        return
                    if end is client and not content.startswith(FAREWELL):
                        self.passed += 1
                        swallowing |= self.limit is not None and self.passed > self.limit
                    if not swallowing:
                        (server if end is client else client).sendall(content)
                    if end is client and self.unanswered is not None:
                        swallowing |= self.unanswered in content

    def stop(self) -> None:
        """Hang up."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    """A proxy to the server at a Unix socket."""
    found = Proxy(target)
    thread = threading.Thread(target=found.serve)
    thread.start()
    try:
        yield found
    finally:
        found.stop()
        thread.join()
