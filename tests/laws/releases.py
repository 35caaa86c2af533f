"""Every way in which Privet releases something about private rows, each on a small made-up table.

One list for the laws that hold for all of them. A release is a function of the seed (None: the
operating system's source, as in earnest) that returns what was published and the event that covers
it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import (
    ZCDP,
    ApproxDP,
    LargeMarginGaussian,
    LinearSVC,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    evaluate,
    fit_with_intervals,
)
from privet.errors import PrivetWarning
from privet.evaluation import choose_threshold
from privet.kernels import (
    Gaussian,
    InteractivePredictor,
    KernelLogisticRegression,
    KernelSVC,
    Linear,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
)
from privet.privacy import Event
from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch

Array = NDArray[np.float64]
ROWS = 400
PURE, ROOT, APPROX = PureDP(1.5), ZCDP(0.4), ApproxDP(1.5, 1e-6)
BOUNDS = (-1.0, 1.0)


@dataclass(frozen=True)
class Published:
    """What went out: numbers by name, and the event that covers them."""

    event: Event
    numbers: dict[str, Array]


Run = Callable[[int | None], Published]
RELEASES: dict[str, Run] = {}


def people(classes: int = 2, n: int = ROWS) -> tuple[Array, NDArray[np.int_]]:
    """Made-up rows in the unit ball, whose labels can be learnt."""
    rng = np.random.default_rng(classes)
    truth = rng.normal(size=(3, classes))
    x = rng.uniform(-0.55, 0.55, (n, 3))
    scores = x @ truth + 0.2 * rng.normal(size=(n, classes))
    return x, scores.argmax(axis=1)


def public_points(count: int = 6) -> Array:
    """Points of nobody."""
    return np.random.default_rng(5).uniform(-0.5, 0.5, (count, 3))


def published(event: Event, **numbers: Any) -> Published:
    """Numbers as arrays."""
    return Published(event, {name: np.asarray(v, dtype=np.float64) for name, v in numbers.items()})


def attributes(model: Any, *names: str) -> Published:
    """Released attributes of a fitted model."""
    return published(model.guarantee_.event, **{name: getattr(model, name) for name in names})


def silent(run: Run) -> Run:
    """Advice about tables this small is not the point here."""

    def quiet(seed: int | None) -> Published:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivetWarning)
            return run(seed)

    return quiet


def release(name: str) -> Callable[[Run], Run]:
    """Enter a release into the list."""

    def enter(run: Run) -> Run:
        RELEASES[name] = silent(run)
        return run

    return enter


# -- linear models, and what is linear in a public map of the columns ------------------------------


def fit(name: str, kind: Any, *attributes_: str, classes: int = 2, **declared: Any) -> None:
    """Enter a model's fit."""

    def run(seed: int | None) -> Published:
        x, y = people(classes)
        labels = None if classes == 2 else list(range(classes))
        model = kind(**declared, classes=labels, insecure_seed=seed).fit(x, y)
        return attributes(model, "coef_", "intercept_", *attributes_)

    release(name)(run)


for _kind, _model in (("logistic", LogisticRegression), ("svc", LinearSVC)):
    for _mechanism in ("objective", "output"):
        fit(f"{_kind} {_mechanism} pure", _model, budget=PURE, mechanism=_mechanism)
        for _noise in ("laplace", "gaussian"):
            for _name, _budget in (("zcdp", ROOT), ("approx", APPROX)):
                fit(
                    f"{_kind} {_mechanism} {_noise} {_name}",
                    _model,
                    budget=_budget,
                    mechanism=_mechanism,
                    noise=_noise,
                )
        fit(f"{_kind} {_mechanism} classes", _model, classes=3, budget=ROOT, mechanism=_mechanism)

