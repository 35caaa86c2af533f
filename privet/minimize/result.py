"""What a minimizer hands back: a point, its computed gradient norm, and one sentence about both."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import NotConverged

#: which of several paths, as true or false for each, or as their numbers
Mask = NDArray[np.bool_]
Numbers = NDArray[np.intp]


class Status(Enum):
    """How a run ended; the value is the sentence that a message quotes."""

    CONVERGED = "The gradient norm reached the tolerance."
    SLOW = "The gradient norm stopped falling fast under the curvature model in use."
    STALLED = (
        "No step lowers the objective any further: the tolerance is below what rounding allows."
    )
    EXHAUSTED = "The largest number of gradients was used before the tolerance was reached."


ADVICE = {
    Status.STALLED: "Raise the tolerance above privet.minimize.rounding_floor.",
    Status.EXHAUSTED: "Raise max_iter or the regularization.",
}


@dataclass(frozen=True)
class Solution:
    """A point and its certificate.

    ``gradient_norm`` is the Euclidean norm of the gradient of the mean objective over *all* rows,
    computed at exactly this ``theta``. ``passes`` and ``hessians`` count the work in reads of the
    whole table; a read of every eighth row counts an eighth. All of these depend on private rows.
    """

    theta: Array
    gradient_norm: float
    status: Status
    passes: float
    hessians: float

    def certified(self) -> Array:
        """``theta``, or ``NotConverged`` when the tolerance was not reached."""
        if self.status is Status.CONVERGED:
            return self.theta
        raise NotConverged(
            f"{self.status.value} Nothing can be released from this point. {ADVICE[self.status]}"
        )
