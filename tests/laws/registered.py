"""One or more cases of every registered release: its declarations, and a run on exact numbers.

The laws of units, noise, calibration and draws run over these, so a release that is registered
without a case fails them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet import GDP, ZCDP, ApproxDP, PureDP, randomness
from privet._types import Array
from privet.domain import Box, Domain, OneHot
from privet.losses import HuberHinge, HuberResidual, Logistic, Loss, Softmax
from privet.mechanisms import MECHANISMS, RELEASES, Release, ReleaseDesign
from privet.mechanisms.distinguishing import Space
from privet.mechanisms.function import FunctionAnswers
from privet.mechanisms.matrix_beside import FitLoss
from privet.mechanisms.moments import column_moments
from privet.mechanisms.projection import Stretch
from privet.mechanisms.sparse_vector import SparseVectorAnswers
from privet.privacy import Budget
from privet.randomness import Randomness
from privet.risk import RegularizedRisk
from privet.rows import checked_rows

PURE, ROOT, APPROX = PureDP(1.5), ZCDP(0.4), ApproxDP(1.5, 1e-6)
ALL: tuple[Budget, ...] = (PURE, ROOT, APPROX)
LAM = 0.05
N, M = 60, 3
_RNG = np.random.default_rng(3)
X, Y = _RNG.uniform(-0.5, 0.5, (N, M)), _RNG.choice([-1.0, 1.0], N)
EXACT = np.array([0.4, -0.2, 0.3, 0.1])  # predictions, scores, counts ...

#: Each released number with the power of the unit that it is measured in.
Values = dict[str, tuple[Array, float]]
#: How often the run did what its design draws for: answers, epochs, runs ...
Times = dict[str, int]


@dataclass(frozen=True)
class Case:
    """A release in features that are measured in ``unit`` times smaller ones."""

    release: str
    make: Callable[[Budget, float, int | None], Any]
    sizes: tuple[int, ...]
    run: Callable[[Any, Any, Randomness, float], tuple[Values, Times]]
    #: the power of the unit in the scale of each kind of draw, in the order of the design
    powers: tuple[float, ...]
    budgets: tuple[Budget, ...] = ALL
    linear: bool = True  # the noise is added to what is released

    def made(self, budget: Budget, unit: float = 1.0, seed: int | None = 0) -> Release:
        """The release."""
        found: Release = self.make(budget, unit, seed)
        assert type(found) is RELEASES[self.release]
        return found

    def design(self, budget: Budget, unit: float = 1.0, seed: int | None = 0) -> ReleaseDesign:
        """Its design."""
        return self.made(budget, unit, seed).design(*self.sizes)

    def released(
        self, budget: Budget, unit: float = 1.0, seed: int | None = 0
    ) -> tuple[Values, Times]:
        """A run of it."""
        made, source = self.made(budget, unit, seed), randomness.source(seed)
        return self.run(made, made.design(*self.sizes), source, unit)


CASES: dict[str, Case] = {}


def case(name: str, *args: Any, **kwargs: Any) -> None:
    """Enter a case."""
    CASES[name] = Case(*args, **kwargs)


# -- fits ------------------------------------------------------------------------------------------


def rows(unit: float) -> Any:
    """The same table in other units."""
    return checked_rows(unit * X, Y, norm_bound=unit)


def fit(mechanism: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """A private minimizer."""
    return {"f": (mechanism.perturb(rows(unit), design, source), -1.0)}, {}


def fitting(name: str, noise: str) -> Callable[..., Any]:
    """A minimizer with one kind of noise."""
    return lambda budget, unit, seed: MECHANISMS[name](
        Logistic(), budget, unit, LAM * unit**2, noise, None, seed
    )


for _noise, _budgets in (("laplace", ALL), ("gaussian", (ROOT, APPROX))):
    case(f"output {_noise}", "output", fitting("output", _noise), (N, M), fit, (-1.0,), _budgets)
    case(
        f"objective {_noise}",
        "objective",
        fitting("objective", _noise),
        (N, M),
        fit,
        (1.0, -1.0),
        _budgets,
        linear=False,
    )

    case(
        f"statistics {_noise}",
        "statistics",
        lambda budget, unit, seed, noise=_noise: RELEASES["statistics"](  # type: ignore[call-arg]
            HuberResidual(), budget, unit, LAM * unit**2, noise, None, seed
        ),
        (N, M),
        fit,
        (0.0,),
        _budgets,
        linear=False,
    )
case(
    "gradient",
    "gradient",
    lambda budget, unit, seed: RELEASES["gradient"](  # type: ignore[call-arg]
        Logistic(), budget, unit, LAM * unit**2, insecure_seed=seed, steps=4, relative_clip=0.4
    ),
    (N, M),
    fit,
    (1.0,),
    (ROOT, APPROX, GDP(0.8)),
    linear=False,
)

# -- noise with a shape of its own -----------------------------------------------------------------

BLOCKS = Domain((Box(1, 0.6), OneHot(2, 0.5)))
UNLIKE = Domain((Box(1, 0.6), OneHot(2, 0.05)))
CODES = np.arange(N) % 3


def shaped(loss: Loss, noise: str) -> Callable[..., Any]:
    """Objective perturbation with one law; rows of the domain."""
    domain = UNLIKE if noise == "grouped" else BLOCKS
    return lambda budget, unit, seed: MECHANISMS["objective"](
        loss, budget, unit, unit**2, noise, None, seed, domain.scaled(unit)
    )


def shaped_fit(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """A private minimizer on rows that are put into the domain."""
    codes = CODES % made.loss.classes
    table = checked_rows(unit * X, made.loss.targets(codes), norm_bound=unit, domain=made.domain)
    return {"f": (made.perturb(table, design, source), -1.0)}, {}


for _law, _loss, _power in (
    ("product", Logistic(), 0.0),
    ("hull", HuberHinge(), 0.0),
    ("grouped", Logistic(), 0.0),
    ("matrix laplace", Softmax(3), 1.0),
    ("class product", Softmax(3), 0.0),
):
    case(
        f"objective {_law}",
        "objective",
        shaped(_loss, _law),
        (N, M),
        shaped_fit,
        (_power, -1.0),
        ALL,
        linear=False,
    )


def class_means(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """Scores from noisy sums, of rows that are put into the domain where there is one."""
    table = checked_rows(
        unit * X, made.loss.targets(CODES), norm_bound=unit, domain=made.domain or None
    )
    return {"f": (made.perturb(table, design, source), -1.0)}, {}


for _law, _declared, _power in (("class laplace", None, 1.0), ("class hull", BLOCKS, 0.0)):
    case(
        f"means {_law}",
        "means",
        lambda budget, unit, seed, declared=_declared: RELEASES["means"](  # type: ignore[call-arg]
            Softmax(3),
            budget,
            unit,
            insecure_seed=seed,
            domain=None if declared is None else declared.scaled(unit),
        ),
        (N, M),
        class_means,
        (_power,),
        (PURE,),
        linear=False,
    )

# -- counts, means, matrices -----------------------------------------------------------------------


def counts(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """A histogram."""
    return {"counts": (design.perturb(np.arange(5), source), 0.0)}, {}


case(
    "histogram",
    "histogram",
    lambda budget, unit, seed: RELEASES["histogram"](5, budget, 2, seed),  # type: ignore[call-arg]
    (N,),
    counts,
    (0.0,),
)
ROUNDS = 2


def means(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """The rounds of a mean, each with its own stream of a seed."""
    found = [made.noisy(np.zeros(2 * M), design, turn) for turn in range(ROUNDS)]
    return {"means": (np.concatenate(found), 0.0)}, {}


case(
    "moments",
    "moments",
    lambda budget, unit, seed: RELEASES["moments"](column_moments(M), budget, ROUNDS, seed),  # type: ignore[call-arg]
    (N,),
    means,
    (0.0,),
)


def matrices(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """The pair behind intervals."""
    found = made.run(rows(unit), np.array([0.3, -0.1, 0.2]) / unit, design)
    return {"hessian": (found.hessian, 2.0), "covariance": (found.covariance, 2.0)}, {}


case(
    "matrix",
    "matrix",
    lambda budget, unit, seed: RELEASES["matrix"](  # type: ignore[call-arg]
        RegularizedRisk(Logistic(), LAM * unit**2, unit), budget, seed
    ),
    (N, M),
    matrices,
    (0.0,),
)

#: Of a fit that leaves something at the slopes that matrices need; no number has a unit.
LEFT = FitLoss(a=0.5, q=0.4, claimed=1.0, off=1e-4)
case(
    "matrix beside a fit",
    "matrix_beside_fit",
    lambda budget, unit, seed: RELEASES["matrix_beside_fit"](  # type: ignore[call-arg]
        RegularizedRisk(Logistic(), LAM * unit**2, unit), budget, seed, fit=LEFT
    ),
    (N, M),
    matrices,
    (0.0,),
    (PURE,),
)

# -- selections and searches -----------------------------------------------------------------------


def choice(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """One of the candidates."""
    return {"index": (np.array([design.choose(unit * EXACT, source)]), 0.0)}, {}


for _method in ("exponential", "permute_and_flip"):
    case(
        f"selection {_method}",
        "selection",
        lambda budget, unit, seed, method=_method: RELEASES["selection"](
            budget, 4, unit, method, seed
        ),
        (N,),
        choice,
        (1.0,),
        (PURE, ROOT),
        linear=False,
    )


def parts(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """Divide the rows, choose by mistakes."""
    trained, held = design.divide(source)
    places = np.sort(np.concatenate([*trained, held]))
    assert (places == np.arange(N)).all()
    assert [len(part) for part in trained] == [design.size] * 3
    return {"index": (np.array([design.choose([1, 0, 2], source)]), 0.0)}, {}


case(
    "disjoint parts",
    "partition search",
    lambda budget, unit, seed: RELEASES["partition search"](budget, 3, seed, 20),  # type: ignore[call-arg]
    (N,),
    parts,
    (0.0,),
    linear=False,
)


def stopping(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """Divide the rows, draw the runs, score them."""
    train, held = design.divide(source)
    assert (np.sort(np.concatenate([train, held])) == np.arange(N)).all()
    runs = design.runs(source)
    assert set(runs) <= {0, 1, 2}
    return {"scores": (design.scores([5] * len(runs), source), 0.0)}, {"run": len(runs)}


def stopped(parameters: int, held: int | None) -> Callable[..., Any]:
    """Random stopping for a model of so many parameters."""
    return lambda budget, unit, seed: RELEASES["random stopping search"](  # type: ignore[call-arg]
        budget, 3, seed, parameters, 5.0, 0.0, held
    )


case("stopping few", "random stopping search", stopped(1, 20), (N,), stopping, (0.0,))
case("stopping many", "random stopping search", stopped(10**6, 20), (N,), stopping, (0.0,))
case("stopping public", "random stopping search", stopped(1, None), (N,), stopping, ())
case(
    "public rows",
    "search with public validation",
    lambda budget, unit, seed: RELEASES["search with public validation"](budget, 3, seed, 50),  # type: ignore[call-arg]
    (N,),
    lambda made, design, source, unit: ({}, {}),
    (),
)

# -- answers with a kernel -------------------------------------------------------------------------


def kernel(name: str, **more: Any) -> Callable[..., Any]:
    """A release from a kernel minimizer."""
    return lambda budget, unit, seed: RELEASES[name](
        loss=Logistic(),
        budget=budget,
        norm_bound=unit,
        regularization=LAM * unit**2,
        insecure_seed=seed,
        **more,
    )


def answers(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """Four answers of a function."""
    own = unit**2 * np.exp(-0.5 * np.subtract.outer(EXACT, EXACT) ** 2 / 0.01)
    found, _ = FunctionAnswers(design).answer(EXACT, np.empty((0, 4)), own, source)
    return {"answers": (found, 0.0)}, {"answer": len(found)}


case("function", "function", kernel("function"), (N, M), answers, (-1.0,), (ROOT, APPROX))


def comparisons(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """Two guesses far off, two exact ones between them."""
    machine, found = SparseVectorAnswers(design), list[float]()
    epochs, begins = 0, True
    for error in (1e3, 0.0, 0.0, 1e3):
        epochs += begins
        begins = machine.ask(error * design.threshold, source)
        if begins:  # the next query has a threshold of its own
            found.append(machine.release(0.5, source))
    times = {"epoch": epochs, "query": 4, "correction": len(found)}
    return {"answers": (np.array(found), 0.0)}, times


case(
    "sparse vector",
    "sparse_vector",
    kernel("sparse_vector", queries=50, failure_probability=0.05),
    (N, M),
    comparisons,
    (0.0, 0.0, 0.0),
    (PureDP(100.0), ZCDP(100.0), ApproxDP(100.0, 1e-6)),
    linear=False,
)


def projected(power: float) -> Callable[..., Any]:
    """Numbers about the minimizer, in units of this power."""

    def run(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
        return {"numbers": (design.perturb(EXACT * unit**power, source), power)}, {}

    return run


def coordinates(budget: Budget, unit: float, seed: int | None) -> Any:
    """Coordinates in a basis of four points."""
    stretch = Stretch(4, basis=1.0 / unit, size=4)
    return kernel("projection", size=4, of="coordinates", stretch=stretch)(budget, unit, seed)


case("coordinates", "projection", coordinates, (N,), projected(-1.0), (-1.0,))


def predictions(budget: Budget, unit: float, seed: int | None) -> Any:
    """Predictions on four points whose kernel has largest eigenvalue two."""
    stretch = Stretch(4, unit * np.sqrt(2.0), unit * np.sqrt(8.0))
    return kernel("projection", size=4, of="predictions", stretch=stretch)(budget, unit, seed)


case("predictions", "projection", predictions, (N,), projected(0.0), (0.0,))


def drawn(made: Any, design: Any, source: Randomness, unit: float) -> tuple[Values, Times]:
    """The rounds: a point of the ball or of the net, and an answer there."""
    points, found = [], []
    for _ in range(design.rounds):
        if made.space.points:
            points.append(float(design.choose(np.abs(EXACT), source)))
        else:
            points.extend(design.point(EXACT[:M] / unit, source) / unit)
        found.append(design.release(0.5, source))
    return {"points": (np.array(points), 0.0), "answers": (np.array(found), 0.0)}, {}


for _name, _space, _power in (("ball", Space(M), -1.0), ("net", Space(M, 4), 0.0)):
    case(
        f"distinguishing {_name}",
        "distinguishing",
        kernel("distinguishing", space=_space, rounds=3),
        (N,),
        drawn,
        (_power, 0.0),
        (PureDP(100.0), ZCDP(100.0), ApproxDP(100.0, 1e-6)),
        linear=False,
    )
