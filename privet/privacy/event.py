"""What was done, as a frozen record that will mean the same for ever.

An event is made from declarations alone, before any row is read, and is what the ledger keeps. It
claims a budget and lists the curves that prove the claim; accountants read the curves. A version's
meaning never changes: new meaning gets a new version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from privet.errors import DeclarationError
from privet.privacy.budget import ApproxDP, Budget, PureDP, budget_from_json
from privet.privacy.curves import Curve, curve_from_json, renyi_epsilon

VERSION = 1
COMPOSITE = 2  # an event of several releases, each of them an event of version 1

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, shortest exact numbers."""
    return _ENCODER.encode(value)


@dataclass(frozen=True)
class Event:
    """One release: its mechanism, its claim and the proof's ingredients."""

    mechanism: str
    claim: Budget
    curves: tuple[Curve, ...]
    noise: str
    scale: float
    sensitivity: float
    share: float  # of the claim that pays for the main noise; the rest pays for the gap
    n: int
    m: int
    regularization: float
    theorem: str
    private: bool = True
    why_not_private: str = ""
    version: int = VERSION
    parts: tuple[Event, ...] = ()  # of a composite: what was released together

    def pure(self) -> float:
        """Epsilon of pure privacy, infinite if there is none."""
        if isinstance(self.claim, PureDP):
            return self.claim.epsilon
        return sum(curve.pure for curve in self.curves)

    def zcdp(self) -> float:
        """Rho, infinite if there is none."""
        if self.claim.kind == "zcdp":
            return self.claim.facts()["rho"]
        return sum(curve.zcdp for curve in self.curves)

    def renyi(self, order: float) -> float:
        """The Renyi bound at one order."""
        return sum(curve.renyi(order) for curve in self.curves)

    def epsilon(self, delta: float) -> float:
        """Smallest known epsilon of this event alone at ``delta``."""
        if isinstance(self.claim, ApproxDP) and delta == self.claim.delta:
            return self.claim.epsilon
        main, *rest = self.curves
        return min(
            main.epsilon(delta) + sum(curve.pure for curve in rest),
            renyi_epsilon(self.curves, delta),
        )

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain values; ``json.dumps`` of it is canonical with sorted keys."""
        fields = {name: getattr(self, name) for name in _PLAIN}
        parts = {"parts": [part.to_json() for part in self.parts]} if self.parts else {}
        return {
            **fields,
            **parts,
            "claim": self.claim.to_json(),
            "curves": [curve.to_json() for curve in self.curves],
        }

    def canonical(self) -> str:
        """The one text of this event: sorted keys, no spaces, shortest exact numbers."""
        return self._text

    @cached_property
    def _text(self) -> str:
        # kept with the object and not by its value: 1 and 1.0 are equal, their texts are not
        return canonical(self.to_json())


_PLAIN = (
    "mechanism",
    "noise",
    "scale",
    "sensitivity",
    "share",
    "n",
    "m",
    "regularization",
    "theorem",
    "private",
    "why_not_private",
    "version",
)


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("mechanism", "noise", "theorem", "why_not_private"), str),
    **dict.fromkeys(("scale", "sensitivity", "share", "regularization"), (int, float)),
    **dict.fromkeys(("n", "m"), int),
    "private": bool,
}


def event_from_json(record: dict[str, Any]) -> Event:
    """The inverse of ``Event.to_json``; refuses versions that this release does not know."""
    version = record.get("version")
    if type(version) is not int or version not in (VERSION, COMPOSITE):
        raise DeclarationError(
            f"This event has version {version!r}; this Privet reads {VERSION} and {COMPOSITE}. "
            "Use the release of Privet that wrote it, or a newer one."
        )
    known = {*_PLAIN, "claim", "curves", *(("parts",) if version == COMPOSITE else ())}
    missing, unknown = sorted(known - set(record)), sorted(set(record) - known)
    if missing:
        raise DeclarationError(f"The event record lacks {', '.join(missing)}.")
    if unknown:
        raise DeclarationError(f"The event record has unknown fields: {', '.join(unknown)}.")
    if not record["curves"]:
        raise DeclarationError("The event record has no curves, so nothing proves its claim.")
    for name, kinds in _KINDS.items():
        if not isinstance(record[name], kinds) or isinstance(record[name], bool) != (kinds is bool):
            raise DeclarationError(f"The event record's {name} is not of the right type.")
    parts = tuple(event_from_json(part) for part in record.get("parts", ()))
    curves = tuple(curve_from_json(curve) for curve in record["curves"])
    if parts and curves != tuple(curve for part in parts for curve in part.curves):
        raise DeclarationError("The event record's curves are not those of its parts.")
    return Event(
        **{name: record[name] for name in _PLAIN},
        claim=budget_from_json(record["claim"]),
        curves=curves,
        parts=parts,
    )
