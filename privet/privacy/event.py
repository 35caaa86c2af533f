"""What was done, as a frozen record that will mean the same for ever.

An event is made from declarations alone, before any row is read, and is what the ledger keeps. It
claims a budget and lists the curves that prove the claim; accountants read the curves. In the
claim's own calculus an event costs the larger of the two, so that a claim can never hide what its
curves say. Each kind of release is a subclass, in ``kinds.py``.

In a file every kind has the same fields: ``m`` is the kind's own count, a share or regularization
that a kind does not have is written as 1 or 0. A version's meaning never changes: new meaning gets
a new version.
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from privet._files import canonical
from privet.errors import DeclarationError
from privet.privacy.budget import Budget
from privet.privacy.curves import Curve, one_gaussian, profile_epsilon, renyi_epsilon, tight_epsilon

VERSION = 1
COMPOSITE = 2  # an event of several releases, each of them an event of version 1
SEEDED = "the noise was seeded"

#: Curves that exceed their claim by less than this share of it are the claim, rounded: a budget
#: that was split into floats, or solved for, adds up to itself only so far. An epsilon at a delta
#: is the root of a profile, which is found less exactly.
ROUNDED = 1e-12
ROOT = 1e-8


def not_private(insecure_seed: int | None, *reasons: str) -> str:
    """Why a release is not private, in words; empty where it is."""
    seeded = () if insecure_seed is None else (SEEDED,)
    return "; ".join(dict.fromkeys(filter(None, (*reasons, *seeded))))


@dataclass(frozen=True, kw_only=True)
class Event(ABC):
    """One release: its mechanism, its claim and the proof's ingredients."""

    #: the mechanisms whose releases are of this kind
    mechanisms: ClassVar[tuple[str, ...]] = ()
    #: the field that a file calls ``m``
    count_name: ClassVar[str]
    version: ClassVar[int] = VERSION
    #: whether its curves prove its claim; else they do for all parts of a composite together
    alone: ClassVar[bool] = True

    mechanism: str
    claim: Budget
    curves: tuple[Curve, ...]
    noise: str
    scale: float
    sensitivity: float
    n: int
    theorem: str
    why_not_private: str = ""

    def __post_init__(self) -> None:
        if not self.curves:  # it would cost nothing in every calculus but its claim's
            raise DeclarationError("An event needs curves: without them nothing proves its claim.")

    @property
    def private(self) -> bool:
        """Whether the claim is proved; ``why_not_private`` says what is missing."""
        return not self.why_not_private

    @property
    def parts(self) -> tuple[Event, ...]:
        """The releases it is made of: of a composite, several."""
        return ()

    def pure(self) -> float:
        """Epsilon of pure privacy, infinite if there is none."""
        proved = sum(curve.pure for curve in self.curves)
        claimed = self.claim.amount if self.claim.kind == "pure" else 0.0
        return _larger(claimed, max(proved, sum(part.pure() for part in self.parts)))

    def zcdp(self) -> float:
        """Rho, infinite if there is none."""
        proved = sum(curve.zcdp for curve in self.curves)
        claimed = self.claim.amount if self.claim.kind == "zcdp" else 0.0
        return _larger(claimed, max(proved, sum(part.zcdp() for part in self.parts)))

    def gdp(self) -> float:
        """Mu of Gaussian privacy, infinite if there is none."""
        proved = math.hypot(*(curve.gdp for curve in self.curves))
        claimed = self.claim.amount if self.claim.kind == "gdp" else 0.0
        return _larger(claimed, max(proved, math.hypot(*(part.gdp() for part in self.parts))))

    def renyi(self, order: float) -> float:
        """The Renyi bound at one order."""
        return sum(curve.renyi(order) for curve in self.curves)

    def epsilon(self, delta: float) -> float:
        """Smallest known epsilon of this event alone at ``delta``; the claim's at its own delta."""
        if 0.0 < delta == self.claim.numbers.delta:
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
        found = min(self._by_one_profile(delta), renyi_epsilon(self.curves, delta))
        mu = self.gdp()
        return found if math.isinf(mu) else min(found, profile_epsilon(mu, delta))

    def _by_one_profile(self, delta: float) -> float:
        """The profile of one curve and the pure losses of all others: basic composition.

        Gaussian curves are one: their rhos add up, and the profile of the sum is exact.
        """
        main, *rest = sorted(one_gaussian(self.curves), key=lambda c: c.pure, reverse=True)
        return main.epsilon(delta) + sum(curve.pure for curve in rest)

    def counted(self) -> dict[str, Any]:
        """What a file keeps beside the common fields: ``m``, ``share``, ``regularization``."""
        return {
            "m": getattr(self, self.count_name),
            "share": getattr(self, "share", 1.0),
            "regularization": getattr(self, "regularization", 0.0),
        }

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain values; ``json.dumps`` of it is canonical with sorted keys."""
        parts = {"parts": [part.to_json() for part in self.parts]} if self.parts else {}
        return {
            **{name: getattr(self, name) for name in COMMON},
            **self.counted(),
            **parts,
            "private": self.private,
            "version": self.version,
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


#: the fields that every record has
COMMON = (
    "mechanism",
    "noise",
    "scale",
    "sensitivity",
    "n",
    "theorem",
    "why_not_private",
)
