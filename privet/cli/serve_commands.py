"""``privet serve``, ``privet token`` and ``privet answers``: releases behind an address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from privet.cli.options import AccountFlags, BudgetFlags, Json, command, open_ledger, required
from privet.cli.printing import as_json, facts, say, working
from privet.errors import DeclarationError, MissingExtra

if TYPE_CHECKING:
    from privet.ledger import Ledger
    from privet.service.fit_jobs import FitJobs
    from privet.service.served_answers import ServedAnswers
    from privet.service.served_model import Served, ServedFile
    from privet.service.tokens import Tokens
    from privet.service.web import Service

LOCAL = ("127.0.0.1", "::1", "localhost")


def register(app: typer.Typer) -> None:
    """Add both commands."""
    command(app, serve, "privet serve model.privet --tokens tokens.json --ledger budget.db")
    command(app, token, "privet token tokens.json hospital-b --role ask")
    where = "--schema schema.toml --ledger budget.db --dataset patients --rho 0.5"
    example = f"privet answers open ward-7 patients.csv {where}"
    group = typer.Typer(
        help="Interactive releases, which a service answers.", epilog=f"Example: {example}"
    )
    command(group, open_, example)
    app.add_typer(group, name="answers")


def serve(
    models: Annotated[
        list[Path] | None, typer.Argument(help="Model files; each is served by its name.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Say what is left, from this ledger; --answers needs it.")
    ] = None,
    answers: Annotated[
        str | None, typer.Option(help="An interactive release that privet answers opened.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="With --answers: the table that it was opened with.")
    ] = None,
    step: Annotated[
        float, typer.Option(help="Seconds that times of interactive answers are rounded up to.")
    ] = 0.25,
    jobs: Annotated[
        Path | None,
        typer.Option(
            help="Let tokens of the role fit train models on the tables in this folder; needs "
            "--ledger. Off without it."
        ),
    ] = None,
    job_seconds: Annotated[
        float,
        typer.Option(
            help="With --jobs: the end of a job is told after this many seconds, or 2, 4, 8, ... "
            "times as many."
        ),
    ] = 15.0,
    job_limit: Annotated[
        float,
        typer.Option(
            help="With --jobs: a job without a model this many seconds after its charge is ended; "
            "the charge stays."
        ),
    ] = 3_600.0,
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
        float,
        typer.Option(
            help="Requests a minute with one token, or of all askers without one, in each worker."
        ),
    ] = 6_000.0,
    json: Json = False,
) -> None:
    """Answer questions to releases over HTTP, with a page for people at the address.

    POST /predict takes rows in the schema's own columns, GET /model has the statement and GET
    /budget what is left. Nothing of what is asked of a model file is stored; what is asked of an
    interactive release is noted in the ledger's database, where all workers find it. Put a server
    that speaks TLS in front before anybody else can reach it: see docs/service.md.
    """
    try:
        from privet.service.guard import Counters
        from privet.service.limits import ServiceLimits
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
    listed: list[Served] = [_file(path, rows, account) for path in models or ()]
    if answers is not None:
        one = _resumed(answers, data, account, rows, step)
        if workers > 1 and not one.answers.shared:
            raise DeclarationError(
                "A sparse vector's threshold is in the memory of one process: use --workers 1."
            )
        listed.append(one)
    training = None if jobs is None else _jobs(jobs, account, job_seconds, job_limit)
    if not listed and training is None:
        raise typer.BadParameter("name a model file, or a release with --answers.")
    found = {one.name: one for one in listed}
    if len(found) < len(listed):
        raise DeclarationError("Two releases would have the same name: rename one file.")
    known, drawn = _tokens(tokens, open_=open_, jobs=jobs is not None)
    service = Service(found, known, limits, open_, Counters(workers), training)
    where = listening(host, port)
    _tell(service, f"http://{_bracketed(host)}:{where.getsockname()[1]}", drawn, host, json=json)
    app = application(service)
    if workers == 1:
        answer(app, where)
    else:
        Supervisor(app, where, workers).run()


def _file(path: Path, rows: int, ledger: Ledger | None) -> ServedFile:
    """A model file, with a word where the ledger does not know it."""
    from privet.service.served_model import served_file

    found = served_file(path, rows=rows, ledger=ledger)
    if found.unaccounted:
        say(
            f"Note: the ledger says nothing of {path.name}: {found.unaccounted}. It is served, "
            "and GET /budget and GET /ledger have no account for it.",
            err=True,
        )
    return found


def _resumed(
    name: str, data: Path | None, ledger: Ledger | None, rows: int, step: float
) -> ServedAnswers:
    """The interactive release with its rows in this process."""
    from privet.answers.ledger_answers import resumed_answers
    from privet.service.served_answers import ServedAnswers

    if ledger is None or data is None:
        raise typer.BadParameter("--answers goes with --ledger and --data.")
    with working(f"Reading {data.name} and taking up {name}"):
        found = resumed_answers(name, data, ledger=ledger)
    return ServedAnswers(found, rows=rows, step=step)


def _jobs(folder: Path, ledger: Ledger | None, step: float, limit: float) -> FitJobs:
    """Training jobs on the tables of a folder, which are looked through."""
    from privet.service.fit_jobs import FitJobs

    if ledger is None:
        raise typer.BadParameter("--jobs goes with --ledger, which every training job charges.")
    found = FitJobs(folder, ledger, step, limit)
    found.prepare()
    with working(f"Looking through the tables in {folder}"):
        refused = found.tables.look_through_apart()
    for name, why in refused:
        say(f"Note: there will be no jobs on {name}. {why}", err=True)
    return found


def _tokens(path: Path | None, *, open_: bool, jobs: bool) -> tuple[Tokens, dict[str, str]]:
    """Who may ask; without a file, whoever reads the tokens on this terminal, by their roles."""
    from privet.service.tokens import Tokens, drawn_token, holder, read_tokens

    if path is not None:
        return read_tokens(path), {}
    roles = [*([] if open_ else ["curate"]), *(["fit"] if jobs else [])]
    drawn = {role: drawn_token() for role in roles}
    holders = (holder(f"terminal, {role}", role, token) for role, token in drawn.items())
    return Tokens(tuple(holders)), drawn


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _tell(service: Service, url: str, drawn: dict[str, str], host: str, *, json: bool) -> None:
    asks, trains = drawn.get("curate"), drawn.get("fit")
    if json:
        told = {"url": url, "token": asks, "models": list(service.served)}
        as_json({**told, **({} if trains is None else {"fit_token": trains})})
        return
    page = url + ("" if asks is None else f"/#token={asks}")
    lines = [("Serving", ", ".join(service.served) or "training jobs alone")]
    lines.append(("Page" if service.served else "Address", page))
    if asks is not None:
        lines.append(("Token", f"{asks}, until this service ends"))
    if trains is not None:
        lines.append(("For jobs", f"{trains}, until this service ends"))
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
        Literal["ask", "curate", "fit"],
        typer.Option(
            help="ask: predictions; curate: also the ledger and metrics; fit: predictions and "
            "training jobs (privet serve --jobs)."
        ),
    ] = "ask",
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the token back in place of drawing one.")
    ] = False,
    json: Json = False,
) -> None:
    """Draw a token for somebody who may ask; it is shown once, and only its hash is kept.

    A running service reads the file when it is started.
    """
    from privet._files import alone_in, refuse_ledgers_place
    from privet.service.tokens import drawn_token, holder, read_tokens, write_tokens

    refuse_ledgers_place(file)
    with alone_in(file.parent):  # who draws one at the same time must not bring back a removed one
        known = read_tokens(file).holders if file.exists() else ()
        others = [each for each in known if each.name != name]
        if remove:
            if len(others) == len(known):
                raise DeclarationError(f"There is no token for {name!r} in {file.name}.")
            write_tokens(file, others)
            facts([("Removed", f"{name}; restart the service")])
            return
        if len(others) < len(known):
            raise DeclarationError(
                f"{name!r} has a token already: take it back with --remove first."
            )
        drawn = drawn_token()
        write_tokens(file, [*others, holder(name, role, drawn)])
    if json:
        as_json({"name": name, "role": role, "token": drawn})
    else:
        facts([("Token", drawn), ("For", f"{name}, who may {role}"), ("Hash in", str(file))])


def open_(
    name: Annotated[str, typer.Argument(help="What the release will be called.")],
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    schema: Annotated[
        Path | None, typer.Option(help="Declared columns and label of two classes, TOML.")
    ] = None,
    *,
    budget: BudgetFlags,
    account: AccountFlags,
    mechanism: Annotated[
        Literal["auto", "function", "sparse_vector"],
        typer.Option(help="A function release needs --rho, --mu or --delta."),
    ] = "auto",
    queries: Annotated[
        int, typer.Option(min=1, help="How many different rows will be answered.")
    ] = 10_000,
    gamma: Annotated[
        float, typer.Option(help="Width of the Gaussian kernel on encoded rows.")
    ] = 1.0,
    json: Json = False,
) -> None:
    """Charge an interactive release and open it; privet serve --answers answers it.

    The budget pays once, for all answers together. The rows stay where they are: only queries and
    answers are kept, in the ledger's database.
    """
    from privet.answers.ledger_answers import open_answers
    from privet.cli.train import confirmed_schema
    from privet.features.numeric import Gaussian

    declared = confirmed_schema(required(schema, "--schema"))
    options = {**account.options(), "mechanism": mechanism, "queries": queries}
    if not options.get("ledger"):
        raise typer.BadParameter("an interactive release needs --ledger and --dataset.")
    with working(f"Reading and encoding {data.name}, fitting"):
        made = open_answers(
            name, declared, data, budget=budget.budget(), kernel=Gaussian(gamma), **options
        )
    guarantee = made.kept.guarantee
    if json:
        as_json({"release": name, "queries": queries, "guarantee": guarantee.to_json()})
        return
    told = f"privet serve --answers {name} --data {data} --ledger {account.ledger}"
    facts([("Opened", name), ("Guarantee", str(guarantee)), ("Next", told)])
