"""Kernels on objects that are not rows of numbers: strings, or anything a user can compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction import DictVectorizer

from privet._checks import positive
from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.features.kernel import Kernel, count
from privet.rows.mapped import FEW, SAME, repeated

BESIDE = (
    "The supplied kernel's number of two objects changes with the objects beside them, or from "
    "call to call. It must be a function of these two alone: use no mean, maximum or other number "
    "of the whole block."
)
DIAGONAL = (
    "diagonal_function of the supplied kernel does not give K(x, x). Correct it, or leave it None."
)


@dataclass(frozen=True)
class Spectrum(Kernel):
    """Strings by their substrings of ``length`` letters (Leslie, Eskin and Noble 2002).

    ``K(s, t) = <c(s), c(t)>/(|c(s)| |c(t)|)`` with ``c`` the counts of the substrings, so
    ``K(s, s) = 1``, or 0 for a string that is too short to have one.

    Parameters
    ----------
    length : int, default 3
        Letters of a substring.
    """

    length: int = 3
    name: ClassVar[str] = "spectrum"
    objects: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int) or self.length < 1:
            raise DeclarationError(f"length must be a positive integer, got {self.length!r}.")

    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``: only the substrings that ``b`` has can be shared."""
        left, right = self._counts(a), self._counts(b)
        code = DictVectorizer().fit([*right, {"": 1}])  # the empty substring: never counted
        shared = code.transform(left) @ code.transform(right).T
        norms = self._norms(left)[:, None] * self._norms(right)[None, :]
        return np.asarray(np.minimum(shared.toarray() / np.maximum(norms, 1.0), 1.0))

    def diagonal(self, a: Any) -> Array:
        """1 where there is a substring of this length."""
        return np.array([float(bool(counts)) for counts in self._counts(a)])

    @property
    def bound(self) -> float:
        """1."""
        return 1.0

    def _counts(self, strings: Any) -> list[Counter[str]]:
        if not all(isinstance(string, str) for string in strings):
            raise DataError("The spectrum kernel compares strings; the rows hold something else.")
        return [
            Counter(string[i : i + self.length] for i in range(len(string) - self.length + 1))
            for string in strings
        ]

    @staticmethod
    def _norms(counts: Sequence[Counter[str]]) -> Array:
        return np.asarray(np.sqrt([sum(times * times for times in row.values()) for row in counts]))


@dataclass(frozen=True)
class SuppliedKernel(Kernel):
    """A user's own function on any objects.

    That it is positive semidefinite, and that each number is a function of its two objects alone,
    is the user's word; a few pairs are compared by themselves, and what differs is refused. That
    ``K(x, x) <= declared_bound`` is enforced: where it fails ``phi(x)`` is scaled down to the
    bound, which is again a kernel.

    Parameters
    ----------
    function : callable
        ``function(a, b)`` returns an array of shape ``(len(a), len(b))``.
    declared_bound : float
        ``R^2``, positive.
    diagonal_function : callable or None, default None
        Gives ``K(a_i, a_i)``, shape ``(len(a),)``; None compares each object with itself, which
        is safer: the bound is enforced on what this function says.
    """

    function: Callable[[Any, Any], Any]
    declared_bound: float
    diagonal_function: Callable[[Any], Any] | None = None
    name: ClassVar[str] = "supplied"
    objects: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DeclarationError("function must be callable: function(a, b) -> array.")
        positive("declared_bound", self.declared_bound)

    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)`` scaled to the declared bound."""
        values = _unquoted(self.function, a, b)
        if values.shape != (count(a), count(b)) or not np.isfinite(values).all():
            raise DataError(
                "The supplied kernel must return one finite number for each pair of objects, "
                f"shape {(count(a), count(b))}."
            )
        self._expect_alone(a[:FEW], b[:FEW])
        return values * self._shrink(a)[:, None] * self._shrink(b)[None, :]

    def diagonal(self, a: Any) -> Array:
        """``K(a_i, a_i)``, at most the declared bound."""
        return np.minimum(self._raw_diagonal(a), self.bound)

    @property
    def bound(self) -> float:
        """The declared bound."""
        return float(self.declared_bound)

    def to_json(self) -> dict[str, Any]:
        """Refused: a model file holds no code."""
        raise DeclarationError(
            "A model with a supplied kernel cannot be saved: a model file holds data, never code. "
            "Use one of the named kernels."
        )

    def _raw_diagonal(self, a: Any) -> Array:
        if self.diagonal_function is not None:
            values = _unquoted(self.diagonal_function, a)
            for i in ends(a) if values.shape == (count(a),) else ():
                own = _unquoted(self.function, a[i : i + 1], a[i : i + 1])
                if own.size != 1 or not own.item() <= values[i] + SAME * (self.bound + values[i]):
                    raise DataError(DIAGONAL)
        else:
            each = (a[i : i + 1] for i in range(count(a)))
            pairs = [_unquoted(self.function, one, one) for one in each]
            values = np.array([pair.item() if pair.size == 1 else np.nan for pair in pairs])
        if values.shape != (count(a),) or not (np.isfinite(values) & (values >= 0.0)).all():
            raise DataError("K(x, x) of the supplied kernel must be finite and not negative.")
        return values

    def _expect_alone(self, a: Any, b: Any) -> None:
        """Refuse numbers of pairs that others beside them move."""
        values = _unquoted(self.function, a, b)
        for i, j in zip(ends(a), ends(b), strict=False) if values.size > 1 else ():
            again = _unquoted(self.function, repeated(a, i), repeated(b, j))
            near = SAME * (self.bound + abs(values[i, j]))
            if again.shape != values.shape or not abs(again[i, j] - values[i, j]) <= near:
                raise DataError(BESIDE)

    def _shrink(self, a: Any) -> Array:
        return np.sqrt(self.bound / np.maximum(self._raw_diagonal(a), self.bound))


def ends(objects: Any) -> tuple[int, ...]:
    """The places of the first object and of the last."""
    return tuple(sorted({0, count(objects) - 1})) if count(objects) else ()


def _unquoted(function: Callable[..., Any], *objects: Any) -> Array:
    """What a user's function returns; its own error may quote an object and is replaced."""
    try:
        return np.asarray(function(*objects), dtype=np.float64)
    except Exception as error:
        kind = type(error).__name__
    # outside of the handler, which would quote the object
    raise DataError(f"The supplied kernel raised an error of its own ({kind}) for some objects.")