_STANDARDIZED: dict[str, Any] = {"standardize": "private", "column_bounds": BOUNDS}
for _name, _budget in (("pure", PURE), ("zcdp", ROOT), ("approx", APPROX)):
    fit(
        f"logistic standardized {_name}",
        LogisticRegression,
        "center_",
        "scale_",
        budget=_budget,
        **_STANDARDIZED,
    )
fit("logistic weighted", LogisticRegression, budget=PURE, class_weight={0: 1.0, 1: 3.0})
fit("svc smooth hinge", LinearSVC, budget=PURE, loss="smooth_hinge", fit_intercept=False)
fit("gaussian pure", LargeMarginGaussian, classes=3, budget=PURE, covariance="diagonal")
fit("gaussian huber", LargeMarginGaussian, classes=3, budget=ROOT, loss="huber")
fit("gaussian mixture pure", LargeMarginGaussian, "centers_", budget=PURE, components=2)
fit("gaussian mixture zcdp", LargeMarginGaussian, "centers_", budget=ROOT, components=2)
fit(
    "gaussian mixture standardized",
    LargeMarginGaussian,
    "centers_",
    "center_",
    "scale_",
    budget=ROOT,
    components=2,
    **_STANDARDIZED,
)
fit("kernel svc", KernelSVC, "frequencies_", budget=PURE, n_frequencies=8)
fit("kernel svc points", KernelSVC, budget=ROOT, public_points=public_points())
fit("kernel logistic", KernelLogisticRegression, "frequencies_", budget=ROOT, n_frequencies=8)


# -- answers with a kernel -------------------------------------------------------------------------


def interactive(name: str, kernel: Any, budget: Any) -> None:
    """Enter a function release: a session of two batches of questions."""

    def run(seed: int | None) -> Published:
        model = InteractivePredictor(kernel, budget, insecure_seed=seed).fit(*people())
        answers = {"first": public_points(5), "second": public_points(12)[5:]}
        return published(
            model.guarantee_.event, **{name: model.answer(z) for name, z in answers.items()}
        )

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
            Linear(1.0), budget, 0.05, mechanism="sparse_vector", queries=12, insecure_seed=seed
        ).fit(x, y)
        asked = {"first": 1.6 * public_points(5), "second": x[:4] * [[0.9], [0.8], [0.7], [1.0]]}
        return published(
            model.guarantee_.event, **{name: model.answer(z) for name, z in asked.items()}
        )

    release(name)(run)


sparse("sparse pure", PureDP(1000.0))
sparse("sparse zcdp", ZCDP(1000.0))


def semi(name: str, method: Any, budget: Any) -> None:
    """Enter a semi-interactive fit."""

    def run(seed: int | None) -> Published:
        model = SemiInteractiveClassifier(
            public_points(), kernel=Gaussian(1.0), budget=budget, method=method, insecure_seed=seed
        ).fit(*people())
        return attributes(model, "dual_coef_")

    release(name)(run)


for _method in ("span", "kernel_noise", "tddl"):
    semi(f"semi {_method} pure", _method, PURE)
    semi(f"semi {_method} zcdp", _method, ROOT)


def net(name: str, kernel: Any, budget: Any, **declared: Any) -> None:
    """Enter a non-interactive fit."""

    def run(seed: int | None) -> Published:
        model = NonInteractiveClassifier(
            kernel, budget, rounds=4, insecure_seed=seed, regularization=0.01, **declared
        ).fit(*people())
        return attributes(model, "points_", "dual_coef_")

    release(name)(run)


# budgets large enough that some corrections are not left out as noise
net("ball pure", Linear(1.0), PureDP(400.0))
net("ball zcdp", Linear(1.0), ZCDP(400.0))
net("net pure", Gaussian(1.0), PureDP(400.0), net=public_points(20))
net("net zcdp", Gaussian(1.0), ZCDP(400.0), net=public_points(20))


# -- searches --------------------------------------------------------------------------------------

CANDIDATES = [{"regularization": 0.01}, {"regularization": 0.1}, {"norm_bound": 0.5}]
WIDE = KernelLogisticRegression(public_points=public_points(40))


