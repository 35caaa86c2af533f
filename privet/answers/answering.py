"""What the three ways of answering with a kernel share: declarations, checks, one charge.

    declarations -> event -> does it fit under the cap? -> NaN refused -> ledger reserves
    -> labels encoded, minimizer, noise -> ledger settles

Two classes only: the theorems are about one prediction ``<w, phi(z)>`` per query.
"""

from __future__ import annotations

import functools
import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d

from privet._checks import is_number, number_between
from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.features.kernel import Kernel, count
from privet.features.named import declared_kernel
from privet.features.objects import SuppliedKernel
from privet.ledger import Ledger
from privet.ledger.charge import Charge, check_ledger
from privet.losses import margin_loss
from privet.models.habits import RefusesHabits
from privet.models.inputs import (
    declared_classes,
    encode_labels,
    numbers,
    refuse_unsound,
    table_shape,
    told_classes,
)
from privet.models.model_display import Displayed
from privet.models.row_wise import refuse_charge, why_not_covered
from privet.privacy import Event
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.privacy.kinds import regularization_of
from privet.rows.streamed import StreamedTable

Init = Callable[..., None]


def budget_first(*former: str, **renamed: str) -> Callable[[Init], Init]:
    """A constructor whose one positional argument is ``budget``, as in every other model.

    For one version it also takes its ``former`` positional order and ``renamed`` parameters, with a
    warning.
    """

    def understand(init: Init) -> Init:
        @functools.wraps(init)
        def started(self: Any, *args: Any, **named: Any) -> None:
            said = [f"{old}= is now {new}=" for old, new in renamed.items() if old in named]
            for old, new in renamed.items():
                if old in named:
                    named[new] = named.pop(old)
            if args and not is_number(args[0]) and not isinstance(args[0], Budget):
                names = former[: len(args)]
                twice = [name for name in names if name in named]
                if len(names) < len(args) or twice:
                    raise TypeError(f"{type(self).__name__}() got more values than parameters.")
                named.update(zip(names, args, strict=True))
                said.append(f"budget comes first, and {', '.join(names)} by name")
                args = ()
            if said:
                warnings.warn(
                    f"{type(self).__name__}: {'; '.join(said)}. The old way will be removed.",
                    FutureWarning,
                    stacklevel=2,
                )
            init(self, *args, **named)

        return started

    return understand


