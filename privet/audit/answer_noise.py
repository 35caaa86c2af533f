"""Whether answers from a kernel minimizer have the noise that their event states.

Rows lie at places that are so far apart that a Gaussian kernel tells them from each other: each
place has its own answer and its own noise. Of a sparse vector, which releases no noise at all where
it guesses right, the running release itself is asked: the threshold of each epoch, which is secret,
the comparisons with it, and the corrections.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from privet._types import Array
from privet.audit.answer_replay import KNEE, LOSS, MUCH, MUCH_RHO, RIDGE
from privet.audit.attacks import Finding
from privet.audit.choice_noise import choice_finding
from privet.audit.stated_noise import independent_square, noise_finding, spherical_square
from privet.errors import quietly
from privet.kernels import (
    Gaussian,
    InteractivePredictor,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
)
from privet.mechanisms.sparse_vector import SparseVectorAnswers
from privet.privacy import Budget
from privet.randomness import source

PLACES, APART, ROWS = 12, 10.0, 24
#: Each pair of releases has the noise of all places.
PAIRS = 40
#: So far below and above a threshold that no noise reaches it.
SURELY = 1e9
#: Pairs of comparisons: chance then misses the limit by five deviations.
COMPARED = 1000


def answer_noises() -> Iterator[Finding]:
    """Functions, projections and nets; a vector that is released once is output perturbation."""
    with quietly():
        yield _function()
        for budget in (MUCH, MUCH_RHO):
            yield from (_projected(way, budget) for way in ("kernel_noise", "tddl"))
            yield from _net(budget)
            yield from sparse_vector_noises(budget)


def _common() -> dict[str, Any]:
    """What all of them declare."""
    return {
        "classes": [0, 1],
        "regularization": RIDGE,
        "loss": LOSS,
        "h": KNEE,
        "kernel": Gaussian(1.0),
    }


def _places() -> Array:
    return APART * np.arange(1.0, PLACES + 1.0)[:, None]


def _fitted(model: Any) -> Any:
    """As many rows at each place, with the label of the place."""
    places = np.arange(ROWS) % PLACES
    return clone(model).fit(_places()[places], places % 2)


def _named(budget: Budget) -> str:
    return "rho" if budget.allows_gaussian else "epsilon"


def _noises(model: Any, seen: Callable[[Any], Array], square: float, told: str) -> Finding:
    return noise_finding(lambda: seen(_fitted(model)), square, f"answers, {told}.", PAIRS)


def _function() -> Finding:
    model = InteractivePredictor(MUCH_RHO, **_common())
    scale = _fitted(model).guarantee_.event.scale
    square = independent_square("gaussian", scale, PLACES)
    return _noises(model, lambda it: it.answer(_places()), square, "function")


def _projected(way: Any, budget: Budget) -> Finding:
    """The places are the public points, and features and predictions there are the same."""
    model = SemiInteractiveClassifier(budget, public_points=_places(), mechanism=way, **_common())
    event = _fitted(model).guarantee_.event
    stated = spherical_square if way == "kernel_noise" else independent_square
    square = stated(event.noise, event.scale, PLACES)
    return _noises(model, lambda it: it.dual_coef_, square, f"{way}, {_named(budget)}")


def _net(budget: Budget) -> Iterator[Finding]:
    """The noise of an answer, and that of the choice of a point."""
    model, told = NonInteractiveClassifier(budget, net=_places(), **_common()), _named(budget)
    design, drawn = model.design(ROWS, 1), source(None)
    kept, event = design.constants, design.event
    kind = "gaussian" if budget.allows_gaussian else "laplace"
    square = independent_square(kind, event.scale, PLACES)
    yield noise_finding(
        lambda: np.array([design.release(0.0, drawn) for _ in range(PLACES)]),
        square,
        f"answers, net, {told}.",
        PAIRS,
    )
    step = 2.0 * event.sensitivity / kept["point_epsilon"]
    scores = np.full(PLACES, -1e3 * step)
    scores[:2] = 0.0, -step  # the others are never drawn
    told = f"answers, points of a net, {told}."
    yield choice_finding(lambda: design.choose(scores, drawn), "exponential", told)


def sparse_vector_noises(budget: Budget) -> Iterator[Finding]:
    """One release that goes on: a noise that is drawn once for two purposes is seen, too."""
    model = InteractivePredictor(budget, mechanism="sparse_vector", queries=20, **_common())
    design, drawn = _fitted(model).sparse_vector_, source(None)
    running = SparseVectorAnswers(replace(design, epochs=sys.maxsize))
    step, told = design.event.scale, f"answers, sparse vector, {_named(budget)}"

    def level() -> float:
        """The noise of the threshold of a new epoch."""
        running.ask(-SURELY, drawn)
        found = float(running.level or 0.0) - float(design.threshold)
        running.release(0.0, drawn)
        return found

    def correction() -> float:
        running.ask(SURELY, drawn)
        return running.release(0.0, drawn)

    def above() -> bool:
        """Whether a second question is, one step below the threshold, where the first was not."""
        while True:
            epoch = SparseVectorAnswers(design)
            epoch.ask(-SURELY, drawn)
            just = float(epoch.level or 0.0) - step
            if not epoch.ask(just, drawn):
                return epoch.ask(just, drawn)

    kind = "gaussian" if budget.allows_gaussian else "laplace"
    for what, square, release in (
        ("thresholds", independent_square("laplace", step / 2.0, PLACES), level),
        (
            "corrections",
            independent_square(kind, design.constants["answer_scale"], PLACES),
            correction,
        ),
    ):
        yield noise_finding(
            lambda it=release: np.array([it() for _ in range(PLACES)]),  # type: ignore[misc]
            square,
            f"{told}, {what}.",
            PAIRS,
        )
    # half of exp(-1), as where permute-and-flip takes the one that is a step behind
    yield choice_finding(
        lambda: int(above()), "permute-and-flip", f"{told}, comparisons.", COMPARED
    )
