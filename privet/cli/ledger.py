"""``privet ledger``: accounts of what was spent, from outside Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.options import Delta, Epsilon, Json, Rho, budget_from, command, ledger_url
from privet.cli.show import as_json, facts, table

if TYPE_CHECKING:
    from privet.privacy.ledger import Entry, Ledger

app = typer.Typer(
    help="Keep account of what releases from a data set have cost.",
    epilog="Example: privet ledger open budget.db patients --epsilon 2",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Place = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or sqlite:///file.")]


def _ledger(place: str) -> Ledger:
    from privet.privacy.ledger import Ledger

    return Ledger(ledger_url(place))


def open_(
    place: Place,
    dataset: Annotated[str, typer.Argument(help="Name of the data set.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    json: Json = False,
) -> None:
    """Open the account of a data set with the most that its releases may cost together.

    A cap cannot be changed later.
    """
    cap = budget_from(epsilon, delta, rho)
    ledger = _ledger(place)
    ledger.open(dataset, cap)
    if json:
        as_json({"ledger": ledger.url, "dataset": dataset, "cap": cap.to_json()})
    else:
        facts([("Opened", f"{dataset} in {ledger.path}"), ("Cap", str(cap))])


def show(
    place: Place,
    dataset: Annotated[str | None, typer.Argument(help="Only this data set.")] = None,
    json: Json = False,
) -> None:
    """Show the caps, what was spent and what is left."""
    ledger = _ledger(place)
    entries = ledger.entries()
    names = [entry.dataset for entry in entries if entry.kind == "open"]
    if dataset is not None:
        from privet.errors import LedgerError

        if dataset not in names:
            raise LedgerError(f"The data set {dataset!r} is not open in this ledger.")
        names = [dataset]
    accounts = [_account(ledger, name, entries) for name in names]
    if json:
        as_json({"ledger": ledger.url, "head": ledger.head(), "accounts": accounts})
        return
    if not accounts:
        typer.echo("No data set is open in this ledger.")
    for account in accounts:
        _show(account)
    facts([("Head", ledger.head())])


def _account(ledger: Ledger, dataset: str, entries: list[Entry]) -> dict[str, Any]:
    mine = [entry for entry in entries if entry.dataset == dataset]
    opened = next(entry for entry in mine if entry.kind == "open")
    settled = {entry.body["reservation"] for entry in mine if entry.kind == "settle"}
    releases = [
        {
            "number": entry.sequence,
            "time": entry.time,
            "mechanism": entry.body["mechanism"],
            "claim": entry.body["claim"],
            "rows": entry.body["n"],
            "settled": entry.sequence in settled,
        }
        for entry in mine
        if entry.kind == "reserve"
    ]
    return {
        "dataset": dataset,
        "cap": opened.body,
        "opened": opened.time,
        "remaining": ledger.remaining(dataset),
        "releases": releases,
    }


def _show(account: dict[str, Any]) -> None:
    from privet.privacy.budget import budget_from_json

    cap = budget_from_json(account["cap"])
    typer.secho(account["dataset"], bold=True)
    facts([("Cap", str(cap)), ("Left", f"{account['remaining']:g}")])
    rows = [
        (
            str(release["number"]),
            release["time"].replace("T", " ").removesuffix("+00:00"),
            str(budget_from_json(release["claim"])),
            release["mechanism"],
            f"{release['rows']:,}",
            "released" if release["settled"] else "charged, never released",
        )
        for release in account["releases"]
    ]
    if rows:
        table(("entry", "time (UTC)", "cost", "mechanism", "rows", ""), rows, ("entry", "rows"))
    typer.echo("")


def verify(
    place: Place,
    head: Annotated[
        str | None, typer.Option(help="A head kept elsewhere: also finds a roll-back.")
    ] = None,
    json: Json = False,
) -> None:
    """Check every entry's hash and sum; names the first bad entry."""
    ledger = _ledger(place)
    ledger.verify(head)
    count = len(ledger.entries())
    if json:
        as_json({"ledger": ledger.url, "entries": count, "head": ledger.head(), "intact": True})
    else:
        facts([("Intact", f"{count} entries"), ("Head", ledger.head())])


def export(place: Place) -> None:
    """Print every entry as a line of JSON."""
    for line in _ledger(place).export():
        typer.echo(line)


command(app, open_, "privet ledger open budget.db patients --epsilon 2")
command(app, show, "privet ledger show budget.db")
command(app, verify, "privet ledger verify budget.db")
command(app, export, "privet ledger export budget.db > entries.jsonl")
