"""Evaluations, thresholds and confidence intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from privet import (
    ZCDP,
    HuberRegressor,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    evaluate,
)
from privet import fit_with_intervals as fit_both
from privet.evaluation import choose_threshold
from privet.evaluation.number_evaluation import COLUMNS
from privet.privacy import Event
from tests.laws.releases.registry import (
    APPROX,
    PURE,
    ROOT,
    ROWS,
    Draw,
    Published,
    added,
    fitted,
    people,
    published,
    release,
)


@cache
def trained() -> Any:
    """A model of other rows, with noise that is not under test."""
    return LogisticRegression(PureDP(3.0), insecure_seed=7).fit(*people(2, ROWS + 50))


trained()


def counted(event: Event) -> Draw:
    """Independent noise on each of the event's cells, exact in earnest."""
    assert event.mechanism == "histogram"
    kind = "independent laplace" if event.noise == "laplace" else "gaussian"
    return Draw(kind, event.scale, 1, event.counted()["m"], exact=True)


def evaluation(name: str, budget: Any, **declared: Any) -> None:
    """Enter an evaluation."""

    def run(seed: int | None) -> Published:
        x, y = people()
        groups = np.arange(len(y)) % 2 if "group_values" in declared else None
        found = evaluate(
            trained(), x, y, budget=budget, insecure_seed=seed, groups=groups, **declared
        )
        numbers = {
            "measures": [(m.lower, m.upper) for m in found.measures],
            **{f"counts {table}": cells for table, cells in found.counts.items()},
        }
        event = found.guarantee.event
        return published(event, numbers, [counted(part) for part in event.parts], released=(found,))

    release(name)(run)


evaluation("evaluate pure", PURE)
evaluation("evaluate zcdp", ROOT)
evaluation("evaluate approx", APPROX)
evaluation("evaluate groups", PURE, measures=["accuracy", "groups"], group_values=[0, 1])


def threshold(name: str, budget: Any, measure: Any) -> None:
    """Enter the choice of a threshold."""

    def run(seed: int | None) -> Published:
        found = choose_threshold(
            trained(),
            *people(),
            budget=budget,
            candidates=[-0.4, -0.1, 0.2, 0.5],
            measure=measure,
            insecure_seed=seed,
        )
        numbers = {"threshold": found.threshold, "values": found.values}
        event = found.guarantee.event
        return published(event, numbers, [counted(event)], released=(found,))

    release(name, written=False)(run)


threshold("threshold pure", PURE, "balanced_accuracy")
threshold("threshold zcdp", ROOT, "f1")
threshold("threshold cost", APPROX, {"false_positive": 1.0, "false_negative": 5.0})

PARAMETERS = 4  # three columns and the intercept
BOTH = PARAMETERS * (PARAMETERS + 1)  # the triangles of two matrices


def logistic(seed: int | None) -> Any:
    """The model whose coefficients get intervals."""
    return LogisticRegression(PureDP(3.0), regularization=0.05, insecure_seed=seed)


def matrices(model: Any, found: Any, numbers: dict[str, Any]) -> Published:
    """The fit's draws and those of the matrices; one word seeds the simulation behind the ends."""
    pair, whole = found.uncertainty.released, found.guarantee.event
    event = whole.parts[-1] if whole.parts else whole
    numbers |= {"lower": found.lower, "upper": found.upper}
    numbers |= {"hessian": pair.hessian, "covariance": pair.covariance}
    x, y = people(2, 2000)

    def claim(_: Any) -> list[Draw]:
        fit = fitted(model.revisit(x, y).design)
        return [*fit, *[added(event, BOTH)] * len(event.curves)]

    return published(whole, numbers, claim, [1], released=(model, found))


def intervals(name: str, budget: Any, make: Callable[[int | None], Any] = logistic) -> None:
    """Enter intervals for a model's coefficients."""

    def run(seed: int | None) -> Published:
        x, y = people(2, 2000)
        model = make(seed).fit(x, y)
        found = confidence_intervals(model, x, y, budget=budget)
        return matrices(model, found, {})

    release(name)(run)


def huber(seed: int | None) -> Any:
    """A regression whose coefficients get intervals."""
    return HuberRegressor(
        PureDP(3.0), target_bounds=(0, 1), regularization=0.05, insecure_seed=seed
    )


intervals("intervals pure", PureDP(100.0))
intervals("intervals zcdp", ZCDP(20.0))
intervals("intervals huber", ZCDP(20.0), huber)


def together(name: str, budget: Any, share: float) -> None:
    """Enter a fit with its intervals."""

    def run(seed: int | None) -> Published:
        model, found = fit_both(logistic(seed), *people(2, 2000), budget=budget, share=share)
        return matrices(model, found, {"coef_": model.coef_})

    release(name)(run)


together("fit with intervals", ZCDP(40.0), 0.5)
together("intervals beside a fit", PureDP(8.0), 0.7)


@cache
def trained_number() -> Any:
    """A regression of other rows, with noise that is not under test."""
    x, y = people(2, ROWS + 50)
    return HuberRegressor(PureDP(3.0), target_bounds=(0, 1), insecure_seed=7).fit(x, y)


trained_number()


def errors(name: str, budget: Any, *measures: str) -> None:
    """Enter the evaluation of a regression."""

    def run(seed: int | None) -> Published:
        x, y = people()
        found = evaluate(
            trained_number(), x, y, budget=budget, insecure_seed=seed, measures=measures
        )
        numbers = {
            "measures": [(m.lower, m.upper) for m in found.measures],
            **{f"counts {table}": cells for table, cells in found.counts.items()},
        }
        event = found.guarantee.event
        means, *tables = event.parts or (event,)
        draws = [added(means, 2 * COLUMNS), *(counted(part) for part in tables)]
        return published(event, numbers, draws, released=(found,))

    release(name)(run)


errors("regression errors pure", PURE, "errors", "residuals")
errors("regression errors zcdp", ROOT, "errors", "residuals")
errors("regression errors approx", APPROX)
