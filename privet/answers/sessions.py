"""Running releases, one for each mechanism: they turn new queries into private answers.

A session is the curator's: it holds the minimizer, which is made of training rows. It never leaves
the process that made it.

    FunctionSession   any kernel: a Gaussian path, looked at where it is asked for
    SparseSession     any kernel: a public guess, corrected where it is far off
    VectorSession     kernels with few explicit features: one released vector answers everything

An ``Opening`` is what starts one: declarations, the event they cost, and the session.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.answers.answering import failure_share
from privet.answers.dual import kernel_minimum
from privet.answers.records import AnsweredBatch, Record
from privet.errors import DeclarationError
from privet.features.kernel import Kernel, count
from privet.mechanisms.function import FunctionAnswers, FunctionDesign, FunctionRelease
from privet.mechanisms.output import OutputPerturbation
from privet.mechanisms.sparse_vector import SparseVector, SparseVectorAnswers, SparseVectorDesign
from privet.privacy import Event
from privet.randomness import Randomness
from privet.rows.mapped import MappedRows

Predict = Callable[[Any], Array]
#: Explicit features up to which a vector is found and released.
VECTOR_RANK = 2_000


class Growing:
    """Queries in the form that the kernel takes, with room for more: no copy per query."""

    def __init__(self) -> None:
        self._rows: Array | None = None
        self._objects: list[Any] = []
        self.size = 0

    def add(self, queries: Any) -> None:
        """Append rows or objects."""
        if not isinstance(queries, np.ndarray):
            self._objects.extend(queries)
            self.size += len(queries)
            return
        need = self.size + len(queries)
        if self._rows is None or need > len(self._rows):
            grown = np.empty((max(2 * need, 256), queries.shape[1]))
            if self._rows is not None:
                grown[: self.size] = self._rows[: self.size]
            self._rows = grown
        self._rows[self.size : need] = queries
        self.size = need

    def all(self) -> Any:
        """Everything added so far."""
        return self._objects if self._rows is None else self._rows[: self.size]


class Session(ABC):
    """Answers new, distinct queries; whoever calls it has charged the event."""

    @abstractmethod
    def answer(self, queries: Any, randomness: Randomness) -> AnsweredBatch:
        """Private answers to queries that were not asked before."""

    @abstractmethod
    def restore(self, batch: AnsweredBatch) -> None:
        """Take up a batch that was answered before, in the order of the transcript."""

    @abstractmethod
    def anew(self) -> Session:
        """A session of the same minimizer that has answered nothing yet."""

    @property
    def state(self) -> Record:
        """Public counters that a transcript must carry."""
        return {}

    @abstractmethod
    def recall(self, state: Record) -> None:
        """Take up the counters."""

    def __reduce__(self) -> Any:
        raise TypeError("A running release holds training rows and is not pickled.")


class FunctionSession(Session):
    """A function release on any kernel."""

    def __init__(self, design: FunctionDesign, kernel: Kernel, predict: Predict) -> None:
        self._answers = FunctionAnswers(design)
        self._kernel, self._predict = kernel, predict
        self._kept = Growing()

    def answer(self, queries: Any, randomness: Randomness) -> AnsweredBatch:
        """Piece by piece, as the factor's last block has room."""
        answers, marks = np.empty(len(queries)), np.empty(len(queries), dtype=bool)
        start = 0
        while start < len(queries):
            part = slice(start, start + self._answers.room)
            piece = queries[part]
            values, cross, own = self._kernels(piece)
            answers[part], marks[part] = self._answers.answer(values, cross, own, randomness)
            self._kept.add(pick(piece, marks[part]))
            start += len(piece)
        return AnsweredBatch(queries, answers, marks)

    def restore(self, batch: AnsweredBatch) -> None:
        """The factor again, and the deviations from the minimizer that was computed again."""
        kept, answers = pick(batch.queries, batch.marked), batch.answers[batch.marked]
        start = 0
        while start < len(kept):
            part = slice(start, start + self._answers.room)
            values, cross, own = self._kernels(kept[part])
            self._answers.restore(values, cross, own, answers[part])
            self._kept.add(kept[part])
            start += len(values)

    def _kernels(self, piece: Any) -> tuple[Array, Array, Array]:
        cross = np.empty((0, len(piece)))
        if self._kept.size:
            cross = np.ascontiguousarray(self._kernel(self._kept.all(), piece))
        own = self._kernel(piece, piece)
        return self._predict(piece), cross, (own + own.T) / 2.0

    def anew(self) -> FunctionSession:
        """Without the factor."""
        return FunctionSession(self._answers.design, self._kernel, self._predict)

    @property
    def state(self) -> Record:
        """What queries that were not kept have cost of the slack."""
        return {"spent": self._answers.spent}

    def recall(self, state: Record) -> None:
        """Never less than what was spent."""
        self._answers.recall(float(state.get("spent", 0.0)))


