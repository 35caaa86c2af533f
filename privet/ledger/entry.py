"""One line of the ledger, and the hash that chains it to the line before.

The hash is SHA-256 of the entry's other fields as canonical JSON: sorted keys, no spaces. ``part``
is among them only where a part was charged, and totals of a data set in one piece are one list, so
that entries of the first format hash to what they always did. Body and totals are kept as the text
that is hashed, and read when they are asked for.

``ledger`` is the ledger's identity, drawn when it is created and the same in all its entries;
``nonce`` is drawn for each entry. Two ledgers, or two copies of one that are charged on, therefore
never have an entry in common again, even if both are charged for the same release in the same
second. Entries of the first two formats have neither.

An amount in the totals is written as its decimal in quotes, ``"0.25"``, which every language reads
without loss. Earlier releases counted in billionths, rounded up, and wrote whole numbers.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time as clock
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from privet._files import printable
from privet.errors import DeclarationError, LedgerError
from privet.privacy.budget import Budget, budget_from_json
from privet.privacy.compose import UNITS_PER_ONE, Vector
from privet.privacy.guarantee import Receipt

_PLACES = len(str(UNITS_PER_ONE)) - 1
_DECIMAL = re.compile(rf"(\d+)(?:\.(\d{{1,{_PLACES}}}))?", re.ASCII)

#: One vector for each part of a data set, one for a data set in one piece.
Totals = tuple[Vector, ...]

#: What the first entry follows. It names the first format and is the same in every later one.
GENESIS = hashlib.sha256(b"privet-ledger-1").hexdigest()


def checked_name(what: str, value: Any) -> str:
    """A name that every database, terminal and file can hold."""
    if not isinstance(value, str) or not value or printable(value) != value:
        raise DeclarationError(f"{what} must be a non-empty name of printable characters.")
    return value


def is_digest(value: Any) -> bool:
    """Whether this is a SHA-256 digest in hexadecimal digits."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


class Row(NamedTuple):
    """The columns of an entry, in order."""

    sequence: int
    dataset: str
    kind: str
    key: str | None
    part: str | None
    ledger: str | None
    nonce: str | None
    body_text: str
    totals_text: str
    time: str
    previous: str
    hash: str


#: The names of the columns in a database.
COLUMNS = tuple(name.removesuffix("_text") for name in Row._fields)


