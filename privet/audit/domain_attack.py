"""Exact privacy loss of neighbors within a declared domain: both rows are vertices of it.

The loss of objective perturbation at an output depends on the common rows through their pull and
their curvature alone. The attacker takes a crowd without curvature that pulls wherever he likes
within the span (rows that are wrong by far pull with slope one and have none), gives the replaced
row any scores, saturates its replacement, and lets the noise lie on the ray of its shift: the
equality case of ``mechanisms/domain_noise.proof.md``. He also tries noise anywhere else.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privet._types import Array
from privet.audit.attacks import Labels
from privet.audit.exact import FAR, SCAN, margin_directions
from privet.domain import Box, Domain
from privet.mechanisms import Design

# Scores of the replaced row, along each direction of the margin.
MARGINS = np.concatenate([SCAN, np.linspace(-1.0, 2.0, 61)])
# The noise on the ray, in units of the shift; further out nothing changes.
PUSHES = (1e-6, 1.0, 100.0)


@dataclass(frozen=True)
class Halves:
    """N ways in which one row can pull: vertex, label and scores, with what follows from them."""

    x: Array
    pull: Array  # the row's gradient in the parameters, (N, p)
    log_determinant: Array  # log det(I + H/ridge), (N,)


def vertices(domain: Domain) -> Array:
    """Every extreme row, and means of two where rows may be such; for domains of a few columns."""
    choices = []
    for block in domain.blocks:
        if isinstance(block, Box):
            corners = itertools.product((-block.size, block.size), repeat=block.width)
            choices.append([np.array(corner) for corner in corners])
        else:
            cells = list(block.size * np.eye(block.width))
            means = [(a + b) / 2.0 for a, b in pairwise(cells)] if block.between else []
            choices.append(cells + means + [np.zeros(block.width)] * block.missing)
    return np.array([np.concatenate(parts) for parts in itertools.product(*choices)])


def worst_domain_loss(design: Design, *, seed: int = 0, margins: int = len(MARGINS)) -> float:
    """The largest exact privacy loss that the search finds within the design's domain.

    ``margins`` of the replaced row are tried, the saturated one among them: fewer are faster where
    a density is dear.
    """
    assert design.domain is not None
    rng, corners = np.random.default_rng(seed), vertices(design.domain)
    corners = rng.permutation(corners)[:12]
    directions, labels = margin_directions(design.risk.loss)
    tried = MARGINS[np.linspace(0, len(MARGINS) - 1, margins).astype(int)]
    tried = np.append(tried, -FAR)
    entering = _halves(design, corners, directions, labels, tried)
    leaving = _halves(design, corners, directions, labels, np.array([-FAR]))
    worst = -np.inf
    for i in range(len(leaving.x)):
        shift = entering.pull - leaving.pull[i]
        jacobian = entering.log_determinant - leaving.log_determinant[i]
        places = [push * shift for push in PUSHES]
        # anywhere in the span: combinations of what rows pull by
        mixed = (
            rng.normal(size=(len(shift), 6)) @ leaving.pull[rng.integers(len(leaving.x), size=6)]
        )
        for b in (*places, mixed * rng.exponential(size=(len(shift), 1))):
            noise = design.main.log_density(b) - design.main.log_density(b + shift)
            worst = max(worst, float((noise + jacobian).max()))
    return worst


def _halves(
    design: Design, corners: Array, directions: Array, labels: Labels, margins: Array
) -> Halves:
    """Every vertex with every label at these margins."""
    loss, ridge = design.risk.loss, design.n * design.risk.regularization
    i, j, t = (
        part.ravel()
        for part in np.meshgrid(
            np.arange(len(corners)), np.arange(len(directions)), margins, indexing="ij"
        )
    )
    scores, y = t[:, None] * directions[j], loss.targets(labels[j])
    gradient, hessian = loss.gradient(scores, y), loss.hessian(scores, y)
    x = corners[i]
    pull = (gradient[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    curved = np.eye(loss.scores) + hessian * ((x**2).sum(axis=1) / ridge)[:, None, None]
    return Halves(x, pull, np.asarray(np.linalg.slogdet(curved)[1]))
