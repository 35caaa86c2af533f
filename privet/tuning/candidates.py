"""Candidates: what a search may choose from, declared before any row is read.

A candidate is a dictionary of parameters of the estimator: a regularization, a loss, a kernel's
gamma, several at once. The list is public. One that was made after looking at the rows (landmarks
taken from them, a grid around the best value of an earlier try) leaks them in a way that no
theorem covers: what can be seen of that is refused here, the rest is asserted by the caller.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from privet.errors import DeclarationError, PrivetWarning, quietly
from privet.models import PrivateLinearClassifier, PrivateLinearRegressor
from privet.rows.chunks import Chunk
from privet.rows.streamed import StreamedTable

# How wrong a released regression is on held rows, as a whole number that one row changes by one.
#
#     e   a row's absolute error, at most a quarter of the target's interval, over that quarter
#     k   e in steps of 2^-20, rounded to a whole number: from 0 to 2^20
#
# The score is the sum of ``k`` over the rows, divided by 2^20 without remainder. All of it is
# arithmetic of whole numbers: one replaced row changes the sum by at most 2^20, and so the quotient
# by at most one, as a number of mistakes does (``mechanisms/search.proof.md``, step 5).

#: steps of a row's error
STEPS = 1 << 20
#: errors beyond this share of the interval count as much as this one
REACH = 0.25


def error_steps(model: PrivateLinearRegressor, x: Any, y: Any) -> int:
    """The sum of ``k`` over some rows; what is not a number counts as the largest error."""
    low, high = model.target_ends
    half = high / 2.0 - low / 2.0
    predicted = np.clip(np.asarray(model.predict(x), dtype=np.float64), low, high)
    target = np.clip(np.asarray(y, dtype=np.float64), low, high)
    errors = np.abs(target / 2.0 - predicted / 2.0) / half  # shares of the interval
    shares = np.nan_to_num(np.minimum(errors / REACH, 1.0), nan=1.0)
    return int(np.rint(shares * STEPS).astype(np.int64).sum())


def clipped_error(model: PrivateLinearRegressor, x: Any, y: Any) -> int:
    """The score: one row changes it by one at most."""
    if isinstance(x, StreamedTable):
        return int(sum(x.source.each(ChunkErrors(model)))) // STEPS
    return error_steps(model, x, y) // STEPS


@dataclass(frozen=True)
class ChunkErrors:
    """The same sum for a chunk's rows."""

    model: PrivateLinearRegressor

    def __call__(self, chunk: Chunk) -> int:
        """Of the chunk."""
        return error_steps(self.model, chunk.x, chunk.codes)


#: Parameters of the estimator by name.
Candidate = dict[str, Any]
#: What the search itself decides: a candidate must not.
DECIDED = ("budget", "ledger", "dataset", "insecure_seed", "classes", "target_bounds")
#: What a search may choose among.
Tuned = PrivateLinearClassifier | PrivateLinearRegressor


@dataclass(frozen=True)
class SearchRows:
    """Rows and labels; lives while ``fit`` runs."""

    x: Any
    y: NDArray[Any]
    decided: dict[str, Any]  # what the search declares of the labels in each model

    @property
    def n(self) -> int:
        """How many."""
        return len(self.y)


@dataclass(frozen=True)
class SearchShape:
    """What is public about the table: rows, and roughly how many parameters a model has."""

    n: int
    parameters: int


@dataclass(frozen=True)
class Chosen:
    """What a search releases."""

    index: int
    model: Tuned
    score: float | None = None


#: Parameters that bend rows out of a domain that the estimator has: such a candidate has none.
BALL = frozenset({"norm_bound", "features", "standardize"})


class TuningAdvice(PrivetWarning):
    """The default rule, which is free, is likely to be better than this search."""


def checked_candidates(estimator: object, candidates: Any) -> list[Candidate]:
    """The candidates as a list of dictionaries, refused unless each fits the estimator."""
    if not isinstance(estimator, PrivateLinearClassifier | PrivateLinearRegressor):
        raise DeclarationError(
            "estimator must be a Privet model, for example LogisticRegression(): the price of a "
            "search is known for those alone."
        )
    if estimator.ledger is not None or estimator.insecure_seed is not None:
        raise DeclarationError(
            "Give ledger= and insecure_seed= to the search, not to its estimator: it charges once "
            "for everything."
        )
    if isinstance(candidates, str | Mapping) or not isinstance(candidates, Sequence):
        raise DeclarationError(
            "candidates must be a list of dictionaries of parameters, written down before the "
            "rows were looked at; a function or a generator is refused."
        )
    if len(candidates) < 2:
        raise DeclarationError("A search needs at least two candidates.")
    known = estimator.get_params(deep=False)
    for candidate in candidates:
        if not isinstance(candidate, Mapping):
            raise DeclarationError("Each candidate must be a dictionary of parameters.")
        unknown = sorted(set(candidate) - set(known))
        if unknown:
            raise DeclarationError(
                f"{type(estimator).__name__} has no parameter {unknown[0]!r}. "
                f"It has {', '.join(sorted(known))}."
            )
        decided = sorted(set(candidate) & set(DECIDED))
        if decided:
            raise DeclarationError(f"{decided[0]} belongs to the search, not to a candidate.")
    return [dict(candidate) for candidate in candidates]


