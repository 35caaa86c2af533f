"""Around all routes: requests at once, headers of every answer, counts, and faults.

A fault's text may quote a row, so the log has its kind and its place in the code alone; what runs
the service (uvicorn) never sees it.
"""

from __future__ import annotations

import logging
import mmap
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from privet.service.refusals import JSON, Refusal, busy, internal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ROUTES = ("/predict", "/model", "/budget", "/ledger", "/health", "/metrics", "/fit", "/", "other")
STATUSES = (2, 3, 4, 5)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
log = logging.getLogger("privet.service")


class Counters:
    """Numbers of requests, in memory that all workers share; each writes its own line."""

    WIDTH = len(ROUTES) * len(STATUSES)

    def __init__(self, workers: int = 1) -> None:
        self._pages = mmap.mmap(-1, max(workers * self.WIDTH * 8, mmap.PAGESIZE))
        self._numbers = memoryview(self._pages).cast("Q")
        self._workers, self.worker = workers, 0

    def note(self, route: str, status: int) -> None:
        """One more."""
        route = "/fit" if route.startswith("/fit/") else route  # a job's name is no label
        place = ROUTES.index(route if route in ROUTES else "other") * len(STATUSES)
        self._numbers[self.worker * self.WIDTH + place + STATUSES.index(status // 100)] += 1

    def text(self) -> bytes:
        """In the form that Prometheus reads. Labels are routes and kinds of answers, never data."""
        lines = ["# TYPE privet_requests_total counter"]
        for i, route in enumerate(ROUTES):
            for j, status in enumerate(STATUSES):
                place = i * len(STATUSES) + j
                found = sum(self._numbers[w * self.WIDTH + place] for w in range(self._workers))
                if found:
                    labels = f'route="{route}",status="{status}xx"'
                    lines.append(f"privet_requests_total{{{labels}}} {found}")
        return ("\n".join(lines) + "\n").encode()


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: App, at_once: int, counters: Counters) -> None:
        self.app, self.at_once, self.counters = app, at_once, counters
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, status = str(scope["path"]), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        if self._now >= self.at_once and path != "/health":
            await _refuse(sending, busy())
            self.counters.note(path, 429)
            return
        self._now += 1
        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s in %s, line %s", type(error).__name__, where.name, where.lineno)
            if not status:
                await _refuse(sending, internal())
        finally:
            self._now -= 1
            self.counters.note(path, status or 500)


async def _refuse(send: Send, refusal: Refusal) -> None:
    headers = [(name.lower().encode(), text.encode()) for name, text in refusal.headers.items()]
    start = {
        "type": "http.response.start",
        "status": refusal.status,
        "headers": [(b"content-type", JSON), *headers],
    }
    await send(start)
    await send({"type": "http.response.body", "body": refusal.body()})
