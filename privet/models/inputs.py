"""What comes into a fit: labels as indices into declared classes, tables as numbers.

The set of classes is part of the public domain. Reading it from the labels would tell whether a
rare class occurs; so the user declares it, declares the usual coding by saying nothing (numbers are
0 or 1, booleans are False or True), or says ``"observed"`` and thereby declares the observed set
public. Whether a row's label is in the set is private: ``encode_labels`` may refuse one, so it is
called after the charge only.

Tables go through scikit-learn's own validation, without its habit of quoting what it refuses.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from privet._checks import as_float, is_number
from privet.errors import DataError, DeclarationError, is_quiet
from privet.rows.arrays import ArrayRows, sound_sparse
from privet.rows.ball import refuse_infinite
from privet.rows.streamed import StreamedLabels, StreamedTable
from privet.schema import Schema

LOGGER = logging.getLogger("privet")
OBSERVED = "observed"
UNDECLARED = (
    "The labels hold a value outside the declared classes, {classes}. Nothing was released, but "
    "that much is now known of the rows, so a charge to a ledger stands. Declare every possible "
    "label in classes=[...], or map it to a declared class first."
)


def declared_classes(declared: Any, labels: NDArray[Any] | None = None) -> NDArray[Any]:
    """The classes in the order that predictions and coefficients use: the one they are declared in.

    Of two, the second is the positive one, in scores, coefficients, rates and every text. Where no
    order is declared it is scikit-learn's: ascending.

    Of ``labels`` only the type counts where ``None`` declares the usual coding; their values are
    looked at only where ``"observed"`` declares them public.
    """
    if labels is None and (declared is None or isinstance(declared, str)):
        raise DeclarationError("The classes are not declared.")
    if isinstance(declared, str):
        if declared != OBSERVED:
            raise DeclarationError(f"classes must be a list, None or 'observed', got {declared!r}.")
        check_classification_targets(labels)
        return _at_least_two(np.unique(np.asarray(labels)))
    if declared is None:
        return _usual_coding(np.asarray(labels).dtype)
    if not isinstance(declared, Sequence | np.ndarray):
        raise DeclarationError("classes must be a list of the possible labels.")
    if len({isinstance(label, str) for label in declared}) > 1:
        raise DeclarationError("classes mixes text and numbers. Declare labels of one kind.")
    classes = np.asarray(declared)
    if len(np.unique(classes)) != len(declared):
        raise DeclarationError("classes names a label twice.")
    return _at_least_two(classes)


def schema_classes(declared: Any, schema: Schema) -> list[Any]:
    """The schema's classes; others that the model declares are a contradiction."""
    if schema.classes is None:
        raise DeclarationError(
            "The schema's label is a number. A classifier needs a label with classes; for a number "
            "use LinearRegression, HuberRegressor, PoissonRegressor or KernelHuberRegressor "
            "(--model linear, huber, poisson, kernel-huber)."
        )
    classes = list(schema.classes)
    if declared is None:
        return classes
    if isinstance(declared, str) or declared_classes(declared).tolist() != classes:
        raise DeclarationError(
            "The model's classes are not the schema's, in its order. Leave classes= away: the "
            "schema names them, and of two the second is the positive one."
        )
    return classes


def _at_least_two(classes: NDArray[Any]) -> NDArray[Any]:
    if len(classes) < 2:
        raise DeclarationError(
            f"A classifier needs at least 2 classes, but only {len(classes)} class is declared or "
            "observed. Declare all possible labels in classes=[...]."
        )
    return classes


def _usual_coding(kind: np.dtype[Any]) -> NDArray[Any]:
    """False and true, or 0 and 1, by the type of the labels; anything else must be declared."""
    if kind == np.bool_:
        return np.array([False, True])
    if kind.kind in "iuf":
        return np.array([0, 1])
    raise DeclarationError(
        "The classes are not declared. Pass classes=[...] with every possible label; only numbers "
        "that are 0 or 1, and booleans, need none."
    )


def told_classes(declared: Any) -> str:
    """What a statement says that the set of classes is."""
    if isinstance(declared, str):
        return "the set of classes, read from the labels and declared public by the user"
    if declared is None:
        return "the coding of the two classes (0/1 or false/true)"
    return "the set of classes"


def encode_labels(labels: Any, classes: NDArray[Any]) -> Any:
    """Indices into ``classes``; an undeclared label is an error that does not quote it.

    Whoever calls this has charged what follows: the error is about a row.
    """
    if isinstance(labels, StreamedLabels):  # whose rows have a declared class each
        return labels.among(encode_labels(labels.classes, classes))
    try:
        order = np.argsort(classes)
        codes = order[np.searchsorted(classes, labels, sorter=order).clip(max=len(classes) - 1)]
        known = bool(np.all(classes[codes] == labels))
    except TypeError:  # labels that cannot be compared with the classes
        known = False
    if not known:  # outside of the handler, which may tell the label's type
        raise DataError(UNDECLARED.format(classes=_listed(classes)))
    return np.asarray(codes)


