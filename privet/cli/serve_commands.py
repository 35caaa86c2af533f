"""``privet serve`` and ``privet token``: released models behind an address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from privet.cli.options import Json, command, open_ledger
from privet.cli.printing import as_json, facts, say
from privet.errors import DeclarationError, MissingExtra

if TYPE_CHECKING:
    from privet.service.tokens import Tokens
    from privet.service.web import Service

LOCAL = ("127.0.0.1", "::1", "localhost")


def register(app: typer.Typer) -> None:
    """Add both commands."""
    command(app, serve, "privet serve model.privet --tokens tokens.json --ledger budget.db")
    command(app, token, "privet token tokens.json hospital-b --role ask")


def serve(
    models: Annotated[list[Path], typer.Argument(help="Model files; each is served by its name.")],
    ledger: Annotated[
        str | None, typer.Option(help="Also say what is left, from this ledger.")
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="Who may ask: a file that privet token wrote. Without it one is drawn."),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Let everybody ask who can reach the address.")
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 lets the system choose.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer.")] = 1,
    rows: Annotated[int, typer.Option(help="Rows in one request, at most.")] = 10_000,
    megabytes: Annotated[float, typer.Option(help="Size of one request, at most.")] = 4.0,
    per_minute: Annotated[
        float, typer.Option(help="Requests a minute with one token, in each worker.")
    ] = 6_000.0,
    json: Json = False,
) -> None:
    """Answer questions to released models over HTTP, with a page for people at the address.

    POST /predict takes rows in the schema's own columns, GET /model has the statement and GET
    /budget what is left. Nothing of what is asked is stored. Put a server that speaks TLS in front
    of it before anybody else can reach it: see docs/service.md.
    """
    try:
        from privet.service.guard import Counters
        from privet.service.limits import ServiceLimits
        from privet.service.served_model import Served, ServedRelease
        from privet.service.supervisor import Supervisor, listening
        from privet.service.supervisor import serve as answer
        from privet.service.web import Service, application
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("fastapi", "starlette", "uvicorn"):
            raise
        raise MissingExtra(
            "The service needs FastAPI and uvicorn: pip install 'privet[service]'."
        ) from error
    limits = ServiceLimits(body=int(megabytes * 2**20), rows=rows, per_minute=per_minute)
    account = None if ledger is None else open_ledger(ledger)
    found: dict[str, Served] = {}
    for path in models:
        one = ServedRelease(path, rows=limits.rows, ledger=account)
        if one.name in found:
            raise DeclarationError(f"Two models would be called {one.name!r}: rename one file.")
        found[one.name] = one
    known, drawn = _tokens(tokens, open_=open_)
    service = Service(found, known, limits, open=open_, counters=Counters(workers))
    where = listening(host, port)
    _tell(service, f"http://{_bracketed(host)}:{where.getsockname()[1]}", drawn, host, json=json)
    app = application(service)
    if workers == 1:
        answer(app, where)
    else:
        Supervisor(app, where, workers).run()


def _tokens(path: Path | None, *, open_: bool) -> tuple[Tokens, str | None]:
    """Who may ask; without a file, whoever reads the token on this terminal."""
    from privet.service.tokens import Tokens, drawn_token, holder, read_tokens

    if path is not None:
        return read_tokens(path), None
    if open_:
        return Tokens(), None
    drawn = drawn_token()
    return Tokens((holder("terminal", "curate", drawn),)), drawn


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _tell(service: Service, url: str, drawn: str | None, host: str, *, json: bool) -> None:
    page = url + ("" if drawn is None else f"/#token={drawn}")
    if json:
        as_json({"url": url, "token": drawn, "models": list(service.served)})
        return
    lines = [("Serving", ", ".join(service.served)), ("Page", page)]
    if drawn is not None:
        lines.append(("Token", f"{drawn}, until this service ends"))
    facts(lines)
    if host not in LOCAL:
        say(
            "Note: others can reach this address, and it speaks no TLS: tokens and rows can be "
            "read on the way. Put a server with TLS in front (docs/service.md).",
            err=True,
        )


def token(
    file: Annotated[Path, typer.Argument(help="The file of tokens; made where there is none.")],
    name: Annotated[str, typer.Argument(help="Who the token is for.")],
    role: Annotated[
        Literal["ask", "curate", "train"],
        typer.Option(help="ask; curate: also the ledger; train: also start training."),
    ] = "ask",
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the token back in place of drawing one.")
    ] = False,
    json: Json = False,
) -> None:
    """Draw a token for somebody who may ask; it is shown once, and only its hash is kept.

    A running service reads the file when it is started.
    """
    from privet.service.tokens import drawn_token, holder, read_tokens, write_tokens

    known = read_tokens(file).holders if file.exists() else ()
    others = [each for each in known if each.name != name]
    if remove:
        if len(others) == len(known):
            raise DeclarationError(f"There is no token for {name!r} in {file.name}.")
        write_tokens(file, others)
        facts([("Removed", f"{name}; restart the service")])
        return
    if len(others) < len(known):
        raise DeclarationError(f"{name!r} has a token already: take it back with --remove first.")
    drawn = drawn_token()
    write_tokens(file, [*others, holder(name, role, drawn)])
    if json:
        as_json({"name": name, "role": role, "token": drawn})
    else:
        facts([("Token", drawn), ("For", f"{name}, who may {role}"), ("Hash in", str(file))])
