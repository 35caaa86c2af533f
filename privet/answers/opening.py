"""What opens an interactive release: declarations, the event they cost, and the session they start.

function        any kernel: a Gaussian path, looked at where it is asked for
                a kernel with few explicit features: one noisy vector, also for a pure epsilon
sparse_vector   any kernel and any budget: a public guess, corrected where it is far off
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privet._types import Array
from privet.answers.answering import failure_share
from privet.answers.dual import kernel_minimum
from privet.answers.sessions import (
    VECTOR_RANK,
    ExplicitMap,
    FunctionSession,
    Session,
    SparseSession,
    VectorSession,
)
from privet.errors import DeclarationError
from privet.features.kernel import Kernel, count
from privet.mechanisms.function import FunctionDesign, FunctionRelease
from privet.mechanisms.output import OutputPerturbation
from privet.mechanisms.sparse_vector import SparseVector, SparseVectorDesign
from privet.privacy import Event
from privet.rows.mapped import MappedRows

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
