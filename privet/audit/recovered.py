"""The noise behind a release: a bijection can be inverted by whoever knows the rows.

Objective perturbation's output determines its noise, ``b = -(n Lam f + sum of gradients)``; output
perturbation's noise is the release minus the minimiser. So the noise that a mechanism *really* used
can be tested against the law that its event claims, at any dimension, wherever on the way from the
generator to the release it was spoilt. The gap's noise and the grid add less than a per cent.
"""

from __future__ import annotations

import numpy as np

from privet.audit.exact import noise_vector
from privet.audit.minima import minimisers
from privet.audit.neighbours import Array, Table
from privet.mechanisms import Design, Mechanism
from privet.randomness import InsecureSeed
from privet.rows import Rows


def recovered_noise(design: Design, table: Table, releases: Array) -> Array:
    """The main noise behind each of ``releases`` (k, p) from ``table``, shape (k, p)."""
    shape = (design.risk.loss.scores, design.m)
    if design.event.mechanism == "output":
        minimum = minimisers(design, table, np.zeros(shape))
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
