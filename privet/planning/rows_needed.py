"""How many rows do I need?

Two kinds of answer. *Proved, training loss*: for every reference predictor ``f0`` with
``|f0| <= F``, with probability ``1 - beta`` over the noise,

    loss(f) <= J(f) <= J(f*) + E <= J(f0) + E = loss(f0) + (Lam/2)|f0|^2 + E

where ``loss`` is the mean loss on the table and ``E`` the excess bound of ``bounds.py``; the
smallest ``n`` for which some public ``Lam`` makes ``(Lam/2) F^2 + E <= excess``. With objective
perturbation that is about ``F q/excess``, ``q`` the ``1 - beta`` quantile of ``|b|``, at
``Lam = q/(n F)``.

*Up to a constant, loss on new rows*: Chaudhuri, Monteleoni and Sarwate 2011, section 4 (Theorems 3
and 4 in the preprint's numbering), ``n >= C max(...)`` with a constant ``C`` that the paper does
not name. The terms are given for ``C = 1``, in units of ``L R``, with the exact quantile ``q`` in
place of ``2 d log(d/beta)/eps``:

    both         sampling    (L R F)^2 log(1/beta)/excess^2
                 noise       F q/excess
    objective    curvature   F^2 (n Lam_0)/excess          (Lam_0 the floor; n Lam_0 has no n)
    output       curvature   sqrt(c R^2) F^2 q/excess^(3/2), q that of |noise| n Lam
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privet._checks import positive, probability
from privet.errors import DeclarationError
from privet.mechanisms import Design
from privet.planning.bounds import excess_quantile, noise_in_objective
from privet.planning.numbers import Declaration
from privet.planning.prediction import COMFORTABLE, typical
from privet.statement.writers import labeled

#: more rows than this nobody has
MOST_ROWS = 10**13


@dataclass(frozen=True)
class RowsNeeded:
    """Rows for what was asked; None where no number of rows up to 1e13 is enough.

    Attributes
    ----------
    excess, reference_norm, beta, score_noise : float
        What was asked.
    for_score, for_comfort : int or None
        For an even table: noise on a score below ``score_noise`` in standard deviation, the
        regularizer's shrinkage undone (or much regularization would pass for accuracy); and the
        rows from which the verdict is "comfortable".
    for_training_loss, training_regularization : int and float, or None
        Proved for every table: the training loss within ``excess`` of the best reference, with this
        regularization.
    sampling_term, noise_term, curvature_term : float
        Loss on new rows, up to the theorem's unnamed constant.
    """

    excess: float
    reference_norm: float
    beta: float
    score_noise: float
    for_score: int | None
    for_comfort: int | None
    for_training_loss: int | None
    training_regularization: float | None
    sampling_term: float
    noise_term: float
    curvature_term: float

    @property
    def up_to_constant(self) -> float:
        """The largest of the three terms: what the theorem asks for, up to its constant."""
        return max(self.sampling_term, self.noise_term, self.curvature_term)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON.

        Returns
        -------
        dict
            Every attribute, and ``up_to_constant``.
        """
        return {**dataclasses.asdict(self), "up_to_constant": self.up_to_constant}

    def __str__(self) -> str:
        proved = (
            f"{_rows(self.for_training_loss)}: training loss within {self.excess:g} of every "
            f"predictor of norm {self.reference_norm:g} in {100.0 * (1.0 - self.beta):g} % of fits"
        )
        if self.training_regularization is not None:
            proved += f", with regularization {self.training_regularization:.3g}"
        score = f"{_rows(self.for_score)}: noise of sd {self.score_noise:g} in a score"
        theorem = (
            f"{_rows(self.up_to_constant)}, up to the theorem's unnamed constant: the same excess "
            f"on new rows (sampling {self.sampling_term:.3g}, noise {self.noise_term:.3g}, "
            f"curvature {self.curvature_term:.3g})"
        )
        found = [
            ("proved", proved),
            ("typical table", f"{_rows(self.for_comfort)}: verdict 'comfortable'"),
            ("", f"{score}, the regularizer's shrinkage undone"),
            ("new rows", theorem),
        ]
        return "\n".join(["How many rows", *(labeled(name, text) for name, text in found)])


