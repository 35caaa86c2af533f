"""``privet audit``: every attack that Privet has on its own promises, and what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.options import Force, Json, command
from privet.cli.printing import as_json, facts, free_place, put, table, working

EXAMPLE = "privet audit objective --quick --html audit.html"


def audit(
    what: Annotated[
        str, typer.Argument(help="A mechanism (objective, output), a model, or all.")
    ] = "all",
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer losses and draws: under a minute.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with the worst neighbors drawn.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Attack Privet's own promises: no rows are needed and no budget is spent.

    Exact privacy loss on adversarial neighbors, replayed sensitivity of whole releases, certified
    lower bounds on epsilon from releases alone, the last bits of released numbers, and noise of
    other processes. Exit code 1 if an attack succeeds. All of it takes a few minutes.
    """
    from privet.audit.full_audit import run_audit
    from privet.cli.statement_commands import refuse_unless_page

    if html is not None:
        refuse_unless_page("--html", html)
        free_place(html, force=force)
    with working("Attacking") as tell:
        result = run_audit(what, quick=quick, tell=tell)
    from privet.report.audit_page import audit_page, audit_tables

    if html is not None:
        put(html, audit_page(result, what), force=force)
    if json:
        as_json(result.to_json())
    else:
        for part in audit_tables(result):
            facts([(part.title, part.told)], width=18)
            heads, rows = part.narrow()
            table([head.capitalize() for head in heads], rows)
            typer.echo()
        found = "no attack succeeded" if result.passed else "AN ATTACK SUCCEEDED"
        facts([("Audit", f"{found}, {result.seconds:.0f} s")])
        if html is not None:
            facts([("Page", str(html))])
    if not result.passed:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, audit, EXAMPLE)
