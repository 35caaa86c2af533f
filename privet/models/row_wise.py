"""Steps before a model: which map each row by itself, and a model taken apart into them.

A guarantee of the model covers a whole pipeline only if no step learned anything from the rows and
none looks at two rows at once. What is known of scikit-learn's steps is listed here, once; what is
not known is the caller's word, given by ``RowWise``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from privet.errors import DataError, DeclarationError, PrivetError
from privet.models.encoder import SchemaEncoder
from privet.schema import Schema

#: Steps of scikit-learn that are fitted, but to the number of columns or to nothing of the rows.
ROW_WISE = ("PolynomialFeatures", "RBFSampler")
#: Steps that hold other steps, and where.
HOLDING = {
    "Pipeline": "steps",
    "FeatureUnion": "transformer_list",
    "ColumnTransformer": "transformers",
}


class RowWise(FunctionTransformer):  # type: ignore[misc]
    """A function of each row by itself, as the caller declares.

    ``RowWise(lambda rows: rows / 2)`` is ``FunctionTransformer`` with a promise: what becomes of
    a row does not depend on any other row, and no constant in the function was read from them. The
    statement names it among the things relied upon.
    """


def learns(step: Any) -> bool:
    """Whether a step of scikit-learn takes something from all of the rows when it is fitted."""
    kind = type(step)
    if not kind.__module__.startswith("sklearn."):
        return False  # not known
    if kind.__name__ in HOLDING:
        return any(learns(part[1]) for part in getattr(step, HOLDING[kind.__name__]))
    if kind.__name__ == "SimpleImputer":
        return bool(step.strategy != "constant")
    if kind.__name__ in ("OneHotEncoder", "OrdinalEncoder"):
        return isinstance(step.categories, str)
    if kind.__name__ in ROW_WISE:
        return False
    tags = getattr(step, "__sklearn_tags__", None)
    return bool(tags is not None and tags().requires_fit)


def may_mix(step: Any) -> bool:
    """Whether what a step makes of a row may depend on the others: an undeclared function may."""
    if type(step).__name__ in HOLDING:
        return any(may_mix(part[1]) for part in getattr(step, HOLDING[type(step).__name__]))
    return (
        isinstance(step, FunctionTransformer)
        and not isinstance(step, RowWise)
        and step.func is not None
        and not elementwise(step.func)
    )


def elementwise(function: Any) -> bool:
    """Whether numpy itself promises that a function takes each number by itself: np.log1p, ..."""
    return isinstance(function, np.ufunc) and function.nin == 1 and function.nout == 1


@dataclass(frozen=True)
class Parted:
    """A model with what comes before it: a schema, then steps that map each row by itself."""

    schema: Schema | None
    steps: tuple[tuple[str, Any], ...]
    last: Any
    name: str = "model"

    def transformed(self, x: Any, *, fit: bool = False) -> Any:
        """Rows as the model sees them; ``fit`` is for steps that have not seen their columns."""
        for _, step in self.steps:
            if fit:
                _unquoted(step.fit, x)
            x = _unquoted(step.transform, x)
        return x

    def relied(self) -> tuple[str, ...]:
        """What a guarantee relies on because of the steps."""
        if not self.steps:
            return ()
        names = ", ".join(name for name, _ in self.steps)
        return (
            f"that each step before the model ({names}) maps a row without looking at the others, "
            "by constants that were named without looking at the rows",
        )


def parted(model: Any) -> Parted:
    """A model or a pipeline in parts; steps that are not known to be row-wise are refused."""
    if not isinstance(model, Pipeline):
        return Parted(None, (), model)
    (*before, (name, last)) = model.steps
    schema = None
    if before and isinstance(before[0][1], SchemaEncoder):
        schema, before = before[0][1].schema, before[1:]
    for called, step in before:
        refuse_step(called, step)
    return Parted(schema, tuple(before), last, name)


def is_row_wise(step: Any) -> bool:
    """Whether a step is known to map each row by itself; own classes are declared by RowWise."""
    if step is None or isinstance(step, str):  # "passthrough" and its kin
        return True
    known = isinstance(step, RowWise | SchemaEncoder) or (
        type(step).__module__.startswith(("sklearn.", "privet."))
    )
    return known and not learns(step) and not may_mix(step)


def refuse_step(name: str, step: Any) -> None:
    """Refuse a step that learns, may mix rows, or is not known at all."""
    if learns(step):
        raise DeclarationError(
            f"The step {name!r} of the pipeline learns from the rows, which nobody pays for. Use a "
            "schema's declared bounds, or standardize='private'."
        )
    if not is_row_wise(step):
        raise DeclarationError(
            f"The step {name!r} of the pipeline may look at other rows, which no sensitivity "
            "covers. If it maps each row by itself, declare that: "
            "privet.models.row_wise.RowWise(function)."
        )


def last_of(model: Any) -> Any:
    """The model at the end of a pipeline, which carries the guarantee; a search's best one."""
    last = model[-1] if isinstance(model, Pipeline) else model
    return getattr(last, "best_estimator_", last)


def _unquoted(asked: Callable[[Any], Any], rows: Any) -> Any:
    """What a step says; an error that is not Privet's own may quote a cell and is replaced."""
    try:
        return asked(rows)
    except PrivetError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # outside of the handler, which would quote the cell
    raise DataError(f"A step before the model refused a row ({kind}).")
