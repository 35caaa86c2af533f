"""Sensitivity replayed for whole releases: models, pipelines and searches.

The same random words are drawn for two neighboring tables, and the distance of what comes out is
held against what was declared. A fit is replayed through what its earlier stages released, so that
only the fit itself differs; its table has rows that are far too long, and a row that stands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from privet._types import Array
from privet.audit.attacks import Finding
from privet.audit.means_replay import declared_sums
from privet.audit.replay import declared_distance
from privet.audit.statistics_replay import unsolved
from privet.domain import Box, OneHot
from privet.errors import quietly
from privet.kernels import KernelHuberRegressor, KernelLogisticRegression, KernelSVC
from privet.losses import ConvexLoss
from privet.mechanisms import ClassMeans, RidgeStatistics
from privet.mechanisms.means import MeansDesign
from privet.models import (
    HuberRegressor,
    LargeMarginGaussian,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    PrivateERM,
)
from privet.models.row_wise import last_of
from privet.privacy import ZCDP, PureDP
from privet.randomness import InsecureSeed
from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch

ROWS, COLUMNS, SEED = 240, 3, 7
Labels = NDArray[np.int_]
Table = tuple[Array, Labels]
ONE, ROOT = PureDP(1.0), ZCDP(0.5)
_ENDS = (0.0, 1.0)  # of the regressions' target: labels are its ends
#: A loss as a user would bring one: a smooth absolute value.
_OWN = ConvexLoss(
    "pseudo-Huber",
    value=lambda z, t: np.sqrt(1.0 + (z - t) ** 2) - 1.0,
    gradient=lambda z, t: (z - t) / np.sqrt(1.0 + (z - t) ** 2),
    hessian=lambda z, t: (1.0 + (z - t) ** 2) ** -1.5,
    gradient_bound=1.0,
    curvature_bound=1.0,
)
_DOMAIN = [Box(1, 0.6), OneHot(2, 0.5)]
_POINTS = np.linspace(-0.5, 0.5, 6 * COLUMNS).reshape(6, COLUMNS)


def people(classes: int, seed: int = 0) -> Table:
    """Rows around the unit ball, some of them far outside, and labels that can be learned."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, COLUMNS)) * rng.choice([0.3, 0.6, 2.0], size=(ROWS, 1))
    scores = x @ rng.normal(size=(COLUMNS, classes)) + 0.3 * rng.normal(size=(ROWS, classes))
    return x, scores.argmax(axis=1)


def alone(classes: int) -> Table:
    """One long row, and nothing that speaks against it."""
    x = np.zeros((ROWS, COLUMNS))
    x[0, 0] = 3.0
    return x, np.arange(ROWS) % classes


def neighborhoods(classes: int) -> Iterator[tuple[Table, list[Table]]]:
    """Tables with their neighbors: the first row turned round, relabeled, both, or far away."""
    away = np.array([5.0, -3.0, 1.0])
    for x, y in (people(classes), alone(classes)):
        changed = []
        for row, label in ((-x[0], y[0]), (x[0], y[0] + 1), (-x[0], y[0] + 1), (away, y[0] + 1)):
            other, labels = x.copy(), y.copy()
            other[0], labels[0] = row, label % classes
            changed.append((other, labels))
        yield (x, y), changed


def length(difference: Array) -> float:
    """The Euclidean norm, of all entries."""
    return float(np.linalg.norm(np.ravel(difference)))


def farthest(
    released: Callable[[Table], Array], classes: int, size: Callable[[Array], float] = length
) -> float:
    """The largest distance of what neighbors release under the same random words."""
    found = 0.0
    for first, others in neighborhoods(classes):
        one = released(first)
        found = max(found, *(size(one - released(second)) for second in others))
    return found


