"""What is evaluated: a released model, alone or at the end of a scikit-learn pipeline.

Everything asked of it here is public (its classes, the range of its scores, its training account)
or a function of one row at a time (its predictions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from privet.errors import DataError, DeclarationError, PrivetError
from privet.models._base import PrivateLinearClassifier
from privet.models._numbers import refuse_unsound
from privet.models._published import refuse_published
from privet.models.labels import encode_labels
from privet.privacy.guarantee import Receipt

Array = NDArray[np.float64]
Codes = NDArray[np.int_]

#: Scores are binned over this share of the range that they could have: few rows go further, and
#: those are counted in the outermost bins.
CENTRAL = 0.5


@dataclass(frozen=True)
class Subject:
    """A fitted classifier and its last step, which carries the guarantee."""

    whole: Any
    last: Any

    @property
    def classes(self) -> NDArray[Any]:
        """The declared classes in order; of two, the second is the positive one."""
        return np.asarray(self.last.classes_)

    @property
    def training_rows(self) -> int:
        """How many rows the model was trained on (public)."""
        return int(self.last.guarantee_.event.n)

    @property
    def training_receipt(self) -> Receipt | None:
        """What the ledger gave for the training, if it was charged."""
        receipt: Receipt | None = self.last.guarantee_.receipt
        return receipt

    @property
    def training_dataset(self) -> str | None:
        """The account that the training was charged to, if any."""
        receipt = self.last.guarantee_.receipt
        if receipt is not None:
            return str(receipt.dataset)
        named: str | None = getattr(self.last, "dataset", None)
        return named

    @property
    def steps(self) -> bool:
        """Whether steps come before the model: what they do to a row is the caller's word."""
        return self.whole is not self.last

    @property
    def has_scores(self) -> bool:
        """Whether rows have scores, which an AUC needs."""
        return hasattr(self.whole, "decision_function")

    @property
    def has_probabilities(self) -> bool:
        """Whether rows have probabilities, which calibration needs."""
        return hasattr(self.whole, "predict_proba")

    def predicted(self, X: Any) -> Codes:
        """Predicted classes by their place."""
        found = _unquoted(self.whole.predict, X)
        return encode_labels(np.asarray(found), self.classes)

    def scores(self, X: Any) -> Array:
        """Scores, one column for two classes (the positive one's) and one for each of more."""
        scores = np.asarray(_unquoted(self.whole.decision_function, X), dtype=np.float64)
        return scores[:, None] if scores.ndim == 1 else scores

    def probabilities(self, X: Any) -> Array:
        """Class probabilities, shape (n, C)."""
        return np.asarray(_unquoted(self.whole.predict_proba, X), dtype=np.float64)

    @property
    def score_range(self) -> tuple[float, float]:
        """The public range that the bins of two classes' scores divide; see ``places``."""
        if isinstance(self.last, PrivateLinearClassifier) and len(self.classes) == 2:
            centre = float(self.last.intercept_[0])
            reach = CENTRAL * float(np.linalg.norm(self.last.coef_)) * self.last._bound()
            return centre - reach, centre + reach
        return -4.0, 4.0

    def places(self, scores: Array) -> Array:
        """Each score within its public range, as a number from 0 to 1.

        A linear score is ``<w, x> + b`` with ``|x| <= B``: its range ``b +- |w| B`` is public
        because ``w`` and ``b`` are released. Other scores ``s`` become ``s/(1 + |s|)``.
        """
        if isinstance(self.last, PrivateLinearClassifier):
            reach = CENTRAL * np.linalg.norm(self.last.coef_, axis=1) * self.last._bound()
            units = (scores - self.last.intercept_) / np.maximum(reach, 1e-300)
        else:
            units = scores / (1.0 + np.abs(scores))
        return np.asarray(np.clip((units + 1.0) / 2.0, 0.0, 1.0))


def _unquoted(asked: Callable[[Any], Any], X: Any) -> Any:
    """What the model says; an error that is not Privet's own may quote a cell and is replaced."""
    try:
        return asked(X)
    except PrivetError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # outside of the handler, which would quote the cell
    raise DataError(f"A step before the model, or the model, refused a row ({kind}).")


def subject(model: Any) -> Subject:
    """The subject behind ``model``; refused unless it is a fitted private classifier."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(model, Pipeline) and any(
        isinstance(step, FunctionTransformer) for _, step in model.steps
    ):
        raise DeclarationError(
            "A FunctionTransformer before the model may look at other rows, which no sensitivity "
            "covers. Apply the function to each row before evaluating."
        )
    if not hasattr(last, "predict") or not hasattr(last, "fit"):
        raise DeclarationError("model must be a fitted Privet classifier, or a pipeline with one.")
    check_is_fitted(last)
    if not hasattr(last, "guarantee_") or not hasattr(last, "classes_"):
        raise DeclarationError(
            f"{type(last).__name__} is not a Privet classifier: it has no guarantee and no "
            "declared classes. Only a released model may be evaluated as if it were public."
        )
    refuse_published(last)
    return Subject(model, last)


def refuse_rows(model: Subject, X: Any, n: int) -> None:
    """Refuse, before a charge, a table of another shape and one that holds NaN or infinity.

    What a pipeline's steps make of a row is only known once they have seen it, after the charge.
    """
    shape = getattr(X, "shape", None)
    if (len(X) if shape is None else int(shape[0])) != n:
        raise DataError("X, y and groups must have the same number of rows.")
    last = getattr(model.last, "best_estimator_", model.last)
    if not model.steps and isinstance(last, PrivateLinearClassifier):
        last._refuse_unsound(_unquoted(lambda table: last._numbers(table, reset=False), X))
    elif issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind == "f"):
        refuse_unsound(X)


def label_list(y: Any) -> NDArray[Any]:
    """Labels as an array; only their shape is looked at."""
    if np.ma.isMaskedArray(y):
        raise DataError("Masked labels are refused. Fill the masked values first.")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError("The labels must be a list with one label for each row.")
    return labels


@dataclass(frozen=True)
class Groups:
    """The group of each row, and every value that may occur."""

    found: NDArray[Any]
    values: tuple[Any, ...]

    def codes(self) -> Codes:
        """Groups by their place among the declared values; it may refuse, so after the charge."""
        ordered, place = np.unique(np.asarray(self.values), return_index=True)
        try:
            codes = encode_labels(self.found, ordered)
        except DataError:
            known = False
        else:
            known = True
        if not known:  # outside of the handler, which speaks of labels
            raise DataError(
                "A row's group is not among group_values. Nothing was released, but that much is "
                "now known of the rows, so a charge to a ledger stands. Declare every group, or "
                "map it to a declared one."
            )
        return np.asarray(place[codes])


def declared_groups(groups: Any, declared: Any) -> Groups:
    """Groups whose declaration and shape were checked; which group a row has was not."""
    if declared is None or isinstance(declared, str) or not np.iterable(declared):
        raise DeclarationError(
            "Groups need group_values=[...], every value that may occur: which ones do occur in "
            "the rows is private."
        )
    values = np.asarray(list(declared))
    if len(values) == 0 or len(np.unique(values)) != len(values):
        raise DeclarationError("group_values must name every group once.")
    found = np.asarray(groups)
    if found.ndim != 1:
        raise DataError("groups must be a list with one group for each row.")
    return Groups(found, tuple(values.tolist()))
