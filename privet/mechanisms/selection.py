"""Choosing one of finitely many candidates by a private score.

Guarantee
---------
Replace-one neighbours; every score changes by at most ``sensitivity`` when one row is replaced. The
index returned by ``select`` at ``epsilon``:

    EXPONENTIAL         P[i] ~ exp(eps s_i/(2 sensitivity))      eps-pure, eps^2/8-zCDP
    PERMUTE_AND_FLIP    the largest of s_i + Exponential noise   eps-pure, eps^2/2-zCDP

(McSherry and Talwar 2007; McKenna and Sheldon 2020.) Permute-and-flip is never less accurate at the
same pure epsilon, but it has no bounded range, so under zCDP the exponential mechanism is the
cheaper one. Proof: ``selection.proof.md``.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import DeclarationError
from privet.grid import opendp
from privet.noise import Exponential, Gumbel
from privet.privacy import Budget
from privet.privacy.budget import ZCDP, PureDP, amount
from privet.privacy.curves import ConcentratedCurve, Curve, PureCurve
from privet.privacy.event import SEEDED
from privet.privacy.kinds import SelectionEvent
from privet.randomness import Randomness
from privet.risk import positive

Array = NDArray[np.float64]
Method = Literal["exponential", "permute_and_flip"]

EXPONENTIAL: Method = "exponential"
PERMUTE_AND_FLIP: Method = "permute_and_flip"
THEOREMS = {
    EXPONENTIAL: "McSherry and Talwar 2007, Theorem 6; Dong, Durfee and Rogers 2020, Lemma 3.2",
    PERMUTE_AND_FLIP: "McKenna and Sheldon 2020, Theorem 1",
}


def select(
    scores: Any,
    epsilon: float,
    randomness: Randomness,
    *,
    sensitivity: float = 1.0,
    method: Method = EXPONENTIAL,
) -> int:
    """The index of a high score. Charge ``selection_event`` before this.

    Secure draws are OpenDP's, exact for the scores as given; seeded ones are floating-point.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise DeclarationError("A selection needs a list of finite scores, at least one.")
    scale = 2.0 * positive("sensitivity", sensitivity) / amount("epsilon", epsilon)
    if not randomness.secure:
        return _seeded(values, scale, method, randomness)
    dp = opendp("An exact private selection")
    measure = {
        EXPONENTIAL: dp.zero_concentrated_divergence,
        PERMUTE_AND_FLIP: dp.max_divergence,
    }[checked(method)]()
    chosen = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="f64", nan=False)),
        dp.linf_distance(T="f64"),
        measure,
        scale=scale,
    )
    return int(chosen(values.tolist()))


def _seeded(values: Array, scale: float, method: Method, randomness: Randomness) -> int:
    """Gumbel noise is the exponential mechanism, exponential noise permute-and-flip."""
    law = Gumbel if checked(method) == EXPONENTIAL else Exponential
    return int(np.argmax(values + law(scale, len(values)).sample(randomness, 1)[0]))


def checked(method: str) -> Method:
    """The method, or a refusal that names the two there are."""
    if method not in THEOREMS:
        raise DeclarationError(
            f"method must be 'exponential' or 'permute_and_flip', got {method!r}."
        )
    return EXPONENTIAL if method == EXPONENTIAL else PERMUTE_AND_FLIP


def selection_epsilon(budget: Budget, method: Method = EXPONENTIAL) -> float:
    """The epsilon at which one selection costs exactly a pure or zCDP ``budget``."""
    if isinstance(budget, PureDP):
        return budget.epsilon
    if isinstance(budget, ZCDP):
        return math.sqrt((8.0 if checked(method) == EXPONENTIAL else 2.0) * budget.rho)
    raise DeclarationError("A selection is paid from a PureDP or ZCDP budget: split it first.")


def selection_curve(epsilon: float, method: Method = EXPONENTIAL) -> Curve:
    """What one selection at ``epsilon`` costs at every order."""
    if checked(method) == EXPONENTIAL:
        return ConcentratedCurve(epsilon**2 / 8.0, epsilon)
    return PureCurve(epsilon)


def selection_event(
    budget: Budget,
    n: int,
    candidates: int,
    *,
    sensitivity: float = 1.0,
    method: Method = EXPONENTIAL,
    private: bool = True,
) -> SelectionEvent:
    """The event of one selection among ``candidates`` that spends exactly ``budget``."""
    epsilon = selection_epsilon(budget, method)
    return SelectionEvent(
        mechanism="selection",
        claim=budget,
        curves=(selection_curve(epsilon, method),),
        noise="gumbel" if method == EXPONENTIAL else "exponential",
        scale=2.0 * sensitivity / epsilon,
        sensitivity=sensitivity,
        n=n,
        candidates=candidates,
        theorem=THEOREMS[method],
        why_not_private="" if private else SEEDED,
    )