def rows_needed(
    declared: Declaration,
    design: Design,
    excess: float,
    reference_norm: float,
    beta: float,
    score_noise: float,
) -> RowsNeeded:
    """Every answer for one set of declarations; see ``Plan.rows_needed``."""
    excess, norm = positive("excess", excess), positive("reference_norm", reference_norm)
    score_noise, beta = positive("score_noise", score_noise), probability("beta", beta)
    kind = design.main.kind

    def typical_at(n: int) -> tuple[float, float]:
        found = typical(declared.but(n=n, noise=kind).design())
        return found.unshrunk_score_noise, found.noise_to_signal

    def best_at(n: int) -> tuple[float, float]:
        return best_regularization(declared.but(n=n), kind, norm, beta)

    trained = smallest(lambda n: best_at(n)[0] <= excess, declared.n)
    return RowsNeeded(
        excess,
        norm,
        beta,
        score_noise,
        for_score=smallest(lambda n: typical_at(n)[0] <= score_noise, declared.n),
        for_comfort=smallest(lambda n: typical_at(n)[1] <= COMFORTABLE, declared.n),
        for_training_loss=trained,
        training_regularization=None if trained is None else best_at(trained)[1],
        **_theorem_terms(declared, design, excess, norm, beta),
    )


def best_regularization(
    declared: Declaration, kind: str, norm: float, beta: float
) -> tuple[float, float]:
    """The smallest ``(Lam/2) F^2 + E`` among public choices of ``Lam``, and that ``Lam``.

    Candidates are the minimizers of the bounds with the noise's size held fixed; the value is
    computed from the design that the candidate really leads to, so it is a bound for any choice.
    """
    start = declared.but(regularization="auto", noise=kind).design()
    per_row = noise_in_objective(start, start.main.norm_quantile(beta)) / declared.n
    curvature = start.risk.row_curvature
    balanced = (
        (2.0 * smooth * per_row**2 / norm**2) ** (1.0 / 3.0)
        for smooth in (curvature, curvature / start.m)
    )
    candidates = (per_row / norm, *balanced)
    found = []
    for candidate in candidates:
        try:
            design = declared.but(regularization=candidate, noise=kind).design()
        except DeclarationError:
            continue  # more regularization than leaves anything to learn
        lam = design.risk.regularization
        found.append((lam * norm**2 / 2.0 + excess_quantile(design, beta), lam))
    return min(found, default=(math.inf, math.nan))


def _theorem_terms(
    declared: Declaration, design: Design, excess: float, norm: float, beta: float
) -> dict[str, float]:
    size, risk = noise_in_objective(design, design.main.norm_quantile(beta)), design.risk
    if design.gap is None:
        curvature = math.sqrt(risk.row_curvature) * norm**2 * size / excess**1.5
    else:
        curvature = norm**2 * design.n * declared.floor(design.main.kind) / excess
    return {
        "sampling_term": (risk.row_gradient * norm / excess) ** 2 * math.log(1.0 / beta),
        "noise_term": norm * size / excess,
        "curvature_term": curvature,
    }


def smallest(enough: Callable[[int], bool], start: int) -> int | None:
    """The smallest number of rows that is enough, to one part in a thousand; None above 1e13."""
    low, high = 0, start
    while not enough(high):
        low, high = high, 4 * high
        if high > MOST_ROWS:
            return None
    while low == 0 and high > 1:
        probe = max(1, high // 4)
        low, high = (0, probe) if enough(probe) else (probe, high)
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _rows(number: float | None) -> str:
    if number is None:
        return "no number up to 1e13"
    return f"{math.ceil(number):,}" if number < 1e7 else f"{number:.3g}"
