"""What is evaluated: a released model, alone or at the end of a scikit-learn pipeline.

Everything asked of it here is public (its classes, the range of its scores, its training account)
or a function of one row at a time (its predictions).

The rows of an evaluation: arrays, or a raw table that the model's schema encodes; their groups.
Before the charge only declarations and shapes are looked at, and NaN is refused. Which label and
which group a row has is checked when the tables are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from privet._types import Array, Codes
from privet.errors import DataError, DeclarationError
from privet.evaluation.allocation import SCORES
from privet.evaluation.row_groups import (
    Groups,
    declared_column,
    declared_groups,
    group_names,
    groups_of,
)
from privet.ledger import Ledger
from privet.ledger.charge import check_ledger, check_same_ledger, check_unit
from privet.models import Released
from privet.models.classifier import PrivateLinearClassifier
from privet.models.inputs import encode_labels, refuse_unsound
from privet.models.linear_model import PrivateLinearModel
from privet.models.model_display import refuse_published
from privet.models.raw_tables import after_schema, carried, labeled_rows, unit
from privet.models.row_wise import Scored, may_mix, unquoted
from privet.privacy.budget import Budget
from privet.privacy.guarantee import EVALUATED, UNIT, Receipt
from privet.rows.door import RawStream, as_stream
from privet.rows.streamed import StreamedTable
from privet.schema import Schema

#: Scores are binned over this share of the range that they could have: few rows go further, and
#: those are counted in the outermost bins.
CENTRAL = 0.5
WHO = "A step before the model, or the model,"


@dataclass(frozen=True)
class EvaluatedModel:
    """A fitted classifier and its last step, which carries the guarantee."""

    whole: Scored | Pipeline
    last: Scored

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
        return self.last.guarantee_.receipt

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
        found = unquoted(self.whole.predict, X, WHO)
        return np.asarray(encode_labels(np.asarray(found), self.classes))

    @property
    def predicts_numbers(self) -> bool:
        """Whether ``classes`` are the ends of the interval that a number is in."""
        return bool(getattr(self.last, "predicts_numbers", False))

    def numbers(self, X: Any) -> Array:
        """Predicted numbers of a regressor."""
        return np.asarray(unquoted(self.whole.predict, X, WHO), dtype=np.float64)

    def scores(self, X: Any) -> Array:
        """Scores, one column for two classes (the positive one's) and one for each of more."""
        scores = np.asarray(unquoted(self.whole.decision_function, X, WHO), dtype=np.float64)
        return scores[:, None] if scores.ndim == 1 else scores

    def probabilities(self, X: Any) -> Array:
        """Class probabilities, shape (n, C)."""
        return np.asarray(unquoted(self.whole.predict_proba, X, WHO), dtype=np.float64)

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
        self,
        n: int,
        account: tuple[Ledger | None, str | None],
        training_rows: bool | None,
        seed: int | None,
    ) -> bool:
        """Whether the rows are the training rows; refused where they seem to be, unsaid.

        All that can be seen is public: the number of rows and the name of the account. Held-out
        rows of the same number look the same, and training rows with one row removed do not; so
        this stops a slip, not a lie.
        """
        ledger, dataset = account
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


def evaluated_model(model: Scored | Pipeline) -> EvaluatedModel:
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


# -- rows and their groups -----------------------------------------------------------------------


@dataclass(frozen=True)
class EvaluatedRows:
    """What an evaluation reads; ``schema`` is None where arrays were passed."""

    X: Any
    labels: NDArray[Any]
    groups: Groups
    schema: Schema | None = None

    @property
    def n(self) -> int:
        """The public number of rows."""
        return len(self.labels)

    def budget(self, whole: Budget) -> Budget:
        """What each row may cost, so that a unit costs ``whole``."""
        return whole if self.schema is None else whole.per_row(self.schema.group_size)

    def unit(self, *, training: bool) -> dict[str, Any]:
        """What the guarantee says of its unit: a row, or a person of the schema."""
        row = {"unit": UNIT if training else EVALUATED}
        return row | ({} if self.schema is None else unit(self.schema))

    def refuse_unsound(self, model: EvaluatedModel) -> None:
        """Refuse, before a charge, a table of another shape and one that holds NaN or infinity.

        What a pipeline's steps make of a row is only known once they have seen it, after the
        charge.
        """
        if isinstance(self.X, StreamedTable):  # its schema has made numbers of all cells
            return
        shape = getattr(self.X, "shape", None)
        if (len(self.X) if shape is None else int(shape[0])) != self.n:
            raise DataError("X, y and groups must have the same number of rows.")
        last = getattr(model.last, "best_estimator_", model.last)
        if not model.steps and isinstance(last, PrivateLinearModel):
            unquoted(last.check_rows, self.X, WHO)
        elif issparse(self.X) or (isinstance(self.X, np.ndarray) and self.X.dtype.kind == "f"):
            refuse_unsound(self.X)


def evaluated_rows(
    model: EvaluatedModel,
    X: Any,
    y: Any,
    groups: Any,
    values: Any,
    account: tuple[Ledger | None, str | None],
) -> EvaluatedRows:
    """Rows, labels and groups of a raw table, or of the arrays as they are.

    With a raw table ``groups`` names a categorical column. ``account`` (ledger and data set) must
    count for the schema's persons.
    """
    declared = carried(model.whole)
    streamed = as_stream(X)
    if streamed is not None and declared is not None and y is None:
        return _streamed_rows(streamed, declared, groups, account)
    if model.steps and y is not None and (declared is None or declared.person is None):
        rows, schema = X, None  # the pipeline takes the rows as they are
    else:
        rows, y, schema = labeled_rows(declared, X, y)
    if schema is not None:
        check_unit(*account, schema.group_size)
        if groups is not None:
            groups, values = groups_of(schema, X, groups)
    labels = label_list(y)
    return EvaluatedRows(rows, labels, declared_groups(groups, values, len(labels)), schema)


def _streamed_rows(
    streamed: RawStream, schema: Schema, groups: Any, account: tuple[Ledger | None, str | None]
) -> EvaluatedRows:
    """The rows of a table that is read in parts, each with its group if one is asked for."""
    check_unit(*account, schema.group_size)
    names = () if groups is None else tuple(group_names(declared_column(schema, groups)))
    found = streamed.encoded(schema, group=groups)
    return EvaluatedRows(*found, Groups(np.zeros(0), names), schema)


def label_list(y: Any) -> NDArray[Any]:
    """Labels as an array; only their shape is looked at."""
    if np.ma.isMaskedArray(y):
        raise DataError("Masked labels are refused. Fill the masked values first.")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError("The labels must be a list with one label for each row.")
    if len(labels) == 0:
        raise DataError("There are no rows to evaluate on.")
    return labels
