"""Reserve, release, settle: the one road that everything with a ledger takes, and what it needs.

    charge = Charge(ledger, dataset, event)
    with charge:                    # reserved durably, or BudgetExceeded
        ...                         # noise is drawn, the release is made
        charge.releases(digest)     # by which the entry will name it
    charge.receipt                  # settled; None without a ledger

A table that somebody else has read is charged before it is opened (``charged_first``), so that
nothing about it, not even how long it takes to read, is had for nothing.

Whatever goes wrong in between, Ctrl-C and a full disk among it, the charge stays. The exception
then carries a note that says so (``__notes__``), since its own words are about something else, and
what was half released is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from privet._process import this_process
from privet.errors import (
    DeclarationError,
    LedgerError,
    PrivetError,
    PrivetWarning,
    SeededNoise,
    warn,
)
from privet.ledger.entries import SettledAlready
from privet.ledger.fits import charged_words
from privet.ledger.ledger import Ledger
from privet.privacy.event import Event
from privet.privacy.guarantee import Receipt

#: What an error of the ledger ends with, and what is not so where the release was made.
_NOTHING = re.compile(r" Nothing was (?:released|charged)[^.]*\.")


class Note(str):
    """A sentence of Privet's own on an exception: safe to show, it quotes no row."""

    __slots__ = ()


def add_note(error: BaseException, text: str) -> None:
    """Say on an exception what was spent, released or kept."""
    error.add_note(Note(text))


def notes(error: BaseException) -> list[str]:
    """Privet's own notes on an exception; those of other packages may quote values."""
    return [note for note in getattr(error, "__notes__", ()) if isinstance(note, Note)]


#: Rows that a person may have who is promised the releases of this context; 0: a promise to rows.
_PERSONS: ContextVar[int] = ContextVar("_PERSONS", default=0)


@contextmanager
def for_persons(rows: int) -> Iterator[None]:
    """Releases within are promised to persons with up to ``rows`` rows: their entries say so."""
    before = _PERSONS.set(rows)
    try:
        yield
    finally:
        _PERSONS.reset(before)


#: The charges that somebody wants to know of, begun in this context, and whom to tell of each.
Told = Callable[["Charge"], None]
_SEEN: ContextVar[tuple[tuple[list[Charge], Told], ...]] = ContextVar("_SEEN", default=())


@contextmanager
def charges_seen(told: Told = lambda charge: None) -> Iterator[list[Charge]]:
    """Every charge begun within, for whoever must say what became of it.

    A charge notes on an exception what was spent while the release is being made. Afterwards, until
    the release is in the hands of whoever asked for it, only its caller can. ``told`` is called
    once a charge is durable, before anything is drawn. Whoever asked before is told, too.
    """
    seen: list[Charge] = []
    before = _SEEN.set((*_SEEN.get(), (seen, told)))
    try:
        yield seen
    finally:
        _SEEN.reset(before)


#: A charge that was made before its release was begun.
_FIRST: ContextVar[Charge | None] = ContextVar("_FIRST", default=None)


@contextmanager
def charged_first(ledger: Ledger, dataset: str, event: Event) -> Iterator[Charge]:
    """Charge ``event`` now, durably; the one release within is paid by it, and settles it.

    A release within that has another event is refused, and nothing more is charged: the table is
    not the one that was priced. Where nothing is released the charge stays.
    """
    first = Charge(ledger, dataset, event)
    first.reserve()
    before = _FIRST.set(first)
    try:
        yield first
    finally:
        _FIRST.reset(before)


def require(ledger: Ledger, dataset: str, event: Event) -> None:
    """Refuse what does not fit under the cap now, unless it is paid already."""
    first = _FIRST.get()
    if first is None:
        ledger.require(dataset, event)
    else:
        first.check_pays(ledger, dataset, event)


