"""How far a released regression is off, told privately: mean absolute error, RMSE and R^2.

    r    the target, clipped to its bounds, less the prediction, which is within them: |r| <= W
    u    (2 |r|/W - 1,  2 r^2/W^2 - 1,  the target's place),  each in [-1, 1]

The noisy means of ``u`` and of its squares (``mechanisms/moments.py``, column moments, one release)
say everything: ``W`` is the width of the declared bounds. An interval adds the sampling error at a
quarter of the allowed misses on either side to what the noise does with the rest, so it covers at
least as often as it says, up to the normal approximation of a mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from privet._types import Array, Targets
from privet.errors import DataError, DeclarationError
from privet.evaluation.allocation import NAME
from privet.evaluation.counting import blind
from privet.evaluation.evaluated import EvaluatedModel, EvaluatedRows
from privet.evaluation.released_evaluation import ERRORS, R_SQUARED, Evaluation, Measure
from privet.evaluation.residual_counts import (
    RESIDUALS,
    SHARE,
    counted_residuals,
    residual_edges,
    residual_histogram,
)
from privet.mechanisms.counts import Histogram
from privet.mechanisms.moments import SQUARE_WEIGHT, PrivateMean, column_moments
from privet.models.standardize import column_sums
from privet.noise import Noise
from privet.privacy.budget import Budget
from privet.privacy.compose import together
from privet.privacy.event import Event
from privet.rows.chunks import Chunk
from privet.rows.engine import Rows
from privet.rows.mapped import MappedRows
from privet.rows.streamed import StreamedRows, StreamedTable

#: What is averaged: the absolute error, the squared error and the target.
COLUMNS = 3
OF = "all rows"
# Draws by which the quantile of a spherical noise's coordinate is known to a per cent.
DRAWS = 200_000


@dataclass(frozen=True)
class Residuals:
    """The map from (prediction, target), both within the bounds, to ``u`` and its squares."""

    low: float
    high: float

    @property
    def columns(self) -> int:
        """Two for each number."""
        return 2 * COLUMNS

    @property
    def norm(self) -> float:
        """Above ``sqrt(3 d)``: nothing is clipped here, for each number is in [-1, 1]."""
        return 2.0 * math.sqrt(COLUMNS)

    def __call__(self, x: Any) -> Array:
        """Of each row by itself."""
        half = self.high / 2.0 - self.low / 2.0
        places = np.clip((x / 2.0 - self.low / 2.0) / half, 0.0, 1.0)  # in [0, 1]
        error = np.abs(places[:, 1] - places[:, 0])
        u = np.stack([2.0 * error - 1.0, 2.0 * error**2 - 1.0, 2.0 * places[:, 1] - 1.0], axis=1)
        np.clip(u, -1.0, 1.0, out=u)
        u[np.abs(u) < 1e-150] = 0.0
        return np.concatenate([u, SQUARE_WEIGHT * np.square(u)], axis=1)


def residual_rows(pairs: Array, bounds: tuple[float, float]) -> Rows:
    """Pairs of prediction and target as what is averaged."""
    return MappedRows(pairs, np.zeros(len(pairs)), Residuals(*bounds))


@dataclass(frozen=True)
class ResidualView:
    """Encoded rows and their targets as what is averaged, for whoever reads them."""

    model: EvaluatedModel
    bounds: tuple[float, float]

    def __call__(self, x: Any, codes: Targets) -> Rows:
        """A code is the target itself."""
        return residual_rows(self.pairs(x, codes), self.bounds)

    def pairs(self, x: Any, targets: Targets) -> Array:
        """Each row's prediction beside its target."""
        return np.column_stack([self.model.numbers(x), targets.astype(np.float64)])

    def rows(self, rows: EvaluatedRows) -> Rows:
        """All rows, here or wherever they are read."""
        if isinstance(rows.X, StreamedTable):
            return StreamedRows(rows.X.source, self)
        return self(rows.X, np.asarray(rows.labels))

    def counts(self, rows: EvaluatedRows, edges: Array) -> NDArray[np.int64]:
        """Exact numbers of residuals between the edges."""
        counted = ChunkResiduals(self, edges)
        if isinstance(rows.X, StreamedTable):
            return np.asarray(np.sum(rows.X.source.each(counted), axis=0), dtype=np.int64)
        return counted.of(rows.X, np.asarray(rows.labels))


