"""Several Gaussians per class: each row belongs to the nearest center of its class.

The component of a row is a function of that row, its label and centers that are public or were
released before, so labeling rows by (class, component) costs nothing. Centers are declared by the
user, or placed by a few rounds of noisy k-means (each round releases the cells' sums and counts,
``privet.mechanisms.moments``) from a public start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privet._types import Array, Codes, Targets
from privet.errors import DeclarationError
from privet.mechanisms.moments import MeanDesign, PrivateMean, cell_means
from privet.models.lifted import Lifted
from privet.models.standardize import Chained, Ranges, Stage, Standardized
from privet.privacy import Budget
from privet.rows.engine import Block, Parts, Rows
from privet.rows.mapped import FeatureMap, MapView
from privet.rows.streamed import rows_of

ROUNDS = 3
# Of the whole budget, for all rounds.
CENTERS_SHARE = 0.05
# Cells with a count below this many standard deviations of its noise keep their old center.
BELIEVED = 4.0
# The public start of k-means: fixed, so that it is part of this module and not of the data.
_START = 2010


@dataclass(frozen=True)
class UnitRows:
    """Rows clipped to ``norm_bound`` and divided by it: what centers are placed among."""

    lifted: Lifted

    @property
    def columns(self) -> int:
        """Those of the table."""
        return self.lifted.d

    @property
    def norm(self) -> float:
        """One."""
        return 1.0

    def __call__(self, x: Any) -> Array:
        """Clipped rows in units of the bound."""
        return self.lifted.clipped(x) / self.lifted.norm_bound


def unit_rows(data: Any, codes: Codes, lifted: Lifted, first: FeatureMap | None) -> Rows:
    """Rows as the centers see them: standardized by ``first``, clipped, in units of the bound."""
    unit = UnitRows(lifted)
    return rows_of(data, codes, MapView(unit if first is None else Chained(first, unit)))


def unit_centers(centers: Array, lifted: Lifted, first: FeatureMap | None) -> Array:
    """Declared centers, in the units of the columns, among ``unit_rows``."""
    if first is not None:
        centers = first(centers.reshape(-1, lifted.d)).reshape(centers.shape)
    return centers / lifted.norm_bound


def public_start(classes: int, components: int, d: int) -> Array:
    """Points within half the radius of the unit ball, around its middle, for every class."""
    generator = np.random.default_rng(_START)
    points = generator.normal(size=(components, d))
    points -= points.mean(axis=0)  # around the middle: two points are opposite
    points /= np.linalg.norm(points, axis=1).max()
    return np.tile(0.5 * points, (classes, 1, 1))


def declared_centers(centers: Any, classes: int, components: int, d: int) -> Array:
    """Public centers as (C, K, d); one list of K serves every class."""
    wanted = f"centers must have shape ({components}, {d}) or ({classes}, {components}, {d})."
    try:
        array = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DeclarationError(wanted) from error
    if array.shape not in ((components, d), (classes, components, d)):
        raise DeclarationError(wanted)
    whole = np.broadcast_to(array, (classes, components, d)).copy()
    if not np.isfinite(whole).all():
        raise DeclarationError("centers must hold finite numbers.")
    return whole


def _nearest(block: Block, codes: Codes, centers: Array) -> Codes:
    """Index of each row's nearest center among its class's: the largest ``<x, c> - |c|^2/2``."""
    classes, components, d = centers.shape
    scores = block.scores(centers.reshape(-1, d)).reshape(-1, classes, components)
    own = scores[np.arange(len(codes)), codes]
    own -= 0.5 * np.square(centers).sum(axis=2)[codes]
    return np.asarray(own.argmax(axis=1))


def components_of(rows: Rows, centers: Array) -> Codes:
    """Codes ``class * K + component`` of rows whose targets are class codes."""

    def parts() -> Iterator[Codes]:
        for block, codes in rows.blocks():
            yield codes * centers.shape[1] + _nearest(block, codes, centers)

    return np.concatenate(list(parts()))


def _cell_sums(block: Block, codes: Targets, centers: Array) -> Parts:
    """Sums of the rows and counts, by cell, shape (C K, d + 1)."""
    cells = centers.shape[0] * centers.shape[1]
    cell = codes * centers.shape[1] + _nearest(block, codes, centers)
    hot = np.zeros((len(codes), cells))
    hot[np.arange(len(codes)), cell] = 1.0
    return (np.concatenate([block.pull(hot), hot.sum(axis=0)[:, None]], axis=1),)


@dataclass(frozen=True)
class Centers(Stage):
    """The release of ``centers_``, shape (C, K, d), in units of rows divided by ``norm_bound``."""

    name: ClassVar[str] = "private centers"
    classes: int
    components: int
    lifted: Lifted
    ranges: Ranges | None = None  # of columns that a stage before this one standardizes
    insecure_seed: int | None = None

    def _mean(self, budget: Budget) -> PrivateMean:
        query = cell_means(self.lifted.d, self.classes * self.components)
        return PrivateMean(query, budget, ROUNDS, self.insecure_seed)

    def share(self, budget: Budget, n: int) -> float:
        """Five per cent."""
        return CENTERS_SHARE

    def design(self, budget: Budget, n: int) -> MeanDesign:
        """The cell means' noise and event."""
        return self._mean(budget).design(n)

    def run(
        self, budget: Budget, data: Any, codes: Codes, before: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Rounds of k-means on noisy sums and counts."""
        first = None
        if self.ranges is not None:
            center, scale = before["center_"], before["scale_"]
            first = Standardized(self.ranges, center, scale, self.lifted.norm_bound)
        rows = unit_rows(data, codes, self.lifted, first)
        design, mean = self.design(budget, rows.n), self._mean(budget)
        centers = public_start(self.classes, self.components, self.lifted.d)
        for turn in range(ROUNDS):
            (total,) = rows.sum(_cell_sums, centers)
            noisy = mean.noisy(total.ravel() / rows.n, design, turn).reshape(total.shape)
            centers = moved(centers, noisy, BELIEVED * design.noise.coordinate_sd)
        return {"centers_": centers}


def moved(centers: Array, noisy: Array, least: float) -> Array:
    """Noisy means of the cells whose counts are believed, within the unit ball."""
    counts = noisy[:, -1:]
    means = noisy[:, :-1] / np.maximum(counts, least)
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1.0)
    flat = centers.reshape(means.shape)
    return np.where(counts > least, means, flat).reshape(centers.shape)