def _listed(classes: NDArray[Any]) -> str:
    shown = [repr(label) for label in classes[:5].tolist()]
    return ", ".join(shown) + (", ..." if len(classes) > len(shown) else "")


def class_weights(declared: Any, classes: NDArray[Any]) -> tuple[float, ...] | None:
    """Public weights in the order of ``classes``; None where all are one."""
    if declared is None:
        return None
    if not isinstance(declared, Mapping):
        raise DeclarationError(
            "class_weight must be a dictionary of public weights; 'balanced' reads the class "
            "counts from the data, which nobody paid for."
        )
    known = set(classes.tolist())
    unknown = [label for label in declared if label not in known]
    if unknown:
        raise DeclarationError(f"class_weight names {unknown[0]!r}, which is not a class.")
    if not all(map(is_number, declared.values())):
        raise DeclarationError("Class weights must be positive finite numbers.")
    return tuple(as_float(declared.get(label, 1.0)) for label in classes.tolist())


# What scikit-learn says when it quotes cells, and what is said instead.
QUOTING = {
    "could not convert": (
        "The table holds text where numbers are expected. Encode text columns as numbers with "
        "declared categories first."
    ),
    "Complex data": "Complex data not supported: the table and the labels must hold real numbers.",
    "array=": "Expected a table with two dimensions, one row per person. Reshape your data.",
}


def numbers(estimator: BaseEstimator, X: Any, *y: Any, reset: bool = True) -> Any:
    """``X`` (and ``y``) as arrays; NaN and infinity pass, for the rows to refuse.

    Labels are checked for their shape alone: what they are is looked at after the charge.
    """
    if isinstance(X, StreamedTable):
        return streamed_numbers(estimator, X, *y, reset=reset)
    if any(np.ma.isMaskedArray(part) for part in (X, *y)):
        raise DataError("Masked arrays are refused. Fill the masked values before fitting.")
    missing = [None] if y and y[0] is None else []  # scikit-learn says that labels are needed
    try:
        data = validate_data(
            estimator,
            X,
            *missing,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        if not y:
            return data
        labels = column_or_1d(*y, warn=True)
        check_consistent_length(data, labels)
        return held(data), held(labels)
    except ValueError as error:
        reasons = [told for sign, told in QUOTING.items() if sign in str(error)]
        if not reasons:
            raise
    raise DataError(reasons[0])  # outside of the handler, which would quote the cell


def held(values: Any) -> Any:
    """The same numbers in memory that numpy has for itself; a copy where it is of anything else.

    A mapped file, or memory that is shared, is read anew in every pass: a row that another process
    changes after it was clipped would count without a bound.
    """
    owner: Any = values
    if issparse(values):
        parts = (owner.data, owner.indices, owner.indptr)
        return values if all(held(part) is part for part in parts) else owner.copy()
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    is_ours = isinstance(owner, np.ndarray) and owner.flags.owndata
    return values if is_ours else np.array(values, order="K", copy=True)


def streamed_numbers(estimator: BaseEstimator, X: StreamedTable, *y: Any, reset: bool) -> Any:
    """A table that is read in parts, as it is: a schema encodes it, and its cells are numbers."""
    columns = X.shape[1]
    if reset:
        estimator.n_features_in_ = columns
    elif columns != estimator.n_features_in_:
        raise DataError(
            f"The table has {columns} encoded columns, and the model {estimator.n_features_in_}."
        )
    return (X, *y) if y else X


def table_shape(data: Any) -> tuple[int, int]:
    """Rows and columns; objects without columns, strings for example, have none."""
    shape = np.shape(data) if not hasattr(data, "shape") else data.shape
    return int(shape[0]), int(shape[1]) if len(shape) > 1 else 0


def refuse_unsound(data: Any) -> None:
    """Refuse NaN and infinity where rows are seen through a map, which takes all other numbers."""
    if hasattr(data, "dtype"):
        refuse_infinite(sound_sparse(data) if issparse(data) else data)


def tell_clipped(rows: ArrayRows) -> None:
    """How many rows were clipped, on the curator's terminal; neither kept nor released."""
    if rows.clipped and not is_quiet():
        LOGGER.warning(
            "%d of %d rows are longer than norm_bound and were scaled down. For the curator's "
            "eyes only: if they are many, scale the columns by declared bounds.",
            rows.clipped,
            rows.n,
        )
