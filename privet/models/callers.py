"""Who called ``fit``: a search that chose by exact scores, a pipeline whose steps read the rows.

A fit cannot vouch for what happened around it. Where scikit-learn's own tools did it, it can be
known, from the calls above: then the guarantee does not hold, and the model says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from privet.errors import DeclarationError, warn
from privet.models.row_wise import is_row_wise, learns

#: Estimators of scikit-learn that hand each model the rows as they were given, once.
ON_THE_ROWS = ("VotingClassifier", "OneVsRestClassifier", "OneVsOneClassifier", "FrozenEstimator")


def why_not_covered() -> str:
    """Why the guarantee of the fit that asks does not cover what is made of it; or nothing."""
    prepared = ""
    for module, function, owner in _calls():
        if function in ("_fit_and_score", "_rfe_single_fit"):
            return ""  # one of many: whoever chooses among them is asked again at the refit
        name = type(owner).__name__
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
    return prepared


def _why_not(name: str, step: Any) -> str:
    """Why the step of a pipeline voids the guarantee of what follows it; or nothing."""
    if learns(step):
        return f"the step {name!r} of the pipeline learned from the rows before the fit"
    if not is_row_wise(step):
        return (
            f"the step {name!r} of the pipeline may have looked at other rows; if it maps each row "
            "by itself, declare that with privet.models.row_wise.RowWise(function)"
        )
    return ""


def _calls() -> Iterator[tuple[str, str, Any]]:
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("sklearn."):
            yield module, frame.f_code.co_name, frame.f_locals.get("self")
        frame = frame.f_back


def refuse_charge(why: str, ledger: Any) -> None:
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
