"""Rows through a public map: the same sums as the mapped table in memory, and clipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from privet.errors import DataError
from privet.losses import Logistic, Softmax
from privet.risk import RegularizedRisk
from privet.rows.arrays import checked_rows
from privet.rows.mapped import MappedRows


@dataclass(frozen=True)
class Squares:
    """A row and its squares."""

    d: int
    norm: float = 1.0

    @property
    def columns(self) -> int:
        return 2 * self.d

    def __call__(self, x: Any) -> NDArray[np.float64]:
        dense = x.toarray() if sp.issparse(x) else x
        return np.concatenate([dense, dense**2], axis=1)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("constant", [None, 1.0])
def test_sums_are_those_of_the_mapped_table(kind: Any, constant: float | None) -> None:
    rng = np.random.default_rng()
    x = rng.normal(size=(9000, 3))  # two blocks; many rows are longer than the bound
    y = Logistic().targets(rng.integers(0, 2, 9000))
    lazy = MappedRows(kind(x), y, Squares(3), constant=constant)
    whole = checked_rows(Squares(3)(x), y, norm_bound=1.0, constant=constant)
    risk = RegularizedRisk(Logistic(), 0.1, 1.0)
    theta = rng.normal(size=lazy.m)
    for kernel, at in ((risk.gradients, theta[None]), (risk.hessian, theta)):
        for ours, theirs in zip(lazy.sum(kernel, at), whole.sum(kernel, at), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
def test_a_map_may_lay_its_features_out_as_it_likes(layout: Any) -> None:
    @dataclass(frozen=True)
    class Otherwise(Squares):
        def __call__(self, x: Any) -> NDArray[np.float64]:
            return np.asarray(layout(super().__call__(x)))

    rng = np.random.default_rng()
    x, y = rng.normal(size=(9000, 3)), rng.integers(0, 3, 9000)
    risk = RegularizedRisk(Softmax(3), 0.1, 1.0)
    theta = rng.normal(size=12)
    for kernel, at in (
        (risk.gradients, theta[None]),
        (risk.hessian, theta),
        (risk.gradient_covariance, theta),
    ):
        ours, theirs = (MappedRows(x, y, kind(3)).sum(kernel, at) for kind in (Otherwise, Squares))
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-9)


def test_every_row_is_within_the_declared_norm() -> None:
    x = np.random.default_rng().normal(size=(500, 3)) * 100.0
    rows = MappedRows(x, np.ones(500), Squares(3, norm=0.5))
    for block, _ in rows.blocks():
        features = block.scores(np.eye(6))
        assert float(np.linalg.norm(features, axis=1).max()) <= 0.5


def test_a_map_with_other_columns_or_bad_numbers_is_refused() -> None:
    @dataclass(frozen=True)
    class Wrong(Squares):
        @property
        def columns(self) -> int:
            return 7

    rows = MappedRows(np.ones((5, 3)), np.ones(5), Wrong(3))
    with pytest.raises(DataError, match="columns"):
        list(rows.blocks())
    rows = MappedRows(np.full((5, 3), np.nan), np.ones(5), Squares(3))
    with pytest.raises(DataError, match="NaN"):
        list(rows.blocks())


def test_no_rows_or_too_few_targets_are_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        MappedRows(np.ones((0, 3)), np.ones(0), Squares(3))
    with pytest.raises(DataError, match="targets"):
        MappedRows(np.ones((4, 3)), np.ones(3), Squares(3))


def test_features_are_kept_between_passes_within_a_fixed_memory() -> None:
    @dataclass(frozen=True)
    class Counted(Squares):
        calls: ClassVar[list[int]] = []

        def __call__(self, x: Any) -> NDArray[np.float64]:
            self.calls.append(len(x))
            return super().__call__(x)

    x = np.random.default_rng().normal(size=(20_000, 3))  # five blocks of 4,096 rows
    whole = 4096 * 6 * 8
    for kept, made_again in ((0, 5), (2 * whole, 3), (1 << 30, 0)):
        rows = MappedRows(x, np.ones(20_000), Counted(3), kept_bytes=kept)
        first = [block.scores(np.eye(6)) for block, _ in rows.blocks()]
        Counted.calls.clear()
        second = [block.scores(np.eye(6)) for block, _ in rows.blocks()]
        assert len(Counted.calls) == made_again
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
        thinned = sum(len(targets) for _, targets in rows.blocks(stride=4))
        assert thinned == 5000  # a thinned pass is not mistaken for a whole one
        assert len(list(rows.blocks())) == 5


@pytest.mark.parametrize("size", [np.max, np.mean], ids=["largest", "mean"])
def test_a_map_that_looks_at_the_rows_beside_is_refused(size: Any) -> None:
    """One row would move the features of all others, which no bound on one row covers."""

    @dataclass(frozen=True)
    class Relative(Squares):
        def __call__(self, x: Any) -> NDArray[np.float64]:
            return np.asarray(super().__call__(x) / size(np.abs(x)))

    x = np.array([[0.1, 0.2, 0.0], [0.9, 0.0, 0.0], [0.2, 0.0, 0.3]])
    rows = MappedRows(x, np.ones(3), Relative(3))
    with pytest.raises(DataError, match="rows beside it"):
        list(rows.blocks())


def test_rounding_by_the_shape_of_a_block_is_no_look_at_others() -> None:
    """Cosines of numbers far beyond what a double tells apart, which one row alone rounds else."""
    rows = 1e18 * np.random.default_rng().normal(size=(700, 3))
    mixed = np.random.default_rng(0).normal(size=(3, 6))

    @dataclass(frozen=True)
    class Waves(Squares):
        def __call__(self, x: Any) -> NDArray[np.float64]:
            return np.asarray(np.cos(x @ mixed))

    assert len(list(MappedRows(rows, np.ones(700), Waves(3)).blocks())) == 1
