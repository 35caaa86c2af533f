"""``privet ledger``: accounts of what was spent, from outside Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet._files import refuse_ledgers_place, write_whole
from privet._untrusted import read_whole
from privet.cli.ledger_view import (
    account_record,
    declared_terms,
    fitting,
    show_account,
    terms_words,
)
from privet.cli.options import BudgetFlags, Json, command, open_ledger
from privet.cli.printing import as_json, facts, say

if TYPE_CHECKING:
    from privet.cli.verify_commands import ReleasedFile
    from privet.ledger import Ledger
    from privet.ledger.binding import BindingFinding
    from privet.ledger.checkpoint import Checkpoint

#: of a checkpoint, or of what a witness kept
LARGEST = 256 << 20

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
        as_json(
            {"ledger": ledger.place, "dataset": dataset, **declared_terms(ledger.terms(dataset))}
        )
    else:
        terms = ledger.terms(dataset)
        facts(
            [
                ("Opened", f"{dataset} in {ledger.place}"),
                *terms_words(terms),
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
    "gdp": (
        "releases with Gaussian noise, whose mus add up in squares, and pure ones. With more than "
        "two classes noise in the objective has no mu"
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


def show(
    place: Place,
    dataset: Annotated[str | None, typer.Argument(help="Only this data set.")] = None,
    last: Annotated[int, typer.Option(min=0, help="How many of the newest releases.")] = 50,
    every: Annotated[bool, typer.Option("--all", help="All releases, a page at a time.")] = False,
    json: Json = False,
) -> None:
    """Show the caps, what was spent and what is left, and the newest releases of each data set."""
    ledger = open_ledger(place)
    names = ledger.datasets() if dataset is None else [dataset]
    wanted = None if every else last
    if json:
        accounts = [account_record(ledger, name, wanted) for name in names]
        as_json({"ledger": ledger.place, "head": ledger.head(), "accounts": accounts})
        return
    if not names:
        say("No data set is open in this ledger.")
    for name in names:
        show_account(ledger, name, wanted)
    facts([("Head", ledger.head())])


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
        found = {"dataset": dataset, **declared_terms(ledger.terms(dataset)), "remaining": left}
        as_json({"ledger": ledger.place, **found, "fits": fitting(fits)})
    else:
        say(f"{left:.10g}")
        say(f"Fits now: {fits.told(ledger.terms(dataset).group)}.", err=True)


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
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A file of your own: what it says was verified is not read again, and it is "
            "brought up to date. Keep it where those who write the ledger cannot."
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read everything, and write the checkpoint anew.")
    ] = False,
    excused: Annotated[
        list[int] | None,
        typer.Option("--except", help="A charge that counts as it stands, priced or not."),
    ] = None,
    witness: Annotated[
        Path | None,
        typer.Option(help="A file of lines of privet ledger head: all must be on the chain."),
    ] = None,
    json: Json = False,
) -> None:
    """Check every entry's hash and sum; names the first bad entry.

    A ledger that was rolled back, cut off at its end or written anew is found by what was kept
    elsewhere: a head, or the receipt in a released file. With --model also that the file holds what
    was paid for: the claim, its curves and the very numbers. With --checkpoint only what is new
    since the last time is read; use --full now and then.
    """
    if head is not None and model is not None:
        raise typer.BadParameter("give --head or --model, not both.")
    from privet.cli.verify_commands import released_file

    ledger = open_ledger(place)
    since = None if checkpoint is None else _checkpoint(checkpoint, full=full)
    released = None if model is None else released_file(model)
    kept = head if released is None else released.guarantee.receipt
    seen = ledger.verify(kept, since=since, excused=excused or ())
    named = _named(ledger, released, witness)
    if checkpoint is not None:
        write_whole(checkpoint, seen.to_text())
    before = 0 if since is None else since.sequence
    if json:
        told = {"ledger": ledger.place, "entries": seen.sequence, "head": seen.head}
        release = {"release": [each._asdict() for each in named]} if named else {}
        as_json({**told, "verified_before": before, "intact": True, **release})
    else:
        found = [(each.check.capitalize(), each.told) for each in named]
        earlier = f", {before} of them by the checkpoint" if before else ""
        facts([("Intact", f"{seen.sequence} entries{earlier}"), ("Head", seen.head), *found])


def _named(
    ledger: Ledger, released: ReleasedFile | None, witness: Path | None
) -> list[BindingFinding]:
    """What the ledger says of a released file and of a witness's lines, which must hold."""
    from privet.ledger.binding import BindingFinding

    found: list[BindingFinding] = []
    if released is not None:
        ledger.verify_release(released.guarantee, released.digest)
        found += ledger.findings(released.guarantee, released.digest)
    if witness is not None:
        count = ledger.verify_witness(
            read_whole(witness, LARGEST).decode(errors="replace").splitlines()
        )
        told = f"{count} heads that it has seen are on the chain"
        found.append(BindingFinding("witness", True, told))
    return found


def _checkpoint(path: Path, *, full: bool) -> Checkpoint | None:
    """What was verified before; nothing where there is no file yet, or all is read anew."""
    from privet.errors import LedgerError
    from privet.ledger.checkpoint import checkpoint_from_text, is_another_file

    refuse_ledgers_place(path)
    content = read_whole(path, LARGEST) if path.exists() else b""
    if is_another_file(content):  # --full writes a damaged checkpoint anew, and nothing else
        raise LedgerError(
            f"{path.name} is not a checkpoint, and is left as it is. Name another file."
        )
    try:
        return None if full or not path.exists() else checkpoint_from_text(content.decode())
    except UnicodeDecodeError as error:
        raise LedgerError(f"{path.name} is not a checkpoint.") from error


command(app, open_, "privet ledger open budget.db patients --epsilon 2")
command(app, show, "privet ledger show budget.db")
command(app, remaining, "privet ledger remaining budget.db patients")
command(app, verify, "privet ledger verify budget.db --model model.privet")
