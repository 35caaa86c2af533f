"""The promise that covers one released model, as a frozen value.

Everything here is public: it is derived from the event and from what the user declared. It is what
``model.guarantee_`` holds, what the model file keeps and what the statement is written from.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from privet._files import canonical, digest
from privet.privacy.budget import Budget
from privet.privacy.calculus import MOST_ROWS
from privet.privacy.event import Event
from privet.privacy.kinds import event_from_json

NEIGHBORS = "tables of the same public size that differ in one row (replace one)"
UNIT = "one row of the training table"
EVALUATED = "one row of the evaluated table"
#: laws of noise whose names do not explain themselves
NOISE = {
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "product": "Laplace noise in the shape of the declared domain",
    "hull": "Laplace noise in the shape of the declared domain",
    "grouped": "Laplace noise in the shape of the declared domain",
    "class product": "Laplace noise in the shape of the declared domain and of the classes",
    "matrix laplace": "Laplace noise in the shape that one row's change can have (matrix Laplace)",
    "cone laplace": "Laplace noise in the shape that one row's change can have (cone Laplace)",
    "class laplace": "spherical Laplace noise in the sums of each class",
    "class hull": "Laplace noise in the shape of the declared domain in the sums of each class",
}
#: mechanisms whose names do not explain themselves
MECHANISM = {
    "objective": "objective perturbation",
    "statistics": "noisy second moments",
    "output": "output perturbation",
    "gradient": "private gradient descent",
    "means": "noisy class means",
    "function": "function perturbation",
    "sparse_vector": "the sparse vector technique",
}


def noise_words(name: str) -> str:
    """A law of noise by its name in a release, in words."""
    return NOISE.get(name, f"{name} noise")


def mechanism_words(name: str) -> str:
    """A mechanism by its name in a release, in words."""
    return MECHANISM.get(name, name)


def today() -> str:
    """The date in UTC. A time of day would tell how long a fit took, which depends on the rows."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class Receipt:
    """Where a release stands in a ledger, for a model file to keep.

    The data set, the number of the settling entry and its hash: the ledger's head just then.
    """

    dataset: str
    sequence: int
    head: str

    def to_json(self) -> dict[str, Any]:
        """Plain values for files."""
        return asdict(self)


@dataclass(frozen=True)
class Guarantee:
    """What is promised, to whom, by which theorem, under which assumptions."""

    event: Event
    numerics: str
    assumptions: tuple[str, ...]
    neighbors: str = NEIGHBORS
    unit: str = UNIT
    group: int = 1  # rows of the table that one unit may have
    receipt: Receipt | None = None  # where the ledger stood when the release was settled
    #: the day of the release; None for a file from before it was recorded
    released: str | None = field(default_factory=today, compare=False)
    #: public numbers of the design that the event does not have, as plain values: what a third
    #: party needs to recompute it
    constants: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def budget(self) -> Budget:
        """What the release costs one unit at most: a row, or a person with several rows."""
        return self.event.claim.for_group(self.group)

    @property
    def neighbours(self) -> str:
        """The old spelling of ``neighbors``; it will be removed."""
        warnings.warn(
            "guarantee_.neighbours is now guarantee_.neighbors.", FutureWarning, stacklevel=2
        )
        return self.neighbors

    @property
    def compared(self) -> str:
        """The tables that must look alike: all rows of one unit may differ."""
        if self.group == 1 or self.neighbors != NEIGHBORS:
            return self.neighbors
        return (
            f"tables of the same public size that differ in the rows of one unit, at most "
            f"{self.group} (each replaced)"
        )

    @property
    def persons(self) -> int:
        """Rows that a person may have who is promised this; 0 where the promise is to rows."""
        return 0 if self.unit in (UNIT, EVALUATED) else self.group

    @property
    def mechanism(self) -> str:
        """Mechanism and noise in words."""
        words = mechanism_words(self.event.mechanism)
        return f"{words} with {noise_words(self.event.noise)}"

    @property
    def each(self) -> str:
        """The unit as in "for each row"."""
        return self.unit.replace("one ", "each ", 1) if self.unit.startswith("one ") else self.unit

    @property
    def theorem(self) -> str:
        """Where the proof is."""
        return self.event.theorem

    @property
    def promise(self) -> str:
        """The budget in words, or that nothing is promised."""
        return str(self.budget) if self.private else "nothing: not private"

    @property
    def short(self) -> str:
        """How much is promised to whom, without the mechanism."""
        return f"{self.promise} for {self.each}" if self.private else str(self)

    @property
    def private(self) -> bool:
        """False where a seed or an unproved calibration voids the promise."""
        return self.event.private

    def not_covered(self, why: str) -> Guarantee:
        """The same, marked as not private: something around the release was not paid for."""
        event = replace(self.event, why_not_private=why)
        return replace(self, event=event)

    def __str__(self) -> str:
        if not self.private:
            return f"NOT PRIVATE: {self.event.why_not_private}."
        return f"{self.short}, by {self.mechanism}"

    def to_json(self) -> dict[str, Any]:
        """Plain values for files."""
        return {
            "event": self.event.to_json(),
            "numerics": self.numerics,
            "assumptions": list(self.assumptions),
            "neighbours": self.neighbors,  # as files have always spelled it
            "unit": self.unit,
            "group": self.group,
            "receipt": None if self.receipt is None else self.receipt.to_json(),
            "released": self.released,
            **({"constants": dict(self.constants)} if self.constants else {}),
        }


def released_digest(kind: str, event: Event, numbers: Mapping[str, Any]) -> str:
    """The name of a release in its entry of a ledger: SHA-256 of its numbers and of their claim.

    ``numbers`` are plain values that a file keeps exactly. The receipt is not among them: it has
    the hash of the entry, which has this digest.
    """
    told = {"event": event.canonical(), "kind": kind, "released": dict(numbers)}
    return digest(canonical(told).encode())


def guarantee_from_json(record: dict[str, Any]) -> Guarantee:
    """The inverse of ``Guarantee.to_json``."""
    return Guarantee(
        event=event_from_json(record["event"]),
        numerics=str(record["numerics"]),
        assumptions=tuple(str(item) for item in record["assumptions"]),
        neighbors=str(record["neighbours"]),
        unit=str(record["unit"]),
        group=_rows(record["group"]),
        receipt=None if (kept := record.get("receipt")) is None else receipt_from_json(kept),
        released=None if (day := record.get("released")) is None else str(day),
        constants=dict(record.get("constants", {})),
    )


def _rows(value: Any) -> int:
    """Rows of one unit; fewer than one would lower the claim."""
    if type(value) is not int or not 1 <= value <= MOST_ROWS:
        raise ValueError("a unit has one row or more, and no more than a table")
    return value


def receipt_from_json(record: dict[str, Any]) -> Receipt:
    """The inverse of ``Receipt.to_json``."""
    number = int(record["sequence"])
    if not 0 < number < 1 << 63:  # no database counts further
        raise ValueError("a receipt's number is that of an entry")
    return Receipt(str(record["dataset"]), number, str(record["head"]))
