"""A made-up census extract for examples, tests and benchmarks; nothing here is about anybody.

Every person has two hidden numbers, skill and maturity. A categorical answer is a mixture of both
and chance, cut at declared points, so that the columns hang together as they do on real forms:
older people are more often married, skilled ones have more schooling and longer hours. The class is
drawn from a logistic model of the answers: about a quarter of the people are in class 1, and a
linear model can be right about 86 times in a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from scipy.stats import binom

from privet.losses import Array


@dataclass(frozen=True)
class Answer:
    """A categorical column: its levels, the shares of skill and maturity in it, its effect.

    Nine tenths of the people have binomial shares of the levels around ``centre``, the others even
    ones. The log-odds of class 1 rise by ``effect`` from the first level to the last.
    """

    name: str
    words: str
    centre: float
    skill: float
    maturity: float
    effect: float

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels in their order."""
        return tuple(self.words.split())


ANSWERS = (
    Answer(
        "employer", "unpaid private local state federal self company other", 0.25, 0.3, 0.3, 1.0
    ),
    Answer(
        "schooling",
        "none 1-4 5-6 7-8 9 10 11 12 school college trade associate bachelor master professional "
        "doctor",
        0.6,
        0.8,
        0.0,
        5.0,
    ),
    Answer(
        "marriage", "never separated widowed divorced absent forces married", 0.55, 0.0, 0.7, 4.0
    ),
    Answer(
        "occupation",
        "household labourer service farming operator transport craft clerical protective sales "
        "technical care teaching manager",
        0.5,
        0.7,
        0.1,
        4.5,
    ),
    Answer("household", "child relative lodger single parent partner", 0.6, 0.0, 0.7, 2.0),
    Answer("housing", "free rented shared mortgage owned", 0.5, 0.3, 0.6, 1.5),
    Answer("sex", "female male", 0.5, 0.0, 0.0, 0.7),
    Answer("birthplace", " ".join(f"{i:02d}" for i in range(1, 31)), 0.03, -0.2, 0.0, -1.0),
    Answer("region", "north east south west centre", 0.5, 0.0, 0.0, 0.0),
    Answer("health", "poor fair good excellent", 0.7, 0.2, -0.2, 0.5),
)
#: numbers in [0, 1): share of people who have one, and effect on the log-odds
NUMBERS = {
    "age": (1.0, 2.0),
    "hours": (0.95, 3.0),
    "second job": (0.08, 1.0),
    "capital gain": (0.08, 5.0),
    "capital loss": (0.05, 2.0),
    "interest": (0.3, 2.0),
    "pension": (0.15, -1.0),
    "benefits": (0.2, -3.0),
}
OFFSET = -14.6

#: the names of the 105 columns of ``census_like``
CENSUS_COLUMNS: tuple[str, ...] = (
    *(f"{answer.name}: {level}" for answer in ANSWERS for level in answer.levels),
    *NUMBERS,
)


def census_like(n: int, seed: int = 0) -> tuple[Array, NDArray[np.int_]]:
    """``n`` rows of 105 columns (``CENSUS_COLUMNS``) with norm 1, and classes 0 and 1.

    Ten one-hot groups and about three of eight numbers in [0, 1): 13 non-zeros a row.
    """
    generator = np.random.default_rng(seed)
    skill, maturity = generator.normal(size=(2, n))
    x, log_odds, column = np.zeros((n, len(CENSUS_COLUMNS))), np.full(n, OFFSET), 0
    for answer in ANSWERS:
        chosen = _chosen(answer, skill, maturity, generator)
        x[np.arange(n), column + chosen] = 1.0
        log_odds += answer.effect * chosen / (len(answer.levels) - 1)
        column += len(answer.levels)
    x[:, column:] = _numbers(skill, maturity, generator)
    log_odds += x[:, column:] @ np.array([effect for _, effect in NUMBERS.values()])
    y = (generator.random(n) < expit(log_odds)).astype(np.int_)
    x /= np.linalg.norm(x, axis=1)[:, None]
    return x, y


def _chosen(
    answer: Answer, skill: Array, maturity: Array, generator: np.random.Generator
) -> NDArray[np.intp]:
    """A standard normal mixture, cut where the declared shares say."""
    chance = np.sqrt(1.0 - answer.skill**2 - answer.maturity**2)
    hidden = answer.skill * skill + answer.maturity * maturity
    hidden += chance * generator.normal(size=len(skill))
    steps = len(answer.levels) - 1
    cuts = np.arange(steps)
    shares = 0.9 * binom.cdf(cuts, steps, answer.centre) + 0.1 * (cuts + 1) / (steps + 1)
    return np.digitize(hidden, ndtri(shares))


def _numbers(skill: Array, maturity: Array, generator: np.random.Generator) -> Array:
    """Age from maturity, hours from skill, the others from chance; absent ones are zero."""
    values = generator.random((len(skill), len(NUMBERS)))
    values[:, 0] = expit(0.8 * maturity - 0.5)
    values[:, 1] = expit(0.4 * skill + 0.6 * generator.normal(size=len(skill)) - 0.4)
    present = generator.random(values.shape) < [share for share, _ in NUMBERS.values()]
    return np.where(present, values, 0.0)
