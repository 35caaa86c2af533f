"""A user's own loss: its bounds are in the file, and nothing here can tell whether they are true.

    L, c, r     as declared        D >= 2 L        log det <= r log(1 + c q)

Written from ``private_erm.proof.md``. What follows from these bounds is recomputed like all else;
the bounds themselves are shown as taken from the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.certificate.balls import Ball, ball
from privet.certificate.file_facts import Record
from privet.certificate.loss_bounds import OWN_SCORES, RowLoss
from privet.certificate.verdicts import Undecided

ONE, MORE = "own", OWN_SCORES


@dataclass(frozen=True)
class OwnRowLoss(RowLoss):
    """A loss by the bounds that a file declares."""

    gradient: float = 0.0
    curved: float = 0.0
    apart_by: float = 0.0
    rank: int = 1
    compared: float = 0.0

    @property
    def scores(self) -> int:
        """K."""
        return self.classes - 1

    @property
    def slope(self) -> Ball:
        """``L``, as declared."""
        return ball(self.gradient)

    @property
    def difference(self) -> Ball:
        """``D``, as declared: no less than twice the slope is true."""
        if self.apart_by < 2.0 * self.gradient:
            raise Undecided("the declared difference is below that of two opposite rows")
        return ball(self.apart_by)

    @property
    def curvature(self) -> Ball:
        """``c``, as declared."""
        return ball(self.curved)

    @property
    def at_zero(self) -> Ball | None:
        """Not declared."""
        return None

    @property
    def offset(self) -> Ball:
        """The size of the constants that scores are compared with."""
        return ball(self.compared)

    def log_determinant(self, q: Ball) -> Ball:
        """``r log(1 + c q)``."""
        return self.rank * (self.curvature * q).log1p()

    def taken(self) -> Iterator[tuple[str, float]]:
        """What is its author's word."""
        yield "gradient bound of the loss", self.gradient
        yield "curvature bound of the loss", self.curved
        yield "rank of the loss", float(self.rank)


def own_row_loss(record: Record, low: float, high: float) -> OwnRowLoss:
    """The loss of a file's parameters, for a target between these bounds."""
    scores, rank = int(record["scores"]), int(record["rank"])
    gradient, apart = float(record["gradient_bound"]), record.get("difference_bound")
    constant = record.get("largest_constant")
    if not (gradient > 0.0 and float(record["curvature_bound"]) > 0.0 and 1 <= rank <= scores):
        raise Undecided("the bounds of the loss are not positive numbers")
    return OwnRowLoss(
        ONE if scores == 1 else MORE,
        classes=scores + 1,
        gradient=gradient,
        curved=float(record["curvature_bound"]),
        apart_by=2.0 * gradient if apart is None else float(apart),
        rank=rank,
        compared=1.0 + max(abs(low), abs(high)) if constant is None else float(constant),
    )


def smallest_weight(regularizer: Record | None) -> float:
    """Of a ridge's columns; 1 without weights."""
    weights = (regularizer or {}).get("weights")
    found = 1.0 if weights is None else min(map(float, weights))
    if not found > 0.0:
        raise Undecided("the weights of the ridge are not positive numbers")
    return found