def refuse_rows(candidates: Sequence[Mapping[str, Any]], table: Any) -> None:
    """Refuse a candidate that holds a part of the table itself: landmarks cut out of it."""
    memory = list(_arrays(table))
    for candidate in candidates:
        for name, value in candidate.items():
            held = list(_arrays(value))
            if any(np.shares_memory(a, b) for a in held for b in memory):
                raise DeclarationError(
                    f"The candidate's {name} is a part of the private table. Declare it from "
                    "public knowledge, or release it first."
                )


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays behind a value: itself, a sparse table's, a frame's, an object's own."""
    if isinstance(value, np.ndarray):
        yield value
    elif hasattr(value, "indptr"):
        yield value.data
    elif hasattr(value, "to_numpy"):
        yield np.asarray(value.to_numpy())
    elif hasattr(value, "__dict__"):
        for inner in vars(value).values():
            if isinstance(inner, np.ndarray):
                yield inner


def model_for(estimator: Tuned, candidate: Mapping[str, Any], **decided: Any) -> Tuned:
    """A fresh model with the candidate's parameters and what the search decides."""
    made: Tuned = clone(estimator)
    if made.takes_domain and "domain" not in candidate and not BALL.isdisjoint(candidate):
        made.set_params(domain=None)
    made.set_params(**{**candidate, "ledger": None, "dataset": None, **decided})
    return made


def refuse_unproved(model: Tuned, x: Any, y: Any) -> None:
    """Refuse, uncharged, what the fit would refuse, and a calibration that is not private.

    Whether a paper's calibration is covered depends on the rows and the budget of this very fit.
    """
    model.refuse_unscored()
    event = model.prepare(x, y).event
    if not event.private and model.insecure_seed is None:
        raise DeclarationError(
            f"A candidate is not private ({event.why_not_private}), so the search would not be. "
            "Leave it out, or give it another calibration or regularization."
        )


def only_regularization(candidates: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the candidates differ in nothing but the regularization."""
    keys = {key for candidate in candidates for key in candidate}
    varied = {
        key for key in keys if len({repr(candidate.get(key)) for candidate in candidates}) > 1
    }
    return varied == {"regularization"}


def advise(candidates: Sequence[Candidate]) -> None:
    """Say that a public rule does as well, where the search is among regularizations alone."""
    if only_regularization(candidates):
        warnings.warn(
            "The candidates differ in the regularization alone. regularization='auto' is a "
            "public rule that costs nothing; a search pays for its choice with more noise and "
            "was seldom better. See docs/tuning.md.",
            TuningAdvice,
            stacklevel=3,
        )


def released_fit(model: Tuned, x: Any, y: Any) -> Tuned:
    """A candidate's own release, which the search has paid for; told to nobody.

    It was said once, before the first fit. A line for each fit would also tell how many there
    were, which random stopping must hide.
    """
    with quietly():
        fitted = model.prepare(x, y).release()
    if not fitted.guarantee_.private and model.insecure_seed is None:
        raise DeclarationError("A candidate's release is not private; nothing is released.")
    return fitted


def mistakes(model: Tuned, x: Any, y: Any) -> int:
    """Wrong predictions, or the bounded error of numbers: one row changes it by one at most."""
    if isinstance(model, PrivateLinearRegressor):
        return clipped_error(model, x, y)
    if isinstance(x, StreamedTable):
        return sum(x.source.each(ChunkMistakes(model, y.classes)))
    return int((model.predict(x) != np.asarray(y)).sum())


@dataclass(frozen=True)
class ChunkMistakes:
    """Wrong predictions of a released model for a chunk's rows."""

    model: PrivateLinearClassifier
    classes: NDArray[Any]

    def __call__(self, chunk: Chunk) -> int:
        """How many."""
        return int((self.model.predict(chunk.x) != self.classes[chunk.codes]).sum())