class KernelAnswering(RefusesHabits, Displayed, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Common contract of the interactive, semi-interactive and non-interactive models."""

    #: attributes that a fit sets; an earlier fit's are forgotten first
    released: ClassVar[tuple[str, ...]] = ("classes_", "guarantee_", "regularization_")

    kernel: str | Kernel
    budget: Budget | float
    regularization: float | Literal["auto"]
    loss: str
    h: float
    classes: Any
    ledger: Ledger | None
    dataset: str | None
    insecure_seed: int | None
    classes_: NDArray[Any]
    guarantee_: Guarantee
    regularization_: float

    # -- declarations --------------------------------------------------------------------------

    @property
    def _budget(self) -> Budget:
        return as_budget(self.budget)

    @property
    def _objects(self) -> bool:
        return isinstance(self.kernel, Kernel) and self.kernel.objects

    def _kernel(self, d: int) -> Kernel:
        return declared_kernel(self.kernel, "auto", 1.5, d, None)

    def _declared(self, d: int) -> dict[str, Any]:
        """What every mechanism here is declared with, for rows of ``d`` columns."""
        return {
            "loss": margin_loss(self.loss, self.h),
            "budget": self._budget,
            "norm_bound": math.sqrt(self._kernel(d).bound),
            "regularization": self.regularization,
            "insecure_seed": self.insecure_seed,
        }

    def _declared_points(self, name: str, points: Any, d: int) -> Any:
        """Public points as the kernel compares them: objects, or a table of ``d`` columns."""
        if self._objects:
            return list(points)
        table = np.array(points, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != d or not np.isfinite(table).all():
            raise DeclarationError(f"{name} must be a table of {d} columns of numbers.")
        return table

    def _told(self, d: int) -> list[str]:
        """What a statement lists as public, common to all three."""
        kernel = self._kernel(d)
        supplied = isinstance(kernel, SuppliedKernel)
        name = "a supplied kernel" if supplied else f"the kernel {kernel}"
        told = [
            "the number of rows and columns",
            f"{name}, K(x, x) at most {kernel.bound:g}",
            told_classes(self.classes),
        ]
        if supplied:
            told.append(
                "that the supplied kernel is positive semidefinite and a function of two objects "
                "alone, as asserted by the user"
            )
        return told

    # -- fitting -------------------------------------------------------------------------------

    @abstractmethod
    def _event(self, n: int, d: int) -> Event:
        """What a fit on ``n`` rows of ``d`` columns costs, from declarations."""

    @abstractmethod
    def _run(self, data: Any, targets: Array) -> str:
        """Release, and return the words for the arithmetic. Charged before."""

    def _constants(self, n: int, d: int) -> dict[str, Any]:
        """Public numbers of the design that its event does not have."""
        return {}

    def _digests(self, event: Event) -> list[str]:
        """Names of what a fit has released by itself; answers come later."""
        return []

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Train on rows (or objects) ``X`` and two-class labels ``y``; spends the budget once."""
        self._forget()
        why = why_not_covered()
        refuse_charge(why, self.ledger)
        check_ledger(self.ledger, self.dataset, self.insecure_seed)
        data, labels = self._table(X, y)
        classes = self._two_classes(labels)
        n, d = table_shape(data)
        event = self._event(n, d)
        if self.ledger is not None and self.dataset is not None:
            self.ledger.require(self.dataset, event)
        self._refuse_unsound(data)
        charge = Charge(self.ledger, self.dataset, event, forget=self._forget)
        with charge:
            targets = self._targets(labels, classes)
            self.classes_ = classes
            numerics = self._run(data, targets)
            for each in self._digests(event):
                charge.releases(each)
        self.regularization_ = regularization_of(event)
        told = tuple(self._told(d))
        known = self._constants(n, d)
        guarantee = Guarantee(event, numerics, told, receipt=charge.receipt, constants=known)
        self.guarantee_ = guarantee.not_covered(why) if why else guarantee
        return self

    def _forget(self) -> None:
        for name in self.released:
            self.__dict__.pop(name, None)

    def _table(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """Dense numbers or a list of objects, as the kernel takes them."""
        if isinstance(X, StreamedTable):
            raise DeclarationError(
                "Answers hold their table in memory, and this one is read in parts. Pass one file "
                "or a data frame; nothing was charged."
            )
        if not self._objects:
            checked = numbers(self, X, *y, reset=reset)
            return (_dense(checked[0]), *checked[1:]) if y else _dense(checked)
        if isinstance(X, str | bytes) or count(X) == 0:
            raise DataError("Expected a sequence of objects, at least one.")
        check_consistent_length(X, *y)
        self.n_features_in_ = 0
        return (list(X), *(column_or_1d(labels) for labels in y)) if y else list(X)

    def _two_classes(self, labels: NDArray[Any]) -> NDArray[Any]:
        classes = declared_classes(self.classes, labels)
        if len(classes) != 2:
            raise DeclarationError(
                f"Only binary classification is supported. {type(self).__name__} is for two "
                f"classes, but {len(classes)} are declared or observed; use KernelSVC for more."
            )
        return classes

    def _refuse_unsound(self, data: Any) -> None:
        """NaN, infinity, and objects of the wrong kind: refused uncharged.

        What a user's own function says about one object is found after the charge: it could be a
        test for that object.
        """
        if not self._objects:
            refuse_unsound(data)
        elif not isinstance(self.kernel, SuppliedKernel):
            self._kernel(0).diagonal(data)

    def _targets(self, labels: NDArray[Any], classes: NDArray[Any]) -> Array:
        """-1 and +1; an undeclared label is refused, so this comes after the charge."""
        signs = margin_loss(self.loss, self.h).targets(encode_labels(labels, classes))
        return np.asarray(signs, dtype=np.float64)

    # -- predicting ----------------------------------------------------------------------------

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> Array:
        """Private scores of each row, positive for the second class."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The more likely declared class of each row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def failure_share(value: float) -> float:
    """``beta``: how likely a promised error bound may fail."""
    return number_between("failure_probability", value, 1e-12, 0.5)


def _dense(table: Any) -> Array:
    values: Any = table.toarray() if issparse(table) else table  # type: ignore[attr-defined]
    return np.ascontiguousarray(values, dtype=np.float64)
