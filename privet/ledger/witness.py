"""Heads in the hands of an outside witness: a line that is printed, mailed, posted or appended.

    {"format":"privet-head-1","head":"3f2a...","ledger":"9c5c...","sequence":12}

Whoever keeps such lines can tell later whether the ledger still has these very entries. A file of
them may be about several ledgers: only the lines with an identity of this one are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from privet._files import canonical
from privet.errors import DataError, LedgerError
from privet.ledger.entries import Entries
from privet.ledger.entry import Entry, is_digest

FORMAT = "privet-head-1"


class Witnessed(NamedTuple):
    """One line of a witness."""

    ledger: str | None
    sequence: int
    head: str


def witness_line(entry: Entry) -> str:
    """An entry for a witness: where it stands and its hash, nothing of what was released."""
    told = {"format": FORMAT, "ledger": entry.ledger}
    return canonical({**told, "sequence": entry.sequence, "head": entry.hash})


def read_witness(lines: Iterable[str]) -> list[Witnessed]:
    """Lines that ``witness_line`` wrote; empty ones are passed over, others are refused."""
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
            read = Witnessed(told["ledger"], told["sequence"], told["head"])
            known = told["format"] == FORMAT and type(read.sequence) is int
            known = known and 0 < read.sequence < 1 << 63  # no database counts further
            known = known and isinstance(read.ledger, str | None)
        except (ValueError, KeyError, TypeError, RecursionError):
            known = False
        if not known or not is_digest(read.head):
            raise DataError(f"Line {number} of the witness is not a head that Privet wrote.")
        found.append(read)
    return found


def check_witness(entries: Entries, lines: Iterable[str]) -> int:
    """How many lines are about this ledger; raises where one of them is not on its chain."""
    identities = entries.identities()
    mine = [each for each in read_witness(lines) if each.ledger in identities]
    if not mine:
        raise LedgerError(
            "No line of the witness is about this ledger: it is another one, or was begun anew."
        )
    for each in mine:
        there = entries.numbered(each.sequence)
        kept = (each.ledger, each.head)
        if there is None or (there.ledger, there.digest()) != kept:  # as it is, not as it says
            raise LedgerError(
                f"The ledger was rolled back, or written anew: the witness has seen another entry "
                f"{each.sequence} than it has now."
            )
    return len(mine)
