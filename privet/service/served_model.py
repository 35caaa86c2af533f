"""What is served: a released model, which answers any number of questions for nothing more.

``Served`` is what the routes know of it; ``ServedRelease`` is a model file. Interactive answers are
in ``served_answers.py``.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from privet._files import file_digest
from privet._types import Array
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.models import PrivateLinearClassifier, Released
from privet.models.classifier import probabilities
from privet.models.model_display import trained
from privet.models.raw_tables import after_schema, carried, with_schema
from privet.models.row_wise import Promised, last_of
from privet.privacy.guarantee import Guarantee
from privet.schema import Schema
from privet.service.asked_rows import AskedRows
from privet.statement import Facts, File, statement_facts
from privet.store import load

#: One for each row: labels, and probabilities or scores where there are any.
Told = dict[str, Any]
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


@dataclass(frozen=True)
class AskedQuestion:
    """A request that was let in: its body, who sent it, and the key that makes it one request."""

    body: Told
    holder: str
    key: str | None = None


class Served(ABC):
    """A release behind a name. Everything in it is public, or stays in the curator's process."""

    #: what answer times are rounded up to, in seconds; 0.0 where they depend on nothing private
    step: float = 0.0

    def __init__(
        self, name: str, digest: str, schema: Schema, guarantee: Guarantee, ledger: Ledger | None
    ) -> None:
        self.name, self.digest, self.schema = checked_model_name(name), digest, schema
        self.guarantee, self.ledger = guarantee, ledger
        self.dataset = None if guarantee.receipt is None else guarantee.receipt.dataset

    @abstractmethod
    def answer(self, question: AskedQuestion) -> Told:
        """Predictions for the rows of a body."""

    @abstractmethod
    def facts(self) -> Facts:
        """The statement."""

    @abstractmethod
    def left(self) -> Told:
        """What can still be asked of it."""

    @property
    def row_limit(self) -> int | None:
        """How many new rows the release answers in all; None: any number."""
        return None

    def labels(self, index: NDArray[np.intp]) -> list[Any]:
        """The declared classes at these places, as plain values."""
        classes = self.classes
        return [classes[i] for i in index.tolist()]

    @property
    @abstractmethod
    def classes(self) -> list[Any]:
        """The declared classes as plain values."""

    def account(self) -> Told | None:
        """What the ledger says of the data set now; None without one."""
        if self.ledger is None or self.dataset is None:
            return None
        terms = self.ledger.terms(self.dataset)
        number = terms.cap.amount_name
        return {
            "dataset": self.dataset,
            "counts": number,
            "cap": terms.cap.facts()[number],
            "left": self.ledger.remaining(self.dataset),
        }


def checked_model_name(name: str) -> str:
    """The name of a served model: it is part of addresses."""
    if PLAIN_NAME.fullmatch(name) is None:
        raise DeclarationError(
            "A served model is called by its file's name without the ending, which must have "
            "letters, digits, '-', '_' and '.' only. Rename the file."
        )
    return name


class ServedRelease(Served):
    """A released model."""

    def __init__(
        self,
        path: Path,
        *,
        rows: int,
        ledger: Ledger | None = None,
        schema: Schema | None = None,
    ) -> None:
        model = load(path)
        if schema is not None:
            model = with_schema(model, schema)
        found = carried(model)
        if found is None:
            raise DeclarationError(
                f"{path.name} holds no schema, so nobody could say what a row is. Train it through "
                "a schema (privet train, fit_table), or add --schema."
            )
        if found.classes is None:
            raise DeclarationError(
                f"{path.name} predicts a number; the service answers with classes. Use privet "
                "predict."
            )
        self.model: Promised = last_of(model)
        super().__init__(path.stem, file_digest(path), found, self.model.guarantee_, ledger)
        self.file = path.name
        self._rows = AskedRows(found, rows)
        self._scores, self._told = scorer(model, found)
        self._classes: list[Any] = np.asarray(self.model.classes_).tolist()
        self._head = {"model": self.name, "sha256": self.digest}

    @property
    def classes(self) -> list[Any]:
        """As the model has them."""
        return self._classes

    def answer(self, question: AskedQuestion) -> Told:
        """Labels, and probabilities where the model has them, scores where not."""
        scores = self._scores(self._rows(question.body))
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        values = probabilities(scores) if self._told == "probabilities" else scores
        return {
            **self._head,
            "predictions": self.labels(index),
            "classes": self._classes,
            self._told: values.tolist(),
        }

    def left(self) -> Told:
        """The price was paid at the release."""
        return {"answered": None, "left": None, "words": "Any number of answers; none costs more."}

    def facts(self) -> Facts:
        """Of the file, as ``privet statement`` has it."""
        return statement_facts(
            self.guarantee,
            model=type(self.model).__name__,
            ledger=self.dataset,
            file=File(self.file, self.digest),
            trained=trained(self.model),
        )


def scorer(model: Any, schema: Schema) -> tuple[Callable[[Array], Array], str]:
    """Scores of encoded rows, and what they are: ``probabilities`` is for log-odds.

    Encoded rows lie in the schema's domain and in the unit ball already, so a linear model's own
    check that they do, which takes longer than its scores, is left out.
    """
    last = last_of(model)
    told = "probabilities" if hasattr(last, "predict_proba") else "scores"
    whole = after_schema(model)
    if not isinstance(last, PrivateLinearClassifier) or isinstance(whole, Pipeline):
        return (lambda x: np.asarray(whole.decision_function(x))), told
    released = Released.of(last)
    view, coef, intercept = released.view, released.coef, released.intercept
    if view.domain == schema.domain:
        view = replace(view, domain=None)
    inside = view.domain is None and view.feature_map is None and view.bound >= 1.0

    def scores(x: Array) -> Array:
        found = x @ coef.T + intercept if inside else view.scores(x, coef, intercept)
        return found[:, 0] if found.shape[1] == 1 else found

    return scores, told


def example(schema: Schema) -> dict[str, Any]:
    """A row for descriptions, from declarations alone."""
    from privet.schema.columns import Categorical, Numeric

    row: dict[str, Any] = {}
    for name, column in schema.columns.items():
        if isinstance(column, Numeric):
            middle = column.middle
            row[name] = int(middle) if column.low <= int(middle) <= column.high else middle
        elif isinstance(column, Categorical):
            row[name] = column.categories[0]
    return row


def as_json(told: Told) -> bytes:
    """A response's body."""
    return _ENCODER.encode(told).encode()
