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
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from privet._types import Array, Codes
from privet.errors import DataError, DeclarationError, PrivetError
from privet.evaluation.allocation import SCORES
from privet.ledger.charge import check_ledger, check_same_ledger
from privet.models import PrivateLinearClassifier, Released
from privet.models.display import refuse_published
from privet.models.inputs import encode_labels
from privet.models.row_wise import may_mix
from privet.models.tables import after_schema
from privet.privacy.guarantee import Receipt
from privet.schema import Schema

#: Scores are binned over this share of the range that they could have: few rows go further, and
#: those are counted in the outermost bins.
CENTRAL = 0.5


@dataclass(frozen=True)
class EvaluatedModel:
    """A fitted classifier and its last step, which carries the guarantee."""

    whole: Any
    last: Any

    def of(self, schema: Schema | None) -> EvaluatedModel:
        """What takes the rows that a schema encoded: a pipeline without its encoder."""
        return self if schema is None else EvaluatedModel(after_schema(self.whole), self.last)

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
        found = unquoted(self.whole.predict, X)
        return encode_labels(np.asarray(found), self.classes)

    def scores(self, X: Any) -> Array:
        """Scores, one column for two classes (the positive one's) and one for each of more."""
        scores = np.asarray(unquoted(self.whole.decision_function, X), dtype=np.float64)
        return scores[:, None] if scores.ndim == 1 else scores

    def probabilities(self, X: Any) -> Array:
        """Class probabilities, shape (n, C)."""
        return np.asarray(unquoted(self.whole.predict_proba, X), dtype=np.float64)

    @property
    def score_range(self) -> tuple[float, float]:
        """The public range that the bins of two classes' scores divide; see ``places``."""
        if isinstance(self.last, PrivateLinearClassifier) and len(self.classes) == 2:
            center = float(self.last.intercept_[0])
            bound = Released.of(self.last).view.bound
            reach = CENTRAL * float(np.linalg.norm(self.last.coef_)) * bound
            return center - reach, center + reach
        return SCORES

    def places(self, scores: Array) -> Array:
        """Each score within its public range, as a number from 0 to 1.

        A linear score is ``<w, x> + b`` with ``|x| <= B``: its range ``b +- |w| B`` is public
        because ``w`` and ``b`` are released. Other scores ``s`` become ``s/(1 + |s|)``.
        """
        if isinstance(self.last, PrivateLinearClassifier):
            bound = Released.of(self.last).view.bound
            reach = CENTRAL * np.linalg.norm(self.last.coef_, axis=1) * bound
            units = (scores - self.last.intercept_) / np.maximum(reach, 1e-300)
        else:
            units = scores / (1.0 + np.abs(scores))
        return np.asarray(np.clip((units + 1.0) / 2.0, 0.0, 1.0))

    def refuse_training_rows(
        self, n: int, *, ledger: Any, dataset: str | None, training_rows: Any, seed: Any
    ) -> bool:
        """Whether the rows are the training rows; refused where they seem to be, unsaid.

        All that can be seen is public: the number of rows and the name of the account. Held-out
        rows of the same number look the same, and training rows with one row removed do not; so
        this stops a slip, not a lie.
        """
        check_ledger(ledger, dataset, seed)
        if training_rows not in (None, False, True):
            raise DeclarationError("training_rows must be True, False or None (not known).")
        if training_rows is None and n == self.training_rows:
            raise DeclarationError(
                f"These look like the rows that the model was trained on: {n:,} rows"
                + (f" of {dataset!r}" if dataset is not None else "")
                + ". A model looks better on them than it is. Evaluate on rows kept apart; or say "
                "training_rows=True (--training-rows; the result is stamped), or False "
                "(--other-rows) if they are other rows."
            )
        if not training_rows:
            return False
        if n != self.training_rows:
            raise DeclarationError(
                f"training_rows=True, but the model was trained on {self.training_rows:,} rows."
            )
        if dataset != self.training_dataset:
            raise DeclarationError(
                "Training rows are charged to the account that their training was charged to: pass "
                f"its ledger (ledger=, --ledger) and the data set {self.training_dataset!r}."
            )
        check_same_ledger(ledger, self.training_receipt)
        return True


def unquoted(asked: Callable[[Any], Any], X: Any) -> Any:
    """What the model says; an error that is not Privet's own may quote a cell and is replaced."""
    try:
        return asked(X)
    except PrivetError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # outside of the handler, which would quote the cell
    raise DataError(f"A step before the model, or the model, refused a row ({kind}).")


def evaluated_model(model: Any) -> EvaluatedModel:
    """The released model behind ``model``; refused unless it is a fitted private classifier."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(model, Pipeline) and any(may_mix(step) for _, step in model.steps):
        raise DeclarationError(
            "A FunctionTransformer before the model may look at other rows, which no sensitivity "
            "covers. If its function takes each row by itself, declare that: "
            "privet.models.row_wise.RowWise(function)."
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
    return EvaluatedModel(model, last)
