"""What the three ways of answering with a kernel share: declarations, checks, one charge.

    declarations -> event -> does it fit under the cap? -> NaN refused -> ledger reserves
    -> labels encoded, minimizer, noise -> ledger settles

Two classes only: the theorems are about one prediction ``<w, phi(z)>`` per query.
"""

from __future__ import annotations

import functools
import math
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from privet._checks import is_number, number_between
from privet._files import write_paid
from privet._types import Array
from privet.answers import records
from privet.errors import DataError, DeclarationError
from privet.features.kernel import Kernel, count
from privet.features.named import declared_kernel, kernel_from_json
from privet.features.objects import SuppliedKernel
from privet.ledger import Ledger
from privet.ledger.charge import Charge, check_ledger
from privet.losses import margin_loss
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
from privet.privacy.budget import Budget, as_budget, budget_from_json
from privet.privacy.guarantee import Guarantee, guarantee_from_json
from privet.privacy.kinds import regularization_of

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


class KernelAnswering(Displayed, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
                "that the supplied kernel is positive semidefinite, as asserted by the user"
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


# -- released kernel models and their files ------------------------------------------------------

Model = TypeVar("Model", bound="ReleasedExpansion")
BLOCK_NUMBERS = 1 << 24


class ReleasedExpansion(KernelAnswering):
    """``<w, phi(x)> = sum_j dual_coef_j K(points_j, x)``; everything in it is released."""

    released = ("classes_", "guarantee_", "regularization_", "points_", "dual_coef_")
    #: constructor parameters that a file keeps beside kernel, budget and classes
    kept: ClassVar[tuple[str, ...]] = ()

    points_: Any
    dual_coef_: Array

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, positive for the second class."""
        check_is_fitted(self, "dual_coef_")
        data = self._table(X, reset=False)
        self._refuse_unsound(data)
        kernel = self._kernel(int(self.n_features_in_))
        out = np.empty(count(data))
        step = max(1, BLOCK_NUMBERS // max(len(self.dual_coef_), 1))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            out[part] = kernel(data[part], self.points_) @ self.dual_coef_
        return out

    def _digests(self, event: Event) -> list[str]:
        try:
            points = records.queries_out(self.points_)
        except DeclarationError:  # objects of the user's own: there will be no file to name
            return []
        name, classes = type(self).__name__, records.labels_out(self.classes_)
        return [records.answers_digest(name, classes, points, self.dual_coef_.tolist(), event)]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write points, weights and guarantee: what was released, never a row."""
        check_is_fitted(self, "guarantee_")
        d = int(self.n_features_in_)
        head = {
            "format": records.FORMAT,
            "model": type(self).__name__,
            "kernel": self._kernel(d).to_json(),
            "budget": self._budget.to_json(),
            "columns": d,
            "classes": records.labels_out(self.classes_),
            "parameters": {name: getattr(self, name) for name in self.kept},
            "guarantee": self.guarantee_.to_json(),
        }
        points = records.queries_out(self.points_)
        body = {"points": points, "weights": self.dual_coef_.tolist()}
        write_paid(path, records.text_of([head, body])[0], overwrite=overwrite)

    @classmethod
    def load(cls: type[Model], path: str | os.PathLike[str]) -> Model:
        """Read what ``save`` wrote; refuses anything else."""
        lines, _ = records.read(path)
        with records.understood():
            head, body = lines
            if head["model"] != cls.__name__:
                raise DataError(f"The file does not hold a {cls.__name__}.")
            return cls._built(head, body)

    @classmethod
    def _built(cls: type[Model], head: dict[str, Any], body: dict[str, Any]) -> Model:
        classes, parameters = records.labels_in(head["classes"]), dict(head["parameters"])
        if "method" in parameters:  # the word of earlier files
            parameters["mechanism"] = parameters.pop("method")
        model = cls(
            kernel=kernel_from_json(head["kernel"]),
            budget=budget_from_json(head["budget"]),
            classes=classes.tolist(),
            **{name: parameters[name] for name in cls.kept},
        )
        model.points_ = records.queries_in(body["points"])
        model.dual_coef_ = np.array(body["weights"], dtype=np.float64)
        if len(model.points_) != len(model.dual_coef_) or not np.isfinite(model.dual_coef_).all():
            raise DataError("The file does not have one finite weight for each point.")
        model.classes_, model.n_features_in_ = classes, int(head["columns"])
        model.guarantee_ = guarantee_from_json(head["guarantee"])
        model.regularization_ = regularization_of(model.guarantee_.event)
        return model
