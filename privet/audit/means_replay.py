"""Checks on noisy sums by class: what they tell about one row, and whether their noise is theirs.

Scores are computed from the sums, so the attacks look at the sums.

    exact loss   the exact privacy loss of neighbors, at the output where it is largest: rows at the
                 ends of what is declared, in one class and in two
    replay       how far the noisy sums of neighbors are apart under the same random words
    noise        recovered from the sums: scale, radius, direction, independence; many at once and
                 one by one; and whether classes share any
    fresh, clipping as in the battery
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import norm

from privet._types import Array
from privet.audit.attacks import Finding, surprise
from privet.audit.battery import clipping_finding
from privet.audit.domain_attack import vertices
from privet.audit.replay import Data, MakeRows, door, random_neighbors, random_table
from privet.audit.samplers import (
    check_independence,
    check_noise,
    check_radius,
    check_scale,
)
from privet.domain import Domain
from privet.mechanisms import ClassMeans
from privet.mechanisms.means import MeansDesign, completed
from privet.noise import ClassHull
from privet.randomness import InsecureSeed
from privet.rows import Rows, checked_rows

RANDOM, CORNERS = 6, 5
#: What a step in the free columns can do to those that are computed from them.
GRID_STRETCH = 3.0


def audit_means(
    mechanism: ClassMeans,
    *,
    n: int = 60,
    m: int = 2,
    draws: int = 5000,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
) -> list[Finding]:
    """Every check on tables of ``n`` rows and ``m`` columns; ``make_rows`` as ``checked_rows``."""
    m = m if mechanism.domain is None else mechanism.domain.columns
    design = mechanism.design(n, m)
    pairs = [
        tuple(make_rows(x, y, **door(mechanism)) for x, y in pair)
        for pair in neighbors(mechanism, n, m, seed)
    ]
    loss = max(exact_loss(mechanism, design, *pair) for pair in pairs)
    apart = max(replayed(mechanism, design, *pair, seed=seed) for pair in pairs)
    told = "Largest distance of neighbors' noisy sums under the same random words."
    return [
        Finding("exact loss", loss, mechanism.budget.laplace_epsilon, "Largest exact loss found."),
        Finding("replay", apart, declared_sums(design), told),
        *_noise(mechanism, design, draws, seed),
        *_fresh(mechanism, design, seed),
        clipping_finding(mechanism, n, m, seed, make_rows),
    ]


def neighbors(mechanism: ClassMeans, n: int, m: int, seed: int) -> Iterator[tuple[Data, Data]]:
    """Tables that differ in their first row: two ends of what is declared; random tables."""
    loss, rng = mechanism.loss, np.random.default_rng(seed)
    ends = _ends(mechanism.domain, mechanism.norm_bound, m, rng)
    for one in ends:
        for other in (-one, *ends):  # a row outside of the domain is put into it, or caught
            for label in (0, loss.classes - 1):
                x, y = np.zeros((n, m)), np.arange(n) % loss.classes
                changed, labels = x.copy(), y.copy()
                x[0], changed[0], y[0], labels[0] = one, other, 0, label
                yield (x, loss.targets(y)), (changed, loss.targets(labels))
    for _ in range(RANDOM):
        yield random_neighbors(rng, loss, mechanism.norm_bound, n, m)


def _ends(domain: Domain | None, bound: float, m: int, rng: np.random.Generator) -> Array:
    if domain is None:
        return bound * np.eye(m)
    return np.asarray(rng.permutation(vertices(domain))[:CORNERS])


def length(design: MeansDesign, difference: Array) -> float:
    """In the norm of the noise: added up over the classes."""
    return -float(design.noise.log_density(difference.ravel())) * design.noise.scale


def _difference(mechanism: ClassMeans, first: Rows, second: Rows) -> Array:
    found = mechanism.query(first) - mechanism.query(second)
    return found if mechanism.domain is None else completed(found, mechanism.domain)


def exact_loss(mechanism: ClassMeans, design: MeansDesign, first: Rows, second: Rows) -> float:
    """The largest ratio of the two densities is at the exact sums, with the scale of the event."""
    return length(design, _difference(mechanism, first, second)) / design.event.scale


def replayed(
    mechanism: ClassMeans, design: MeansDesign, first: Rows, second: Rows, *, seed: int
) -> float:
    """Distance of the noisy sums under the same random words."""
    ends = [mechanism.noisy_sums(rows, design, InsecureSeed(seed)) for rows in (first, second)]
    return length(design, ends[0] - ends[1])


def declared_sums(design: MeansDesign) -> float:
    """What the design allows: its sensitivity, and a step of the grid in every number."""
    step = np.ldexp(1.0, design.exponent) * design.noise.dimension
    if isinstance(design.noise, ClassHull):
        step *= GRID_STRETCH / min(block.size for block in design.noise.domain.blocks)
    return float(design.event.sensitivity + step)


def _table(mechanism: ClassMeans, design: MeansDesign, seed: int) -> Rows:
    rng, bound = np.random.default_rng(seed), mechanism.norm_bound
    x, y = random_table(rng, mechanism.loss, bound, design.n, design.m)
    return checked_rows(x, mechanism.loss.targets(y), **door(mechanism))


def _noise(mechanism: ClassMeans, design: MeansDesign, draws: int, seed: int) -> list[Finding]:
    rows, source = _table(mechanism, design, seed), InsecureSeed(seed + 1)
    exact, claimed = mechanism.query(rows), replace(design.noise, scale=design.event.scale)
    many = mechanism.noisy_sums(rows, design, InsecureSeed(seed), draws) - exact
    some = range(max(draws // 16, 100))
    singly = np.array([mechanism.noisy_sums(rows, design, source)[0] for _ in some]) - exact
    singly = singly.reshape(len(singly), -1)
    # mean squares of few draws with heavy tails are no normal scores: sizes are tested exactly
    exactly = (check_scale, check_radius, check_independence)
    return [
        *check_noise(claimed, many.reshape(len(many), -1)),
        *(check(claimed, singly, "one by one: ") for check in exactly),
        _classes_apart(many),
    ]


def _classes_apart(noise: Array) -> Finding:
    """Whether two classes share noise: their inner products, draw by draw, have mean zero."""
    values = []
    for one in range(noise.shape[1]):
        products = (noise[:, one] * np.roll(noise, 1, axis=1)[:, one]).sum(axis=1)
        score = products.mean() * np.sqrt(len(products)) / products.std()
        values.append(2.0 * float(norm.sf(abs(score))))
    told = "Whether the noise of two classes is independent."
    return surprise("noise of classes", min(1.0, len(values) * min(values)), told)


def _fresh(mechanism: ClassMeans, design: MeansDesign, seed: int) -> list[Finding]:
    stamped = mechanism.insecure_seed is None or not design.event.private
    told = "Whether a seed is stamped as not private (1: it is not)."
    found = [Finding("seed stamped", float(not stamped), 0.0, told)]
    if design.event.private:
        rows = _table(mechanism, design, seed)
        one, two = (mechanism.run(rows, design).value for _ in range(2))
        told = "Whether two runs released the same vector (1: they did)."
        found.append(Finding("fresh noise", float((one == two).all()), 0.0, told))
    return found
