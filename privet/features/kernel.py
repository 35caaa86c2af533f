"""What a kernel is: ``K(x, z) = <phi(x), phi(z)>`` whose ``K(x, x)`` never passes a public bound.

A privacy proof needs one number of a kernel: ``bound``, the ``R^2`` with ``K(x, x) <= R^2`` for
every object there could be.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, ClassVar

from privet._types import Array
from privet.errors import DeclarationError


class Kernel(ABC):
    """A positive semidefinite function of two objects, as a frozen value.

    ``a`` and ``b`` are tables (rows are objects) for the numerical kernels, sequences of objects
    for the others.
    """

    name: ClassVar[str]
    #: whether it compares objects that are not rows of a table
    objects: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``, shape ``(len(a), len(b))``."""

    @abstractmethod
    def diagonal(self, a: Any) -> Array:
        """``K(a_i, a_i)``, shape ``(len(a),)``."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """``R^2``, at least ``K(x, x)`` for every ``x``; public."""

    def rank(self, columns: int) -> int | None:
        """Dimension of ``phi`` on tables of ``columns`` columns; None where it is infinite."""
        return None

    def explicit(self, a: Any) -> Array:
        """``phi(a_i)``, shape ``(len(a), rank)``, where ``rank`` is not None."""
        raise DeclarationError(f"The {self.name} kernel has no finite features.")

    def to_json(self) -> dict[str, Any]:
        """Name and parameters, for model files."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]


def count(objects: Any) -> int:
    """How many objects there are."""
    return int(objects.shape[0]) if hasattr(objects, "shape") else len(objects)
