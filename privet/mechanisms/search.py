"""Choosing among candidates that are trained on the same table: what each part may spend.

Guarantee
---------
Replace-one neighbors. The fits are releases of their own, at the budgets that are given here; the
rooms above carry rows to them and bring back their numbers of mistakes, which one row changes by
one at most. Three ways.

    DisjointParts    the row numbers are divided at random into one part per candidate and one for
                     validation. A replaced row lies in one part, so it meets one fit or the
                     selection, each within the whole budget (Chaudhuri, Monteleoni and Sarwate
                     2011, Algorithm 4 and its theorem). Pure: permute-and-flip at eps; else the
                     exponential mechanism at sqrt(8 rho), for the rho that converts to the budget.
    RandomStopping   a run trains a candidate chosen at random and releases it with its number of
                     mistakes on held rows, plus noise; training and held rows are disjoint, so a
                     run costs what the dearer of its halves costs. The best of a random number of
                     runs costs (2 + eta) eps_run, or ``StoppingCurve`` (Liu and Talwar 2019;
                     Papernot and Steinke 2022, Theorem 2 and Corollary 3).
    PublicChoice     every fit on all rows at an equal share; comparing released models on public
                     rows is post-processing.

Proof: ``search.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privet._checks import is_whole
from privet._types import Array
from privet.errors import DeclarationError
from privet.mechanisms.counts import Histogram, HistogramDesign
from privet.mechanisms.release import Draw, Release, ReleaseDesign
from privet.mechanisms.selection import EXPONENTIAL, PERMUTE_AND_FLIP, Selection, SelectionDesign
from privet.privacy import ZCDP, Budget, PureDP
from privet.privacy.curves import Curve, PureCurve
from privet.privacy.event import not_private
from privet.privacy.kinds import SearchEvent
from privet.privacy.stopping import Runs, StoppingCurve, run_rho, runs_with_mean
from privet.randomness import Randomness

Index = NDArray[np.intp]

# Selection among disjoint parts may add this much to the error rate ...
SELECTION_ERROR = 0.005
# ... the noise on a run's error rate may be this large ...
SCORE_ERROR = 0.002
# ... and below this many validation rows chance decides, whatever the budget.
LEAST_VALIDATION = 1_000
# The share of the rows that validate runs, at most.
MOST_VALIDATION = 0.2


@dataclass(frozen=True)
class SearchDesign(ReleaseDesign):
    """What each fit may spend, and how many rows validate; the fits' draws are their designs'."""

    fits: tuple[Budget, ...]  # of each candidate; of one run, for each candidate it may take
    held: int  # private rows for validation
    event: SearchEvent

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Those of the choice."""
        return ()

    @property
    def numerics(self) -> str:
        """Of the choice."""
        return "the choice is post-processing of released models"

    @property
    def constants(self) -> dict[str, Any]:
        """How many candidates share or divide the budget."""
        return {"candidates": len(self.fits)}


@dataclass(frozen=True)
class _Search(Release):
    """What the searches declare alike."""

    budget: Budget
    candidates: int
    insecure_seed: int | None = None

    def _event(
        self, n: int, held: int, noise: str, scale: float, theorem: str, curve: Curve | None = None
    ) -> SearchEvent:
        """One event for everything; ``curve`` is the whole budget's own unless it is given."""
        return SearchEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(self.budget.whole_curve if curve is None else curve,),
            noise=noise,
            scale=scale,
            sensitivity=1.0,
            n=n,
            validation_rows=held,
            theorem=theorem,
            why_not_private=not_private(self.insecure_seed),
        )


# -- disjoint parts --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartsDesign(SearchDesign):
    """Sizes of the parts and the selection."""

    size: int  # rows of each candidate
    selection: SelectionDesign

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The selection's."""
        return self.selection.draws

    @property
    def numerics(self) -> str:
        """The selection's."""
        return self.selection.numerics

    def divide(self, randomness: Randomness) -> tuple[list[Index], Index]:
        """Row numbers of each candidate, and those of validation with the division's remainder."""
        order, m = shuffled(self.event.n, randomness), len(self.fits)
        parts = [order[i * self.size : (i + 1) * self.size] for i in range(m)]
        return parts, order[m * self.size :]

    def choose(self, mistakes: Sequence[int], randomness: Randomness) -> int:
        """The candidate that is released."""
        return self.selection.choose([-count for count in mistakes], randomness)


@dataclass(frozen=True)
class DisjointParts(_Search):
    """Each candidate on its own rows, one selection on rows of none."""

    name: ClassVar[str] = "partition search"

    validation: int | Literal["auto"] = "auto"
    calibration: str | None = None  # "chaudhuri2011": equal parts, the exponential mechanism

    def design(self, n: int) -> PartsDesign:
        """Parts of ``n`` rows; parallel composition: the whole costs what one part costs."""
        part, m = self.budget.additive, self.candidates
        pure = not part.allows_gaussian and self.calibration is None
        selection = Selection(
            part,
            m,
            method=PERMUTE_AND_FLIP if pure else EXPONENTIAL,
            insecure_seed=self.insecure_seed,
        )
        size, held = self._sizes(n, selection.epsilon)
        made = selection.design(n)
        event = self._event(
            n,
            held,
            selection.method.replace("_", "-"),
            made.law.scale,
            "Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 4 and its theorem",
        )
        return PartsDesign((part,) * m, held, event, size, made)

    def _sizes(self, n: int, epsilon: float) -> tuple[int, int]:
        """Rows for each candidate and for validation."""
        m = self.candidates
        if self.calibration not in (None, "chaudhuri2011"):
            raise DeclarationError("calibration must be None or 'chaudhuri2011'.")
        equal = n // (m + 1)
        if equal < 1:
            raise DeclarationError(f"{n} rows are too few for {m} candidates and a validation.")
        if self.calibration is not None:
            return equal, equal
        if self.validation == "auto":
            enough = math.ceil(2.0 * math.log(m) / (SELECTION_ERROR * epsilon))
            held = min(max(enough, LEAST_VALIDATION), equal)
        elif is_whole(self.validation) and 1 <= self.validation <= n - m:
            held = int(self.validation)
        else:
            raise DeclarationError(
                f"validation must be 'auto' or a number of rows from 1 to {n - m}."
            )
        return (n - held) // m, held


