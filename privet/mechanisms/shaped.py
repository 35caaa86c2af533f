"""How large shaped noise in the objective must be: which laws there are for a loss, and their rate.

Guarantee
---------
Replace-one neighbors of the same size; the conditions of ``objective.py``. Spherical noise pays
for every direction of the ball; these laws pay for what a row can do:

    product, hull      two classes and a declared domain; gauge of the domain's body
    grouped            the same with a share of the gauge for each group of blocks
    matrix laplace     more classes; nuclear norm, which of a row's gradient is at most |g| R
    class product      more classes and a declared domain

A replaced row moves the noise that explains an output by at most ``d`` in the law's own norm, where
``d`` is the loss's ``gauge_difference`` or ``rank_one_difference R``, and the Jacobian is as for
spherical noise: the exact bounds are the loss's ``gauge_loss_bound(a, q)`` and
``rank_one_loss_bound(a, q)``, with ``a`` one over the scale (times ``R`` for matrices) and
``q = R^2/(n Lam)``. Proofs: ``domain_noise.proof.md``, ``matrix_noise.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet._checks import positive_whole
from privet._types import Array
from privet.bisection import largest
from privet.domain import Domain, OneHot, domain_from_json
from privet.errors import DataError
from privet.losses import Loss
from privet.losses.loss import UNREDUCED
from privet.noise import (
    NOISES,
    ClassProduct,
    ConeLaplace,
    DomainNoise,
    Grouped,
    Hull,
    MatrixLaplace,
    Noise,
    Product,
)
from privet.noise.cone_noise import triangle
from privet.noise.grouped_noise import groups_of

#: every law of a fit's noise beside the spherical ones
BY_DOMAIN: dict[str, type[DomainNoise]] = {law.kind: law for law in (Product, Hull, Grouped)}
SHAPED = (*BY_DOMAIN, MatrixLaplace.kind, ClassProduct.kind)
_DOMAIN = (
    "privet/mechanisms/domain_noise.proof.md (K-norm noise: Hardt and Talwar 2010; in the "
    "objective: Awan and Slavkovic 2020)"
)
_MATRIX = "privet/mechanisms/matrix_noise.proof.md"


@dataclass(frozen=True)
class Shape:
    """A law for a loss and its rows, of any size: ``rate`` says how large it must be."""

    kind: str
    loss: Loss
    norm_bound: float
    columns: int
    domain: Domain | None

    @property
    def theorem(self) -> str:
        """Where it is proved."""
        return _MATRIX if "matrix" in self.kind else _DOMAIN

    @property
    def difference(self) -> float:
        """How far a replaced row moves the noise, in the law's own norm."""
        if self.kind == MatrixLaplace.kind:
            return self.loss.rank_one_difference * self.norm_bound
        return self.loss.gauge_difference

    def bound(self, a: float, q: float) -> float:
        """The largest privacy loss at rate ``a``."""
        if self.kind == MatrixLaplace.kind:
            return self.loss.rank_one_loss_bound(a, q)
        return self.loss.gauge_loss_bound(a, q)

    def noise(self, a: float) -> Noise:
        """The law at rate ``a``."""
        p = self.loss.scores * self.columns
        if self.kind == MatrixLaplace.kind:
            return MatrixLaplace(self.norm_bound / a, p, self.loss.scores)
        assert self.domain is not None  # shapes() names no other law without one
        if self.kind == ClassProduct.kind:
            return ClassProduct(1.0 / a, p, self.domain, self.loss.classes)
        return BY_DOMAIN[self.kind](1.0 / a, p, self.domain)

    def free_rate(self, epsilon: float) -> float:
        """The rate where the Jacobian costs nothing."""
        unit = self.norm_bound if self.kind == MatrixLaplace.kind else 1.0
        return epsilon * unit / self.difference


def shapes(loss: Loss, domain: Domain | None) -> tuple[str, ...]:
    """The shaped laws that are proved for a loss and what is declared of its rows."""
    if loss.scores == 1:
        if domain is None or loss.family not in UNREDUCED:
            return ()
        hull = (Hull.kind,) if domain.has_constant else ()
        grouped = (Grouped.kind,) if len(groups_of(domain)) > 1 else ()
        return Product.kind, *hull, *grouped
    if domain is None or loss.family in UNREDUCED:  # scores that are not differences of classes
        return (MatrixLaplace.kind,)
    return MatrixLaplace.kind, ClassProduct.kind


def largest_rate(bound: Callable[[float], float], free: float, epsilon: float) -> float:
    """The largest ``a`` with ``bound(a) <= epsilon``, up to ``free``; 0 if there is none."""
    if bound(0.0) >= epsilon:
        return 0.0  # the Jacobian alone is too dear, whatever the noise
    if bound(free) <= epsilon * (1.0 + 4e-16):
        return free  # the Jacobian costs nothing
    return largest(lambda a: bound(a) <= epsilon, free)


def size_in_span(noise: Noise, domain: Domain | None) -> float:
    """``sqrt(E|P b|^2)`` with ``P`` the projection to the rows' span; without a domain ``E|b|``.

    What noise does outside of the span changes no score of any row.
    """
    if domain is None:
        return noise.expected_norm
    scores = noise.dimension // domain.columns
    normals = np.asarray(np.kron(np.eye(scores), outside(domain)), dtype=np.float64)
    outer = float(noise.relative_variance(normals).sum()) if len(normals) else 0.0
    return noise.coordinate_sd * math.sqrt(max(noise.dimension - outer, 0.0))


def outside(domain: Domain) -> Array:
    """An orthonormal basis of what no row has a part in, as rows: blocks whose sums differ."""
    sums = []
    for block, at in domain.parts():
        if isinstance(block, OneHot) and not block.missing:
            row = np.zeros(domain.columns)
            row[at] = 1.0 / block.size
            sums.append(row)
    if len(sums) < 2:
        return np.zeros((0, domain.columns))
    differences = np.array(sums[1:]) - sums[0]
    return np.asarray(np.linalg.qr(differences.T)[0].T)


def noise_from_facts(facts: dict[str, Any]) -> Noise:
    """The law that ``Noise.facts`` describes, for files."""
    kind, scale, dimension = facts["kind"], float(facts["scale"]), int(facts["dimension"])
    if kind in NOISES:
        return NOISES[kind](scale, dimension)
    if kind == ConeLaplace.kind:
        side = positive_whole("side", facts["side"])
        _refuse_unfit(dimension == 2 * triangle(side))
        return ConeLaplace(scale, dimension, side)
    if kind not in SHAPED:
        raise DataError("The file names a noise that this Privet does not have.")
    if kind == MatrixLaplace.kind:
        rows = positive_whole("rows", facts["rows"])
        _refuse_unfit(dimension % rows == 0)
        return MatrixLaplace(scale, dimension, rows)
    domain = domain_from_json(facts["domain"])
    if kind == ClassProduct.kind:
        classes = positive_whole("classes", facts["classes"])
        _refuse_unfit(dimension == (classes - 1) * domain.columns)
        return ClassProduct(scale, dimension, domain, classes)
    _refuse_unfit(dimension == domain.columns and (kind != Hull.kind or domain.has_constant))
    return BY_DOMAIN[kind](scale, dimension, domain)


def _refuse_unfit(fits: bool) -> None:
    if not fits:
        raise DataError("The file describes a noise whose numbers do not fit together.")
