"""The socket and the workers: started from one process that has read everything already.

With several workers the first process reads models and rows, opens the socket and forks; what a
worker needs is in its memory from the start. A worker that dies is replaced by another fork, which
has all that the first had: nothing is read or fitted again. The first process answers nothing
itself.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn

from privet.errors import DeclarationError
from privet.service.guard import Guard, log

#: Workers that die sooner than this have a fault: after a few of them, while no other one lives
#: longer, the service ends. The next one waits a little.
SHORT_LIFE, MOST_SHORT, PAUSE = 1.0, 5, 0.2
GRACE = 10.0


def listening(host: str, port: int) -> socket.socket:
    """A socket that waits for requests; port 0 lets the system choose one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with its protocol named, asyncio sends each packet at once: without, an answer waits 40 ms
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise DeclarationError(
            f"Port {port} on {host} cannot be used ({error.strerror}). Choose another with --port."
        ) from error
    made.listen(2048)
    return made


def serve(app: Guard, where: socket.socket, prepare: Callable[[], None] | None = None) -> None:
    """Answer requests in this process until it is told to stop."""
    if prepare is not None:
        prepare()
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,  # addresses and times of those who ask are nobody's business
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(GRACE),
    )
    uvicorn.Server(config).run(sockets=[where])


class Supervisor:
    """Workers that are forks of this process."""

    def __init__(self, app: Guard, where: socket.socket, workers: int) -> None:
        self.app, self.where, self.workers = app, where, workers
        self._running: dict[int, tuple[int, float]] = {}  # process: its place, and since when
        self._stopping = False

    def run(self) -> None:
        """Until somebody stops it; raises where workers die as soon as they are started."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for place in range(self.workers):
            self._start(place)
        short = 0
        while self._running:
            try:
                ended, _ = os.wait()
            except InterruptedError:
                continue
            place, since = self._running.pop(ended, (-1, 0.0))
            if place < 0 or self._stopping:
                continue
            now = time.monotonic()
            oldest = min([since, *(begun for _, begun in self._running.values())])
            short = short + 1 if now - oldest < SHORT_LIFE else 0
            if short > MOST_SHORT:
                self._stop()
                raise DeclarationError("The workers end as soon as they are started; see the log.")
            log.warning("worker %s ended and is replaced", place)
            if now - since < SHORT_LIFE:
                time.sleep(PAUSE)
            self._start(place)

    def _start(self, place: int) -> None:
        process = os.fork()
        if process == 0:
            self._work(place)
        self._running[process] = place, time.monotonic()
        if self._stopping:  # told so while it was being started
            os.kill(process, signal.SIGTERM)

    def _work(self, place: int) -> None:
        """A worker's whole life; it never returns into what its parent was doing."""
        code = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            self.app.counters.worker = place
            serve(self.app, self.where)
            code = 0
        except BaseException as error:
            log.error("worker %s: %s", place, type(error).__name__)
        finally:
            logging.shutdown()
            os._exit(code)

    def _stop(self, *_: Any) -> None:
        self._stopping = True
        for process in list(self._running):
            with suppress(ProcessLookupError):  # it ended by itself just now
                os.kill(process, signal.SIGTERM)
