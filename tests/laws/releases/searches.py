"""Searches: several fits and a private choice among them."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from privet import ZCDP, ApproxDP, HuberRegressor, LogisticRegression, PureDP
from privet.kernels import KernelLogisticRegression
from privet.privacy import Budget
from privet.privacy.stopping import StoppingCurve, runs_with_mean
from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch
from tests.laws.releases.registry import (
    APPROX,
    PURE,
    ROOT,
    ROWS,
    Draw,
    Published,
    Words,
    fitted,
    people,
    public_points,
    published,
    quiet,
    release,
)

CANDIDATES = [{"regularization": 0.01}, {"regularization": 0.1}, {"norm_bound": 0.5}]
# far enough apart that eigenvectors, and so a seeded release, are the same on every machine
WIDE = KernelLogisticRegression(gamma=6.0, public_points=public_points(40))
HELD = 100
RUNS = 5.0


def search(
    name: str, kind: Any, budget: Any, claim: Any, words: Any, model: Any = None, **declared: Any
) -> None:
    """Enter a search."""
    estimator = LogisticRegression() if model is None else model
    candidates = CANDIDATES[:2] if model is WIDE else CANDIDATES

    def run(seed: int | None) -> Published:
        found = kind(estimator, candidates, budget, insecure_seed=seed, **declared).fit(*people())
        best = found.best_estimator_
        numbers = {
            "best_index_": found.best_index_,
            "best_score_": getattr(found, "best_score_", 0.0),
            "coef_": best.coef_,
            "intercept_": best.intercept_,
        }

        def of_fit(candidate: int, part: Budget, rows: int) -> list[Draw]:
            """The draws of a candidate's fit on ``rows`` rows at ``part``."""
            chosen = clone(estimator).set_params(
                **candidates[candidate], budget=part, insecure_seed=seed
            )
            x, y = people()
            with quiet():
                return fitted(chosen.prepare(x[:rows], y[:rows]).design)

        event = found.guarantee_.event
        return published(
            event,
            numbers,
            lambda read: claim(event, budget, read, of_fit),
            words,
            released=(best,),
        )

    release(name)(run)


def partition(event: Any, budget: Budget, words: Words, of_fit: Any) -> list[Draw]:
    """Each fit at the whole budget on its own rows, and one selection."""
    part = ZCDP(budget.additive.amount) if isinstance(budget, ApproxDP) else budget
    pure = isinstance(part, PureDP)
    epsilon = part.epsilon if isinstance(part, PureDP) else (8.0 * part.facts()["rho"]) ** 0.5
    rows = (ROWS - HELD) // len(CANDIDATES)
    kind, m = "exponential" if pure else "gumbel", len(CANDIDATES)
    choice = Draw(kind, 2.0 / epsilon, m, 1, exact=True, choice=True)
    fits = [draw for place in range(len(CANDIDATES)) for draw in of_fit(place, part, rows)]
    return [*fits, choice]


def unit(word: Any) -> float:
    """The uniform number that a word is read as."""
    return float(int(word[0]) >> 11) * 2.0**-53


def runs(words: Words) -> int:
    """How many runs the theorem's law gives for the second word read."""
    return runs_with_mean(RUNS).quantile(unit(words[1]))


def stopping(held: int, candidates: int) -> Any:
    """As many runs as the law says, each at its share, and one noisy count for each."""

    def claim(event: Any, budget: Budget, words: Words, of_fit: Any) -> list[Draw]:
        (curve,) = event.curves
        gaussian = isinstance(curve, StoppingCurve)
        part: Budget = ZCDP(curve.rho) if gaussian else PureDP(curve.pure / 2.0)  # eta is 0
        chosen = [int(unit(word) * candidates) for word in words[2 : 2 + runs(words)]]
        found = [draw for place in chosen for draw in of_fit(place, part, ROWS - held)]
        if held:
            kind = "gaussian" if gaussian else "independent laplace"
            scale = 1.0 / ((2.0 * curve.rho) ** 0.5 if gaussian else curve.pure / 2.0)
            found.append(Draw(kind, scale, 1, len(chosen), exact=True))
        return found

    return claim


def public(event: Any, budget: Budget, words: Words, of_fit: Any) -> list[Draw]:
    """Each fit at an equal share on all rows; the choice is post-processing."""
    return [
        draw
        for place in range(len(CANDIDATES))
        for draw in of_fit(place, budget.fraction(1.0 / len(CANDIDATES)), ROWS)
    ]


def order(words: Words) -> list[int]:
    """The order of the rows."""
    return [ROWS]


def order_and_runs(words: Words) -> list[int]:
    """The order of the rows, the number of runs, and a candidate for each."""
    return [ROWS, 1, *[1] * runs(words)]


for _name, _budget in (("pure", PURE), ("zcdp", ROOT), ("approx", APPROX)):
    search(f"partition {_name}", PartitionSearch, _budget, partition, order, validation=HELD)
    search(
        f"stopping {_name}",
        RandomStoppingSearch,
        _budget,
        stopping(HELD, 3),
        order_and_runs,
        runs=RUNS,
        validation=HELD,
    )
# many parameters: the runs are paid for with Gaussian noise
search(
    "stopping many",
    RandomStoppingSearch,
    ROOT,
    stopping(HELD, 2),
    order_and_runs,
    WIDE,
    runs=RUNS,
    validation=HELD,
)
_PUBLIC = people(2, 60)
search(
    "stopping public",
    RandomStoppingSearch,
    PURE,
    stopping(0, 3),
    order_and_runs,
    runs=RUNS,
    validation=_PUBLIC,
)
NUMBER = HuberRegressor(target_bounds=(0, 1))
search("partition huber", PartitionSearch, PURE, partition, order, NUMBER, validation=HELD)
search(
    "stopping huber",
    RandomStoppingSearch,
    PURE,
    stopping(HELD, 3),
    order_and_runs,
    NUMBER,
    runs=RUNS,
    validation=HELD,
)
search("public pure", PublicSearch, PURE, public, (), validation=_PUBLIC)
search("public zcdp", PublicSearch, ROOT, public, (), validation=_PUBLIC)