def search(name: str, kind: Any, budget: Any, estimator: Any = None, **declared: Any) -> None:
    """Enter a search."""
    model, candidates = LogisticRegression(), CANDIDATES
    if estimator is not None:
        model, candidates = estimator, CANDIDATES[:2]

    def run(seed: int | None) -> Published:
        found = kind(model, candidates, budget, insecure_seed=seed, **declared).fit(*people())
        best = found.best_estimator_
        return published(
            found.guarantee_.event,
            best_index_=found.best_index_,
            best_score_=getattr(found, "best_score_", 0.0),
            coef_=best.coef_,
            intercept_=best.intercept_,
        )

    release(name)(run)


for _name, _budget in (("pure", PURE), ("zcdp", ROOT), ("approx", APPROX)):
    search(f"partition {_name}", PartitionSearch, _budget, validation=100)
    search(f"stopping {_name}", RandomStoppingSearch, _budget, runs=5.0, validation=100)
# many parameters: the runs are paid for with Gaussian noise
search("stopping many", RandomStoppingSearch, ROOT, WIDE, runs=5.0, validation=100)
search("stopping public", RandomStoppingSearch, PURE, runs=5.0, validation=people(2, 60))
search("public pure", PublicSearch, PURE, validation=people(2, 60))
search("public zcdp", PublicSearch, ROOT, validation=people(2, 60))


# -- evaluation and intervals ----------------------------------------------------------------------


@cache
def trained() -> Any:
    """A model of other rows, with noise that is not under test."""
    return LogisticRegression(PureDP(3.0), insecure_seed=7).fit(*people(2, ROWS + 50))


def evaluation(name: str, budget: Any, **declared: Any) -> None:
    """Enter an evaluation."""

    def run(seed: int | None) -> Published:
        x, y = people()
        groups = np.arange(len(y)) % 2 if "group_values" in declared else None
        found = evaluate(
            trained(), x, y, budget=budget, insecure_seed=seed, groups=groups, **declared
        )
        values = [(m.lower, m.upper) for m in found.measures]
        counts = {f"counts {table}": cells for table, cells in found.counts.items()}
        return published(found.guarantee.event, measures=values, **counts)

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
        return published(found.guarantee.event, threshold=found.threshold, values=found.values)

    release(name)(run)


threshold("threshold pure", PURE, "balanced_accuracy")
threshold("threshold zcdp", ROOT, "f1")
threshold("threshold cost", APPROX, {"false_positive": 1.0, "false_negative": 5.0})


def intervals(name: str, model: Any, budget: Any, calibration: str | None = None) -> None:
    """Enter intervals for a model's coefficients."""

    def run(seed: int | None) -> Published:
        x, y = people(2, 2000)
        fitted = model(seed).fit(x, y)
        found = confidence_intervals(fitted, x, y, budget=budget, calibration=calibration)
        return published(found.guarantee.event, **ends(found))

    release(name)(run)


def ends(found: Any) -> dict[str, Any]:
    """The ends of the intervals, and the two released matrices they are made of."""
    pair = found.uncertainty.released
    matrices = {"hessian": pair.hessian, "covariance": pair.covariance}
    return {"lower": found.lower, "upper": found.upper, **matrices}


def _logistic(seed: int | None) -> Any:
    return LogisticRegression(PureDP(3.0), regularization=0.05, insecure_seed=seed)


intervals("intervals pure", _logistic, PureDP(100.0))
intervals("intervals zcdp", _logistic, ZCDP(20.0))
intervals("intervals wang2018", _logistic, ZCDP(50.0), "wang2018")


@release("fit with intervals")
def _fit_with_intervals(seed: int | None) -> Published:
    model, found = fit_with_intervals(
        _logistic(seed), *people(2, 2000), budget=ZCDP(40.0), share=0.5
    )
    return published(found.guarantee.event, coef_=model.coef_, **ends(found))
