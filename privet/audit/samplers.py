"""Does noise follow the law it claims? Tests with power and a fixed false-alarm rate.

Each test rejects a right sampler with probability about 1e-6, whatever the seed, and at the sizes
used here it rejects two thirds and three halves of the scale, and a Gamma shape that is off by one,
practically always (``tests/statistics`` checks both). Several statistics in one test share its
false-alarm rate (Bonferroni).

    scale           sum of |b| (Gamma) or of |b|^2 (chi-squared): most powerful for a wrong scale
    radius          Kolmogorov-Smirnov on the law of |b|: a wrong shape
    direction       mean direction, and the Beta law of two projections
    independence    no repeated draw; neighboring draws, radius and direction uncorrelated
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special, stats

from privet._types import Array
from privet.audit.attacks import Finding, WeightedTable, minimizers, surprise
from privet.audit.exact import noise_vector
from privet.errors import DeclarationError
from privet.mechanisms import Design, Mechanism
from privet.noise import Noise
from privet.randomness import InsecureSeed
from privet.rows import Rows


def check_noise(law: Noise, draws: Array, prefix: str = "") -> list[Finding]:
    """All four tests of ``draws`` (k, p) against ``law``. Use at least a few hundred draws."""
    if draws.ndim != 2 or draws.shape[1] != law.dimension or len(draws) < 100:
        raise DeclarationError(f"draws must have shape (at least 100, {law.dimension}).")
    return [
        check_scale(law, draws, prefix),
        check_radius(law, draws, prefix),
        check_direction(law, draws, prefix),
        check_independence(law, draws, prefix),
    ]


def check_scale(law: Noise, draws: Array, prefix: str = "") -> Finding:
    """Exact test of the scale: the total radius has a Gamma or chi-squared law.

    Of other laws the ranks of the radius are made normal and added up, which is exact too.
    """
    sentence = f"The size of the noise against {law.kind} of scale {law.scale:.4g}."
    if not law.spherical:
        ranks = np.clip(radius_ranks(law, draws), 1e-300, 1.0 - 1e-16)
        score = float(special.ndtri(ranks).sum()) / math.sqrt(len(ranks))
        return surprise(f"{prefix}noise scale", 2.0 * float(stats.norm.sf(abs(score))), sentence)
    norms = np.linalg.norm(draws, axis=1) / law.scale
    if law.kind == "gaussian":
        shape, total = 0.5 * draws.size, 0.5 * float((norms**2).sum())
    else:
        shape, total = float(draws.size), float(norms.sum())
    tails = special.gammainc(shape, total), special.gammaincc(shape, total)
    return surprise(f"{prefix}noise scale", 2.0 * float(min(tails)), sentence)


def check_radius(law: Noise, draws: Array, prefix: str = "") -> Finding:
    """Kolmogorov-Smirnov test of the law of the norm."""
    sentence = f"The law of the norm against {_radius_name(law)}."
    return surprise(f"{prefix}noise radius", _uniform_p(radius_ranks(law, draws)), sentence)


def check_direction(law: Noise, draws: Array, prefix: str = "") -> Finding:
    """Uniform directions: their mean, and the Beta law of two projections.

    Of other laws every coordinate's mean and mean square, against what the law says they are.
    """
    if not law.spherical:
        return _check_moments(law, draws, prefix)
    k, p = draws.shape
    units = draws / np.maximum(np.linalg.norm(draws, axis=1, keepdims=True), 1e-300)
    mean = units.mean(axis=0)
    values = [float(stats.chi2.sf(k * p * float(mean @ mean), p))]
    if p > 1:
        half = 0.5 * (p - 1)
        for axis in (np.eye(p)[0], np.full(p, 1.0 / math.sqrt(p))):
            inside = np.clip(0.5 * (1.0 + units @ axis), 0.0, 1.0)
            values.append(_uniform_p(special.betainc(half, half, inside)))
    return surprise(f"{prefix}noise direction", _all(values), "Directions against uniform ones.")


def _check_moments(law: Noise, draws: Array, prefix: str) -> Finding:
    """Means and mean squares of the coordinates, each a normal score."""
    claimed = law.coordinate_sd**2 * law.relative_variance(np.eye(law.dimension))
    values = []
    for numbers in (draws, draws**2 - claimed):
        error = numbers.std(axis=0) / math.sqrt(len(draws))
        scores = np.abs(numbers.mean(axis=0)) / np.maximum(error, 1e-300)
        values += (2.0 * stats.norm.sf(scores)).tolist()
    sentence = "Means and mean squares of the coordinates against the law's."
    return surprise(f"{prefix}noise direction", _all(values), sentence)


def check_independence(law: Noise, draws: Array, prefix: str = "") -> Finding:
    """Neighboring draws share nothing, the radius says nothing about the direction."""
    k, p = draws.shape
    if len(np.unique(draws, axis=0)) < k:
        return surprise(f"{prefix}independence", 0.0, "A draw was repeated exactly.")
    units = draws / np.maximum(np.linalg.norm(draws, axis=1, keepdims=True), 1e-300)
    centered = math.sqrt(12.0) * (radius_ranks(law, draws) - 0.5)
    along = units.sum(axis=1)  # of variance 1 for uniform directions
    products = (units[1:] * units[:-1]).sum(axis=1)
    wide = math.sqrt(p)
    if not law.spherical:
        along, wide = along / along.std(), 1.0 / products.std()
    scores = [
        wide / math.sqrt(k - 1) * float(products.sum()),
        float(centered[1:] @ centered[:-1]) / math.sqrt(k - 1),
        float(centered @ along) / math.sqrt(k),
    ]
    values = [float(2.0 * stats.norm.sf(abs(score))) for score in scores]
    sentence = "Correlation of neighboring draws, and of radius and direction."
    return surprise(f"{prefix}independence", _all(values), sentence)


def radius_ranks(law: Noise, draws: Array) -> Array:
    """The claimed distribution function of the radius, at each draw: uniform under the claim."""
    return law.radius_rank(law.radius(draws))


def _radius_name(law: Noise) -> str:
    if not law.spherical:
        return f"that of {law.kind} noise"
    return f"{'chi' if law.kind == 'gaussian' else 'Gamma'}({law.dimension})"


def _uniform_p(ranks: Array) -> float:
    return float(stats.kstest(ranks, "uniform").pvalue)


def _all(p_values: Sequence[float]) -> float:
    """The p-value of several tests together."""
    return min(1.0, len(p_values) * min(p_values))


# The noise behind a release: a bijection can be inverted by whoever knows the rows.
#
# Objective perturbation's output determines its noise, ``b = -(n Lam f + sum of gradients)``;
# output perturbation's noise is the release minus the minimizer. So the noise that a mechanism
# *really* used can be tested against the law that its event claims, at any dimension, wherever on
# the way from the generator to the release it was spoilt. The gap's noise and the grid add less
# than a per cent.


def recovered_noise(design: Design, table: WeightedTable, releases: Array) -> Array:
    """The main noise behind each of ``releases`` (k, p) from ``table``, shape (k, p)."""
    shape = (design.risk.loss.scores, design.m)
    if design.event.mechanism == "output":
        minimum = minimizers(design, table, np.zeros(shape))
        return np.asarray(releases - minimum.reshape(-1))
    weights = releases.reshape(len(releases), *shape)
    return noise_vector(design, table, weights)


def release_many(mechanism: Mechanism, rows: Rows, design: Design, k: int, seed: int) -> Array:
    """``k`` releases on the path that ``sample`` takes, (k, p)."""
    return mechanism.perturb_many(rows, design, InsecureSeed(seed), k)


def release_singly(mechanism: Mechanism, rows: Rows, design: Design, k: int, seed: int) -> Array:
    """``k`` releases one by one on the path that ``run`` takes, (k, p)."""
    source = InsecureSeed(seed)
    return np.array([mechanism.perturb(rows, design, source) for _ in range(k)])
