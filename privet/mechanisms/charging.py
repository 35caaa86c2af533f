"""Reserve, release, settle: the one road that everything with a ledger takes.

    charge = Charge(ledger, dataset, event)
    with charge:            # reserved durably, or BudgetExceeded
        ...                 # noise is drawn, the release is made
    charge.receipt          # settled; None without a ledger

Whatever goes wrong in between, Ctrl-C and a full disk among it, the charge stays. The exception
then carries a note that says so (``__notes__``), since its own words are about something else.
"""

from __future__ import annotations

from typing import Any

from privet.errors import LedgerError, PrivetError, PrivetWarning, warn
from privet.grid import opendp
from privet.privacy.event import Event
from privet.privacy.receipt import Receipt

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
