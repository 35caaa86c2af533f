"""Steps before a model: which map each row by itself, and a model taken apart into them.

A guarantee of the model covers a whole pipeline only if no step learned anything from the rows and
none looks at two rows at once. What is known of scikit-learn's steps is listed here, once; what is
not known is the caller's word, given by ``RowWise``.

A fit cannot vouch for what happened around it. Where scikit-learn's own tools did it (a search that
chose by exact scores, a pipeline whose steps read the rows), it can be known, from the calls above:
then the guarantee does not hold, and the model says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from privet._types import Array
from privet.errors import DataError, DeclarationError, PrivetError, warn
from privet.ledger import Ledger
from privet.models.encoder import SchemaEncoder
from privet.privacy.budget import Budget
from privet.privacy.guarantee import Guarantee
from privet.schema import Schema


class Promised(Protocol):
    """What carries a guarantee: a fitted model of any kind, or a search that chose one."""

    guarantee_: Guarantee
    classes_: NDArray[Any]
    n_features_in_: int
    dataset: str | None
    schema_: str

    def predict(self, X: Any, /) -> NDArray[Any]:
        """The class of each row."""


class Scored(Promised, Protocol):
    """A model with scores, and with probabilities where its loss has them."""

    def decision_function(self, X: Any, /) -> Array:
        """The scores of each row."""

    def predict_proba(self, X: Any, /) -> Array:
        """The probabilities of the classes for each row."""


class Trainable(Promised, Protocol):
    """What is fitted to a table by its schema: a Privet model, or a search among models."""

    budget: Budget | float
    ledger: Ledger | None
    insecure_seed: int | None

    def fit(self, X: Any, y: Any, /) -> Self:
        """Spend the budget once."""

    def schema_parameters(self, schema: Schema, *, stepped: bool = False) -> dict[str, Any]:
        """Parameters for rows that a schema encodes."""

    def schema_carriers(self) -> tuple[Promised, ...]:
        """What a fit through a schema leaves that must carry it."""


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


def learns(step: BaseEstimator) -> bool:
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


def may_mix(step: BaseEstimator) -> bool:
    """Whether what a step makes of a row may depend on the others: an undeclared function may."""
    if type(step).__name__ in HOLDING:
        return any(may_mix(part[1]) for part in getattr(step, HOLDING[type(step).__name__]))
    return (
        isinstance(step, FunctionTransformer)
        and not isinstance(step, RowWise)
        and step.func is not None
        and not elementwise(step.func)
    )


def elementwise(function: object) -> bool:
    """Whether numpy itself promises that a function takes each number by itself: np.log1p, ..."""
    return isinstance(function, np.ufunc) and function.nin == 1 and function.nout == 1


@dataclass(frozen=True)
class Parted:
    """A model with what comes before it: a schema, then steps that map each row by itself."""

    schema: Schema | None
    steps: tuple[tuple[str, TransformerMixin], ...]
    last: Trainable
    name: str = "model"

    def transformed(self, x: Any, *, fit: bool = False) -> Any:
        """Rows as the model sees them; ``fit`` is for steps that have not seen their columns."""
        for _, step in self.steps:
            if fit:
                unquoted(step.fit, x)
            x = unquoted(step.transform, x)
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


def parted(model: Trainable | Pipeline) -> Parted:
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


def is_row_wise(step: BaseEstimator | str | None) -> bool:
    """Whether a step is known to map each row by itself; own classes are declared by RowWise."""
    if step is None or isinstance(step, str):  # "passthrough" and its kin
        return True
    known = isinstance(step, RowWise | SchemaEncoder) or (
        type(step).__module__.startswith(("sklearn.", "privet."))
    )
    return known and not learns(step) and not may_mix(step)


def refuse_step(name: str, step: BaseEstimator | str | None) -> None:
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


def last_of(model: Promised | Pipeline) -> Promised:
    """The model at the end of a pipeline, which carries the guarantee; a search's best one."""
    last: Promised = model[-1] if isinstance(model, Pipeline) else model
    best: Promised = getattr(last, "best_estimator_", last)
    return best


def unquoted(asked: Callable[[Any], Any], rows: Any, who: str = "A step before the model") -> Any:
    """What is said of rows; an error that is not Privet's own may quote a cell and is replaced."""
    try:
        return asked(rows)
    except PrivetError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # outside of the handler, which would quote the cell
    raise DataError(f"{who} refused a row ({kind}).")


# -- who called ``fit`` --------------------------------------------------------------------------

#: Estimators of scikit-learn that hand each model the rows as they were given, once.
ON_THE_ROWS = ("VotingClassifier", "OneVsRestClassifier", "OneVsOneClassifier", "FrozenEstimator")


def why_not_covered() -> str:
    """Why the guarantee of the fit that asks does not cover what is made of it; or nothing."""
    prepared = unseen = ""
    for module, function, owner in _calls():
        if function in ("_fit_and_score", "_rfe_single_fit"):
            return ""  # one of many: whoever chooses among them is asked again at the refit
        name = type(owner).__name__
        unseen = _sent(owner) if name == "_FuncWrapper" else ""  # what is above it is seen
        searches = module.startswith("sklearn.model_selection._search") or name == "RFECV"
        if searches and function == "fit":
            what = "columns" if name == "RFECV" else "parameters"
            return f"{name} chose the {what} by exact scores of the rows, which nobody paid for"
        if function == "fit" and isinstance(owner, Pipeline):
            why = next(filter(None, (_why_not(*step) for step in owner.steps[:-1])), "")
            if why:
                return why
        elif function == "fit" and isinstance(owner, BaseEstimator) and name not in ON_THE_ROWS:
            prepared = (  # a search further up says more
                f"{name} fitted it on rows, labels or columns that it had chosen or repeated, and "
                "the guarantee is for one fit on the rows as they were given"
            )
    return prepared or unseen


def _sent(owner: Any) -> str:
    """Why a fit that scikit-learn sent to a worker is not covered, if nothing is above it.

    Whoever sent it is not among the calls there: of all that scikit-learn sends only the parts of a
    validation are known to give their models to nobody.
    """
    module, name = getattr(owner.function, "__module__", ""), owner.function.__name__
    if not module.startswith("sklearn.") or module == "sklearn.model_selection._validation":
        return ""
    return (
        f"scikit-learn fitted it in a worker ({name}), where nobody can see on which rows and what "
        "for; fit with n_jobs=None"
    )


def _why_not(name: str, step: BaseEstimator | str | None) -> str:
    """Why the step of a pipeline voids the guarantee of what follows it; or nothing."""
    if learns(step):
        return f"the step {name!r} of the pipeline learned from the rows before the fit"
    if not is_row_wise(step):
        return (
            f"the step {name!r} of the pipeline may have looked at other rows; if it maps each row "
            "by itself, declare that with privet.models.row_wise.RowWise(function)"
        )
    return ""


def _calls() -> Iterator[tuple[str, str, object]]:
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("sklearn."):
            yield module, frame.f_code.co_name, frame.f_locals.get("self")
        frame = frame.f_back


def refuse_charge(why: str, ledger: Ledger | None) -> None:
    """A ledger takes only what is covered; without one a warning says what the mark will."""
    if not why:
        return
    if ledger is not None:
        raise DeclarationError(
            f"Not private: {why}. Nothing was charged for this fit. Choose with privet.tuning, and "
            "encode with declared bounds (Schema, standardize='private')."
        )
    warn(
        f"The model is marked as not private: {why}. Choose with privet.tuning, and encode with "
        "declared bounds (Schema, standardize='private').",
        stacklevel=4,
    )