@dataclass(frozen=True)
class ChunkResiduals:
    """Numbers of residuals between edges, of the rows of a chunk."""

    view: ResidualView
    edges: Array

    def __call__(self, chunk: Chunk) -> NDArray[np.int64]:
        """For whoever reads the rows."""
        return self.of(chunk.x, chunk.codes)

    def of(self, x: Any, targets: Targets) -> NDArray[np.int64]:
        """Of any rows."""
        return counted_residuals(self.view.pairs(x, targets), self.edges, self.view.bounds)


def noisy_means(rows: Rows, mechanism: PrivateMean) -> tuple[Array, Array]:
    """Released means of ``u`` and of ``u^2``; whoever calls this has charged the event."""
    (total,) = rows.sum(column_sums)
    found = mechanism.noisy(total / rows.n, mechanism.design(rows.n))
    means, squares = found.reshape(2, COLUMNS)
    return np.clip(means, -1.0, 1.0), np.clip(squares / SQUARE_WEIGHT, 0.0, 1.0)


def mechanism_of(budget: Any, seed: int | None) -> PrivateMean:
    """The one release of an evaluation."""
    return PrivateMean(column_moments(COLUMNS), budget, insecure_seed=seed)


@dataclass(frozen=True)
class Error:
    """An estimated mean with the variance of one row, and its noise."""

    value: float
    variance: float
    noise: float

    def interval(self, n: int, misses: float) -> tuple[float, float]:
        """Both ends, missed with a chance of at most ``misses``."""
        sampling = float(norm.isf(misses / 4.0)) * math.sqrt(max(self.variance, 0.0) / n)
        reach = sampling + self.noise
        return self.value - reach, self.value + reach


def coordinate_quantile(noise: Noise, misses: float) -> float:
    """What one coordinate of the noise passes, on either side, with this chance; public."""
    if noise.kind == "gaussian":
        return noise.coordinate_sd * float(norm.isf(misses / 2.0))
    rng = np.random.default_rng(0)  # of public numbers, not of a release
    draws = rng.normal(size=(DRAWS, noise.dimension))
    sizes = np.abs(draws[:, 0]) / np.linalg.norm(draws, axis=1)
    sizes *= rng.gamma(noise.dimension, noise.scale, DRAWS)
    return 1.01 * float(np.quantile(sizes, 1.0 - misses))


def measures_of(
    means: Array, squares: Array, noise: Noise, n: int, bounds: tuple[float, float], level: float
) -> tuple[Measure, ...]:
    """What the released means say: post-processing."""
    width = bounds[1] - bounds[0]
    share, square = (1.0 + means[0]) / 2.0, (1.0 + means[1]) / 2.0  # means of e and e^2
    fourth = (1.0 + 2.0 * means[1] + squares[1]) / 4.0
    spread = max(squares[2] - means[2] ** 2, 0.0) / 4.0

    def error(value: float, variance: float, misses: float, factor: float = 0.5) -> Error:
        return Error(value, variance, factor * coordinate_quantile(noise, misses / 2.0))

    misses = 1.0 - level
    low, high = error(share, square - share**2, misses).interval(n, misses)
    told = [_in_units(ERRORS[0], share, low, high, width)]
    low, high = error(square, fourth - square**2, misses).interval(n, misses)
    # an RMSE is never below the mean absolute error; an interval made longer covers no less
    root = max(math.sqrt(max(square, 0.0)), share)
    ends = math.sqrt(max(low, 0.0)), max(math.sqrt(max(high, 0.0)), root)
    told.append(_in_units(ERRORS[1], root, *ends, width))
    # R^2 needs both: each at half of the misses. The spread's noise is that of two released means,
    # and a squared deviation is at most one, so its variance is at most the spread's.
    low, high = error(square, fourth - square**2, misses / 2.0).interval(n, misses / 2.0)
    both = (1.0 / math.sqrt(2.0) + 2.0) / 4.0
    thin, wide = error(spread, spread, misses / 4.0, both).interval(n, misses / 2.0)
    worst = 1.0 - high / thin if thin > 0.0 else -math.inf
    best = 1.0 - max(low, 0.0) / wide
    estimate = None if thin <= 0.0 else min(max(1.0 - square / spread, worst), best)
    if math.isfinite(worst):  # a spread that noise hides says nothing about R^2
        told.append(Measure(R_SQUARED, OF, estimate, worst, min(best, 1.0)))
    return tuple(told)


