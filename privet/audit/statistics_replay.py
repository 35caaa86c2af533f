"""Checks on noisy second moments, and the moments that a regression's solution is computed from.

What is solved from noisy moments is post-processing, so the attacks look at the moments.

    exact loss   the equality case of ``statistics.proof.md``: rows whose vectors ``u`` have norm
                 one and stand at right angles, with targets at the ends of their interval
    replay       distance of neighbors' noisy moments under the same random words
    noise        recovered from the moments: scale, radius, direction, independence; both paths
    fresh, clipping as in the battery
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from privet._types import Array
from privet.audit.attacks import Finding
from privet.audit.battery import clipping_finding, fresh_findings, random_rows, shift_claim
from privet.audit.replay import Data, MakeRows, door, random_neighbors, worst_replay
from privet.audit.samplers import check_noise, release_many, release_singly
from privet.errors import quietly
from privet.losses import Loss
from privet.mechanisms import Design, RidgeStatistics
from privet.mechanisms.statistics import TARGET_WEIGHT
from privet.randomness import Randomness
from privet.rows import Rows, checked_rows


class Unsolved(RidgeStatistics):
    """The same release before anything is solved: noisy moments, without the target's own."""

    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """The moments as they were asked for."""
        return self.noisy_moments(rows, design, randomness, k)


def unsolved(mechanism: RidgeStatistics) -> Unsolved:
    """The same declarations."""
    return Unsolved(**{each.name: getattr(mechanism, each.name) for each in fields(mechanism)})


def audit_statistics(
    mechanism: RidgeStatistics,
    *,
    n: int = 60,
    m: int = 2,
    draws: int = 5000,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
) -> list[Finding]:
    """Every check on tables of ``n`` rows and ``m`` columns; ``make_rows`` as ``checked_rows``."""
    with quietly():
        design, seen = mechanism.design(n, m), unsolved(mechanism)
        moved, declared = worst_replay(seen, n, m, seed=seed, make_rows=make_rows)
        told = "Largest distance of neighbors' noisy moments under the same random words."
        return [
            _exact_loss(mechanism, design, seed, make_rows),
            Finding("replay", moved, declared, told),
            *_noise(mechanism, design, draws, seed),
            *fresh_findings(mechanism, design, seed),
            clipping_finding(mechanism, n, m, seed, make_rows),
        ]


def _exact_loss(
    mechanism: RidgeStatistics, design: Design, seed: int, make_rows: MakeRows
) -> Finding:
    """Distance of the exact moments over the scale: epsilon, or the shift in deviations."""
    farthest = 0.0
    for first, second in _neighbors(mechanism, design, seed):
        ends = [mechanism.query(make_rows(x, y, **door(mechanism))) for x, y in (first, second)]
        farthest = max(farthest, float(np.linalg.norm(ends[0] - ends[1])))
    told = "Largest distance of neighbors' moments, over the scale of the noise."
    claim = shift_claim(design.event.curves[0])
    return Finding("exact loss", farthest / design.event.scale, claim, told)


def _neighbors(
    mechanism: RidgeStatistics, design: Design, seed: int
) -> Iterator[tuple[Data, Data]]:
    """Rows at right angles together with their targets; then random tables."""
    loss, bound, w = mechanism.loss, mechanism.norm_bound, TARGET_WEIGHT**2
    across = math.sqrt(1.0 - w * w)
    for label, other, along in ((1, 1, -w), (1, 0, w), (0, 0, -w)):
        first = _table(loss, design, np.array([bound, 0.0]), label)
        yield first, _table(loss, design, bound * np.array([along, across]), other)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        yield random_neighbors(rng, loss, bound, design.n, design.m)


def _table(loss: Loss, design: Design, row: Array, label: int) -> Data:
    """One row among zeros; ``label`` is an end of the target's interval."""
    x, y = np.zeros((design.n, design.m)), np.zeros(design.n, dtype=np.int_)
    x[0, : len(row)], y[0] = row, label
    return x, loss.targets(y)


def _noise(mechanism: RidgeStatistics, design: Design, draws: int, seed: int) -> list[Finding]:
    x, y = random_rows(design, seed).explicit(mechanism.loss)
    rows = checked_rows(x, y, **door(design))
    seen, exact = unsolved(mechanism), mechanism.query(rows)
    claimed = replace(design.main, scale=design.event.scale)
    many = release_many(seen, rows, design, draws, seed)
    singly = release_singly(seen, rows, design, max(draws // 16, 100), seed + 1)
    return [
        *check_noise(claimed, many - exact),
        *check_noise(claimed, singly - exact, "one by one: "),
    ]