class Entry(Row):
    """One line of the ledger: ``open``, ``reserve``, ``settle``, ``migrate`` or ``adopt``."""

    @property
    def receipt(self) -> Receipt:
        """What is kept elsewhere to find this entry again."""
        return Receipt(self.dataset, self.sequence, self.hash)

    @cached_property
    def body(self) -> dict[str, Any]:
        """Terms of an ``open``, event of a ``reserve``, reservation and digests of a ``settle``."""
        found = self._read(self.body_text)
        if not isinstance(found, dict):
            raise self._unreadable()
        return found

    @property
    def told(self) -> dict[str, Any]:
        """The same, or nothing where it cannot be read: for lists, in which it hides no other."""
        try:
            return self.body
        except LedgerError:
            return {}

    @property
    def claim(self) -> Budget | None:
        """What the event of a ``reserve`` claims; None where it is nothing that Privet writes."""
        try:
            return budget_from_json(self.told["claim"])
        except (DeclarationError, KeyError, TypeError, ValueError):
            return None

    @cached_property
    def totals(self) -> Totals:
        """All that the data set was charged up to and with this entry."""
        found = self._read(self.totals_text)
        if not isinstance(found, list):
            raise self._unreadable()
        vectors = found if not found or isinstance(found[0], list) else [found]
        try:
            return tuple([tuple(map(_amount, vector)) for vector in vectors])
        except (TypeError, ValueError) as error:
            raise self._unreadable() from error

    def digest(self) -> str:
        """The hash that this entry must carry; none where a text of it is no text."""
        try:
            return _digest(_content(*self[:-1]))
        except TypeError:
            return ""

    def line(self) -> str:
        """The entry as a line of JSON: what is hashed, with the hash in front."""
        return f'{{"hash":{quoted(self.hash)},{_content(*self[:-1])}}}'

    def _read(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._unreadable() from error

    def _unreadable(self) -> LedgerError:
        return LedgerError(f"Entry {self.sequence} of the ledger cannot be read.")


def check_link(entry: Entry, expected: int, previous: str) -> None:
    """Whether an entry has its number, its own hash and that of the one before."""
    if entry.sequence != expected:
        raise LedgerError(f"Entry {expected} of the ledger is missing.")
    if entry.previous != previous or entry.digest() != entry.hash:
        raise LedgerError(f"Entry {expected} of the ledger was changed after it was written.")


def totals_text(totals: Totals) -> str:
    """Totals as canonical JSON: the vector itself where there is only one."""
    vectors = [f"[{','.join(map(_amount_text, vector))}]" for vector in totals]
    return vectors[0] if len(vectors) == 1 else f"[{','.join(vectors)}]"


def _amount_text(amount: int | None) -> str:
    if amount is None:
        return "null"
    whole, rest = divmod(amount, UNITS_PER_ONE)
    digits = f"{rest:0{_PLACES}d}".rstrip("0")
    return f'"{whole}.{digits}"' if digits else f'"{whole}"'


def _amount(written: Any) -> int | None:
    """An amount in units: from its decimal, or from billionths."""
    if written is None:
        return None
    if type(written) is int and written >= 0:
        return written * (UNITS_PER_ONE // 10**9)
    found = _DECIMAL.fullmatch(written)
    if found is None:
        raise ValueError("not an amount")
    return int(found[1]) * UNITS_PER_ONE + int((found[2] or "").ljust(_PLACES, "0"))


def follow(
    newest: Entry | None,
    dataset: str,
    kind: str,
    *,
    key: str | None,
    part: str | None,
    body: str,
    totals: str,
    time: str | None = None,
    ledger: str | None = None,
) -> Entry:
    """The entry that comes after ``newest``. The clock decorates it; its number orders it.

    ``time`` is told in place of the clock's by whoever must not tell how long something took, and
    ``ledger`` in place of the identity of ``newest`` by whoever makes a copy another ledger.
    """
    sequence, previous = (1, GENESIS) if newest is None else (newest.sequence + 1, newest.hash)
    time = _time_text(int(clock.time())) if time is None else time
    identity = ledger or (None if newest is None else newest.ledger) or drawn()
    fields = (sequence, dataset, kind, key, part, identity, drawn(), body, totals, time, previous)
    return Entry(*fields, _digest(_content(*fields)))


def drawn() -> str:
    """An identity or a nonce: 128 random bits from the operating system."""
    return secrets.token_hex(16)


def _content(
    sequence: int,
    dataset: str,
    kind: str,
    key: str | None,
    part: str | None,
    ledger: str | None,
    nonce: str | None,
    body: str,
    totals: str,
    time: str,
    previous: str,
) -> str:
    """Canonical JSON of all but the hash, without the braces."""
    key_text = "null" if key is None else quoted(key)
    ledger_text = "" if ledger is None else f'"ledger":{quoted(ledger)},'
    nonce_text = "" if nonce is None else f'"nonce":{quoted(nonce)},'
    part_text = "" if part is None else f'"part":{quoted(part)},'
    return (
        f'"body":{body},"dataset":{quoted(dataset)},"key":{key_text},"kind":{quoted(kind)},'
        f'{ledger_text}{nonce_text}{part_text}"previous":{quoted(previous)},"sequence":{sequence},"time":{quoted(time)},'
        f'"totals":{totals}'
    )


def _digest(content: str) -> str:
    return hashlib.sha256(f"{{{content}}}".encode()).hexdigest()


@lru_cache(maxsize=1)
def _time_text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat(timespec="seconds")
