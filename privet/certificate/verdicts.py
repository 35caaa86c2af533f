"""A number of a file beside what is certain about it.

holds            the claim is certainly on the safe side of what the theorem asks for
does not hold    certainly not
undecided        a fact is missing in the file, or a law is not known here; ``why`` says which
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from privet.certificate.balls import Ball, above, ball, below

#: Claims are doubles: one that misses its bound by less than this share is the bound, rounded.
ROUNDED = 1e-12
OPEN = "cannot be decided here"
TAKEN = "taken from the file as stated; nothing in the file determines it"


class Undecided(Exception):
    """Why a number cannot be decided from this file."""


@dataclass(frozen=True)
class Number:
    """One number: of which release, what is claimed, what is certain, and the verdict."""

    release: str
    name: str
    claimed: float | None
    low: float | None
    high: float | None
    holds: bool | None
    why: str

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.holds is not None:
            return "holds" if self.holds else "does not hold"
        if self.claimed is not None:  # compared without a result, or not compared at all
            open_end = self.low is not None or self.why.startswith(OPEN)
            return "undecided" if open_end else "taken"
        return "undecided" if self.low is None else "recomputed"

    @property
    def undecided(self) -> bool:
        """Whether a file with this number is not accepted, nor convicted by it."""
        return self.verdict == "undecided"

    def to_json(self) -> dict[str, Any]:
        """Plain values; infinite ends are written as None."""
        plain = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }
        return {**plain, "verdict": self.verdict}

    def cells(self) -> tuple[str, str, str, str, str]:
        """A line of a table: release, number, claim, enclosure, verdict."""
        claimed = "" if self.claimed is None else f"{self.claimed:.10g}"
        return self.release, self.name, claimed, self.certified(), self.verdict

    def told(self) -> str:
        """Claim and enclosure in one line."""
        claimed = "" if self.claimed is None else f"claimed {self.claimed:.10g}, "
        sides = "" if self.low is None else f"certified {self.certified()}: "
        return f"{claimed}{sides}{self.why}"

    def certified(self) -> str:
        """The enclosure; one number where ten digits do not tell its ends apart."""
        if self.low is None:
            return ""
        if self.high is None:
            return f"at least {self.low:.10g}"
        if f"{self.low:.10g}" == f"{self.high:.10g}":
            return f"{self.low:.10g}"
        return f"[{self.low:.10g}, {self.high:.10g}]"


def at_least(
    release: str, name: str, claimed: float, needed: Ball, why: str, most: float | None = None
) -> Number:
    """The claim must not be below ``needed``; nor above it by more than the share ``most``.

    Too large a number protects too, but it was not made from these facts.
    """
    held = ball(claimed)
    if not needed.is_finite():
        return _endless(release, name, claimed)
    holds = _decided(held * (1 + ball(ROUNDED)) >= needed, held * (1 + ball(ROUNDED)) < needed)
    if most is not None and held > needed * (1 + ball(most)):
        holds, why = (
            False,
            f"{why}; the facts in the file give less, so this number was not computed from them",
        )
    return Number(release, name, claimed, below(needed), above(needed), holds, why)


def at_most(release: str, name: str, claimed: float, cost: Ball, why: str) -> Number:
    """What is claimed as a price must not be below the certain ``cost``."""
    if not cost.is_finite():
        return _endless(release, name, claimed)
    limit = ball(claimed) * (1 + ball(ROUNDED))
    holds = _decided(cost <= limit, cost > limit)
    return Number(release, name, claimed, below(cost), above(cost), holds, why)


def equal(release: str, name: str, claimed: float, exact: Ball, why: str) -> Number:
    """The claim is this number, rounded."""
    if not exact.is_finite():
        return _endless(release, name, claimed)
    gap, room = abs(ball(claimed) - exact), abs(exact) * ball(ROUNDED)
    holds = _decided(gap <= room, gap > room)
    return Number(release, name, claimed, below(exact), above(exact), holds, why)


def stated(release: str, name: str, claimed: float | None, why: str = TAKEN) -> Number:
    """A number that cannot be recomputed."""
    return Number(release, name, claimed, None, None, None, why)


def fact(release: str, name: str, claimed: float, right: bool, why: str) -> Number:
    """Something that is so or not, without arithmetic."""
    return Number(release, name, claimed, None, None, right, why)


def agreed(release: str, name: str, right: bool, why: str) -> Number:
    """Something that is no number: names, shapes, sentences that must be those of the facts."""
    return Number(release, name, None, None, None, right, why)


def left_open(release: str, name: str, why: str, claimed: float | None = None) -> Number:
    """What cannot be decided, and why."""
    return Number(release, name, claimed, None, None, None, f"{OPEN}: {why}")


def _endless(release: str, name: str, claimed: float) -> Number:
    return Number(release, name, claimed, None, None, False, "the facts give no finite bound")


def _decided(yes: bool, no: bool) -> bool | None:
    return True if yes else False if no else None
