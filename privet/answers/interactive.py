"""Interactive answers: the curator keeps the rows, users send queries.

The predictor is the curator's object. Its minimiser is made of training rows, lives in one private
attribute and in memory only: it is not pickled, copied or saved. What is saved is the transcript.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from privet._types import Array
from privet.answers import journal, records
from privet.answers.curated import Curated
from privet.answers.dual import kernel_minimum
from privet.answers.sessions import (
    VECTOR_RANK,
    ExplicitMap,
    FunctionSession,
    Session,
    SparseSession,
    VectorSession,
)
from privet.answers.transcript import Transcript, load_transcript
from privet.errors import DataError, DeclarationError, PrivetWarning
from privet.features.kernel import Kernel
from privet.features.named import kernel_from_json
from privet.mechanisms.function import FunctionDesign, FunctionRelease
from privet.mechanisms.output import OutputPerturbation
from privet.mechanisms.sparse_vector import SparseVector, SparseVectorDesign
from privet.models._numbers import table_shape
from privet.privacy import Budget, Event
from privet.privacy.budget import budget_from_json
from privet.rows.mapped import MappedRows

DECLARED = ("mechanism", "loss", "h", "queries", "failure_probability")


class InteractivePredictor(Curated):
    """Private predictions on demand, for any kernel.

    Parameters
    ----------
    kernel : Kernel, or "gaussian", "laplacian", "matern"
        A name takes its width from the number of columns.
    budget : ZCDP, ApproxDP or, for ``mechanism="sparse_vector"``, PureDP (a number)
        Pays for every answer there will ever be; charged once, at ``fit``.
    regularization : float or "auto"
        ``Lam`` of the mean objective.
    mechanism : "function" (default) or "sparse_vector"
        A function release answers without limit, with the same noise whatever was asked before. The
        sparse vector answers from a guess that it corrects at most ``updates_allowed`` times.
    loss : "logistic" or "huber"; h : half-width of the Huber hinge's knee
    queries, failure_probability : for the sparse vector
        How many answers its error bound is promised for, and how likely the promise may fail.
    classes : list or None
    journal : path or None
        A file to which every batch is written before it is answered, so that a crash loses nothing
        that somebody saw. Without one, save the transcript before the process ends: answers that
        are forgotten cannot be repeated, and a second noise for the same query is not paid for.
    ledger, dataset, insecure_seed : as in the other models

    Attributes
    ----------
    guarantee_, classes_, regularization_
    transcript_ : what was asked and answered; public
    noise_sd_ : standard deviation of one answer's noise (function)
    error_bound_, updates_allowed_ : of the sparse vector
    """

    released: ClassVar[tuple[str, ...]] = (
        "classes_",
        "guarantee_",
        "regularization_",
        "transcript_",
        "_session",
        "_hold",
        "_said",
    )

    _said: bool

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        budget: Budget | float = 1.0,
        regularization: float | Literal["auto"] = "auto",
        *,
        mechanism: Literal["function", "sparse_vector"] = "function",
        loss: Literal["logistic", "huber"] = "logistic",
        h: float = 0.5,
        queries: int = 10_000,
        failure_probability: float = 0.05,
        classes: Any = None,
        journal: str | os.PathLike[str] | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.budget = budget
        self.regularization = regularization
        self.mechanism = mechanism
        self.loss = loss
        self.h = h
        self.queries = queries
        self.failure_probability = failure_probability
        self.classes = classes
        self.journal = journal
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _vector(self, d: int) -> OutputPerturbation | None:
        """The mechanism for a kernel with few explicit features; None for the others."""
        rank = self._kernel(d).rank(d)
        if self.mechanism != "function" or rank is None or rank > VECTOR_RANK:
            return None
        return OutputPerturbation(
            loss=self._loss(),
            budget=self._budget,
            norm_bound=self._norm_bound(d),
            regularization=self.regularization,
            insecure_seed=self.insecure_seed,
        )

    def _design(self, n: int, d: int) -> FunctionDesign | SparseVectorDesign:
        declared: dict[str, Any] = {
            "loss": self._loss(),
            "budget": self._budget,
            "norm_bound": self._norm_bound(d),
            "regularization": self.regularization,
            "insecure_seed": self.insecure_seed,
        }
        if self.mechanism == "function":
            return FunctionRelease(**declared).design(n, d)
        if self.mechanism != "sparse_vector":
            raise DeclarationError(
                f"mechanism must be 'function' or 'sparse_vector', got {self.mechanism!r}."
            )
        queries, beta = self.queries, self.failure_probability
        if not 1e-12 <= beta <= 0.5:
            raise DeclarationError(f"failure_probability must be in [1e-12, 0.5], got {beta!r}.")
        return SparseVector(**declared, queries=queries, failure_probability=beta).design(n, d)

    def _event(self, n: int, d: int) -> Event:
        vector = self._vector(d)
        if vector is not None:
            return vector.event(n, int(self._kernel(d).rank(d) or 0))
        return self._design(n, d).event

    def _declarations(self, d: int) -> dict[str, Any]:
        """What a transcript is tied to: another declaration would be another release."""
        try:
            kernel = self._kernel(d).to_json()
        except DeclarationError:  # a supplied kernel: no file will hold it, memory may
            kernel = {"name": "supplied"}
        lam = self.regularization
        return {
            "kernel": kernel,
            "columns": d,
            "budget": self._budget.to_json(),
            "regularization": lam if lam == "auto" else float(lam),
            "classes": records.labels_out(self.classes_),
            **{name: getattr(self, name) for name in DECLARED},
        }

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Find the minimiser and open the release; spends the whole budget once."""
        if self.journal is not None:
            journal.refuse_existing(self.journal)
            self._kernel(1).to_json()  # refuses what no file can hold, before a charge
        super().fit(X, y)
        self._open(self._declarations(int(self.n_features_in_)))
        return self

    def _run(self, data: Any, targets: Array) -> str:
        n, d = table_shape(data)
        kernel, vector = self._kernel(d), self._vector(d)
        if vector is not None:
            rows = MappedRows(data, targets, ExplicitMap(kernel, d))
            release = vector.run(rows)
            self._session = VectorSession(kernel, release.value)
            return release.numerics
        design = self._design(n, d)
        minimiser = design.minimiser
        minimum = kernel_minimum(minimiser.risk, kernel, data, targets, minimiser.tolerance)
        if isinstance(design, FunctionDesign):
            self._session = FunctionSession(design, kernel, minimum)
        else:
            self._session = SparseSession(design, kernel, minimum)
        return design.numerics

    # -- telling -------------------------------------------------------------------------------

    @property
    def noise_sd_(self) -> float:
        """Largest standard deviation of one answer's noise under a function release."""
        check_is_fitted(self, "guarantee_")
        event = self.guarantee_.event
        if event.mechanism != "function":
            raise AttributeError("noise_sd_ is of a function release on a general kernel.")
        return event.scale * self._norm_bound(int(self.n_features_in_))

    @property
    def sparse_vector_(self) -> SparseVectorDesign:
        """Threshold, epochs, updates allowed and error bound of the sparse vector; public."""
        check_is_fitted(self, "guarantee_")
        design = self._design(self.guarantee_.event.n, int(self.n_features_in_))
        if not isinstance(design, SparseVectorDesign):
            raise AttributeError("sparse_vector_ is of mechanism='sparse_vector'.")
        return design

    @property
    def updates_(self) -> int:
        """How many corrections the sparse vector has made."""
        return int(sum(int(batch.marked.sum()) for batch in self.transcript_.batches))

    @property
    def exhausted_(self) -> bool:
        """Whether the sparse vector's guesses are final."""
        return self.updates_ >= self.sparse_vector_.epochs

    def _say(self, session: Session) -> None:
        spent = isinstance(session, SparseSession) and session.exhausted
        if spent and not self.__dict__.get("_said", False):
            self._said = True
            warnings.warn(
                "The sparse vector has used all its updates: answers are guesses from now on, and "
                "no error bound is promised for them.",
                PrivetWarning,
                stacklevel=4,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> InteractivePredictor:
        """A predictor that repeats the answers of a transcript; ``resume`` lets it give new ones.

        A kernel with few explicit features needs no rows: its release is in the transcript.
        """
        transcript = load_transcript(path)
        try:
            return cls._recalled(transcript)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                "The transcript is intact but not one that this Privet reads."
            ) from error

    @classmethod
    def _recalled(cls, transcript: Transcript) -> InteractivePredictor:
        told = transcript.declarations
        classes = records.labels_in(told["classes"])
        predictor = cls(
            kernel_from_json(told["kernel"]),
            budget_from_json(told["budget"]),
            told["regularization"],
            classes=classes.tolist(),
            **{name: told[name] for name in DECLARED},
        )
        predictor.classes_, predictor.transcript_ = classes, transcript
        predictor.n_features_in_ = int(told["columns"])
        predictor._take(transcript.guarantee)
        predictor._recalled_vector(transcript, predictor.n_features_in_)
        return predictor