#: Every kind of model, by the name that an audit shows.
MODELS: dict[str, tuple[Any, int]] = {
    "LogisticRegression": (LogisticRegression(ONE), 2),
    "LogisticRegression, rho": (LogisticRegression(ROOT), 2),
    "LogisticRegression, output": (LogisticRegression(ONE, mechanism="output"), 2),
    "LogisticRegression, domain": (LogisticRegression(ONE, domain=_DOMAIN), 2),
    "LogisticRegression, three classes": (LogisticRegression(ONE), 3),
    "LogisticRegression, class means": (LogisticRegression(ONE, mechanism="means"), 3),
    "LogisticRegression, weighted": (LogisticRegression(ONE, class_weight={0: 1.0, 1: 3.0}), 2),
    "LogisticRegression, standardized": (
        LogisticRegression(ROOT, standardize="private", column_bounds=(-2.0, 2.0)),
        2,
    ),
    "LogisticRegression, whitened": (LogisticRegression(ROOT, standardize="whiten"), 2),
    "LinearSVC": (LinearSVC(ONE, norm_bound=2.0), 2),
    "LinearSVC, three classes": (LinearSVC(ONE), 3),
    "LinearSVC, smoothed hinge": (LinearSVC(ONE, loss="smooth_hinge"), 2),
    # the class of the row that neighbors change is the heavy one
    "LinearSVC, weighted": (LinearSVC(ONE, class_weight={0: 3.0, 1: 1.0}), 2),
    "LinearSVC, least squares": (LinearSVC(ONE, loss="least_squares"), 2),
    "LargeMarginGaussian": (LargeMarginGaussian(ROOT), 3),
    "KernelSVC": (KernelSVC(ONE, public_points=_POINTS), 2),
    "KernelLogisticRegression": (KernelLogisticRegression(ROOT, public_points=_POINTS), 2),
    "KernelHuberRegressor": (
        KernelHuberRegressor(ROOT, target_bounds=_ENDS, public_points=_POINTS),
        2,
    ),
    "LinearRegression": (LinearRegression(ONE, target_bounds=_ENDS, mechanism="statistics"), 2),
    "LinearRegression, rho": (
        LinearRegression(ROOT, target_bounds=_ENDS, mechanism="statistics"),
        2,
    ),
    "LinearRegression, objective": (
        LinearRegression(ONE, target_bounds=_ENDS, mechanism="objective"),
        2,
    ),
    "HuberRegressor": (HuberRegressor(ROOT, target_bounds=_ENDS), 2),
    "PoissonRegressor": (PoissonRegressor(ONE, target_bounds=_ENDS), 2),
    "PrivateERM": (PrivateERM(ONE, loss=_OWN, target_bounds=_ENDS), 2),
    "pipeline": (make_pipeline(Normalizer(), LinearSVC(ONE)), 2),
}


def replayed_model(name: str) -> Finding:
    """The distance of fits on neighbors, seen through what one fit's stages released."""
    model, classes = MODELS[name]
    with quietly():
        fitted = clone(model)
        last: Any = last_of(fitted)
        if "classes" in last.get_params():
            last.set_params(classes=list(range(classes)))
        last.set_params(insecure_seed=SEED)
        fitted.fit(*people(classes))

        def theta(found: Table) -> Array:
            x = fitted[:-1].transform(found[0]) if fitted is not last else found[0]
            seen = last.revisit(x, found[1])
            made, plan = seen.planned.mechanism, seen.planned.design
            if isinstance(made, ClassMeans):
                return made.noisy_sums(seen.rows, plan, InsecureSeed(SEED))
            mechanism = seen.mechanism
            if isinstance(mechanism, RidgeStatistics):
                mechanism = unsolved(mechanism)
            return np.asarray(mechanism.perturb(seen.rows, seen.design, InsecureSeed(SEED)))

        far = farthest(theta, classes)
        design = last.planned(ROWS, last.n_features_in_, last.classes_).design
    means = isinstance(design, MeansDesign)
    allowed = declared_sums(design) if means else declared_distance(design)
    return Finding("replay", far, allowed, f"{name}.")


def replayed_search(name: str) -> Finding:
    """The chosen model's distance, where neighbors choose the same candidate."""
    kind, more = SEARCHES[name]
    candidates = [{"norm_bound": 1.0}, {"norm_bound": 0.9}]
    base, shares = LogisticRegression(classes=[0, 1]), [0.0]
    with quietly():
        for seed in range(SEED, SEED + 3):  # which part the row falls in is the seed's choice
            for table, others in neighborhoods(2):
                first, *rest = (
                    kind(base, candidates, ONE, insecure_seed=seed, **more).fit(*each)
                    for each in (table, *others)
                )
                best = first.best_estimator_
                rows = int(first.guarantee_.constants["fit"]["n"])
                allowed = declared_distance(best.planned(rows, COLUMNS, best.classes_).design)
                for second in rest:
                    if second.best_index_ == first.best_index_:
                        apart = second.best_estimator_.coef_ - best.coef_
                        shares.append(length(apart) / allowed)
    told = f"{name}, the chosen model."
    return Finding("replay", max(shares), 1.0, told)


_PUBLIC = people(2, seed=1)
SEARCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "PartitionSearch": (PartitionSearch, {"validation": 60}),
    "RandomStoppingSearch": (RandomStoppingSearch, {"validation": 60}),
    "PublicSearch": (PublicSearch, {"validation": _PUBLIC}),
}
