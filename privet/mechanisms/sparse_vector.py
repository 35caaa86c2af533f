"""Answering from a public guess, and paying only where the guess is wrong.

Guarantee
---------
Replace-one neighbors; every prediction changes by at most ``s`` when one row is replaced. Each of
at most ``B`` epochs draws ``nu ~ Lap(2s/eps1)``; each query with exact value ``v`` and public guess
``g`` draws ``xi ~ Lap(4s/eps1)``. If ``|v - g| + xi >= tau + nu``, a fresh noisy value is released
and the next epoch begins; otherwise the guess is the answer. After ``B`` epochs only guesses are.

    pure      B (eps1 + eps2)             answers with Lap(s/eps2)
    zCDP      B (eps1^2/2 + rho2)         answers with Gaussian noise, s/sqrt(2 rho2)

(Dwork and Roth 2014, Theorems 3.23 and 3.25; Lyu, Su and Li 2017.) With ``l = log(2T/beta)``,
``alpha = 6 s l/eps1`` and ``tau = 2 alpha``, guesses ``<w, phi(z)>`` that are corrected by
``w += (a - g)/K(z, z) phi(z)``, and ``B >= (4/3) C^2 R^2/alpha^2`` for ``|w*| <= C``, the first T
answers are all within ``3 alpha`` with probability ``1 - beta``. This is the interactive algorithm
of Jain and Thakurta 2013 made rigorous: as printed it compares and releases one and the same noisy
value, against a threshold without noise. Proof: ``sparse_vector.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from privet._checks import positive_whole, probability
from privet._types import Array
from privet.errors import DeclarationError
from privet.grid import grid_exponent
from privet.mechanisms.function import function_shift
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.kernel_minimizer import KernelMinimizer, KernelRelease
from privet.mechanisms.release import Draw, ReleaseDesign, add_noise, draw, grid_draw
from privet.noise import NOISES, Law, Noise
from privet.privacy import Budget
from privet.privacy.event import not_private
from privet.privacy.kinds import SparseVectorEvent
from privet.randomness import Randomness

MOST_EPOCHS = 10_000
THEOREM = "Dwork and Roth 2014, Theorems 3.23 and 3.25; after Jain and Thakurta 2013, Algorithm 1"


@dataclass(frozen=True)
class Comparison(Law):
    """Independent Laplace coordinates: exponentials with random signs."""

    kind: ClassVar[str] = "independent laplace"

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Size and sign of each."""
        sizes = self.scale * randomness.gammas(k * self.dimension, 1)
        signs = np.where(randomness.words((len(sizes),)) & np.uint64(1), 1.0, -1.0)
        return np.asarray((signs * sizes).reshape(k, self.dimension))


@dataclass(frozen=True)
class SparseVectorDesign(ReleaseDesign):
    """Every number of the sparse vector that is fixed before a row is read."""

    minimizer: KernelMinimizer
    epochs: int  # B
    epsilon: float  # eps1, of one epoch's comparisons
    numeric: Noise
    queries: int  # T, for which the accuracy is promised
    accuracy: float  # alpha
    exponent: int
    event: SparseVectorEvent

    @property
    def threshold(self) -> float:
        """``tau = 2 alpha``."""
        return 2.0 * self.accuracy

    @property
    def error(self) -> float:
        """``3 alpha``: no answer is further off, with the promised probability."""
        return 3.0 * self.accuracy

    @property
    def level(self) -> Comparison:
        """The noise of an epoch's threshold."""
        return Comparison(2.0 * self.minimizer.score_sensitivity / self.epsilon, 1)

    @property
    def comparison(self) -> Comparison:
        """The noise of one comparison."""
        return Comparison(4.0 * self.minimizer.score_sensitivity / self.epsilon, 1)

    @property
    def constants(self) -> dict[str, Any]:
        """How many epochs there are, and the noise of a released answer."""
        return {"epochs": self.epochs, "answer_scale": self.numeric.scale}

    @property
    def draws(self) -> tuple[Draw, ...]:
        """A threshold in each epoch, a comparison of each query, a value for each correction."""
        return (
            replace(draw(self.level, each="epoch"), choice=True),
            replace(draw(self.comparison, each="query"), choice=True),
            grid_draw(self.numeric, self.exponent, each="correction"),
        )

    @property
    def numerics(self) -> str:
        """What is exact and what is idealized."""
        exact = " (Gaussian ones: exact discrete noise)" if self.numeric.kind == "gaussian" else ""
        return (
            "idealized numerics: floating-point comparisons with Laplace noise; released values on "
            f"the grid 2^{self.exponent}{exact}; conditional on convergence of the minimizer"
        )


@dataclass(frozen=True)
class Prices:
    """How a budget pays for an epoch: what the comparisons get, and the answers."""

    kind: Literal["laplace", "gaussian"]
    total: float  # epsilon or rho
    log_term: float  # l

    def comparisons(self, epochs: int) -> float:
        """``eps1`` of each epoch."""
        if self.kind == "laplace":
            return 0.75 * self.total / epochs  # eps2 = eps1/3
        return math.sqrt(self.total / (epochs * (0.5 + 1.0 / (9.0 * self.log_term))))

    def numeric_scale(self, epsilon: float) -> float:
        """Noise of an answer for ``s = 1``: ``3/eps1``, or ``1/sqrt(2 rho2)``.

        ``rho2 = eps1^2/(9 l)`` is the least with which an answer's error stays below ``alpha/2``.
        """
        if self.kind == "laplace":
            return 3.0 / epsilon
        return math.sqrt(4.5 * self.log_term) / epsilon