def _in_units(name: str, value: float, low: float, high: float, width: float) -> Measure:
    """Shares of the width as an error in the target's units: no error is beyond the width."""
    shares = [min(max(float(share), 0.0), 1.0) for share in (value, low, high)]
    return Measure(name, OF, *(width * share for share in shares))


#: what may be asked for of a regression: its errors always, the histogram where it is named
MEASURES = ("errors", RESIDUALS)


@dataclass(frozen=True)
class NumberPlan:
    """Both releases of an evaluation, and what they cost together; no data."""

    means: PrivateMean
    counts: Histogram | None
    event: Event


def planned_numbers(
    budget: Budget, measures: Sequence[str] | None, n: int, seed: int | None
) -> NumberPlan:
    """The noisy means, and the histogram of the residuals where it is asked for."""
    listed = measures is None or (not isinstance(measures, str) and np.iterable(measures))
    asked = tuple(measures or ()) if listed else ("?",)
    if any(name not in MEASURES for name in asked):
        raise DeclarationError(
            "measures of a regression are 'errors' (mean absolute error, RMSE and R^2, always "
            "released) and 'residuals' (their histogram as well)."
        )
    if RESIDUALS not in asked:
        means = mechanism_of(budget, seed)
        return NumberPlan(means, None, means.design(n).event)
    first, second = budget.split((1.0 - SHARE, SHARE))
    means, counts = mechanism_of(first, seed), residual_histogram(second, seed)
    event = together((means.design(n).event, counts.event(n)), budget, NAME)
    return NumberPlan(means, counts, event)


def evaluated_numbers(
    seen: Any, budget: Any, measures: Sequence[str] | None, level: float, seed: int | None
) -> Evaluation:
    """The evaluation of a regressor on examined rows; one charge."""
    tested, rows = seen.model, seen.rows
    bounds = (float(tested.classes[0]), float(tested.classes[1]))
    plan = planned_numbers(rows.budget(budget), measures, rows.n, seed)
    design = plan.means.design(rows.n)
    if not isinstance(rows.X, StreamedTable):  # the schema of one makes numbers of all targets
        labels = np.asarray(rows.labels)
        if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
            raise DataError("The targets must be finite numbers.")
    charge = seen.charge(plan.event)
    promise = seen.guarantee(plan.event, design.numerics)
    with charge:
        view = ResidualView(blind(tested), bounds)
        means, squares = noisy_means(view.rows(rows), plan.means)
        measured = measures_of(means, squares, design.noise, rows.n, bounds, level)
        counts = {}
        if plan.counts is not None:  # in bins by the RMSE, which is released now
            exact = view.counts(rows, residual_edges(measured, bounds))
            counts[RESIDUALS] = plan.counts.run(exact, rows.n).values.tolist()
        found = Evaluation(rows.n, level, measured, counts, bounds, promise, seen.training)
        charge.releases(found.digest(), promise.persons)
    return replace(found, guarantee=replace(promise, receipt=charge.receipt))