class SparseSession(Session):
    """Guesses from corrected weights; a correction costs one epoch."""

    def __init__(self, design: SparseVectorDesign, kernel: Kernel, predict: Predict) -> None:
        self._machine = SparseVectorAnswers(design)
        self._kernel, self._predict = kernel, predict
        self._centers = Growing()
        self._weights = np.empty(0)

    @property
    def exhausted(self) -> bool:
        """Whether the guesses are final."""
        return self._machine.exhausted

    @property
    def updates(self) -> int:
        """Corrections so far."""
        return len(self._weights)

    def answer(self, queries: Any, randomness: Randomness) -> AnsweredBatch:
        """One query after the other: a correction changes the next guess."""
        values = self._predict(queries)
        answers, marks = np.empty(len(queries)), np.zeros(len(queries), dtype=bool)
        for i, value in enumerate(values):
            query = queries[i : i + 1]
            guess = self._guess(query)
            answers[i] = guess
            square = float(self._kernel.diagonal(query)[0])
            if square > 0.0 and self._machine.ask(abs(float(value) - guess), randomness):
                answers[i] = self._machine.release(float(value), randomness)
                marks[i] = True
                self._correct(query, answers[i] - guess, square)
        return AnsweredBatch(queries, answers, marks)

    def _guess(self, query: Any) -> float:
        if not self._centers.size:
            return 0.0
        return float((self._kernel(query, self._centers.all()) @ self._weights)[0])

    def _correct(self, query: Any, error: float, square: float) -> None:
        self._centers.add(query)
        self._weights = np.append(self._weights, error / square)

    def restore(self, batch: AnsweredBatch) -> None:
        """The corrections again; they are functions of what was released."""
        for i in np.flatnonzero(batch.marked):
            query = batch.queries[i : i + 1]
            square = float(self._kernel.diagonal(query)[0])
            self._correct(query, float(batch.answers[i]) - self._guess(query), square)

    def anew(self) -> SparseSession:
        """Without corrections; ``recall`` says which epochs are used."""
        return SparseSession(self._machine.design, self._kernel, self._predict)

    @property
    def state(self) -> Record:
        """Epochs that began."""
        return {"epochs": self._machine.used}

    def recall(self, state: Record) -> None:
        """A resumed session begins a new epoch: the old threshold's noise is gone."""
        self._machine = SparseVectorAnswers(self._machine.design, used=int(state.get("epochs", 0)))