@dataclass(frozen=True, kw_only=True)
class SparseVector(KernelRelease):
    """Answers from a public guess; ``queries`` of them are promised to be accurate."""

    name: ClassVar[str] = "sparse_vector"

    queries: int
    failure_probability: float

    def __post_init__(self) -> None:
        positive_whole("queries", self.queries)
        probability("failure_probability", self.failure_probability)

    def design(self, n: int, m: int) -> SparseVectorDesign:
        """The smallest ``B`` that the accuracy needs, and what it leaves to each epoch."""
        budget = self.budget
        pure = budget.mixed_curve.pure
        shift = pure if math.isfinite(pure) else function_shift(budget)
        minimizer = self.minimizer(n, shift)
        reach, s = minimizer.norm * self.norm_bound, minimizer.score_sensitivity
        prices, epochs, promised = self._promise(s, reach)
        epsilon = prices.comparisons(epochs)
        accuracy = 6.0 * s * prices.log_term / epsilon
        unit = prices.numeric_scale(epsilon)
        numeric = NOISES[prices.kind](unit * s, 1)
        largest = reach + numeric.norm_quantile(NEGLIGIBLE) if prices.kind == "laplace" else 0.0
        exponent = grid_exponent(s, largest)
        if prices.kind == "gaussian":  # rounding to the grid before the discrete noise
            numeric = NOISES[prices.kind](unit * (s + math.ldexp(1.0, exponent)), 1)
        event = SparseVectorEvent(
            mechanism=self.name,
            claim=budget,
            curves=(budget.mixed_curve,),
            noise="laplace" if prices.kind == "laplace" else "laplace and gaussian",
            scale=4.0 * s / epsilon,
            sensitivity=s,
            n=n,
            columns=m,
            regularization=minimizer.risk.regularization,
            theorem=THEOREM,
            why_not_private=not_private(self.insecure_seed),
        )
        return SparseVectorDesign(
            minimizer, epochs, epsilon, numeric, promised, accuracy, exponent, event
        )

    def _promise(self, s: float, reach: float) -> tuple[Prices, int, int]:
        """Prices, epochs and answers that are promised."""
        promised = max(self.queries, 2)
        while True:
            prices = _prices(self.budget, math.log(2.0 * promised / self.failure_probability))
            epochs = _epochs(prices, s, reach)
            if 2 * epochs <= promised:
                return prices, epochs, promised
            promised = 2 * epochs  # the union bound needs B <= T/2: promise more answers


def _prices(budget: Budget, log_term: float) -> Prices:
    whole = budget.mixed_curve
    if math.isfinite(whole.pure):
        return Prices("laplace", whole.pure, log_term)
    return Prices("gaussian", whole.zcdp, log_term)


def _epochs(prices: Prices, s: float, reach: float) -> int:
    """The smallest ``B`` with ``B >= (4/3) (C R)^2/alpha(B)^2``; alpha grows with ``B``."""

    def enough(epochs: int) -> bool:
        alpha = 6.0 * s * prices.log_term / prices.comparisons(epochs)
        return epochs >= 4.0 / 3.0 * (reach / alpha) ** 2

    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_EPOCHS:
            raise DeclarationError(
                "The sparse vector would need more than 10,000 updates: the budget is so large "
                "that every query can be answered directly. Use mechanism='function'."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


class SparseVectorAnswers:
    """The running release. ``ask`` once per new query, then ``release`` where it says so."""

    def __init__(self, design: SparseVectorDesign, used: int = 0) -> None:
        self.design = design
        self.used = used  # epochs that began; public
        self._level: float | None = None  # the noisy threshold of the running epoch; secret

    @property
    def exhausted(self) -> bool:
        """Whether no epoch is left: answers are guesses from now on."""
        return self.used >= self.design.epochs and self._level is None

    @property
    def level(self) -> float | None:
        """The noisy threshold of the running epoch, for audits alone: it is secret."""
        return self._level

    def ask(self, error: float, randomness: Randomness) -> bool:
        """Whether the guess is off by too much. ``error`` is exact and secret: ``|v - g|``."""
        if self.exhausted:
            return False
        if self._level is None:
            self.used += 1
            nu = self.design.level.sample(randomness, 1)[0, 0]
            self._level = self.design.threshold + nu
        noise = self.design.comparison.sample(randomness, 1)[0, 0]
        return bool(error + noise >= self._level)

    def release(self, value: float, randomness: Randomness) -> float:
        """The exact value with fresh noise; ends the epoch."""
        if self._level is None:
            raise DeclarationError("A value is released only where a comparison asked for it.")
        self._level = None
        numeric, exponent = self.design.numeric, self.design.exponent
        return float(add_noise(np.array([value]), numeric, exponent, randomness)[0])

    def __reduce__(self) -> str:
        raise TypeError("A running sparse vector holds a secret threshold and is not pickled.")
