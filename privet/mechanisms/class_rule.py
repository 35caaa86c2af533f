"""From noisy sums by class to the linear scores of a classifier: post-processing.

Bayes' rule with columns that are independent in each class. What is not known is taken from what
is public: the size of the noise, the number of rows, the declared domain.

    categories    log-odds of a category's share in the class over its share in all; as many rows
                  with the common share are added as make the noise small
    numbers       normal with one common variance, that of numbers uniform between their bounds
    other rows    normal with one common variance in all directions, what is left of the largest
                  squared norm beside the squared mean

Means of the classes are shrunk to the common one by the variance between classes that is left
when that of the noise is taken off. Nothing here reads a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet._types import Array
from privet.domain import Box, Domain, OneHot
from privet.noise.class_noise import ClassHull, ClassLaplace
from privet.noise.domain_noise import Hull

#: Rows with the common share that are added to a category's count, in deviations of its noise over
#: that share.
ADDED_ROWS = 2.0
#: The least share of a category, and the least of a class in units of an even one.
LEAST_SHARE, LEAST_CLASS = 1e-3, 0.1
#: The variance of a number that is uniform between -1 and 1.
UNIFORM = 1.0 / 3.0
#: The least variance between classes, in units of the noise's; within them, of the squared norm.
LEAST_BETWEEN, LEAST_WITHIN = 0.02, 0.05
#: The least squared length of the common mean, in units of the largest squared norm.
LEAST_MEAN = 1e-3


def linear_scores(sums: Array, n: int, law: ClassLaplace | ClassHull, norm_bound: float) -> Array:
    """Weights of the columns for each class, (C, m), from noisy sums of ``n`` rows."""
    if isinstance(law, ClassHull):
        return _by_domain(sums, n, law.each)
    return _by_means(sums / norm_bound, n, law.each.coordinate_sd / norm_bound) / norm_bound


def _class_sizes(counts: Array, variance: float, n: int) -> Array:
    """Rows of each class from noisy counts, shrunk to even sizes by the variance of the noise."""
    even = n / len(counts)
    away = counts - even
    kept = max(0.0, 1.0 - len(counts) * variance / max(float(away @ away), 1e-300))
    sizes = np.maximum(even + kept * away, LEAST_CLASS * even)
    return np.asarray(sizes * (n / sizes.sum()))


@dataclass(frozen=True)
class ShrunkMeans:
    """Means of the classes, and the variance that noise leaves in them on average."""

    means: Array
    noise: float


def _shrunk(sums: Array, sizes: Array, variance: float) -> ShrunkMeans:
    """Class means between their own and the common one; ``variance`` is that of a noisy sum."""
    common = sums.sum(axis=0) / sizes.sum()
    away = sums / sizes[:, None] - common
    noise = variance / sizes**2
    weights = sizes**2 / float((sizes**2).sum())
    between = float(weights @ ((away**2).mean(axis=1) - noise))
    between = max(between, LEAST_BETWEEN * float(weights @ noise))
    kept = between / (between + noise)
    left = float(sizes @ (kept * noise)) / float(sizes.sum())
    return ShrunkMeans(common + kept[:, None] * away, left)


def _by_means(sums: Array, n: int, sd: float) -> Array:
    """For rows of norm at most 1: the offsets of the classes go along the common mean."""
    common = sums.sum(axis=0) / n
    squared = max(float(common @ common), LEAST_MEAN)
    sizes = _class_sizes(sums @ common / squared, sd**2 / squared, n)
    found = _shrunk(sums, sizes, sd**2)
    squares = (found.means**2).sum(axis=1)
    within = max(1.0 - float(sizes @ squares) / n, LEAST_WITHIN) / sums.shape[1] + found.noise
    offsets = np.log(sizes / n) - squares / (2.0 * within)
    along = np.outer(offsets - offsets.mean(), common / squared)
    return np.asarray(found.means / within + along)


def counting(domain: Domain) -> Array:
    """What a row's columns are multiplied by to be 1: the first block that is never missing."""
    out = np.zeros(domain.columns)
    for block, at in domain.parts():
        if isinstance(block, OneHot) and not block.missing:
            out[at] = 1.0 / block.size
            return out
    raise ValueError("Counts need a block that is never missing.")


def _by_domain(sums: Array, n: int, law: Hull) -> Array:
    """For rows of a declared domain, block by block."""
    ones, domain = counting(law.domain), law.domain
    unit = law.coordinate_sd**2
    variances = unit * law.relative_variance(np.eye(domain.columns))
    counts = sums @ ones
    sizes = _class_sizes(counts, unit * float(law.relative_variance(ones)), n)
    weights, offsets = np.zeros(sums.shape), np.log(sizes / n)
    for block, at in domain.parts():
        if isinstance(block, OneHot):
            odds, none = _log_odds(block, sums[:, at], counts, sizes, variances[at])
            weights[:, at], offsets = odds / block.size, offsets + none
    units = np.concatenate([np.full(block.width, block.size) for block in domain.blocks])
    numbers = np.concatenate(
        [np.full(block.width, isinstance(block, Box)) for block in domain.blocks]
    )
    if numbers.any():
        size = units[numbers]
        variance = float((variances[numbers] / size**2).mean())
        found = _shrunk(sums[:, numbers] / size, sizes, variance)
        within = UNIFORM + found.noise
        weights[:, numbers] = found.means / (within * size)
        offsets = offsets - (found.means**2).sum(axis=1) / (2.0 * within)
    return np.asarray(weights + np.outer(offsets, ones))


def _log_odds(
    block: OneHot, sums: Array, counts: Array, sizes: Array, variances: Array
) -> tuple[Array, Array]:
    """Of each category over its share in all rows, and what a row without one has."""
    cells, noise = sums / block.size, variances / block.size**2
    if block.missing:
        cells = np.column_stack([cells, counts - cells.sum(axis=1)])
        noise = np.append(noise, noise[0])
    shares = np.maximum(cells.sum(axis=0), np.sqrt(len(cells) * noise))
    shares /= shares.sum()
    added = ADDED_ROWS * np.sqrt(noise) / shares
    own = (np.maximum(cells, 0.0) + added * shares) / (sizes[:, None] + added)
    odds = np.log(np.maximum(own, LEAST_SHARE) / shares)
    if not block.missing:
        return odds, np.zeros(len(cells))
    return odds[:, :-1] - odds[:, -1:], odds[:, -1]