# -- random stopping -------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoppingDesign(SearchDesign):
    """The law of the number of runs, and the noise on a run's mistakes."""

    law: Runs
    score: HistogramDesign | None  # None where the validation rows are public

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One noisy count for each run."""
        if self.score is None:
            return ()
        return tuple(replace(each, each="run") for each in self.score.draws)

    @property
    def numerics(self) -> str:
        """Of the noisy counts."""
        return super().numerics if self.score is None else self.score.numerics

    @property
    def constants(self) -> dict[str, Any]:
        """The law of the number of runs, which the price of the best of them depends on."""
        return {**super().constants, "eta": self.law.eta, "gamma": self.law.gamma}

    def divide(self, randomness: Randomness) -> tuple[Index, Index]:
        """Row numbers for training and for validation."""
        order = shuffled(self.event.n, randomness)
        return order[self.held :], order[: self.held]

    def runs(self, randomness: Randomness) -> list[int]:
        """The candidate of each run; how many there are is drawn, too."""
        count = self.law.quantile(_uniform(randomness))
        return [int(_uniform(randomness) * len(self.fits)) for _ in range(count)]

    def scores(self, mistakes: Sequence[int], randomness: Randomness) -> Array:
        """The runs' mistakes, noisy where the rows they were counted on are private."""
        counts = np.array(mistakes)
        return counts if self.score is None else self.score.perturb(counts, randomness)


@dataclass(frozen=True)
class RandomStopping(_Search):
    """The best of a random number of runs, ``runs`` in the mean."""

    name: ClassVar[str] = "random stopping search"

    parameters: int = 1  # of a model, about: decides between the kinds of noise
    runs: float | Literal["auto"] = "auto"
    eta: float = 0.0
    validation: int | Literal["auto"] | None = "auto"  # None: public rows

    def design(self, n: int) -> StoppingDesign:
        """What a run of ``n`` rows may cost, so that the best of them costs the whole."""
        mean = 2.0 * self.candidates if self.runs == "auto" else float(self.runs)
        law = runs_with_mean(mean, self.eta)
        part, curve = self._run(law)
        count = Histogram(1, part, insecure_seed=self.insecure_seed)  # a row moves it by one
        held = self._held(n, count.scale)
        event = self._event(
            n,
            held,
            f"discrete {count.kind}",
            count.scale,
            "Papernot and Steinke 2022, Theorem 2 and Corollary 3",
            curve,
        )
        score = None if self.validation is None else count.design(n)
        return StoppingDesign((part,) * self.candidates, held, event, law, score)

    def _run(self, law: Runs) -> tuple[Budget, Curve]:
        """The budget of one run and the curve of the best of them."""
        pure = PureDP(self.budget.laplace_epsilon / (2.0 + law.eta) * (1.0 - 1e-12))
        by_pure = pure, PureCurve(pure.epsilon * (2.0 + law.eta))
        if not self.budget.allows_gaussian:
            return by_pure
        rho = run_rho(self.budget, law)
        if rho <= 0.0:  # no Renyi curve keeps a mu
            return by_pure
        # spherical Laplace noise grows with the number of parameters, Gaussian with its root
        if self.parameters < pure.epsilon**2 / (2.0 * rho):
            return by_pure
        return ZCDP(rho), StoppingCurve(law.eta, law.gamma, rho)

    def _held(self, n: int, spread: float) -> int:
        """Private rows for validation."""
        held: Any = self.validation
        if held is None:
            return 0
        if held == "auto":
            enough = math.ceil(spread / SCORE_ERROR)
            held = min(max(enough, LEAST_VALIDATION), int(MOST_VALIDATION * n))
        if not is_whole(held) or not 1 <= held < n:
            raise DeclarationError(
                f"validation must be 'auto', (X, y) of public rows, or a number of rows below {n}."
            )
        return int(held)


# -- public validation -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicChoice(_Search):
    """Every candidate on all rows, compared on ``public_rows`` rows that cost nothing."""

    name: ClassVar[str] = "search with public validation"

    public_rows: int = 0

    def design(self, n: int) -> SearchDesign:
        """Equal shares of the budget."""
        event = self._event(
            n,
            self.public_rows,
            "the models' own",
            0.0,
            "the fits' own theorems; composition (Dwork et al. 2006; Bun and Steinke 2016)",
        )
        return SearchDesign(self.budget.split([1.0] * self.candidates), 0, event)


def shuffled(n: int, randomness: Randomness) -> Index:
    """The row numbers in random order: a partition of them does not look at the rows."""
    return np.asarray(np.argsort(randomness.words((n,)), kind="stable"), dtype=np.intp)


def _uniform(randomness: Randomness) -> float:
    return float(randomness.words((1,))[0] >> np.uint64(11)) * 2.0**-53
