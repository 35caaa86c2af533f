"""What is served: a released model, which answers any number of questions for nothing more.

``Served`` is what the routes know of it; ``served_file`` makes one of a model file, a classifier or
a regression. Interactive answers are in ``served_answers.py``.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import to_json
from sklearn.pipeline import Pipeline

from privet._types import Array
from privet.errors import DeclarationError, quietly
from privet.handover.handed_model import HandedModel
from privet.ledger import Ledger
from privet.models import PrivateLinearClassifier, Released
from privet.models.classifier import probabilities
from privet.models.raw_tables import after_schema
from privet.models.row_wise import last_of
from privet.planning.bounds import coefficient_noise
from privet.privacy.guarantee import Guarantee
from privet.schema import Schema
from privet.service.asked_rows import AskedRows
from privet.statement import Facts

#: One for each row: labels, and probabilities or scores where there are any.
Told = dict[str, Any]
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
    #: what comes with a class: ``probabilities``, or ``scores``
    told_as: str = "scores"

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

    @property
    @abstractmethod
    def outcome(self) -> Told:
        """What is predicted: ``classes``, or ``target`` and its ``bounds``."""

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


def unaccounted(guarantee: Guarantee, ledger: Ledger) -> str:
    """Why a ledger has nothing to say of a release; empty where it has."""
    if guarantee.receipt is None:
        return "it was charged to no ledger"
    if not ledger.knows(guarantee.receipt):
        return (
            f"its charge to {guarantee.receipt.dataset!r} is not in this ledger: it was charged "
            "to another one, or this one was rolled back"
        )
    return ""


class ServedFile(Served):
    """A model file. A ledger that does not know its charge is not asked about it."""

    def __init__(self, released: HandedModel, *, rows: int, ledger: Ledger | None = None) -> None:
        self.released, guarantee = released, released.last.guarantee_
        self.unaccounted = "" if ledger is None else unaccounted(guarantee, ledger)
        asked = None if self.unaccounted else ledger
        super().__init__(released.name, released.digest, released.schema, guarantee, asked)
        self._rows = AskedRows(released.schema, rows)

    def left(self) -> Told:
        """The price was paid at the release."""
        return {"answered": None, "left": None, "words": "Any number of answers; none costs more."}

    def facts(self) -> Facts:
        """Of the file, as ``privet statement`` has it."""
        return self.released.facts


class ServedRelease(ServedFile):
    """A released classifier."""

    def __init__(self, released: HandedModel, *, rows: int, ledger: Ledger | None = None) -> None:
        super().__init__(released, rows=rows, ledger=ledger)
        self._scores, self.told_as = scorer(released.model, released.schema)
        self._classes: list[Any] = np.asarray(released.last.classes_).tolist()

    @property
    def outcome(self) -> Told:
        """The classes as the model has them."""
        return {"classes": self._classes}

    def answer(self, question: AskedQuestion) -> Told:
        """Labels, and probabilities where the model has them, scores where not."""
        scores = self._scores(self._rows(question.body))
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        values = probabilities(scores) if self.told_as == "probabilities" else scores
        return {
            "model": self.name,
            "sha256": self.digest,
            "predictions": [self._classes[i] for i in index.tolist()],
            "classes": self._classes,
            self.told_as: values.tolist(),
        }


class ServedNumber(ServedFile):
    """A released regression: numbers in the target's own units, within its declared bounds."""

    def __init__(self, released: HandedModel, *, rows: int, ledger: Ledger | None = None) -> None:
        super().__init__(released, rows=rows, ledger=ledger)
        self._noise = prediction_noise(released.last)

    @property
    def outcome(self) -> Told:
        """The target's column, its bounds and the noise in a prediction, in its own units."""
        low, high = self.schema.target_bounds or (-math.inf, math.inf)
        return {"target": self.schema.label.name, "bounds": [low, high], **self._noise}

    def answer(self, question: AskedQuestion) -> Told:
        """One number for each row."""
        found = after_schema(self.released.model).predict(self._rows(question.body))
        told = {"model": self.name, "sha256": self.digest, "predictions": found.tolist()}
        return {**told, **self.outcome}


def served_file(path: Path, *, rows: int, ledger: Ledger | None = None) -> ServedFile:
    """A model file as it is served: with classes or with numbers."""
    released = HandedModel(path)
    released.last.refuse_unscored()
    kind = ServedNumber if released.is_regression else ServedRelease
    return kind(released, rows=rows, ledger=ledger)


def prediction_noise(model: Any) -> Told:
    """How far noise moves a prediction at most in 95 of 100 fits; empty where no law tells.

    A prediction is a row of length ``R`` at most times the parameters, and what bounds the noise in
    one parameter bounds that in every direction of length one (``coefficient_noise``). Rates are
    not told: noise moves their logarithms.
    """
    own = Released.of(model)
    with quietly():
        if not own.law_is_known or model.plain_link != "identity":
            return {}
        most = coefficient_noise(own.design) * own.design.risk.norm_bound
    return {"noise_at_most": most * own.unit}


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
    longest = 1.0 if schema.domain is None else min(1.0, schema.domain.norm)
    inside = view.domain is None and view.feature_map is None and view.bound >= longest

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
    return to_json(told, inf_nan_mode="null")
