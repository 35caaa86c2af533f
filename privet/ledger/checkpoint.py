"""What an earlier ``verify`` has seen, so that the next one reads only what is new.

A checkpoint holds the number and the hash of the last entry that was verified, and of every account
its terms, its totals, its first and last entry and the reservations that were open. The next
``verify`` asks that these entries are still there, unchanged, and replays what follows them.

**Whom to believe.** A checkpoint is the verifier's own: whoever can write it can make the next
``verify`` believe anything about the entries before it. Keep it where those who write the ledger
cannot; it is never kept in the ledger. Of the entries before it, only the ones named above are read
again: an older one that is edited in place changes no total and no cap, and is found by a full
``verify`` alone. A ledger that was rolled back, cut off or replaced since is found by both.
"""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, NamedTuple

from privet._files import canonical
from privet.errors import LedgerError
from privet.ledger.entries import Entries
from privet.ledger.entry import COLUMNS, Entry, check_link
from privet.ledger.verify import Replay, ReplayedAccount, missing_head, verify_entries
from privet.privacy.guarantee import Receipt

FORMAT = "privet-checkpoint-1"


class AccountSeen(NamedTuple):
    """An account, as far as it was verified."""

    opened: Entry
    last: Entry
    reserved: tuple[int, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A ledger, as far as it was verified."""

    sequence: int
    head: str
    identity: str | None
    accounts: tuple[AccountSeen, ...]

    def to_text(self) -> str:
        """The content of a checkpoint's file."""
        accounts = [
            {"opened": list(each.opened), "last": list(each.last), "reserved": list(each.reserved)}
            for each in self.accounts
        ]
        seen = {"sequence": self.sequence, "head": self.head, "identity": self.identity}
        return canonical({"format": FORMAT, **seen, "accounts": accounts}) + "\n"

    def replay(self, excused: Container[int]) -> Replay:
        """Where to go on."""
        accounts = {each.opened.dataset: _replayed(each) for each in self.accounts}
        return Replay(excused, self.sequence, self.head, self.identity, accounts)


def checkpoint_from_text(text: str) -> Checkpoint:
    """The inverse of ``Checkpoint.to_text``."""
    try:
        found: dict[str, Any] = json.loads(text)
        if found.pop("format") != FORMAT:
            raise ValueError("another format")
        accounts = [
            AccountSeen(_entry(each["opened"]), _entry(each["last"]), tuple(each["reserved"]))
            for each in found.pop("accounts")
        ]
        made = Checkpoint(**found, accounts=tuple(accounts))
        numbers = [made.sequence, *(n for each in accounts for n in each.reserved)]
        if not all(map(_is_number, numbers)):
            raise ValueError("not a number of an entry")
        made.replay(())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LedgerError(
            "The checkpoint is damaged, or another release of Privet wrote it. Verify with --full, "
            "which writes it anew."
        ) from error
    return made


def is_another_file(content: bytes) -> bool:
    """Whether this is not even a damaged checkpoint: it is nobody's to write anew."""
    return not content.startswith(b'{"accounts":') and bool(content)  # its keys are sorted


def _entry(values: list[Any]) -> Entry:
    if len(values) != len(COLUMNS) or not _is_number(values[0]):
        raise ValueError("not an entry")
    return Entry(*values)


def _is_number(value: Any) -> bool:
    """Whether an entry can have this number; no database counts further."""
    return type(value) is int and 0 <= value < 1 << 63


def _replayed(seen: AccountSeen) -> ReplayedAccount:
    return ReplayedAccount.after(seen.opened, seen.last, set(seen.reserved))


def verify_ledger(
    entries: Entries,
    head: str | Receipt | None,
    since: Checkpoint | None,
    excused: Container[int] = (),
) -> Checkpoint:
    """Replay what is new since a checkpoint, or everything; tells how far it is verified now."""
    if since is None:
        return _seen(verify_entries(entries.pages(), head, Replay(excused)))
    _check_unchanged(entries, since)
    earlier = _before(entries, head, since)
    fresh = entries.pages(after=since.sequence)
    replay = verify_entries(fresh, None if earlier else head, since.replay(excused))
    return _seen(replay)


def _seen(replay: Replay) -> Checkpoint:
    accounts = [
        AccountSeen(each.opened, each.last, tuple(sorted(each.reserved)))
        for each in replay.accounts.values()
    ]
    return Checkpoint(replay.sequence, replay.head, replay.identity, tuple(accounts))


def _check_unchanged(entries: Entries, since: Checkpoint) -> None:
    """The entries that later ones are built on are those that were verified."""
    last = entries.numbered(since.sequence)
    if since.sequence and (last is None or last.hash != since.head or last.digest() != last.hash):
        raise LedgerError(
            "The ledger was rolled back, cut off at its end or replaced since the checkpoint: "
            f"entry {since.sequence} is not the one that was verified."
        )
    for account in since.accounts:
        for seen in (account.opened, account.last):
            if entries.numbered(seen.sequence) != seen:
                raise LedgerError(
                    f"Entry {seen.sequence} of the ledger was changed after it was verified."
                )


def _before(entries: Entries, head: str | Receipt | None, since: Checkpoint) -> bool:
    """Whether what was kept is of an entry before the checkpoint, and leads up to it."""
    if isinstance(head, Receipt):
        found = entries.numbered(head.sequence)
        if head.sequence > since.sequence:
            return False
        if found is None or found.receipt != head:
            raise missing_head(head, since.sequence)
    else:
        found = None if head is None else entries.hashed(head)
        if found is None or found.sequence > since.sequence:
            return False
    number, previous = found.sequence, found.previous
    for entry in entries.pages(after=number - 1):
        check_link(entry, number, previous)
        number, previous = number + 1, entry.hash
        if number > since.sequence:
            break
    return True
