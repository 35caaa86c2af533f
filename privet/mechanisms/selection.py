"""Choosing one of finitely many candidates by a private score.

Guarantee
---------
Replace-one neighbors; every score changes by at most ``sensitivity`` when one row is replaced. The
index that is chosen at ``epsilon``:

    EXPONENTIAL         P[i] ~ exp(eps s_i/(2 sensitivity))      eps-pure, eps^2/8-zCDP
    PERMUTE_AND_FLIP    the largest of s_i + Exponential noise   eps-pure, eps^2/2-zCDP

(McSherry and Talwar 2007; McKenna and Sheldon 2020.) Permute-and-flip is never less accurate at the
same pure epsilon, but it has no bounded range, so under zCDP the exponential mechanism is the
cheaper one. Under GDP either is paid as the pure epsilon within mu. Proof: ``selection.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from privet import exact_draws
from privet._checks import positive, positive_whole
from privet._types import Array
from privet.errors import DeclarationError
from privet.mechanisms.release import Draw, Release, ReleaseDesign, draw
from privet.noise import Exponential, Gumbel, Law
from privet.privacy import Budget, Event
from privet.privacy.curves import ConcentratedCurve, Curve, PureCurve
from privet.privacy.event import not_private
from privet.privacy.kinds import SelectionEvent
from privet.randomness import Randomness, source

Method = Literal["exponential", "permute_and_flip"]

EXPONENTIAL: Method = "exponential"
PERMUTE_AND_FLIP: Method = "permute_and_flip"
THEOREMS = {
    EXPONENTIAL: "McSherry and Talwar 2007, Theorem 6; Dong, Durfee and Rogers 2020, Lemma 3.2",
    PERMUTE_AND_FLIP: "McKenna and Sheldon 2020, Theorem 1",
}


@dataclass(frozen=True)
class SelectionDesign(ReleaseDesign):
    """The noise of one choice and the event that covers it."""

    law: Law
    event: Event

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One noise for each candidate, at once."""
        return (replace(draw(self.law), choice=True, exact=True),)

    @property
    def numerics(self) -> str:
        """What is exact."""
        if not self.event.private:
            return "floating-point noise on the scores from a seed: not private"
        return "exact for the scores as given"

    def choose(self, scores: Any, randomness: Randomness) -> int:
        """The index of a high score. Charge the event before this."""
        values = np.asarray(scores, dtype=np.float64)
        if values.shape != (self.law.dimension,) or not np.isfinite(values).all():
            raise DeclarationError(
                f"A selection needs a finite score for each of its {self.law.dimension} candidates."
            )
        return noisy_max(values, self.law, randomness)


@dataclass(frozen=True)
class Selection(Release):
    """One of ``candidates``, by scores that a row changes by at most ``sensitivity``."""

    name: ClassVar[str] = "selection"

    budget: Budget
    candidates: int
    sensitivity: float = 1.0
    method: Method = EXPONENTIAL
    insecure_seed: int | None = None

    def __post_init__(self) -> None:
        positive_whole("candidates", self.candidates)
        positive("sensitivity", self.sensitivity)
        if self.method not in THEOREMS:
            raise DeclarationError(
                f"method must be 'exponential' or 'permute_and_flip', got {self.method!r}."
            )
        if self.budget.additive != self.budget:
            raise DeclarationError(
                "A selection is paid from a PureDP, ZCDP or GDP budget: split it first."
            )
        source(self.insecure_seed)  # refuses a malformed seed

    @property
    def epsilon(self) -> float:
        """The epsilon at which one selection costs exactly the budget."""
        whole = self.budget.mixed_curve
        if math.isfinite(whole.pure):
            return whole.pure
        return math.sqrt((8.0 if self.method == EXPONENTIAL else 2.0) * whole.zcdp)

    @property
    def curve(self) -> Curve:
        """What one selection costs at every order."""
        if self.method == EXPONENTIAL and self.budget.mixed_curve == self.budget.whole_curve:
            return ConcentratedCurve(self.epsilon**2 / 8.0, self.epsilon)
        return PureCurve(self.epsilon)  # which has a mu, too

    def design(self, n: int) -> SelectionDesign:
        """The noise and the event of a choice by scores of ``n`` rows."""
        law = Gumbel if self.method == EXPONENTIAL else Exponential
        noise = law(2.0 * self.sensitivity / self.epsilon, self.candidates)
        event = SelectionEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(self.curve,),
            noise=noise.kind,
            scale=noise.scale,
            sensitivity=self.sensitivity,
            n=n,
            candidates=self.candidates,
            theorem=THEOREMS[self.method],
            why_not_private=not_private(self.insecure_seed),
        )
        return SelectionDesign(noise, event)


def noisy_max(values: Array, law: Law, randomness: Randomness) -> int:
    """The place of the largest value plus noise: Gumbel is the exponential mechanism.

    Exponential noise is permute-and-flip. Secure draws are exact for the values as given,
    seeded ones are floating-point.
    """
    if not randomness.secure:
        return int(np.argmax(values + law.sample(randomness, 1)[0]))
    return exact_draws.largest(values, law.scale, randomness, gumbel=law.kind == Gumbel.kind)
