"""Where a release stands in a ledger: what a model file keeps of the account it was charged to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Receipt:
    """The data set, the number of the settling entry and its hash: the ledger's head just then."""

    dataset: str
    sequence: int
    head: str

    def to_json(self) -> dict[str, Any]:
        """Plain values for files."""
        return asdict(self)


def receipt_from_json(record: dict[str, Any]) -> Receipt:
    """The inverse of ``Receipt.to_json``."""
    return Receipt(str(record["dataset"]), int(record["sequence"]), str(record["head"]))
