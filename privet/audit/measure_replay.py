"""What is measured: sensitivity replayed, and noise, of means, intervals' matrices, evaluations.

Of noisy means only functions are released. Under a budget so large that nothing is clipped or
raised to a floor they can be turned back into the means, whose sensitivity no budget changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from privet._types import Array
from privet.audit.attacks import Finding, allows_opposite_rows
from privet.audit.beside_replay import (
    fit_beside,
    fit_in_domain,
    moments_beside,
    worst_beside,
    worst_beside_in_domain,
)
from privet.audit.cases import DOMAIN, UNLIKE, short
from privet.audit.release_replay import (
    COLUMNS,
    ONE,
    ROOT,
    ROWS,
    SEED,
    Table,
    farthest,
    people,
)
from privet.audit.replay import Data, MakeRows, random_neighbors
from privet.audit.stated_noise import (
    cone_square,
    independent_square,
    noise_finding,
    spherical_square,
)
from privet.errors import quietly
from privet.evaluation.allocation import EvaluationPlan, plan_evaluation
from privet.evaluation.evaluated import EvaluatedModel, evaluated_model
from privet.evaluation.number_evaluation import mechanism_of, noisy_means, residual_rows
from privet.evaluation.private_evaluation import draw_tables, examination
from privet.losses import Loss
from privet.mechanisms.matrix import MatrixDesign, NoisyMatrices, SecondMoments
from privet.mechanisms.matrix_beside import LAWS
from privet.mechanisms.moments import SQUARE_WEIGHT, MeanDesign
from privet.models import LogisticRegression
from privet.noise import ConeLaplace
from privet.privacy import Budget
from privet.randomness import InsecureSeed
from privet.rows import Rows, checked_rows

# Replay audit of the intervals' matrices: neighbors, the same random words, the distance.
#
# The release is in units of its declared sensitivity, so the distance of two neighbors' releases
# under the same noise must not exceed the event's number, which is one and what rounding adds. The
# attack is the proof's equality case: two rows at right angles, both at the scores where slope and
# curvature together are largest.

#: scores at which a pair of rows is tried
MARGINS = (-12.0, -6.0, -3.0, -1.5, -0.8, -0.4, 0.0, 0.25, 0.5, 1.0)


def matrix_distance(
    moments: SecondMoments,
    theta: Array,
    first: Data,
    second: Data,
    *,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
    kind: str | None = None,
) -> float:
    """Distance of two releases under the same noise, in its norm and in units of the declared one.

    ``kind`` is that of the noise; None is the one that the release would take.
    """
    seeded = replace(moments, insecure_seed=seed)
    ends = []
    for x, y in (first, second):
        rows = make_rows(x, y, norm_bound=moments.risk.norm_bound)
        design = matrix_design(seeded, rows.n, rows.m, kind)
        ends.append(in_units(seeded.run(rows, theta, design)))
    return size_of_pair(ends[0] - ends[1], design)


def matrix_design(moments: SecondMoments, n: int, m: int, kind: str | None) -> MatrixDesign:
    """For one kind of noise, or for the one that the release would take."""
    return moments.design(n, m) if kind is None else moments.design_with(kind, n, m)


def in_units(found: NoisyMatrices) -> Array:
    """Both matrices in units of the declared sensitivity, shape (2, p, p)."""
    unit = found.weighing.sensitivity
    return np.array([found.hessian * (found.weighing.eta / unit), found.covariance / unit])


def size_of_pair(pair: Array, design: MatrixDesign) -> float:
    """In the norm of its noise: singular values added for cone noise, else squares of entries."""
    if design.noise.kind == ConeLaplace.kind:
        return float(np.linalg.svd(pair, compute_uv=False).sum())
    return float(np.linalg.norm(pair))


def declared_matrix_distance(design: MatrixDesign) -> float:
    """What the event allows, and rounding to the grid where it is not in it."""
    entries = design.noise.dimension
    steps = entries if design.noise.kind == ConeLaplace.kind else math.sqrt(entries)
    return design.event.sensitivity + math.ldexp(steps, design.exponent)


def worst_matrix_replay(
    moments: SecondMoments,
    n: int,
    m: int,
    *,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
    kind: str | None = None,
) -> tuple[float, float]:
    """Largest distance over adversarial and random neighbors, and what is declared."""
    distances = [
        matrix_distance(moments, *one, seed=seed, make_rows=make_rows, kind=kind)
        for one in matrix_neighbors(moments, n, m, np.random.default_rng(seed))
    ]
    return max(distances), declared_matrix_distance(matrix_design(moments, n, m, kind))


def matrix_neighbors(
    moments: SecondMoments, n: int, m: int, rng: np.random.Generator, randoms: int = 5
) -> Iterator[tuple[Array, Data, Data]]:
    """Released parameters with neighbors to tell apart at them."""
    risk = moments.risk
    for margin in MARGINS:
        theta = _parameters(risk.loss, margin / risk.norm_bound, m)
        for label in range(risk.loss.classes):
            yield theta, *_right_angle(risk.loss, risk.norm_bound, n, m, label)
    signed = allows_opposite_rows(risk.loss)
    for _ in range(randoms):
        theta = rng.normal(size=risk.parameters(m)) * 3.0 / risk.norm_bound
        first, second = random_neighbors(rng, risk.loss, risk.norm_bound, n, m, signed=signed)
        yield theta, first, second


def _parameters(loss: Loss, size: float, m: int) -> Array:
    """Every score ``size`` times the sum of the first two columns."""
    weights = np.zeros((loss.scores, m))
    weights[0, : min(m, 2)] = size
    return weights.reshape(-1)


def _right_angle(loss: Loss, bound: float, n: int, m: int, label: int) -> tuple[Data, Data]:
    """Zero rows but one, which stands on the first axis or on the last."""
    x, y = np.zeros((n, m)), np.full(n, label)
    other = x.copy()
    x[0, 0], other[0, min(m, 2) - 1] = bound, bound
    return (x, loss.targets(y)), (other, loss.targets(y))


WIDE = 3.0  # columns are in [-WIDE, WIDE]
#: A budget's multiple at which the noise in a mean is far below what it is a mean of.
PLENTY = 1000.0
#: Rows and columns of the tables on which matrices are told apart best.
RIGHT_ANGLES = (40, 2)
#: Claims of fits and of matrices beside them, and ``n Lam``.
IN_DOMAIN = (6.0, 2.0, 1.0)
BESIDE = ((6.0, 2.0, 10.0), (1.0, 4.0, 3.0))
#: The check whose measure is a loss at one output, and no distance.
JOINT = "joint loss"
Means = Callable[[Table], Array]


# -- means ---------------------------------------------------------------------------------------


def replayed_moments() -> Iterator[Finding]:
    """Means behind the centers and scales of columns, and behind the errors of a regression."""
    with quietly():
        for budget in (ONE.scaled(PLENTY), ROOT.scaled(PLENTY)):
            yield from _mean_findings("moments of columns", partial(_centers, budget))
            yield from _mean_findings("errors of a regression", partial(_errors, budget))


def _centers(budget: Budget, seed: int | None) -> tuple[Means, MeanDesign]:
    """What a model releases of its columns before it is fitted."""
    model = LogisticRegression(
        budget, standardize="private", column_bounds=(-WIDE, WIDE), insecure_seed=seed
    )
    ((stage, part),) = model.planned(ROWS, COLUMNS, 2).stages.stages

    def means(table: Table) -> Array:
        found = stage.run(part, *table, {})
        centers, scales = found["center_"] / WIDE, found["scale_"] / WIDE
        return np.concatenate([centers, SQUARE_WEIGHT * (scales**2 + centers**2)])

    return means, stage.design(part, ROWS)


def _errors(budget: Budget, seed: int | None) -> tuple[Means, MeanDesign]:
    """Predictions against targets, both between 0 and 1."""
    mechanism = mechanism_of(budget, seed)

    def means(table: Table) -> Array:
        pairs = np.stack([table[0][:, 0], table[1].astype(np.float64)], axis=1)
        first, second = noisy_means(residual_rows(pairs, (0.0, 1.0)), mechanism)
        return np.concatenate([first, SQUARE_WEIGHT * second])

    return means, mechanism.design(ROWS)


def _mean_findings(
    name: str, made: Callable[[int | None], tuple[Means, MeanDesign]]
) -> Iterator[Finding]:
    means, design = made(SEED)
    grid = math.ldexp(math.sqrt(design.noise.dimension), design.exponent)
    told = f"means, {name}, {design.noise.kind} noise."
    yield Finding("replay", farthest(means, 2), design.event.sensitivity + grid, told)
    fresh, design = made(None)
    event, numbers = design.event, design.noise.dimension
    square = spherical_square(event.noise, event.scale, numbers)
    yield noise_finding(partial(fresh, people(2)), square, told)


# -- matrices ------------------------------------------------------------------------------------


def replayed_intervals() -> Iterator[Finding]:
    """Both matrices in the norm of their noise: of people, and of two rows at right angles."""
    with quietly():
        model = LogisticRegression(ONE, classes=[0, 1], insecure_seed=SEED).fit(*people(2))
        seen = model.revisit(*people(2))
        theta = seen.mechanism.perturb(seen.rows, seen.design, InsecureSeed(SEED))
        for budget, kind in ((ONE, "laplace"), (ONE, ConeLaplace.kind), (ROOT, "gaussian")):
            moments = SecondMoments(seen.design.risk, budget, SEED)
            design = moments.design_with(kind, ROWS, seen.rows.m)

            def released(table: Table, moments: Any = moments, design: Any = design) -> Array:
                return in_units(moments.run(model.revisit(*table).rows, theta, design))

            far = farthest(released, 2, partial(size_of_pair, design=design))
            told = f"intervals, both matrices, {kind} noise."
            yield Finding("replay", far, declared_matrix_distance(design), told)
            told = f"intervals, rows at right angles, {kind} noise."
            yield Finding("replay", *worst_matrix_replay(moments, *RIGHT_ANGLES, kind=kind), told)
            fresh = SecondMoments(seen.design.risk, budget, None)
            drawn = fresh.design_with(kind, ROWS, seen.rows.m)
            again = partial(released, people(2), moments=fresh, design=drawn)
            told = f"intervals, both matrices, {kind} noise."
            yield noise_finding(again, _matrix_square(drawn, len(theta)), told)
        yield from _beside(model.revisit(*people(2)).rows, theta)


def _beside(rows: Rows, theta: Array) -> Iterator[Finding]:
    """Matrices beside their fit: the loss of both at once, and the noise."""
    for epsilon, more, ridge in BESIDE:
        design = fit_beside(epsilon, ridge)
        told = f"intervals beside their fit, laplace noise, epsilon {epsilon:g} and {more:g}."
        yield Finding(JOINT, *worst_beside(design, moments_beside(design, more)), told)
    epsilon, more, ridge = IN_DOMAIN
    shaped: list[Any] = [law for law in LAWS if law != "laplace"]
    for law in shaped:
        within = fit_in_domain(UNLIKE if law == "grouped" else DOMAIN, law, epsilon, ridge)
        told = f"intervals beside their fit, {law} noise, epsilon {epsilon:g} and {more:g}."
        both = worst_beside_in_domain(within, moments_beside(within, more))
        yield Finding(JOINT, *both, told)
    fresh = moments_beside(design, more)
    drawn = fresh.design(rows.n, rows.m)

    def released() -> Array:
        return in_units(fresh.run(rows, theta, drawn))

    square = _matrix_square(drawn, len(theta))
    yield noise_finding(released, square, "intervals beside their fit, both matrices.")


def _matrix_square(design: MatrixDesign, side: int) -> float:
    """The mean square of both matrices' noise, in the units in which it is drawn."""
    event = design.event
    if event.noise == ConeLaplace.kind:
        return cone_square(event.scale, side)
    return spherical_square(event.noise, event.scale, side * (side + 1))


