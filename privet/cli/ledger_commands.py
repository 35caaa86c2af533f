"""``privet ledger``: accounts of what was spent, from outside Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.options import BudgetFlags, Json, command, open_ledger
from privet.cli.printing import as_json, clean, facts, table

if TYPE_CHECKING:
    from privet.ledger import Entry, Fits, Ledger, Terms
    from privet.ledger.binding import BindingFinding

app = typer.Typer(
    help="Keep account of what releases from a data set have cost.",
    epilog="Example: privet ledger open budget.db patients --epsilon 2",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Place = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A file, sqlite:///file or postgresql://...")
]
Dataset = Annotated[str, typer.Argument(help="Name of the data set.")]


def open_(
    place: Place,
    dataset: Dataset,
    *,
    budget: BudgetFlags,
    group: Annotated[int, typer.Option(help="The most rows that one person has.")] = 1,
    part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=START:STOP",
            help="A range of row numbers that can be charged on its own; repeat for each.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Open the account of a data set with the most that its releases may cost together.

    A cap cannot be changed later. With --group it holds for persons with that many rows. Parts are
    disjoint ranges of row numbers: releases from different parts cost the maximum, not the sum.
    """
    cap = budget.budget()
    ledger = open_ledger(place)
    ledger.open(dataset, cap, parts=_ranges(part) if part else None, group=group)
    if json:
        as_json({"ledger": ledger.place, "dataset": dataset, **_declared(ledger.terms(dataset))})
    else:
        terms = ledger.terms(dataset)
        facts(
            [
                ("Opened", f"{dataset} in {ledger.place}"),
                *_words(terms),
                ("Admits", _ADMITS[terms.cap.kind]),
                ("Fits now", ledger.fits(dataset).told(ledger.terms(dataset).group)),
            ]
        )


#: What each kind of cap is good for.
_ADMITS = {
    "pure": (
        "pure releases, whose epsilons add up. Gaussian noise has no pure epsilon: for budgets "
        "with --rho or --delta open an account with --rho or --delta"
    ),
    "zcdp": (
        "Gaussian releases, whose rhos add up, and pure ones at epsilon^2/2. Many small releases "
        "fit better than under --epsilon"
    ),
    "approx": (
        "one release of the cap's own epsilon and delta if it is the first, and then nothing; or "
        "many, by Renyi divergence, which keeps back part of epsilon (--rho keeps nothing); or "
        "pure ones, whose epsilons add up"
    ),
}


