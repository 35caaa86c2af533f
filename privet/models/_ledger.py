"""What a model that is to charge a ledger must declare."""

from __future__ import annotations

from typing import Any

from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.privacy.receipt import Receipt


def check_ledger(ledger: Any, dataset: Any, insecure_seed: Any) -> None:
    """Refuse a ledger without a data set, a data set without a ledger, and seeded noise."""
    if ledger is None:
        if dataset is not None:  # the statement would name an account that nobody charged
            raise DeclarationError("dataset= names an account in a ledger, but there is no ledger.")
        return
    if not isinstance(ledger, Ledger):
        raise DeclarationError(
            "ledger must be a Ledger, for example Ledger('sqlite:///budget.db')."
        )
    if not isinstance(dataset, str) or not dataset:
        raise DeclarationError("With a ledger, dataset= must name the data set to charge.")
    if insecure_seed is not None:
        raise DeclarationError(
            "A ledger refuses seeded noise: drop insecure_seed, or fit without a ledger."
        )


def check_unit(ledger: Ledger | None, dataset: str | None, rows: int) -> None:
    """Refuse an account that counts for fewer rows of a person than a release may use.

    An account that counts for more is charged more than the release costs, which is safe.
    """
    if ledger is None or dataset is None:
        return
    counted = ledger.terms(dataset).group
    if counted < rows:
        whom = "one row" if counted == 1 else f"a person with at most {counted} rows"
        raise DeclarationError(
            f"The account {dataset!r} counts for {whom}, but {rows} rows of a person count in this "
            "release, so the account would be charged too little. Charge one that was opened for "
            f"persons: group={rows} in Ledger.open, --group {rows} in privet ledger open."
        )


def check_same_ledger(ledger: Ledger | None, receipt: Receipt | None) -> None:
    """Refuse to charge what reads a model's rows again to another ledger than its fit's."""
    if ledger is not None and receipt is not None and not ledger.knows(receipt):
        raise DeclarationError(
            f"The fit's charge to {receipt.dataset!r} is not in this ledger: it was charged to "
            "another one, or this one was rolled back. Pass the ledger of the fit."
        )