# -- evaluations -----------------------------------------------------------------------------------


def replayed_evaluation() -> Iterator[Finding]:
    """The tables of counts, in the norm of their noise."""
    with quietly():
        model = evaluated_model(LogisticRegression(ONE, classes=[0, 1]).fit(*people(2, seed=2)))
        for budget in (ONE, ROOT):
            plan = _plan(budget, model, SEED)

            def counts(table: Table, plan: Any = plan) -> Array:
                """All tables side by side; each is measured by itself."""
                seen = examination(model, (*table, None, None), (None, None), False, SEED)
                return np.hstack(draw_tables(plan, seen.model, seen.rows)).ravel()

            ends = np.cumsum([table.cells for table in plan.tables])
            for table, part, end in zip(plan.tables, plan.event.parts, ends, strict=True):
                cells = slice(end - table.cells, end)

                def size(difference: Array, cells: slice = cells, budget: Budget = budget) -> float:
                    order = 2 if budget.allows_gaussian else 1
                    return float(np.linalg.norm(difference[cells], ord=order))

                told = f"evaluation, {table.name}, {short(budget)}."
                yield Finding("replay", farthest(counts, 2, size), part.sensitivity, told)
            fresh = _plan(budget, model, None)
            seen = examination(model, (*people(2), None, None), (None, None), False, None)
            for place, (table, part) in enumerate(
                zip(fresh.tables, fresh.event.parts, strict=True)
            ):

                def again(place: int = place, fresh: Any = fresh, seen: Any = seen) -> Array:
                    return draw_tables(fresh, seen.model, seen.rows)[place]

                square = independent_square(part.noise, part.scale, table.cells)
                told = f"evaluation, {table.name}, {short(budget)}."
                yield noise_finding(again, square, told)


def _plan(budget: Budget, model: EvaluatedModel, seed: int | None) -> EvaluationPlan:
    measures = ("confusion", "calibration", "auc")
    return plan_evaluation(budget, ROWS, measures, 2, 0, seed, model.score_range)
