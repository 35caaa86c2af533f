"""Made-up people for examples, tests and benchmarks; nothing here is about anybody.

Every person has two hidden numbers, skill and maturity, that tie the answers together as on real
forms: older people are more often married, skilled ones have more schooling and longer hours. The
label is drawn from a logistic model of the answers.

``census_table`` is the extract as it would lie on a disk, before any encoding; some cells are
missing. Shares are round numbers of the right size.

    age              whole years, 17 to 90
    schooling, occupation, employer, marriage, household, housing, sex, region, health
                     words, as listed in ``QUESTIONS``; one occupation in fifty is missing
    hours            worked in a week, 0 to 99; one in a hundred is missing
    children         0 to 8
    commute          minutes a day, 0 to 240
    capital_income   in a year, zero for seven people in ten, otherwise spread over powers of ten
    income           "over 50k" or "up to 50k": the label

``census_like`` is an encoded one: 105 columns, thirteen of them not zero, rows of norm 1. About a
quarter of the people are in class 1, and a linear model can be right about 86 times in a hundred.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from scipy.stats import binom

from privet.schema import Categorical, Column, Label, Numeric, Schema

__all__ = ["CENSUS_COLUMNS", "census_like", "census_schema", "census_table"]

Array = NDArray[np.float64]

# -- before any encoding --------------------------------------------------------------------------

#: the label's classes
OVER, UP_TO = "over 50k", "up to 50k"


@dataclass(frozen=True)
class Question:
    """A categorical column: its levels with their shares in per cent and what they do.

    ``levels`` are ordered; a person's place on that order is a mixture of skill, maturity and
    chance. ``effects`` are added to the log-odds of earning over 50k.
    """

    name: str
    levels: Mapping[str, float]
    effects: tuple[float, ...]
    skill: float = 0.0
    maturity: float = 0.0

    def drawn(self, skill: Array, maturity: Array, generator: np.random.Generator) -> Any:
        """The level of each person, as a place in the list."""
        chance = np.sqrt(1.0 - self.skill**2 - self.maturity**2)
        hidden = self.skill * skill + self.maturity * maturity
        hidden += chance * generator.normal(size=len(skill))
        shares = np.cumsum(list(self.levels.values()))
        return np.digitize(hidden, ndtri(shares[:-1] / shares[-1]))


QUESTIONS = (
    Question(
        "schooling",
        {"none": 2, "primary": 5, "lower secondary": 12, "secondary": 31, "vocational": 16}
        | {"some college": 13, "bachelor": 14, "master": 6, "doctorate": 1},
        (-2.0, -1.6, -1.2, -0.5, -0.2, 0.1, 0.9, 1.3, 1.7),
        skill=0.8,
    ),
    Question(
        "occupation",
        {"laborer": 8, "cleaning": 6, "farming": 3, "service": 12, "transport": 7, "operator": 8}
        | {"craft": 12, "clerical": 12, "sales": 9, "protective": 3, "care": 7, "technical": 5}
        | {"teaching": 4, "manager": 4},
        (-1.0, -1.3, -1.1, -0.8, -0.4, -0.3, 0.1, -0.1, 0.2, 0.4, 0.2, 0.7, 0.5, 1.3),
        skill=0.7,
        maturity=0.1,
    ),
    Question(
        "employer",
        {"unpaid": 2, "private": 66, "state": 8, "municipal": 9, "federal": 4, "self-employed": 8}
        | {"own company": 3},
        (-2.0, 0.0, 0.0, -0.1, 0.5, -0.2, 0.8),
        skill=0.3,
        maturity=0.2,
    ),
    Question(
        "marriage",
        {"never married": 32, "married": 48, "separated": 3, "divorced": 12, "widowed": 5},
        (-1.2, 1.1, -0.6, -0.5, -0.6),
        maturity=0.7,
    ),
    Question(
        "household",
        {"child": 14, "lodger": 6, "single": 24, "partner": 46, "relative": 10},
        (-1.5, -0.6, -0.1, 0.5, -0.5),
        maturity=0.6,
    ),
    Question(
        "housing",
        {"free": 4, "rented": 38, "shared": 8, "mortgage": 34, "owned": 16},
        (-0.4, -0.3, -0.4, 0.4, 0.2),
        skill=0.3,
        maturity=0.5,
    ),
    Question("sex", {"female": 51, "male": 49}, (-0.3, 0.3)),
    Question(
        "region",
        {"north": 18, "east": 20, "south": 26, "west": 24, "center": 12},
        (0.0, -0.2, -0.1, 0.1, 0.3),
    ),
    Question(
        "health",
        {"poor": 6, "fair": 18, "good": 47, "excellent": 29},
        (-0.8, -0.3, 0.1, 0.2),
        skill=0.2,
        maturity=-0.2,
    ),
)
_OFFSET = -5.2
_NO_OCCUPATION, _NO_HOURS = 0.02, 0.01


def census_table(n: int, seed: int = 0) -> dict[str, NDArray[Any]]:
    """``n`` made-up people, raw column by raw column; about one in four earns over 50k."""
    generator = np.random.default_rng(seed)
    skill, maturity = generator.normal(size=(2, n))
    words: dict[str, NDArray[Any]] = {}
    numbers, log_odds = _census_numbers(skill, maturity, generator)
    for question in QUESTIONS:
        place = question.drawn(skill, maturity, generator)
        words[question.name] = np.array(list(question.levels), dtype=object)[place]
        log_odds += np.array(question.effects)[place]
    over = generator.random(n) < expit(log_odds)
    words["occupation"][generator.random(n) < _NO_OCCUPATION] = ""
    numbers["hours"][generator.random(n) < _NO_HOURS] = np.nan
    label = np.where(over, OVER, UP_TO).astype(object)
    return {"age": numbers.pop("age"), **words, **numbers, "income": label}


def census_schema() -> Schema:
    """The declarations that belong to ``census_table``: what its form and code book allow."""
    words: dict[str, Column] = {q.name: Categorical(tuple(q.levels)) for q in QUESTIONS}
    columns: dict[str, Column] = {
        "age": Numeric(17, 90),
        **words,
        "hours": Numeric(0, 99),
        "children": Numeric(0, 8),
        "commute": Numeric(0, 240),
        "capital_income": Numeric(0, 1_000_000, log=True, missing=0),
    }
    return Schema(columns, Label("income", (UP_TO, OVER)))


def _census_numbers(
    skill: Array, maturity: Array, generator: np.random.Generator
) -> tuple[dict[str, NDArray[Any]], Array]:
    """Numeric columns in their own units, and the log-odds so far."""
    n = len(skill)
    age = np.rint(17.0 + 73.0 * expit(0.8 * maturity - 0.5))
    week = 39.0 + 9.0 * (0.4 * skill + 0.9 * generator.normal(size=n))
    hours = np.clip(np.rint(np.where(generator.random(n) < 0.05, 0.0, week)), 0.0, 99.0)
    children = np.clip(generator.poisson(1.4 * expit(1.5 * maturity)), 0, 8)
    commute = np.clip(np.rint(generator.gamma(2.0, 22.0, size=n)), 0.0, 240.0)
    invested = np.rint(10.0 ** np.clip(2.5 + 0.8 * (skill + generator.normal(size=n)), 0.0, 6.0))
    capital = np.where(generator.random(n) < 0.3, invested, 0.0)
    log_odds = 3.0 * (age - 17.0) / 73.0 + 6.0 * hours / 99.0 + 0.35 * np.log10(1.0 + capital)
    numbers = {
        "age": age.astype(np.int64),
        "hours": hours,
        "children": children.astype(np.int64),
        "commute": commute.astype(np.int64),
        "capital_income": capital.astype(np.int64),
    }
    return numbers, log_odds + _OFFSET


# -- encoded --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """A categorical column: its levels, the shares of skill and maturity in it, its effect.

    Nine tenths of the people have binomial shares of the levels around ``center``, the others even
    ones. The log-odds of class 1 rise by ``effect`` from the first level to the last.
    """

    name: str
    words: str
    center: float
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
        "household laborer service farming operator transport craft clerical protective sales "
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
    Answer("region", "north east south west center", 0.5, 0.0, 0.0, 0.0),
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
    shares = 0.9 * binom.cdf(cuts, steps, answer.center) + 0.1 * (cuts + 1) / (steps + 1)
    return np.digitize(hidden, ndtri(shares))


def _numbers(skill: Array, maturity: Array, generator: np.random.Generator) -> Array:
    """Age from maturity, hours from skill, the others from chance; absent ones are zero."""
    values = generator.random((len(skill), len(NUMBERS)))
    values[:, 0] = expit(0.8 * maturity - 0.5)
    values[:, 1] = expit(0.4 * skill + 0.6 * generator.normal(size=len(skill)) - 0.4)
    present = generator.random(values.shape) < [share for share, _ in NUMBERS.values()]
    return np.where(present, values, 0.0)