class Charge:
    """An event that the ledger reserves on entry and settles on exit; nothing without a ledger.

    ``forget`` is called where the release fails, or is stopped before it is settled.
    """

    def __init__(
        self,
        ledger: Any,
        dataset: str | None,
        event: Event,
        *,
        forget: Callable[[], None] | None = None,
    ) -> None:
        self.ledger, self.dataset, self.event = ledger, dataset, event
        self.receipt: Receipt | None = None
        self._forget = forget
        self._released: list[str] = []
        self._persons = _PERSONS.get()
        self._reservation = 0
        self._process = ""  # that reserved it
        self._noted = False
        self._handed = False  # to the release that it pays for, where it was made first

    def __enter__(self) -> Charge:
        if self.ledger is not None:
            for seen, _ in _SEEN.get():
                seen.append(self)
            try:
                first = _FIRST.get()
                if first is None:
                    self.reserve()
                else:
                    self._reservation = first.handed_over(self.ledger, self.dataset, self.event)
                    self._process = first._process
            except BaseException as error:
                if not isinstance(error, PrivetError):  # a refusal says itself what it is
                    self._note(
                        error,
                        f"Whether {self._price()} was charged to {self.dataset!r} is not known: "
                        "look in the ledger. Nothing was released.",
                    )
                raise
            for _, told in _SEEN.get():
                told(self)
        return self

    def reserve(self) -> None:
        """Charge it, durably."""
        self._process = this_process()
        self._reservation = self.ledger.reserve(self.dataset, self.event)

    def check_pays(self, ledger: Any, dataset: str | None, event: Event) -> None:
        """Refuse a release that this charge, made before it, does not pay for."""
        same = (ledger, dataset) == (self.ledger, self.dataset)
        if self._handed or not same or event.canonical() != self.event.canonical():
            raise DeclarationError(
                "The release is not the one that was charged before it: its table has another "
                "size, or something else was released already. Nothing more was charged."
            )

    def handed_over(self, ledger: Any, dataset: str | None, event: Event) -> int:
        """The reservation of a charge that was made first, for its release; once."""
        self.check_pays(ledger, dataset, event)
        self._handed = True
        return self._reservation

    @property
    def facts(self) -> dict[str, str | int]:
        """Which entry of the ledger it is, of which account, and what it cost in words."""
        price = self._price()
        return {"entry": self._reservation, "dataset": str(self.dataset), "price": price}

    def releases(self, digest: str, persons: int | None = None) -> None:
        """What is released, by its digest, and to whom it is promised; see ``for_persons``."""
        self._released.append(digest)
        if persons is not None:
            self._persons = persons

    def _note(self, error: BaseException, text: str) -> None:
        self._noted = True
        add_note(error, text)

    @property
    def spent(self) -> bool:
        """Whether the account was charged, or may have been."""
        return self._noted or self._reservation > 0

    def note_loss(self, error: BaseException) -> None:
        """Say that the release was paid for and is lost, unless what was spent was said already."""
        if self.spent and not self._noted:
            lost = "the release was made, but lost before it was kept; the charge stays."
            self._note(error, f"{self._charged()} and {lost}")

    def _price(self) -> str:
        """What the account pays, in words, also for a person where it counts for persons."""
        try:
            group = self.ledger.terms(self.dataset).group
        except (LedgerError, OSError):  # the ledger is what failed
            return str(self.event.claim)
        return charged_words(self.event.claim, group)

    def _charged(self) -> str:
        return f"{self._price()} was charged to {self.dataset!r}"

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and self._forget is not None:
            self._forget()
        if self.ledger is None:
            return
        if error is not None:
            self._note(error, f"{self._charged()} and nothing was released; the charge stays.")
            return
        if this_process() != self._process:
            # a fork never settles: where one of the two could not, both would keep what they drew
            fork = LedgerError(
                "This process is a fork of the one that was charged, and the charge pays for what "
                "that one releases. Fit in the process that releases."
            )
            self._forgotten(fork, "once: the release that was made here is forgotten.")
            raise fork
        try:
            self.receipt = self.ledger.settle(self._reservation, self._released, self._persons)
        except SettledAlready as twin:
            # a machine restored from its image: what the other drew is another release
            self._forgotten(
                twin,
                "once, and a copy of this process has made the release that it paid for: the one "
                "that was made here is forgotten.",
            )
            raise
        except (LedgerError, OSError) as failed:
            # The charge is durable and the release was made: to lose it now would lose what was
            # paid for. Only the note in the ledger and the receipt are missing.
            warn(
                f"{self._charged()} and the release was made, but the ledger could not note that: "
                f"reservation {self._reservation} may stay open, and the release has no receipt. "
                f"{_NOTHING.sub('', str(failed))}",
                PrivetWarning,
                stacklevel=3,
            )
        except BaseException as stopped:
            self._forgotten(
                stopped,
                "and the release was made, but not settled: it is forgotten, and reservation "
                f"{self._reservation} stays open.",
            )
            raise

    def _forgotten(self, error: BaseException, why: str) -> None:
        """Forget what was released, and say on the exception what was charged, and ``why``."""
        if self._forget is not None:
            self._forget()
        self._note(error, f"{self._charged()} {why}")


def check_ledger(ledger: Any, dataset: Any, insecure_seed: Any) -> None:
    """Refuse a ledger without a data set, a data set without a ledger, and seeded noise.

    Without a ledger seeded noise is allowed, and warned of.
    """
    if ledger is None:
        if dataset is not None:  # the statement would name an account that nobody charged
            raise DeclarationError("dataset= names an account in a ledger, but there is no ledger.")
        if insecure_seed is not None:
            warn(
                "The noise comes from insecure_seed, and whoever knows the seed can take it off "
                "again: the release is stamped as not private. Drop insecure_seed for real rows.",
                SeededNoise,
                stacklevel=4,
            )
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
