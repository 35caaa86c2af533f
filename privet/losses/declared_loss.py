"""A user's own loss: three functions of scores and target, and the bounds that are declared of it.

The functions are code, so a file can name the loss and keep its bounds, and never holds the loss
itself. The bounds are their author's word. They are attacked before any fit (``loss_attack.py``),
which finds mistakes and proves nothing; every guarantee says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NoReturn, cast, get_args

import numpy as np
from numpy.typing import NDArray

from privet._checks import number_between, positive_whole, shown
from privet._types import Array, Targets
from privet.errors import DeclarationError
from privet.losses.loss import Family, Loss
from privet.losses.residual import NUMBER_SHARE

Function = Callable[[Array, Array], Array]
#: What a score says of the target: itself, its exponential, or a share between 0 and 1.
Link = Literal["identity", "exp", "expit"]
#: Rounding may take a computed gradient this far above its bound.
ROUNDED = 1.0 + 1e-9
#: A declared bound is between these, so that products of bounds and scores are numbers.
BOUNDS = (1e-30, 1e30)
#: K is at most this: every row has a Hessian of K by K numbers.
MOST_SCORES = 1000


@dataclass(frozen=True)
class ConvexLoss:
    """A convex function of scores, with the bounds that a proof needs of it.

    With one score the functions take scores and targets of shape ``(n,)`` and return shape
    ``(n,)``. With K scores they take ``(n, K)`` and ``(n,)`` and return ``(n,)``, ``(n, K)`` and
    ``(n, K, K)``. Targets are in the units of ``target_bounds``. Each row must be computed by
    itself.

    Parameters
    ----------
    name : str
        What files and statements call it.
    value, gradient, hessian : functions of scores and targets
        The loss and its first two derivatives in the scores.
    gradient_bound : float
        The largest norm of the gradient, for all scores and all targets within their bounds.
    curvature_bound : float
        The largest eigenvalue of the Hessian there. The gradient must be continuous.
    scores : int, default 1
        K.
    rank : int, default K
        The largest rank of the Hessian. One row costs ``rank log(1 + q curvature_bound)``.
    difference_bound : float or None, default None
        How far two rows' gradients can be apart; two opposite rows reach twice the gradient bound,
        which is the default. Nothing less is true.
    largest_constant : float or None, default None
        The size of the constants that a score is compared with, for rounding. None: one more than
        the larger of the target's bounds.
    link : "identity", "exp" or "expit", default "identity"
        What ``predict`` makes of a score.
    """

    name: str
    value: Function = field(repr=False)
    gradient: Function = field(repr=False)
    hessian: Function = field(repr=False)
    gradient_bound: float
    curvature_bound: float
    scores: int = 1
    rank: int = 0
    difference_bound: float | None = None
    largest_constant: float | None = None
    link: Link = "identity"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise DeclarationError("name must be a text that says what the loss is.")
        if not all(callable(part) for part in (self.value, self.gradient, self.hessian)):
            raise DeclarationError(
                "value, gradient and hessian must be functions (scores, target)."
            )
        number_between("gradient_bound", self.gradient_bound, *BOUNDS)
        number_between("curvature_bound", self.curvature_bound, *BOUNDS)
        if positive_whole("scores", self.scores) > MOST_SCORES:
            raise DeclarationError(f"scores is at most {MOST_SCORES}, got {shown(self.scores)}.")
        object.__setattr__(self, "rank", positive_whole("rank", self.rank or self.scores))
        if self.rank > self.scores:
            raise DeclarationError(f"rank is at most scores = {self.scores}, got {self.rank}.")
        for name in ("difference_bound", "largest_constant"):
            if getattr(self, name) is not None:
                number_between(name, getattr(self, name), *BOUNDS)
        if self.link not in get_args(Link):
            raise DeclarationError(f"link must be 'identity', 'exp' or 'expit', got {self.link!r}.")

    @property
    def facts(self) -> dict[str, Any]:
        """What is declared of it: everything but the functions."""
        names = ("name", "gradient_bound", "curvature_bound", "scores", "rank")
        more = ("difference_bound", "largest_constant", "link")
        return {name: getattr(self, name) for name in (*names, *more)}

    @property
    def has_code(self) -> bool:
        """Whether it can be computed: a model file keeps no functions."""
        return not isinstance(self.value, Missing)

    def to_json(self) -> dict[str, Any]:
        """What is declared of it, for files.

        Returns
        -------
        dict
            Without the functions.
        """
        return self.facts


@dataclass(frozen=True)
class Missing:
    """Stands for a function that a file does not keep."""

    name: str

    def __call__(self, scores: Array, target: Array) -> NoReturn:
        """Refused."""
        raise DeclarationError(
            f"The loss {self.name!r} is code, and a model file keeps its name and bounds only. "
            "Predict with this model as it is, or set loss= again before a fit."
        )


def loss_from_json(record: dict[str, Any]) -> ConvexLoss:
    """A loss as a model file keeps it: its name and bounds, and no code."""
    missing = Missing(record["name"])
    functions = {"value": missing, "gradient": missing, "hessian": missing}
    return ConvexLoss(**{**record, **functions})


@dataclass(frozen=True)
class OwnLoss(Loss):
    """A user's loss on targets between ``low`` and ``high``, as mechanisms take it.

    One score has a Hessian of rank one and slopes of both signs: every theorem on the losses of
    regression holds. More scores have those that use gradient, curvature and rank alone.
    """

    name: ClassVar[str] = "own"

    own: ConvexLoss
    low: float
    high: float
    #: whether a gradient above its bound ends a fit; attacks look at it themselves
    guarded: bool = True

    @property
    def family(self) -> Family:  # type: ignore[override]
        """That of regressions, or of any scores."""
        return "residual" if self.own.scores == 1 else "scores"

    @property
    def scores(self) -> int:
        """K."""
        return self.own.scores

    @property
    def classes(self) -> int:
        """One more than there are scores, as many as rounding counts."""
        return self.own.scores + 1

    @property
    def assumption(self) -> str:
        """Whose word the bounds are."""
        return (
            f"the loss {self.own.name!r}, whose bounds are its author's word "
            "(privet/models/private_erm.proof.md)"
        )

    @property
    def offset(self) -> float:
        """As declared, or beyond every target."""
        if self.own.largest_constant is not None:
            return self.own.largest_constant
        return 1.0 + max(abs(self.low), abs(self.high))

    @property
    def largest_at_zero(self) -> float:
        """Not declared: minimizers are bounded by the gradient alone."""
        return math.inf

    @property
    def reach(self) -> float:
        """``2 L/c``: what a score moves while the slope goes from one bound to the other."""
        return 2.0 * self.row_gradient_bound / self.curvature_bound

    def declared(self) -> dict[str, Any]:
        """Name and bounds."""
        return {**self.own.facts, "name": self.name, "called": self.own.name, "offset": self.offset}

    def targets(self, codes: NDArray[Any]) -> Targets:
        """Shares of the interval as numbers within it."""
        share = np.asarray(codes, dtype=np.float64)
        return np.clip(self.low * (1.0 - share) + self.high * share, self.low, self.high)

    # -- derivatives ---------------------------------------------------------------------------

    def value(self, z: Array, y: Targets) -> Array:
        """The user's."""
        return self._called("value", z, y, ())

    def gradient(self, z: Array, y: Targets) -> Array:
        """The user's; above its bound the fit ends, and nothing is released."""
        found = self._called("gradient", z, y, (self.scores,))
        longest = (self.own.gradient_bound * ROUNDED) ** 2
        with np.errstate(over="ignore"):
            self._guard("gradient_bound", np.square(found).sum(axis=-1), longest)
        return found

    def hessian(self, z: Array, y: Targets) -> Array:
        """The user's; the fit ends where its eigenvalues cannot all be within their bounds."""
        found = self._called("hessian", z, y, (self.scores, self.scores))
        largest = self.own.rank * self.own.curvature_bound * ROUNDED
        trace = np.trace(found, axis1=-2, axis2=-1)
        self._guard("curvature_bound", np.where(trace < -1e-9 * largest, np.inf, trace), largest)
        return found

    def _guard(self, bound: str, found: NDArray[Any], largest: float) -> None:
        """End the fit where a number is above the largest, or is none."""
        if self.guarded and not found.max(initial=0.0) <= largest:
            raise DeclarationError(
                f"The loss {self.own.name!r} left its declared {bound} during the fit. "
                "Nothing was released. Declare a larger bound and check the function."
            )

    def _called(self, part: str, z: Array, y: Targets, tail: tuple[int, ...]) -> Array:
        """One of the functions on all rows at once, in checked shapes; it cannot write to them."""
        lead = np.broadcast_shapes(z.shape[:-1], np.shape(y))
        rows = np.array(np.broadcast_to(z, (*lead, self.scores))).reshape(-1, self.scores)
        target = np.array(np.broadcast_to(y, lead), dtype=np.float64).reshape(-1)
        scores = rows[:, 0] if self.scores == 1 else rows
        scores.flags.writeable = target.flags.writeable = False
        found = self._numbers(part, scores, target)
        wanted = (len(target), *(tail if self.scores > 1 else ()))
        if found.shape != wanted:
            raise DeclarationError(
                f"The {part} of the loss {self.own.name!r} must have shape {wanted} for "
                f"{len(target)} rows, and has {found.shape}."
            )
        return found.reshape(*lead, *tail)

    def _numbers(self, part: str, scores: Array, target: Array) -> Array:
        """What a function returns; its own error is quoted while all it has seen is public."""
        function = cast(Function, getattr(self.own, part))
        try:
            with np.errstate(all="ignore"):  # what is not finite is refused
                found = np.asarray(function(scores, target))
        except DeclarationError:  # a loss without its code
            raise
        except Exception as error:
            quoted = "" if self.guarded else f" ({error})"
            raise DeclarationError(
                f"The {part} of the loss {self.own.name!r} raised {type(error).__name__}{quoted}. "
                "It is called with arrays of many scores and targets, which it must not change."
            ) from None
        if found.dtype.kind not in "biuf":
            raise DeclarationError(
                f"The {part} of the loss {self.own.name!r} must return real numbers, and returned "
                f"an array of {found.dtype}."
            )
        return np.asarray(found, dtype=np.float64)

    # -- public facts --------------------------------------------------------------------------

    @property
    def row_gradient_bound(self) -> float:
        """As declared."""
        return float(self.own.gradient_bound)

    @property
    def difference_bound(self) -> float:
        """As declared; two opposite rows reach ``2 L``."""
        declared = self.own.difference_bound
        return 2.0 * self.row_gradient_bound if declared is None else float(declared)

    @property
    def curvature_bound(self) -> float:
        """As declared."""
        return float(self.own.curvature_bound)

    def log_determinant_bound(self, q: float) -> float:
        """``r log(1 + c q)``: ``r`` eigenvalues, none above ``c``."""
        return self.own.rank * math.log1p(self.curvature_bound * q)

    def curvature_floor(self, epsilon: float, n: int = 1) -> float:
        """The determinant takes a quarter of epsilon, as in every regression."""
        return math.expm1(NUMBER_SHARE * epsilon / self.own.rank) / self.curvature_bound
