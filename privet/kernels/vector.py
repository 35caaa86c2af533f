"""Kernels with few explicit features: one released vector answers every query.

``K(x, z) = <phi(x), phi(z)>`` with ``phi`` of finite rank. A path of the Gaussian process with
covariance ``K`` is ``<g, phi(z)>`` for one Gaussian vector ``g``, so the function release is output
perturbation of ``w*``. What is released is the vector itself: an answer costs O(rank), there is no
history, and no row is needed to go on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.kernels.base import Kernel
from privet.kernels.records import Record
from privet.kernels.sessions import Session
from privet.kernels.transcript import Batch
from privet.randomness import Randomness

Array = NDArray[np.float64]

#: Features up to which the vector is found and kept explicitly.
VECTOR_RANK = 2_000


class ExplicitMap:
    """``phi`` as a feature map."""

    def __init__(self, kernel: Kernel, columns: int) -> None:
        self._kernel = kernel
        self.columns = int(kernel.rank(columns) or 0)
        self.norm = math.sqrt(kernel.bound)

    def __call__(self, x: Any) -> Array:
        """``phi`` of a block of rows."""
        return self._kernel.explicit(x)


class VectorSession(Session):
    """Answers ``<v, phi(z)>`` for the released ``v``: post-processing."""

    def __init__(self, kernel: Kernel, vector: Array) -> None:
        self._kernel, self._released = kernel, vector

    def __call__(self, queries: Any) -> Array:
        """No noise is left to draw, nothing depends on the earlier queries."""
        return np.asarray(self._kernel.explicit(queries) @ self._released)

    def answer(self, queries: Any, randomness: Randomness) -> Batch:
        """The answers as a batch."""
        answers = self(queries)
        return Batch(queries, answers, np.zeros(len(answers), dtype=bool))

    def restore(self, batch: Batch) -> None:
        """Nothing to take up."""

    def recall(self, state: Record) -> None:
        """Nothing to take up."""

    def __reduce__(self) -> Any:
        return VectorSession, (self._kernel, self._released)  # released: no row is in it

    @property
    def state(self) -> Record:
        """The released vector."""
        return {"vector": self._released.tolist()}
