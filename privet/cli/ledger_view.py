"""What ``privet ledger show`` shows of an account: its terms, what is left, its releases."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import typer

from privet.cli.printing import clean, facts, say, table

if TYPE_CHECKING:
    from privet.ledger import Fits, Ledger, Terms
    from privet.ledger.entries import ReleaseNoted


def declared_terms(terms: Terms) -> dict[str, Any]:
    """What an account was opened with, as JSON."""
    parts = {part.name: [part.start, part.stop] for part in terms.parts}
    return {"cap": terms.cap.to_json(), "group": terms.group, "parts": parts}


def terms_words(terms: Terms) -> list[tuple[str, str]]:
    """The same in words."""
    each = "" if terms.group == 1 else f" for a person with at most {terms.group} rows"
    parts = [(f"Part {part.name}", f"rows {part.start} to {part.stop - 1}") for part in terms.parts]
    return [("Cap", f"{terms.cap}{each}"), *parts]


def account_record(ledger: Ledger, dataset: str, last: int | None) -> dict[str, Any]:
    """All about an account; whether it has earlier releases than the ones told."""
    terms = ledger.terms(dataset)
    found = list(ledger.releases(dataset, None if last is None else last + 1))
    more = last is not None and len(found) > last
    return {
        "dataset": dataset,
        **declared_terms(terms),
        "opened": ledger.opened(dataset),
        **_left(ledger, dataset, terms),
        "earlier_releases": more,
        "releases": [_release(each) for each in (found[1:] if more else found)],
    }


def _release(found: ReleaseNoted) -> dict[str, Any]:
    entry = found.charged
    told = entry.told.get  # which a stranger may have written
    return {
        "number": entry.sequence,
        "time": str(entry.time),
        "mechanism": str(told("mechanism", "")),
        "claim": told("claim"),
        "rows": told("n"),
        "part": entry.part,
        "settled": found.settled,
    }


def _left(ledger: Ledger, dataset: str, terms: Terms) -> dict[str, Any]:
    names = [part.name for part in terms.parts]
    return {
        "remaining": ledger.remaining(dataset),
        "remaining_in_parts": {name: ledger.remaining(dataset, name) for name in names},
        "fits": fitting(ledger.fits(dataset)),
        "fits_in_parts": {name: fitting(ledger.fits(dataset, name)) for name in names},
    }


def fitting(fits: Fits) -> dict[str, Any]:
    """The largest releases that would be admitted now; null where there is none."""
    approx = fits.approx
    return {
        "epsilon": fits.pure or None,
        "rho": fits.rho or None,
        "mu": fits.mu or None,
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


def show_account(ledger: Ledger, dataset: str, last: int | None) -> None:
    """An account, and its releases a page at a time."""
    terms = ledger.terms(dataset)
    typer.secho(clean(dataset), bold=True)
    facts([*terms_words(terms), *_left_words(ledger, dataset, _left(ledger, dataset, terms))])
    cost = "cost" if terms.group == 1 else "cost of one row"
    columns = ("entry", "time (UTC)", cost, "mechanism", "rows", "")
    found = ledger.releases(dataset, None if last is None else last + 1)
    if last is not None:
        newest = list(found)
        if len(newest) > last:
            say(f"The last {last} releases; --all for every one.")
            newest = newest[1:]
        found = iter(newest)
    while page := list(islice(found, 500)):
        table(columns, [_release_words(each) for each in page], ("entry", "rows"))
    say("")


def _release_words(found: ReleaseNoted) -> tuple[str, ...]:
    release, claim = _release(found), found.charged.claim
    cost = "cannot be read: run verify" if claim is None else str(claim)
    rows = f"{release['rows']:,}" if isinstance(release["rows"], int) else "?"
    return (
        str(release["number"]),
        release["time"].replace("T", " ").removesuffix("+00:00"),
        cost.removesuffix(" (zero-concentrated)"),
        release["mechanism"],
        rows + (f" of {release['part']}" if release["part"] else ""),
        "released" if release["settled"] else "charged, never settled: perhaps never released",
    )
