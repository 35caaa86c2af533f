"""Replay of the intervals' matrices on tables of real lifted rows: every row is some ``x``.

The equality case exists among them: ``<a, a'> = 0`` for two rows on the sphere whose product is
minus the squared constant, so that their features stand at right angles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from privet.audit.measure_replay import declared_matrix_distance, matrix_distance
from privet.losses import JointHuber, Loss, Softmax
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms.matrix import SecondMoments
from privet.models.lifted import COVARIANCES, Lifted
from privet.privacy import ZCDP, PureDP
from privet.risk import RegularizedRisk
from privet.rows.mapped import MappedRows
from tests.strategies import Array, name_of

N, BOUND, CONSTANT = 30, 2.0, 1.0
LOSSES = [Softmax(2), Softmax(3), Softmax(7), JointHuber(2), JointHuber(3), JointHuber(7)]


def moments_of(loss: Loss, lifted: Lifted, kind: type = SecondMoments, budget: Any = None) -> Any:
    return kind(RegularizedRisk(loss, 0.1, lifted.norm), budget or ZCDP(1.0))


def right_angle(d: int) -> tuple[Array, Array]:
    """Two rows at the bound whose features are at right angles."""
    cosine = -((CONSTANT / BOUND) ** 2)
    one, two = np.zeros(d), np.zeros(d)
    one[0] = BOUND
    two[:2] = BOUND * cosine, BOUND * math.sqrt(1.0 - cosine**2)
    return one, two


def attacks(loss: Loss, lifted: Lifted, rows: tuple[Array, Array]) -> Iterator[tuple[Array, int]]:
    """Parameters at which both rows, of one class, are as steep and as curved as can be."""
    features = np.concatenate([lifted(row[None, :]) for row in rows])
    knee = np.zeros(loss.classes)
    knee[0] = 0.5 + 1e-9  # the lower end of the knee against all others
    tried = [knee]
    for far in (1.0, 2.0, 4.0, 12.0):
        for apart in (0.0, 1.0, 2.0, far):  # one class or two that the row is taken for
            scores = np.full(loss.classes, -far)
            scores[0], scores[1:3] = -2.0 * far, far
            scores[2:3] -= apart
            tried.append(scores)
    for scores in tried:
        wanted = sum_zero_basis(loss.classes).T @ scores
        found, *_ = np.linalg.lstsq(features, np.stack([wanted, wanted]), rcond=None)
        yield found.T.reshape(-1), 0


def worst(moments: SecondMoments, lifted: Lifted, rng: np.random.Generator) -> float:
    """Largest distance of neighbors' releases, over right angles and random rows."""

    def rows_of(x: Array, y: Array, *, norm_bound: float) -> MappedRows:
        assert norm_bound == lifted.norm
        return MappedRows(x, y, lifted)

    def distance(theta: Array, one: Array, two: Array, label: int) -> float:
        crowd = rng.normal(size=(N, lifted.d)) * BOUND
        codes = rng.integers(0, moments.risk.loss.classes, N)
        codes[0] = label
        tables = [crowd.copy(), crowd.copy()]
        tables[0][0], tables[1][0] = one, two
        y = moments.risk.loss.targets(codes)
        return matrix_distance(moments, theta, (tables[0], y), (tables[1], y), make_rows=rows_of)

    rows = right_angle(lifted.d)
    found = [
        distance(theta, *rows, label) for theta, label in attacks(moments.risk.loss, lifted, rows)
    ]
    for _ in range(5):
        theta = rng.normal(size=moments.risk.parameters(lifted.columns)) / lifted.norm
        pair = rng.normal(size=(2, lifted.d)) * BOUND
        found.append(distance(theta, *pair, 0))
    return max(found)


def declared(moments: SecondMoments, lifted: Lifted) -> float:
    return declared_matrix_distance(moments.design(N, lifted.columns))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_lifted_neighbors_stay_within_the_declared_distance(loss: Loss, covariance: str) -> None:
    for budget in (ZCDP(1.0), PureDP(1.0)):
        lifted = Lifted(3, BOUND, CONSTANT, covariance)
        if isinstance(loss, JointHuber):
            loss = replace(loss, lifted=covariance != "diagonal")
        moments = moments_of(loss, lifted, budget=budget)
        found = worst(moments, lifted, np.random.default_rng())
        assert 0.2 * declared(moments, lifted) < found <= declared(moments, lifted)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_right_angles_come_near_the_declared_matrix_distance(loss: Loss) -> None:
    lifted = Lifted(2, BOUND, CONSTANT)
    moments = moments_of(loss, lifted)
    found = worst(moments, lifted, np.random.default_rng())
    assert found > 0.98 * declared(moments, lifted)


@dataclass(frozen=True)
class OneRowOnly(SecondMoments):
    """A planted bug: the row that enters is forgotten."""

    def pair_sensitivity(self, n: int, reach: float, eta: float) -> float:
        return super().pair_sensitivity(n, reach, eta) / math.sqrt(2.0)


@dataclass(frozen=True)
class OneWrongClass(SecondMoments):
    """A planted bug: as if only one of the wrong classes pushed."""

    def pair_sensitivity(self, n: int, reach: float, eta: float) -> float:
        loss = self.risk.loss
        return super().pair_sensitivity(n, reach, eta) * 2.0 / (loss.classes * (loss.classes - 1.0))


@dataclass(frozen=True)
class ForgottenConstant(SecondMoments):
    """A planted bug: ``B^2`` in place of ``B^2 + k^2``."""

    def pair_sensitivity(self, n: int, reach: float, eta: float) -> float:
        return super().pair_sensitivity(n, reach, eta) * (BOUND**2 / (BOUND**2 + CONSTANT**2)) ** 2


@pytest.mark.parametrize("bug", [OneRowOnly, OneWrongClass, ForgottenConstant], ids=name_of)
def test_replay_finds_planted_bugs(bug: type) -> None:
    lifted = Lifted(2, BOUND, CONSTANT)
    moments = moments_of(JointHuber(3, lifted=True), lifted, bug)
    found = worst(moments, lifted, np.random.default_rng())
    assert found > 1.3 * declared(moments, lifted)