def pick(queries: Any, chosen: NDArray[np.bool_]) -> Any:
    """The chosen rows or objects."""
    if isinstance(queries, np.ndarray):
        return queries[chosen]
    return [query for query, kept in zip(queries, chosen, strict=True) if kept]


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
    """Answers ``<v, phi(z)>`` for the released ``v``: post-processing.

    ``K(x, z) = <phi(x), phi(z)>`` with ``phi`` of finite rank. A path of the Gaussian process with
    covariance ``K`` is ``<g, phi(z)>`` for one Gaussian vector ``g``, so the function release is
    output perturbation of ``w*``. An answer costs O(rank), there is no history, and no row is
    needed to go on.
    """

    def __init__(self, kernel: Kernel, vector: Array) -> None:
        self._kernel, self._released = kernel, vector

    def __call__(self, queries: Any) -> Array:
        """No noise is left to draw, nothing depends on the earlier queries."""
        return np.asarray(self._kernel.explicit(queries) @ self._released)

    def answer(self, queries: Any, randomness: Randomness) -> AnsweredBatch:
        """The answers as a batch."""
        answers = self(queries)
        return AnsweredBatch(queries, answers, np.zeros(len(answers), dtype=bool))

    def restore(self, batch: AnsweredBatch) -> None:
        """Nothing to take up."""

    def recall(self, state: Record) -> None:
        """Nothing to take up."""

    def anew(self) -> VectorSession:
        """It has no history."""
        return self

    def __reduce__(self) -> Any:
        return VectorSession, (self._kernel, self._released)  # released: no row is in it

    @property
    def state(self) -> Record:
        """The released vector."""
        return {"vector": self._released.tolist()}


# -- what opens a release ------------------------------------------------------------------------

MECHANISMS = ("auto", "function", "sparse_vector")


@dataclass(frozen=True)
class Opening:
    """Every declaration of an interactive release on rows of ``columns`` columns."""

    kernel: Kernel
    columns: int
    declared: str
    common: dict[str, Any]  # what every mechanism is declared with
    promise: dict[str, Any]  # of the sparse vector's error

    def __post_init__(self) -> None:
        if self.declared not in MECHANISMS:
            names = ", ".join(repr(name) for name in MECHANISMS)
            raise DeclarationError(f"mechanism must be one of {names}, got {self.declared!r}.")

    @property
    def rank(self) -> int | None:
        """How many explicit features the kernel has; None where they are too many for a vector."""
        rank = self.kernel.rank(self.columns)
        return None if rank is None or rank > VECTOR_RANK else rank

    @property
    def mechanism(self) -> str:
        """As declared, or by the public rule: a function release where it is possible."""
        if self.declared != "auto":
            return self.declared
        function = self.common["budget"].allows_gaussian or self.rank is not None
        return "function" if function else "sparse_vector"

    @property
    def vector(self) -> OutputPerturbation | None:
        """The mechanism for a kernel with few explicit features; None for the others."""
        if self.mechanism != "function" or self.rank is None:
            return None
        return OutputPerturbation(**self.common)

    def design(self, n: int) -> FunctionDesign | SparseVectorDesign:
        """The mechanism for a kernel with many features or infinitely many, for ``n`` rows."""
        if self.mechanism == "function":
            return FunctionRelease(**self.common).design(n, self.columns)
        failure_share(self.promise["failure_probability"])
        return SparseVector(**self.common, **self.promise).design(n, self.columns)

    def event(self, n: int) -> Event:
        """What the release of ``n`` rows costs, once for all its answers."""
        if self.vector is not None and self.rank is not None:
            return self.vector.event(n, self.rank)
        return self.design(n).event

    def constants(self, n: int) -> dict[str, Any]:
        """Public numbers of the design that the event does not have."""
        if self.vector is not None and self.rank is not None:
            return self.vector.design(n, self.rank).constants
        return self.design(n).constants

    def session(self, data: Any, targets: Array) -> tuple[Session, str]:
        """The running release, and the words for its arithmetic. Charged before."""
        kernel = self.kernel
        if self.vector is not None:
            rows = MappedRows(data, targets, ExplicitMap(kernel, self.columns))
            release = self.vector.run(rows)
            return VectorSession(kernel, release.value), release.numerics
        design = self.design(count(data))
        risk, tolerance = design.minimizer.risk, design.minimizer.tolerance
        minimum = kernel_minimum(risk, kernel, data, targets, tolerance)
        if isinstance(design, FunctionDesign):
            return FunctionSession(design, kernel, minimum), design.numerics
        return SparseSession(design, kernel, minimum), design.numerics
