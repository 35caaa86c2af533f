"""Fits of models that are linear in the columns or in a public map of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet import (
    GDP,
    Box,
    HuberRegressor,
    LargeMarginGaussian,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    OneHot,
    PoissonRegressor,
    PrivateERM,
    Ridge,
)
from privet.kernels import KernelHuberRegressor, KernelLogisticRegression, KernelSVC
from privet.privacy import Budget
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
from tests.losses.own import huber, two_scores

BOUNDS = (-1.0, 1.0)
COLUMNS = 3


def fit(name: str, kind: Any, *attributes: str, classes: int = 2, **declared: Any) -> None:
    """Enter a model's fit."""

    def run(seed: int | None) -> Published:
        x, y = people(classes)
        labels = None if classes == 2 else list(range(classes))
        if "target_bounds" not in declared:
            declared["classes"] = labels
        model = kind(**declared, insecure_seed=seed).fit(x, y)
        event = model.guarantee_.event
        stages, descends = list(event.parts[1:]), declared.get("mechanism") in ("gradient", "means")

        def claim(_: Any) -> list[Draw]:
            planned = model.revisit(x, y).planned
            found = [*planned.design.draws] if descends else fitted(planned.minimizer[1])
            if declared.get("standardize") == "private":
                found.append(added(stages.pop(0), 2 * COLUMNS))
            if "whitening_" in attributes:  # the half vector of (COLUMNS + 1)^2
                found.append(added(stages.pop(0), (COLUMNS + 1) * (COLUMNS + 2) // 2))
            if "components" in declared:  # sums and counts of each cell, in every round
                centers = stages.pop(0)
                cells = classes * int(declared["components"]) * (COLUMNS + 1)
                found += [added(centers, cells)] * len(centers.curves)
            assert not stages
            return found

        names = ("coef_", "intercept_", *attributes)
        output = ("coef_",) if declared.get("mechanism") == "output" else ()
        return published(
            event,
            {name: getattr(model, name) for name in names},
            claim,
            None if "frequencies_" in attributes else (),
            output + (("center_",) if "center_" in attributes else ()),
            (model,),
        )

    release(name)(run)


_BUDGETS: dict[str, Budget] = {"pure": PURE, "zcdp": ROOT, "approx": APPROX}
for _kind, _model in (("logistic", LogisticRegression), ("svc", LinearSVC)):
    for _mechanism in ("objective", "output"):
        fit(f"{_kind} {_mechanism} pure", _model, budget=PURE, mechanism=_mechanism)
        for _noise in ("laplace", "gaussian"):
            for _name in ("zcdp", "approx"):
                fit(
                    f"{_kind} {_mechanism} {_noise} {_name}",
                    _model,
                    budget=_BUDGETS[_name],
                    mechanism=_mechanism,
                    noise=_noise,
                )
        fit(f"{_kind} {_mechanism} classes", _model, classes=3, budget=ROOT, mechanism=_mechanism)

    fit(f"{_kind} gradient", _model, budget=ROOT, mechanism="gradient")
    fit(f"{_kind} gradient classes", _model, classes=3, budget=APPROX, mechanism="gradient")
fit(
    "logistic gradient whitened",
    LogisticRegression,
    "whitening_",
    budget=APPROX,
    mechanism="gradient",
    standardize="whiten",
)

#: What is declared of the three columns: one number, and two that are one-hot.
_DOMAIN = [Box(1, 0.6), OneHot(2, 0.5)]
_UNLIKE = [Box(1, 0.6), OneHot(2, 0.05)]

_MEANS: dict[str, Any] = {"classes": 3, "budget": PURE, "mechanism": "means"}
fit("logistic class means", LogisticRegression, **_MEANS)
fit("logistic class means unit", LogisticRegression, standardize="unit", **_MEANS)
fit("logistic class means domain", LogisticRegression, domain=_DOMAIN, **_MEANS)

_NUMBER: dict[str, Any] = {"target_bounds": (0, 1)}
for _name, _budget in {"pure": PURE, "zcdp": ROOT, "mu": GDP(0.8)}.items():
    fit(
        f"linear statistics {_name}",
        LinearRegression,
        budget=_budget,
        mechanism="statistics",
        **_NUMBER,
    )
fit("huber objective zcdp", HuberRegressor, budget=ROOT, noise="gaussian", **_NUMBER)
fit("huber objective approx", HuberRegressor, budget=APPROX, noise="gaussian", **_NUMBER)
fit("poisson objective pure", PoissonRegressor, budget=PURE, **_NUMBER)
fit("poisson objective approx", PoissonRegressor, budget=APPROX, noise="gaussian", **_NUMBER)
fit("huber output zcdp", HuberRegressor, budget=ROOT, target_bounds=(-0.5, 1.5), mechanism="output")
fit("huber hull pure", HuberRegressor, budget=PURE, target_bounds=(0, 1), domain=_DOMAIN)
fit("huber gradient", HuberRegressor, budget=ROOT, mechanism="gradient", **_NUMBER)
fit("poisson gradient", PoissonRegressor, budget=APPROX, mechanism="gradient", **_NUMBER)
fit("own gradient", PrivateERM, budget=ROOT, loss=huber(0.5), mechanism="gradient", **_NUMBER)
fit("own objective zcdp", PrivateERM, budget=ROOT, loss=huber(0.5), noise="gaussian", **_NUMBER)
fit("own scores pure", PrivateERM, budget=PURE, loss=two_scores(), **_NUMBER)
fit(
    "own output weighted",
    PrivateERM,
    budget=ROOT,
    loss=huber(0.5),
    mechanism="output",
    regularizer=Ridge((1.0, 4.0, 0.5)),
    **_NUMBER,
)

for _kind, _model in (("logistic", LogisticRegression), ("svc", LinearSVC)):
    fit(f"{_kind} product pure", _model, budget=PURE, domain=Box(3, 0.6), noise="product")
    fit(f"{_kind} hull pure", _model, budget=PURE, domain=_DOMAIN, noise="hull")
    fit(f"{_kind} grouped pure", _model, budget=PURE, domain=_UNLIKE, noise="grouped")
    fit(f"{_kind} classes pure", _model, classes=3, budget=PURE)
    fit(
        f"{_kind} class product pure",
        _model,
        classes=3,
        budget=PURE,
        domain=_DOMAIN,
        noise="class product",
    )
fit("logistic hull approx", LogisticRegression, budget=APPROX, domain=_DOMAIN, noise="hull")
fit("logistic domain zcdp", LogisticRegression, budget=ROOT, domain=_DOMAIN)

_STANDARDIZED: dict[str, Any] = {"standardize": "private", "column_bounds": BOUNDS}
for _name, _budget in _BUDGETS.items():
    fit(
        f"logistic standardized {_name}",
        LogisticRegression,
        "center_",
        "scale_",
        budget=_budget,
        **_STANDARDIZED,
    )
for _name in ("zcdp", "approx"):
    _whitened: dict[str, Any] = {"budget": _BUDGETS[_name], "standardize": "whiten"}
    fit(f"logistic whitened {_name}", LogisticRegression, "whitening_", **_whitened)
fit("svc whitened", LinearSVC, "whitening_", classes=3, budget=ROOT, standardize="whiten")
_CENTER = ([[1.0, -2.0, 0.5]], [0.3])
for _mechanism in ("objective", "output", "gradient"):
    fit(
        f"logistic centered {_mechanism}",
        LogisticRegression,
        budget=ROOT,
        mechanism=_mechanism,
        center=_CENTER,
    )
fit(
    "svc centered public",
    LinearSVC,
    classes=3,
    budget=PURE,
    standardize="whiten",
    public_rows=public_points(),
    center=(np.arange(9.0).reshape(3, 3), [0.0, 1.0, -1.0]),
)
fit("logistic unit", LogisticRegression, budget=PURE, standardize="unit")
fit("logistic weighted", LogisticRegression, budget=PURE, class_weight={0: 1.0, 1: 3.0})
fit("svc least squares pure", LinearSVC, budget=PURE, loss="least_squares")
fit("svc least squares approx", LinearSVC, budget=APPROX, loss="least_squares", noise="gaussian")
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
fit(
    "kernel huber",
    KernelHuberRegressor,
    "frequencies_",
    budget=APPROX,
    n_frequencies=8,
    **_NUMBER,
)
fit("kernel logistic", KernelLogisticRegression, "frequencies_", budget=ROOT, n_frequencies=8)
