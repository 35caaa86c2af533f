"""The ledger as users call it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from privet._files import canonical
from privet.errors import DeclarationError, LedgerError
from privet.ledger.account import Terms, declared_terms
from privet.ledger.binding import BindingFinding, release_findings
from privet.ledger.checkpoint import Checkpoint, verify_ledger
from privet.ledger.entries import Account, Entries, ReleaseNoted, SettledAlready, reservation_number
from privet.ledger.entry import GENESIS, Entry, checked_name, drawn, is_digest, totals_text
from privet.ledger.fits import Fits
from privet.ledger.memory import check_own, note_own
from privet.ledger.store import (
    FORMAT,
    SQLITE,
    Store,
    checked_url,
    without_password,
)
from privet.ledger.stores import store_at
from privet.ledger.verify import Replay, verify_entries
from privet.ledger.witness import check_witness, witness_line
from privet.privacy.budget import Budget
from privet.privacy.event import Event
from privet.privacy.guarantee import Guarantee, Receipt


@dataclass(frozen=True, repr=False)
class Ledger:
    """A durable privacy ledger at ``url``: ``sqlite:///path`` or ``postgresql://...``.

    A ``Ledger`` is a value: it can be copied, pickled, cloned with an estimator and sent to another
    process, and all of them charge the same account. A charge is reserved durably *before* noise is
    drawn and settled after the release; a crash in between leaves it spent.

        ledger = Ledger("sqlite:///budget.db")
        ledger.open("patients", cap=PureDP(1.0))
        LogisticRegression(0.1, ledger=ledger, dataset="patients").fit(X, y)
        ledger.remaining("patients")

    Entries are appended, never changed. Each carries the hash of the one before it, so ``verify``
    finds an entry that was edited, deleted or reordered. Whoever can write the file can also hash
    it anew: a chain rewritten as a whole, cut off at its end or rolled back is found by comparing
    it with a ``head()`` or a ``Receipt`` that was kept elsewhere, or with what this machine
    remembers of it, which charges and ``verify`` do. Order is by sequence, never by clock.
    """

    url: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", checked_url(self.url))

    def __repr__(self) -> str:
        return f"Ledger({without_password(self.url)!r})"

    @property
    def path(self) -> Path:
        """The file behind the URL."""
        if not self.url.startswith(SQLITE):
            raise DeclarationError("This ledger is on a server: there is no file.")
        return Path(self.url.removeprefix(SQLITE))

    @property
    def place(self) -> str:
        """Where the ledger is, for people's eyes: the file, or the URL without its password."""
        return str(self.path) if self.url.startswith(SQLITE) else without_password(self.url)

    @property
    def _store(self) -> Store:
        return store_at(self.url)

    # -- charging ------------------------------------------------------------------------------

    def open(
        self,
        dataset: str,
        cap: Budget,
        *,
        parts: Mapping[str, tuple[int, int]] | None = None,
        group: int = 1,
    ) -> None:
        """Start the account of ``dataset`` with its ``cap``; creates the ledger if there is none.

        ``parts`` names disjoint ranges of row numbers, ``{"a": (0, 5000), "b": (5000, 10000)}``,
        that can be charged on their own: the account then costs the maximum over parts, not the
        sum. ``group`` is the largest number of rows of one person; the cap holds for persons.
        """
        terms = declared_terms(cap, parts, group)
        body, totals = canonical(terms.to_json()), totals_text(terms.nothing())
        checked_name("dataset", dataset)
        with self._writing(create=True) as entries:
            newest = entries.before_opening(dataset)
            entries.append(newest, dataset, "open", key=dataset, body=body, totals=totals)

    def reserve(
        self, dataset: str, event: Event, key: str | None = None, part: str | None = None
    ) -> int:
        """Charge ``event`` durably, or raise ``BudgetExceeded``; returns the reservation's number.

        A ``key`` makes the charge idempotent: the same key again returns the same reservation,
        which still pays for one draw of noise. After a crash that may have come later than the
        noise, take a new key.
        ``part`` charges a declared part; without it the whole data set pays.
        """
        if key is not None:
            checked_name("key", key)
        body = event.canonical()
        with self._writing() as entries:
            account = entries.account(dataset, "reserve", key)
            if account.known is not None:
                return entries.repeated(account.known, body, part)
            entries.check_last(account)
            charged = account.terms.admit(dataset, account.totals, event, part)
            made = entries.append(
                account.newest,
                dataset,
                "reserve",
                key=key,
                part=part,
                body=body,
                totals=totals_text(charged),
            )
        return made.sequence

    def require(self, dataset: str, event: Event, part: str | None = None) -> None:
        """Raise ``BudgetExceeded`` unless ``event`` would fit now. Charges nothing."""
        account = self._account(dataset)
        account.terms.admit(dataset, account.totals, event, part)

    def settle(self, reservation: int, released: Sequence[str] = (), persons: int = 0) -> Receipt:
        """Note that the reserved release was made; once. The receipt goes with the release.

        ``released`` are SHA-256 digests of what was released, so that the entry names the release
        as the receipt names the entry; ``persons`` is how many rows a person may have who is
        promised it, 0 where the promise is to rows.

        The entry bears the time of its reservation. How long a release took depends on the rows and
        on what was drawn: the number of runs of a search, which random stopping must hide, could be
        read from two times to a second. No guarantee covers a duration, so none is kept.
        """
        number = reservation_number(reservation)
        if isinstance(released, str) or not all(map(is_digest, released)):
            raise DeclarationError("released must be a list of SHA-256 digests, in hexadecimal.")
        named = {"released": list(released)} if released else {}
        body = {"reservation": number, **named, **({"persons": persons} if persons else {})}
        with self._writing() as entries:
            found = entries.reservation(number)
            if found.settled is not None:
                raise SettledAlready(f"Reservation {number} is settled already.")
            entries.check_last(found)
            made = entries.append(
                found.newest,
                found.reserved.dataset,
                "settle",
                key=str(number),
                body=canonical(body),
                totals=found.last.totals_text,
                time=found.reserved.time,
            )
        return made.receipt

    def receipt(self, reservation: int) -> Receipt:
        """The receipt that ``settle`` gave for this reservation."""
        number = reservation_number(reservation)
        with self._store.reading() as entries:
            found = entries.reservation(number)
        if found.settled is None:
            raise LedgerError(f"Reservation {number} was never settled.")
        return found.settled.receipt

    def knows(self, receipt: Receipt) -> bool:
        """Whether the entry on the receipt is in this ledger."""
        with self._store.reading() as entries:
            found = entries.numbered(receipt.sequence)
        return found is not None and found.receipt == receipt

    # -- looking -------------------------------------------------------------------------------

    def remaining(self, dataset: str, part: str | None = None) -> float:
        """What is left under the cap, in the cap's own number (epsilon or rho).

        For a row, or for a person with ``group`` rows. Under an (epsilon, delta) cap it is the
        epsilon that pure releases may still have. Of a data set with parts: for a release from the
        whole, or from ``part``.
        """
        account = self._account(dataset)
        return account.terms.remaining(account.totals, part)

    def fits(self, dataset: str, part: str | None = None) -> Fits:
        """The largest releases that would be admitted now: a pure one, a rho, an (epsilon, delta).

        Each by itself and, where persons have several rows, for each row: what a model may be
        given as its budget.
        """
        account = self._account(dataset)
        return account.terms.fits(account.totals, part)

    def terms(self, dataset: str) -> Terms:
        """What was declared when the account was opened: cap, parts, rows of one person."""
        return self._account(dataset).terms

    def opened(self, dataset: str) -> str:
        """When the account was opened."""
        return self._account(dataset).opened.time

    def datasets(self) -> list[str]:
        """The open data sets, in the order of their opening."""
        with self._store.reading() as entries:
            return entries.opened()

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """All entries, or those of one data set, in order."""
        with self._store.reading() as entries:
            return entries.all(dataset)

    def releases(self, dataset: str, last: int | None = None) -> Iterator[ReleaseNoted]:
        """The charges of a data set, and whether each was settled; or the ``last`` ones."""
        with self._store.reading() as entries:
            entries.account(dataset)
            yield from entries.releases(dataset, last)

    def orphans(self, dataset: str) -> list[Entry]:
        """Reservations that were never settled: spent, and perhaps never released."""
        return [found.charged for found in self.releases(dataset) if not found.settled]

    def head(self) -> str:
        """The hash of the newest entry; keep it elsewhere to notice a roll-back."""
        with self._store.reading() as entries:
            newest = entries.newest()
        return GENESIS if newest is None else newest.hash

    def witness_line(self) -> str:
        """The newest entry as a line for an outside witness; see ``privet.ledger.witness``."""
        with self._store.reading() as entries:
            newest = entries.newest()
        if newest is None:
            raise LedgerError("The ledger has no entry yet: there is nothing to witness.")
        return witness_line(newest)

    def verify_witness(self, lines: Iterable[str]) -> int:
        """Raise ``LedgerError`` where a witnessed head is not on the chain; how many are."""
        with self._store.reading() as entries:
            return check_witness(entries, lines)

    def export(self) -> Iterator[str]:
        """The entries as JSON lines; each line's hash is of the line without it."""
        with self._store.reading() as entries:
            for entry in entries.pages():
                yield entry.line()

    # -- checking ------------------------------------------------------------------------------

    def verify(
        self,
        head: str | Receipt | None = None,
        *,
        since: Checkpoint | None = None,
        excused: Container[int] = (),
    ) -> Checkpoint:
        """Check the chain from its start; raises ``LedgerError`` that names the first bad entry.

        Every hash is computed anew, every event priced anew and every sum added up under its cap.
        With a ``head`` or a ``Receipt`` that was kept elsewhere, also that its entry is still
        there, which finds a ledger that was rolled back, cut off at its end or replaced. The same
        is found where this machine remembers an entry that is not there (``privet.ledger.memory``).

        With ``since``, what an earlier call returned, only later entries are replayed (what that
        believes is in ``privet.ledger.checkpoint``). ``excused`` charges count as they stand: their
        events cannot be priced, and somebody has looked at them.
        """
        if since is None:
            self._store.check()
        with self._store.reading() as entries:
            seen = verify_ledger(entries, head, since, excused)
            self._store.compare(entries)
            check_own(entries, later=self._store.reading)
        return seen

    def findings(self, guarantee: Guarantee, digest: str | None) -> list[BindingFinding]:
        """Whether a released file and its entry name each other; see ``privet.ledger.binding``.

        ``digest`` is of the numbers in the file; None for a file that has none.
        """
        with self._store.reading() as entries:
            return list(release_findings(entries, guarantee, digest))

    def verify_release(self, guarantee: Guarantee, digest: str | None) -> None:
        """Raise ``LedgerError`` where a released file is not what its entry paid for."""
        for found in self.findings(guarantee, digest):
            if found.holds is False:
                raise LedgerError(f"The release does not go with the ledger: {found.told}.")

    def migrate(self) -> str:
        """Bring a ledger of an earlier format up to date; tells the format that was found.

        The ledger is verified first; its entries and their hashes stay, and an entry notes the
        change. A ledger of today's format is left as it is.
        """
        with self._store.upgrading() as (entries, found):
            verify_entries(entries.pages())
            if found != FORMAT:
                newest = entries.newest()
                body = canonical({"from": found, "to": FORMAT})
                entries.append(newest, "", "migrate", key=FORMAT, body=body, totals="[]")
        return found

    def adopt(
        self,
        reason: str = "",
        head: str | Receipt | None = None,
        *,
        excused: Container[int] = (),
    ) -> str:
        """Go on with a copy, a restored backup or a promoted replica, which charges refuse.

        The ledger is verified, against ``head`` if one was kept. An entry tells where it came from
        and the ``reason``, for every reader to see, and gives it a new identity, which is returned:
        it is another ledger from here on. What was charged after the copy was made is not in it:
        charge it again, for each release that was made since. ``excused`` is as in ``verify``.
        """
        if reason:
            checked_name("reason", reason)
        with self._store.adopting() as entries:
            verify_entries(entries.pages(), head, Replay(excused))
            newest, identity = entries.newest(), drawn()
            told = {"from": None if newest is None else newest.ledger}
            body = canonical({**told, **({"reason": reason} if reason else {})})
            entries.append(
                newest, "", "adopt", key=identity, body=body, totals="[]", ledger=identity
            )
        note_own(entries.appended)
        return identity

    @contextmanager
    def _writing(self, *, create: bool = False) -> Iterator[Entries]:
        """A transaction on the ledger that this user has seen last, and remembers afterwards."""
        with self._store.writing(create=create) as entries:
            check_own(entries, tidy=True)
            yield entries
        note_own(entries.appended)

    def _account(self, dataset: str) -> Account:
        with self._store.reading() as entries:
            return entries.account(dataset)
