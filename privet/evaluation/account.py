"""Charging an evaluation, and noticing that its rows are the training rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from privet.errors import DataError, DeclarationError
from privet.evaluation.subject import Subject
from privet.ledger.charge import Charge, check_ledger, check_same_ledger
from privet.privacy import Event
from privet.privacy.guarantee import Receipt

Released = TypeVar("Released")


def check_account(
    model: Subject, n: int, *, ledger: Any, dataset: str | None, training_rows: Any, seed: Any
) -> bool:
    """Whether the rows are the training rows; refused where they seem to be and nobody said so.

    All that can be seen is public: the number of rows and the name of the account. Held-out rows
    of the same number look the same, and training rows with one row removed do not; so this stops
    a slip, not a lie.
    """
    check_ledger(ledger, dataset, seed)
    if training_rows not in (None, False, True):
        raise DeclarationError("training_rows must be True, False or None (not known).")
    same = dataset == model.training_dataset
    if training_rows is None and n == model.training_rows:
        raise DeclarationError(
            f"These look like the rows that the model was trained on: {n:,} rows"
            + (f" of {dataset!r}" if dataset is not None else "")
            + ". A model looks better on them than it is. Evaluate on rows kept apart; or say "
            "training_rows=True (--training-rows; the result is stamped), or False (--other-rows) "
            "if they are other rows."
        )
    if training_rows and n != model.training_rows:
        raise DeclarationError(
            f"training_rows=True, but the model was trained on {model.training_rows:,} rows."
        )
    if training_rows and not same:
        raise DeclarationError(
            "Training rows are charged to the account that their training was charged to: pass its "
            f"ledger (ledger=, --ledger) and the data set {model.training_dataset!r}."
        )
    if training_rows:
        check_same_ledger(ledger, model.training_receipt)
    return bool(training_rows)


def row_count(y: Any) -> int:
    """The public number of rows."""
    try:
        n = len(y)
    except TypeError:
        n = -1
    if n < 0:
        raise DataError("The labels must be a list with one label for each row.")
    if n == 0:
        raise DataError("There are no rows to evaluate on.")
    return n


def charged(
    ledger: Any, dataset: str | None, event: Event, release: Callable[[], Released]
) -> tuple[Released, Receipt | None]:
    """``release()`` after the ledger has reserved ``event``, and the ledger's receipt for it."""
    charge = Charge(ledger, dataset, event)
    with charge:
        released = release()
    return released, charge.receipt
