"""What a connection knows of a ledger without looking again.

A charge depends on a few entries: the newest, its account's first and last, and, when it is
settled, its reservation. A connection that has just read or written them need not ask for them
again *while nobody else has written*. It is for the database to tell that (see ``sqlite_line.py``):
at any doubt, and after any error, everything here is forgotten and the next charge looks.

On a server nobody tells, but an entry is accepted only right after the one that was newest here. So
what is remembered must all be true *at that entry*: whoever finds another newest one forgets the
rest.

What is remembered had its hash checked when it was read, or was hashed here when it was written.
"""

from __future__ import annotations

from privet.privacy.ledger.entry import Entry, Totals

_MOST_ACCOUNTS = 64
_MOST_RESERVED = 1024


class Memory:
    """The newest entry, and the accounts and open reservations that were seen so far."""

    def __init__(self) -> None:
        self.newest: Entry | None = None
        # the opening entry, the last one and its totals
        self.accounts: dict[str, tuple[Entry, Entry, Totals]] = {}
        self.reserved: dict[int, Entry] = {}  # written here, and not settled yet

    def forget(self) -> None:
        """Know nothing."""
        self.newest = None
        self.accounts.clear()
        self.reserved.clear()

    def saw(self, opened: Entry, last: Entry, newest: Entry) -> None:
        """An account, as a query has found it just now."""
        if self.newest is None or self.newest.hash != newest.hash:
            self.forget()
        if len(self.accounts) >= _MOST_ACCOUNTS:
            self.accounts.clear()
        self.accounts[opened.dataset] = (opened, last, last.totals)
        self.newest = newest

    def wrote(self, entry: Entry, charged: Totals | None) -> None:
        """The newest entry, and the totals if it has changed them.

        A transaction that fails afterwards must ``forget``.
        """
        if self.newest is None or self.newest.hash != entry.previous:
            self.forget()
        self.newest = entry
        if entry.dataset in self.accounts:
            opened, _, totals = self.accounts[entry.dataset]
            self.accounts[entry.dataset] = (opened, entry, charged or totals)
        if entry.kind == "reserve":
            if len(self.reserved) >= _MOST_RESERVED:
                self.reserved.clear()
            self.reserved[entry.sequence] = entry
        elif entry.kind == "settle" and entry.key is not None:
            self.reserved.pop(int(entry.key), None)
