"""One line of the ledger, and the hash that chains it to the line before.

The hash is SHA-256 of the entry's other fields as canonical JSON: sorted keys, no spaces. ``part``
is among them only where a part was charged, and totals of a data set in one piece are one list, so
that entries of the first format hash to what they always did. Body and totals are kept as the text
that is hashed, and read when they are asked for.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from functools import cached_property
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from privet.errors import DeclarationError, LedgerError

#: Amounts in the columns of ``privet.privacy.compose.costs``; None where a calculus has no bound.
Vector = tuple[int | None, ...]
#: One vector for each part of a data set, one for a data set in one piece.
Totals = tuple[Vector, ...]

#: What the first entry follows. It names the first format and is the same in every later one.
GENESIS = hashlib.sha256(b"privet-ledger-1").hexdigest()


def canonical(value: Any) -> str:
    """The one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def checked_name(what: str, value: Any) -> str:
    """A name that every database, terminal and file can hold."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise DeclarationError(f"{what} must be a non-empty name of printable characters.")
    return value


class Row(NamedTuple):
    """The columns of an entry, in order."""

    sequence: int
    dataset: str
    kind: str
    key: str | None
    part: str | None
    body_text: str
    totals_text: str
    time: str
    previous: str
    hash: str


class Entry(Row):
    """One line of the ledger: ``open``, ``reserve``, ``settle`` or ``migrate``."""

    @cached_property
    def body(self) -> dict[str, Any]:
        """Terms of an ``open``, the event of a ``reserve``, the reservation of a ``settle``."""
        found = self._read(self.body_text)
        if not isinstance(found, dict):
            raise self._unreadable()
        return found

    @cached_property
    def totals(self) -> Totals:
        """All that the data set was charged up to and with this entry."""
        found = self._read(self.totals_text)
        if not isinstance(found, list):
            raise self._unreadable()
        vectors = found if not found or isinstance(found[0], list) else [found]
        return tuple(tuple(vector) for vector in vectors)

    def digest(self) -> str:
        """The hash that this entry must carry; none where a text of it is no text."""
        try:
            return hashlib.sha256(f"{{{self._content()}}}".encode()).hexdigest()
        except TypeError:
            return ""

    def line(self) -> str:
        """The entry as a line of JSON: what is hashed, with the hash in front."""
        return f'{{"hash":{quoted(self.hash)},{self._content()}}}'

    def _content(self) -> str:
        """Canonical JSON of all but the hash, without the braces."""
        key = "null" if self.key is None else quoted(self.key)
        part = "" if self.part is None else f'"part":{quoted(self.part)},'
        return (
            f'"body":{self.body_text},"dataset":{quoted(self.dataset)},"key":{key},'
            f'"kind":{quoted(self.kind)},{part}"previous":{quoted(self.previous)},'
            f'"sequence":{self.sequence},"time":{quoted(self.time)},"totals":{self.totals_text}'
        )

    def _read(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._unreadable() from error

    def _unreadable(self) -> LedgerError:
        return LedgerError(f"Entry {self.sequence} of the ledger cannot be read.")


def totals_text(totals: Totals) -> str:
    """Totals as canonical JSON: the vector itself where there is only one."""
    vectors = [
        f"[{','.join('null' if each is None else str(each) for each in vector)}]"
        for vector in totals
    ]
    return vectors[0] if len(vectors) == 1 else f"[{','.join(vectors)}]"


def follow(
    newest: Entry | None,
    dataset: str,
    kind: str,
    *,
    key: str | None,
    part: str | None,
    body: str,
    totals: str,
) -> Entry:
    """The entry that comes after ``newest``. The clock decorates it; its number orders it."""
    entry = Entry(
        sequence=1 if newest is None else newest.sequence + 1,
        dataset=dataset,
        kind=kind,
        key=key,
        part=part,
        body_text=body,
        totals_text=totals,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        previous=GENESIS if newest is None else newest.hash,
        hash="",
    )
    return entry._replace(hash=entry.digest())