def _ranges(parts: list[str]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for text in parts:
        name, _, rows = text.rpartition("=")
        start, _, stop = rows.partition(":")
        if not name or not start.isdecimal() or not stop.isdecimal() or name in found:
            raise typer.BadParameter(
                f"--part takes NAME=START:STOP with a new name each time, got {text!r}."
            )
        found[name] = (int(start), int(stop))
    return found


def _declared(terms: Terms) -> dict[str, Any]:
    parts = {part.name: [part.start, part.stop] for part in terms.parts}
    return {"cap": terms.cap.to_json(), "group": terms.group, "parts": parts}


def _words(terms: Terms) -> list[tuple[str, str]]:
    each = "" if terms.group == 1 else f" for a person with at most {terms.group} rows"
    parts = [(f"Part {part.name}", f"rows {part.start} to {part.stop - 1}") for part in terms.parts]
    return [("Cap", f"{terms.cap}{each}"), *parts]


def show(
    place: Place,
    dataset: Annotated[str | None, typer.Argument(help="Only this data set.")] = None,
    json: Json = False,
) -> None:
    """Show the caps, what was spent and what is left."""
    ledger = open_ledger(place)
    entries = ledger.entries()
    names = [entry.dataset for entry in entries if entry.kind == "open"]
    if dataset is not None:
        from privet.errors import LedgerError

        if dataset not in names:
            raise LedgerError(f"The data set {dataset!r} is not open in this ledger.")
        names = [dataset]
    accounts = [_account(ledger, name, entries) for name in names]
    if json:
        as_json({"ledger": ledger.place, "head": ledger.head(), "accounts": accounts})
        return
    if not accounts:
        typer.echo("No data set is open in this ledger.")
    for account in accounts:
        _show(ledger, account)
    facts([("Head", ledger.head())])


def _account(ledger: Ledger, dataset: str, entries: list[Entry]) -> dict[str, Any]:
    mine = [entry for entry in entries if entry.dataset == dataset]
    settled = {entry.body["reservation"] for entry in mine if entry.kind == "settle"}
    releases = [
        {
            "number": entry.sequence,
            "time": entry.time,
            "mechanism": entry.body["mechanism"],
            "claim": entry.body["claim"],
            "rows": entry.body["n"],
            "part": entry.part,
            "settled": entry.sequence in settled,
        }
        for entry in mine
        if entry.kind == "reserve"
    ]
    terms = ledger.terms(dataset)
    return {
        "dataset": dataset,
        **_declared(terms),
        "opened": next(entry.time for entry in mine if entry.kind == "open"),
        **_left(ledger, dataset, terms),
        "releases": releases,
    }


def _left(ledger: Ledger, dataset: str, terms: Terms) -> dict[str, Any]:
    names = [part.name for part in terms.parts]
    return {
        "remaining": ledger.remaining(dataset),
        "remaining_in_parts": {name: ledger.remaining(dataset, name) for name in names},
        "fits": _fitting(ledger.fits(dataset)),
        "fits_in_parts": {name: _fitting(ledger.fits(dataset, name)) for name in names},
    }


def _fitting(fits: Fits) -> dict[str, Any]:
    """The largest releases that would be admitted now; null where there is none."""
    approx = fits.approx
    return {
        "epsilon": fits.pure or None,
        "rho": fits.rho or None,
        "epsilon_delta": None if approx is None else [approx.epsilon, approx.delta],
        "gaussian_only": fits.gaussian,
    }


def _left_words(ledger: Ledger, dataset: str, left: dict[str, Any]) -> list[tuple[str, str]]:
    parts = left["remaining_in_parts"].items()
    whole = " for a release from all rows" if parts else ""
    group = ledger.terms(dataset).group
    found = [
        ("Left", f"{left['remaining']:.10g}{whole}"),
        ("Fits now", f"{ledger.fits(dataset).told(group)}{whole}"),
    ]
    for name, amount in parts:
        found.append((f"Left in {name}", f"{amount:.10g}"))
        found.append((f"Fits in {name}", ledger.fits(dataset, name).told(group)))
    return found


def _show(ledger: Ledger, account: dict[str, Any]) -> None:
    from privet.privacy.budget import budget_from_json

    typer.secho(clean(account["dataset"]), bold=True)
    facts(
        [
            *_words(ledger.terms(account["dataset"])),
            *_left_words(ledger, account["dataset"], account),
        ]
    )
    rows = [
        (
            str(release["number"]),
            release["time"].replace("T", " ").removesuffix("+00:00"),
            str(budget_from_json(release["claim"])),
            release["mechanism"],
            f"{release['rows']:,}" + (f" of {release['part']}" if release["part"] else ""),
            "released" if release["settled"] else "charged, never settled: perhaps never released",
        )
        for release in account["releases"]
    ]
    if rows:
        cost = "cost" if ledger.terms(account["dataset"]).group == 1 else "cost of one row"
        table(("entry", "time (UTC)", cost, "mechanism", "rows", ""), rows, ("entry", "rows"))
    typer.echo("")


def remaining(
    place: Place,
    dataset: Dataset,
    part: Annotated[str | None, typer.Option(help="A declared part of the data set.")] = None,
    json: Json = False,
) -> None:
    """Say what is left under the cap of a data set, before anything is run.

    The number is in the cap's own terms: epsilon or rho. On standard error: which releases would
    be admitted now.
    """
    ledger = open_ledger(place)
    left, fits = ledger.remaining(dataset, part), ledger.fits(dataset, part)
    if json:
        found = {"dataset": dataset, **_declared(ledger.terms(dataset)), "remaining": left}
        as_json({"ledger": ledger.place, **found, "fits": _fitting(fits)})
    else:
        typer.echo(f"{left:.10g}")
        typer.echo(f"Fits now: {fits.told(ledger.terms(dataset).group)}.", err=True)


def verify(
    place: Place,
    head: Annotated[
        str | None, typer.Option(help="A head kept elsewhere: also finds a roll-back.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A file of a model, intervals or an evaluation: its entry must name its numbers "
            "and its claim."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check every entry's hash and sum; names the first bad entry.

    A ledger that was rolled back, cut off at its end or written anew is found by what was kept
    elsewhere: a head, or the receipt in a released file. With --model also that the file holds what
    was paid for: the claim, its curves and the very numbers.
    """
    if head is not None and model is not None:
        raise typer.BadParameter("give --head or --model, not both.")
    ledger = open_ledger(place)
    ledger.verify(head)
    named = [] if model is None else _named(ledger, model)
    count = len(ledger.entries())
    if json:
        told = {"ledger": ledger.place, "entries": count, "head": ledger.head(), "intact": True}
        as_json({**told, "release": [each._asdict() for each in named]} if named else told)
    else:
        found = [(each.check.capitalize(), each.told) for each in named]
        facts([("Intact", f"{count} entries"), ("Head", ledger.head()), *found])


def _named(ledger: Ledger, model: Path) -> list[BindingFinding]:
    """What the ledger says of a released file, which must hold."""
    from privet.cli.verify_commands import released_file

    released = released_file(model)
    ledger.verify_release(released.guarantee, released.digest)
    return ledger.findings(released.guarantee, released.digest)


command(app, open_, "privet ledger open budget.db patients --epsilon 2")
command(app, show, "privet ledger show budget.db")
command(app, remaining, "privet ledger remaining budget.db patients")
command(app, verify, "privet ledger verify budget.db --model model.privet")
