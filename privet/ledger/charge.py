"""Reserve, release, settle: the one road that everything with a ledger takes, and what it needs.

    charge = Charge(ledger, dataset, event)
    with charge:            # reserved durably, or BudgetExceeded
        ...                 # noise is drawn, the release is made
    charge.receipt          # settled; None without a ledger

Whatever goes wrong in between, Ctrl-C and a full disk among it, the charge stays. The exception
then carries a note that says so (``__notes__``), since its own words are about something else.
"""

from __future__ import annotations

from typing import Any

from privet.errors import DeclarationError, LedgerError, PrivetError, PrivetWarning, warn
from privet.grid import opendp
from privet.ledger.ledger import Ledger
from privet.privacy.event import Event
from privet.privacy.guarantee import Receipt

#: Mechanisms whose Gaussian noise is a floating-point sample: it is not added to a released value.
SAMPLED = ("objective", "function")
#: Mechanisms that count or choose exactly, whatever the noise.
EXACT = ("histogram", "selection", "distinguishing")


class Note(str):
    """A sentence of Privet's own on an exception: safe to show, it quotes no row."""

    __slots__ = ()


def add_note(error: BaseException, text: str) -> None:
    """Say on an exception what was spent, released or kept."""
    error.add_note(Note(text))


def notes(error: BaseException) -> list[str]:
    """Privet's own notes on an exception; those of other packages may quote values."""
    return [note for note in getattr(error, "__notes__", ()) if isinstance(note, Note)]


def require_noise(event: Event) -> None:
    """Refuse, before a charge, noise that cannot be drawn on this machine."""
    for part in event.parts:
        require_noise(part)
    drawn = ("gaussian" in event.noise or "discrete" in event.noise) and not event.parts
    exact = drawn and event.mechanism not in SAMPLED
    if event.private and (exact or event.mechanism in EXACT):
        opendp(f"The noise of this release ({event.mechanism})")


class Charge:
    """An event that the ledger reserves on entry and settles on exit; nothing without a ledger."""

    def __init__(self, ledger: Any, dataset: str | None, event: Event) -> None:
        self.ledger, self.dataset, self.event = ledger, dataset, event
        self.receipt: Receipt | None = None
        self._reservation = 0

    def __enter__(self) -> Charge:
        require_noise(self.event)
        if self.ledger is not None:
            try:
                self._reservation = self.ledger.reserve(self.dataset, self.event)
            except BaseException as error:
                if not isinstance(error, PrivetError):  # a refusal says itself what it is
                    add_note(
                        error,
                        f"Whether {self.event.claim} was charged to {self.dataset!r} is not known: "
                        "look in the ledger. Nothing was released.",
                    )
                raise
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self.ledger is None:
            return
        charged = f"{self.event.claim} was charged to {self.dataset!r}"
        if error is not None:
            add_note(error, f"{charged} and nothing was released; the charge stays.")
            return
        try:
            self.receipt = self.ledger.settle(self._reservation)
        except (LedgerError, OSError) as failed:
            # The charge is durable and the release was made: to lose it now would lose what was
            # paid for. Only the note in the ledger and the receipt are missing.
            warn(
                f"{charged} and the release was made, but the ledger could not note that: "
                f"reservation {self._reservation} stays open, and the release has no receipt. "
                f"{failed}",
                PrivetWarning,
                stacklevel=3,
            )
        except BaseException as stopped:
            add_note(stopped, f"{charged} and the release was made, but not settled.")
            raise


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
