"""Answers with a kernel: interactive sessions, public points, and points drawn privately."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from privet import ZCDP, PureDP
from privet.grid import grid_exponent
from privet.kernels import (
    Gaussian,
    InteractivePredictor,
    Linear,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
)
from privet.privacy import Event
from tests.laws.releases.registry import (
    APPROX,
    PURE,
    ROOT,
    Draw,
    Published,
    added,
    fitted,
    people,
    public_points,
    published,
    release,
)

ROUNDS = 4
NET = 20


def interactive(name: str, kernel: Any, budget: Any) -> None:
    """Enter a function release: a session of two batches of questions."""

    def run(seed: int | None) -> Published:
        model = InteractivePredictor(budget, kernel=kernel, insecure_seed=seed).fit(*people())
        asked = {"first": public_points(5), "second": public_points(12)[5:]}
        answers = {name: model.answer(z) for name, z in asked.items()}
        event = model.guarantee_.event
        if event.mechanism == "output":  # few explicit features: a vector is released once
            return published(
                event, answers, [added(event, 3)], linear=tuple(asked), released=(model,)
            )
        # the path is a floating-point Gaussian process: one normal for each answer
        claim = [Draw("gaussian", event.scale, 1, len(z)) for z in asked.values()]
        return published(event, answers, claim, linear=("first",), released=(model,))

    release(name)(run)


interactive("function zcdp", Gaussian(1.0), ROOT)
interactive("function approx", Gaussian(1.0), APPROX)
interactive("function vector", Linear(1.0), ROOT)


def sparse(name: str, budget: Any) -> None:
    """Enter a sparse vector on two camps that lie so far apart that guesses are corrected."""

    def run(seed: int | None) -> Published:
        y = np.arange(1000) % 2
        x = np.outer(2.0 * y - 1.0, [0.9, 0.3, 0.1])
        model = InteractivePredictor(
            budget,
            kernel=Linear(1.0),
            regularization=0.05,
            mechanism="sparse_vector",
            queries=12,
            insecure_seed=seed,
        ).fit(x, y)
        asked = {"first": 1.6 * public_points(5), "second": x[:4] * [[0.9], [0.8], [0.7], [1.0]]}
        answers = {name: model.answer(z) for name, z in asked.items()}
        marks = np.concatenate([batch.marked for batch in model.transcript_.batches])
        return published(
            model.guarantee_.event,
            answers,
            epochs(model.guarantee_.event, model, marks),
            released=(model,),
        )

    release(name)(run)


def epochs(event: Event, model: Any, marks: Any) -> list[Draw]:
    """A noisy threshold per epoch, a noisy comparison per query, a noisy value per correction."""
    numeric = model.sparse_vector_.numeric
    begun = int(marks.sum()) + (not marks[-1])
    compare = Draw("independent laplace", event.scale, 1, 1, choice=True)
    exact = numeric.kind == "gaussian"
    return [
        *[replace(compare, scale=event.scale / 2.0)] * begun,
        *[compare] * len(marks),
        *[
            Draw(
                numeric.kind,
                numeric.scale,
                1,
                1,
                exact=exact,
                exponent=grid_exponent(event.sensitivity),
            )
        ]
        * int(marks.sum()),
    ]


sparse("sparse pure", PureDP(1000.0))
sparse("sparse zcdp", ZCDP(1000.0))


def semi(name: str, method: Any, budget: Any) -> None:
    """Enter a semi-interactive fit."""

    def run(seed: int | None) -> Published:
        points = public_points()
        model = SemiInteractiveClassifier(
            budget,
            public_points=points,
            kernel=Gaussian(1.0),
            mechanism=method,
            insecure_seed=seed,
        ).fit(*people())
        event = model.guarantee_.event
        if method == "span":
            claim = fitted(model._objective(3).design(event.n, len(points)))
            assert event.scale == claim[0].scale
        elif method == "kernel_noise" and budget is PURE:
            claim = [added(event, len(points))]  # spherical
        else:
            claim = [added(event, 1, len(points))]
        return published(event, {"dual_coef_": model.dual_coef_}, claim, released=(model,))

    release(name)(run)


for _method in ("span", "kernel_noise", "tddl"):
    semi(f"semi {_method} pure", _method, PURE)
    semi(f"semi {_method} zcdp", _method, ROOT)


def net(name: str, kernel: Any, budget: Any, **declared: Any) -> None:
    """Enter a non-interactive fit: in each round a point is drawn and an answer released."""

    def run(seed: int | None) -> Published:
        model = NonInteractiveClassifier(
            budget,
            kernel=kernel,
            rounds=ROUNDS,
            insecure_seed=seed,
            regularization=0.01,
            **declared,
        ).fit(*people())
        event = model.guarantee_.event
        pure = isinstance(budget, PureDP)
        each = budget.epsilon / (2.0 * ROUNDS) if pure else math.sqrt(4.0 * budget.rho / ROUNDS)
        scale = 2.0 * event.sensitivity / each
        point = Draw("ball", scale, 3, 1, choice=True)
        if "net" in declared:
            point = Draw("gumbel", scale, NET, 1, exact=True, choice=True)
        kind = "laplace" if pure else "gaussian"
        answer = Draw(kind, event.scale, 1, 1, exact=not pure)
        numbers = {"points_": model.points_, "dual_coef_": model.dual_coef_}
        return published(event, numbers, [point, answer] * ROUNDS, released=(model,))

    release(name)(run)


# budgets large enough that some corrections are not left out as noise
net("ball pure", Linear(1.0), PureDP(400.0))
net("ball zcdp", Linear(1.0), ZCDP(400.0))
net("net pure", Gaussian(1.0), PureDP(400.0), net=public_points(NET))
net("net zcdp", Gaussian(1.0), ZCDP(400.0), net=public_points(NET))
