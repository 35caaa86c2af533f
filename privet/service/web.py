"""The routes: each lets in, reads, asks a ``Served`` and writes. Decisions are made elsewhere."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from privet._version import __version__
from privet.errors import PrivetError
from privet.service import api_text, fit_text, refusals
from privet.service.asked_rows import parsed_body
from privet.service.fit_request import FIELDS as FIT_FIELDS
from privet.service.fit_request import fit_request
from privet.service.guard import Counters, Guard
from privet.service.ledger_line import time_line
from privet.service.limits import RateLimit, ServiceLimits
from privet.service.refusals import Refusal
from privet.service.served_model import AskedQuestion, Served, as_json
from privet.service.tokens import Holder, Tokens, from_another_site
from privet.service.visitor_page import SCRIPT_POLICY, page

if TYPE_CHECKING:
    from privet.service.fit_jobs import FitJobs

FIELDS = frozenset({"rows"})
#: Bodies up to this size are answered at once; larger ones two at a time, in a thread.
SMALL = 1 << 16
KEY = "idempotency-key"
LONGEST_KEY = 200
ANYBODY = Holder("", "ask", "")  # a name that no token can have
JSON = "application/json"


@dataclass
class Service:
    """What a worker serves, to whom, and how much of it."""

    served: dict[str, Served]
    tokens: Tokens = field(default_factory=Tokens)
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    open: bool = False  # whether asking needs no token
    counters: Counters = field(default_factory=Counters)
    jobs: FitJobs | None = None  # training jobs, where the operator has named a folder

    def __post_init__(self) -> None:
        self.rate = RateLimit(self.limits.per_minute)
        self._large = asyncio.Semaphore(2)
        self._arriving: Counter[str] = Counter()  # bodies that are being sent, by who sends

    # -- letting in ----------------------------------------------------------------------------

    def admit(self, request: Request, role: str) -> Holder:
        """Who asks, if they may and not too often."""
        who = self.tokens.of(request.headers.get("authorization"))
        if who is None and self.open and role == "ask":
            if from_another_site(request.headers):
                raise refusals.other_site()
            who = ANYBODY
        if who is None:
            raise refusals.no_token()
        if not who.may(role):
            raise refusals.not_allowed(role)
        wait = self.rate.wait(who.name)
        if wait > 0.0:
            raise refusals.too_many(wait)
        return who

    def find(self, request: Request) -> Served:
        """The model that the address names, or the only one."""
        name = request.query_params.get("model")
        if name is None and len(self.served) == 1:
            return next(iter(self.served.values()))
        found = None if name is None else self.served.get(name)
        if found is None:
            listed = ", ".join(self.served)
            raise Refusal(404, "unknown", f"Name one of the served models with ?model=: {listed}.")
        return found

    async def body(self, request: Request, who: Holder) -> bytes:
        """All of it, unless it is too long or too slow, or too many of this token's arrive."""
        if who is not ANYBODY and self._arriving[who.name] >= max(1, self.limits.at_once // 2):
            raise refusals.busy()
        self._arriving[who.name] += 1
        try:
            return await self._arrived(request)
        finally:
            self._arriving[who.name] -= 1

    async def _arrived(self, request: Request) -> bytes:
        most = self.limits.body
        told = request.headers.get("content-length", "0")
        if "content-length" in request.headers and "transfer-encoding" in request.headers:
            # a server in front may go by the other one, and take the rest for another request
            raise Refusal(400, "malformed", "A body has a length or comes in chunks, not both.")
        if len(told) > 15 or not told.isdecimal() or int(told) > most:
            raise _too_large(most)
        raw = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for piece in request.stream():
                    raw += piece
                    if len(raw) > most:
                        raise _too_large(most)
        except TimeoutError:
            raise Refusal(408, "slow", "The body did not arrive in time.") from None
        except ClientDisconnect:  # nobody reads this; it is no fault that a log should have
            raise Refusal(400, "malformed", "The body did not arrive.") from None
        return bytes(raw)

    # -- asking --------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        """``POST /predict``."""
        who, served = self.admit(request, "ask"), self.find(request)
        key = given_key(request)
        raw = await self.body(request, who)
        begun = time.monotonic()
        try:
            content = await self._answered(served, raw, who, key)
        finally:
            if served.step:  # also a refusal, which must not tell by its time what was found
                await asyncio.sleep(padding(begun, time.monotonic(), served.step))
        return Response(content, media_type=JSON)

    async def _answered(self, served: Served, raw: bytes, who: Holder, key: str | None) -> bytes:
        def work() -> bytes:
            question = AskedQuestion(parsed_body(raw, FIELDS), who.name, key)
            return as_json(served.answer(question))

        if not served.step and len(raw) <= SMALL:
            return work()
        async with self._large:
            return await run_in_threadpool(work)

    async def model(self, request: Request) -> Response:
        """``GET /model``: the statement and the card are public, as the release is."""
        served = self.find(request)
        return Response(await run_in_threadpool(lambda: as_json(told(served))), media_type=JSON)

    async def budget(self, request: Request) -> Response:
        """``GET /budget``."""
        self.admit(request, "ask")
        served = self.find(request)

        def asked() -> bytes:
            found = {"model": served.name, "promise": served.guarantee.promise}
            return as_json({**found, **served.left(), "account": served.account()})

        return Response(await run_in_threadpool(asked), media_type=JSON)

    async def ledger(self, request: Request) -> Response:
        """``GET /ledger``: the account's charges in their order, for curators."""
        self.admit(request, "curate")
        served = self.find(request)
        return Response(
            await run_in_threadpool(lambda: as_json(time_line(served))), media_type=JSON
        )

    # -- training ------------------------------------------------------------------------------

    async def fit(self, request: Request) -> Response:
        """``POST /fit``: a training job on a table that is already here."""
        who, key, jobs = self.admit(request, "fit"), given_key(request), self.jobs
        raw = await self.body(request, who)
        assert jobs is not None

        def submitted() -> dict[str, Any]:
            return jobs.submit(fit_request(parsed_body(raw, FIT_FIELDS)), who.name, key)

        found = await run_in_threadpool(submitted)
        return Response(as_json(found), 202, {"Location": f"/fit/{found['id']}"}, JSON)

    async def fit_state(self, request: Request) -> Response:
        """``GET /fit/{id}``: how far a job is."""
        who, name, jobs = self.admit(request, "fit"), request.path_params["id"], self.jobs
        assert jobs is not None
        found = await run_in_threadpool(lambda: jobs.look(name, who.name))
        return Response(as_json(found), media_type=JSON)

    # -- looking -------------------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        """``GET /health``."""
        return Response(b'{"status":"ok"}', media_type=JSON)

    async def metrics(self, request: Request) -> Response:
        """``GET /metrics``: how many requests, by route and kind of answer; nothing about rows."""
        self.admit(request, "curate")
        return Response(self.counters.text(), media_type="text/plain; version=0.0.4")

    async def home(self, request: Request) -> Response:
        """``GET /``: the page."""
        served = self.find(request) if "model" in request.query_params else None
        if not self.served:
            raise Refusal(404, "unknown", "No model is served here yet; POST /fit trains one.")
        shown = next(iter(self.served.values())) if served is None else served
        found = await run_in_threadpool(lambda: page(shown, tuple(self.served), self.open))
        policy = {"Content-Security-Policy": SCRIPT_POLICY}
        return Response(found, media_type="text/html", headers=policy)


def padding(begun: float, now: float, step: float) -> float:
    """How long to wait until a whole number of steps, at least one, has passed."""
    steps = max(1, math.ceil((now - begun) / step))
    return max(0.0, begun + steps * step - now)


def told(served: Served) -> dict[str, Any]:
    """What ``GET /model`` says."""
    from privet.statement import as_text, card

    facts = served.facts()
    return {
        "model": served.name,
        "sha256": served.digest,
        **served.outcome,
        "statement": as_text(facts),
        "card": card(facts),
        "schema": served.schema.to_toml(),
    }


def given_key(request: Request) -> str | None:
    """The request's idempotency key."""
    key = request.headers.get(KEY)
    plain = key is None or (key.isascii() and key.replace("-", "").replace("_", "").isalnum())
    if not plain or (key is not None and len(key) > LONGEST_KEY):
        raise Refusal(
            400,
            "malformed",
            f"An Idempotency-Key has letters, digits, '-' and '_' only, at most {LONGEST_KEY}.",
        )
    return key


def _too_large(most: int) -> Refusal:
    return Refusal(
        413, "size", f"A body may have {most:,} bytes at most, and must tell its length."
    )


# -- the application ----------------------------------------------------------------------------

Route = Callable[[Request], Awaitable[Response]]


def application(service: Service) -> Guard:
    """The service as an ASGI application."""
    app = FastAPI(
        title="Privet",
        version=__version__,
        description="Predictions of models with a privacy guarantee.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # it would send a body on to whatever the Host header says
    )
    _add_routes(app, service)
    app.add_exception_handler(Refusal, _on_refusal)
    app.add_exception_handler(PrivetError, _on_privet)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(Exception, _on_fault)
    return Guard(app, service.limits.at_once, service.counters)


def _routes(service: Service) -> list[tuple[str, str, Route, dict[str, Any], bool]]:
    """Method, address, function, description, and whether it needs a token."""
    names = [api_text.model_parameter(list(service.served))]
    told = api_text.described(401, 403, 404, 503, ok=api_text.ANY)
    known = api_text.described(404, ok=api_text.ANY)
    up = {"responses": {"200": {"description": "Up."}}}
    routes: list[tuple[str, str, Route, dict[str, Any], bool]] = []
    if service.served:
        asking = api_text.asking(service.served, service.limits.rows)
        asking = {**asking, "parameters": [*names, api_text.KEY]}
        routes += [  # in the order in which they are looked through: the busiest first
            ("POST", "/predict", service.predict, asking, True),
            ("GET", "/model", service.model, {"parameters": names, "responses": known}, False),
            ("GET", "/budget", service.budget, {"parameters": names, "responses": told}, True),
            ("GET", "/ledger", service.ledger, {"parameters": names, "responses": told}, True),
        ]
    routes += [
        ("GET", "/health", service.health, up, False),
        ("GET", "/metrics", service.metrics, {"responses": api_text.counted(told)}, True),
    ]
    if service.jobs is not None:
        routes += [
            ("POST", "/fit", service.fit, fit_text.POSTED, True),
            ("GET", "/fit/{id}", service.fit_state, fit_text.LOOKED, True),
        ]
    return routes


def _add_routes(app: FastAPI, service: Service) -> None:
    described: dict[str, Any] = {}
    for method, path, route, text, guarded in _routes(service):
        # routes without parameters of FastAPI's: reading these takes as long as a prediction
        app.add_route(path, route, methods=[method], include_in_schema=False)
        secured: dict[str, Any] = {"security": [{"token": []}]} if guarded else {}
        told_of = {"operationId": route.__name__, "summary": route.__doc__, **text, **secured}
        described[path] = {method.lower(): told_of}
    app.add_route("/", service.home, methods=["GET"], include_in_schema=False)
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        found = {**plain(), "paths": described}
        scheme = {"token": {"type": "http", "scheme": "bearer"}}
        found.setdefault("components", {}).setdefault("securitySchemes", scheme)
        return found

    app.openapi = openapi  # type: ignore[method-assign]


async def _on_refusal(request: Request, error: Exception) -> Response:
    found = error if isinstance(error, Refusal) else refusals.internal()
    return Response(found.body(), found.status, found.headers, JSON)


async def _on_privet(request: Request, error: Exception) -> Response:
    found = refusals.refused(error) if isinstance(error, PrivetError) else refusals.internal()
    return await _on_refusal(request, found)


async def _on_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "There is nothing at this address.", 405: "This address takes another method."}
    found = Refusal(status, "unknown", words.get(status, "The request was not understood."))
    headers = getattr(error, "headers", None) or {}
    return Response(found.body(), status, headers, JSON)


async def _on_invalid(request: Request, error: Exception) -> Response:
    """FastAPI's own handler would repeat what was sent."""
    return await _on_refusal(request, Refusal(422, "rows", "The request is not as described."))


async def _on_fault(request: Request, error: Exception) -> Response:
    return await _on_refusal(request, refusals.internal())
