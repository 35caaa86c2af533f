"""What was done, as a frozen record that will mean the same for ever.

An event is made from declarations alone, before any row is read, and is what the ledger keeps. It
claims a budget and lists the curves that prove the claim; accountants read the curves. In the
claim's own calculus an event costs the larger of the two, so that a claim can never hide what its
curves say. A version's meaning never changes: new meaning gets a new version.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from privet._files import canonical
from privet.errors import DeclarationError
from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP, budget_from_json
from privet.privacy.curves import Curve, curve_from_json, renyi_epsilon, tight_epsilon

VERSION = 1
COMPOSITE = 2  # an event of several releases, each of them an event of version 1

#: Curves that exceed their claim by less than this share of it are the claim, rounded: a budget
#: that was split into floats, or solved for, adds up to itself only so far. An epsilon at a delta
#: is the root of a profile, which is found less exactly.
ROUNDED = 1e-12
ROOT = 1e-8


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
        proved = sum(curve.pure for curve in self.curves)
        claimed = self.claim.epsilon if isinstance(self.claim, PureDP) else 0.0
        return _larger(claimed, max(proved, sum(part.pure() for part in self.parts)))

    def zcdp(self) -> float:
        """Rho, infinite if there is none."""
        proved = sum(curve.zcdp for curve in self.curves)
        claimed = self.claim.rho if isinstance(self.claim, ZCDP) else 0.0
        return _larger(claimed, max(proved, sum(part.zcdp() for part in self.parts)))

    def renyi(self, order: float) -> float:
        """The Renyi bound at one order."""
        return sum(curve.renyi(order) for curve in self.curves)

    def epsilon(self, delta: float) -> float:
        """Smallest known epsilon of this event alone at ``delta``; the claim's at its own delta."""
        if isinstance(self.claim, ApproxDP) and delta == self.claim.delta:
            return self._claimed_epsilon
        return self._by_its_curves(delta)

    @cached_property
    def _claimed_epsilon(self) -> float:
        """What is claimed at the claim's delta, or what the curves prove where that is more."""
        claimed, delta = self.claim.facts()["epsilon"], self.claim.facts()["delta"]
        if self._by_one_profile(delta) <= claimed:  # the others take longer
            return claimed
        proved = self._by_its_curves(delta)
        if proved > claimed and self.parts:
            proved = min(proved, tight_epsilon(self.curves, delta))
        return _larger(claimed, proved, ROOT)

    def _by_its_curves(self, delta: float) -> float:
        return min(self._by_one_profile(delta), renyi_epsilon(self.curves, delta))

    def _by_one_profile(self, delta: float) -> float:
        """The profile of one curve and the pure losses of all others: basic composition."""
        main, *rest = sorted(self.curves, key=lambda curve: curve.pure, reverse=True)
        return main.epsilon(delta) + sum(curve.pure for curve in rest)

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


def _larger(claimed: float, proved: float, rounding: float = ROUNDED) -> float:
    """The larger of a claim and of what its curves prove; the claim if they differ by rounding."""
    return claimed if proved <= claimed * (1.0 + rounding) else proved


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
