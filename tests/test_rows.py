"""Rows: every way of storing a table gives the same sums, and no row passes its bound."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from privet.errors import DataError, DeclarationError
from privet.losses import Logistic, Loss, Softmax
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows, Block, Rows, checked_rows
from privet.rows.arrays import MOST_BLOCK_ROWS, block_rows
from privet.rows.ball import in_ball
from tests.strategies import Array, name_of, seeds

SECRET = 987654.321


def read_only(x: Array) -> Array:
    x = x.copy()
    x.flags.writeable = False
    return x


def with_stored_zeros(x: Array) -> sp.csr_array:
    """CSR that stores its zeros too."""
    full = sp.csr_array(np.ones_like(x))
    full.data = x.ravel().copy()
    return full


def with_duplicates(x: Array) -> sp.csr_array:
    """CSR that stores every entry as two halves."""
    found = sp.csr_array(x.shape)
    found.data = np.repeat(x.ravel() / 2.0, 2)
    found.indices = np.resize(np.repeat(np.arange(x.shape[1]), 2), 2 * x.size).astype(np.int32)
    found.indptr = np.arange(len(x) + 1, dtype=np.int32) * 2 * x.shape[1]
    return found


STORES: dict[str, Callable[[Array], Any]] = {
    "fortran": np.asfortranarray,
    "read_only": read_only,
    "float32": lambda x: x.astype(np.float32),
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "csr": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csr_float32": lambda x: sp.csr_array(x.astype(np.float32)),
    "csr_int64": lambda x: _long_indices(sp.csr_array(x)),
    "stored_zeros": with_stored_zeros,
    "duplicates": with_duplicates,
}


def _long_indices(x: sp.csr_array) -> sp.csr_array:
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    return x


def everything(rows: Rows, loss: Loss, theta: Array) -> Array:
    """Several gradients, their covariance and the Hessian, one after another."""
    risk = RegularizedRisk(loss, 1.0, 1.0)
    thetas = np.stack([theta, -theta, 0.3 * theta])
    parts = (
        *rows.sum(risk.gradient_covariance, theta),
        *rows.sum(risk.gradients, thetas),
        *rows.sum(risk.hessian, theta),
    )
    return np.concatenate([np.ravel(part) for part in parts])


def single_precision(seed: int, n: int, m: int) -> Array:
    """Numbers that float32 holds exactly, a third of them zero, many rows above norm 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.67)
    return x.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=name_of)
def test_every_store_gives_the_dense_sums(store: str, intercept: bool, loss: Loss) -> None:
    # more rows than a block
    x = single_precision(1, MOST_BLOCK_ROWS + 700, 3)
    rng = np.random.default_rng(2)
    y = loss.targets(rng.integers(0, loss.classes, len(x)))
    theta = rng.normal(size=loss.scores * (3 + intercept))
    for bound in (0.5, 100.0):
        dense = checked_rows(x, y, norm_bound=bound, constant=bound if intercept else None)
        other = checked_rows(
            STORES[store](x), y, norm_bound=bound, constant=bound if intercept else None
        )
        expected = everything(dense, loss, theta)
        assert everything(other, loss, theta) == pytest.approx(expected, rel=1e-11, abs=1e-9)


@given(seed=seeds(), n=st.integers(1, 12), m=st.integers(1, 4), intercept=st.booleans())
def test_the_sums_are_those_of_the_clipped_table(
    seed: int, n: int, m: int, intercept: bool
) -> None:
    """Against a table that was clipped and bordered by hand."""
    x, bound = single_precision(seed, n, m), 0.75
    norms = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    by_hand = x * np.minimum(1.0, bound / norms)
    if intercept:
        by_hand = np.hstack([by_hand, np.full((n, 1), bound)])
    rng = np.random.default_rng(seed)
    loss = Softmax(3)
    y = rng.integers(0, 3, n)
    theta = rng.normal(size=2 * (m + intercept))
    expected = everything(ArrayRows(by_hand, y), loss, theta)
    for table in (x, sp.csr_array(x)):
        found = everything(
            checked_rows(table, y, norm_bound=bound, constant=bound if intercept else None),
            loss,
            theta,
        )
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def row_norms(rows: Rows) -> Array:
    """Norms of the rows that a mechanism sees, from scores with the unit vectors."""
    parts = [block.scores(np.eye(rows.m)) for block, _ in rows.blocks()]
    return np.linalg.norm(np.concatenate(parts), axis=1)


@given(
    seed=seeds(),
    m=st.integers(1, 50),
    size=st.floats(-80.0, 80.0),
    bound=st.floats(-80.0, 80.0),
    single=st.booleans(),
    intercept=st.booleans(),
)
def test_no_row_passes_the_bound(
    seed: int, m: int, size: float, bound: float, single: bool, intercept: bool
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5, m)) * 10.0 ** (size / 3.0 if single else size)
    x = x.astype(np.float32) if single else x
    limit = 10.0**bound
    most = limit * (np.sqrt(2.0) if intercept else 1.0)
    for table in (x, sp.csr_array(x)):
        rows = checked_rows(
            table, np.ones(5), norm_bound=limit, constant=limit if intercept else None
        )
        # rounding of a sum of m squares, which the minimizer's rounding floor pays for
        assert (row_norms(rows) <= most * (1.0 + (m + 8) * 2.0**-53)).all()


def test_rows_within_the_bound_are_left_alone() -> None:
    x = np.array([[0.6, 0.8], [0.0, 0.0], [3.0, 4.0]])
    rows = checked_rows(x, np.ones(3), norm_bound=1.0)
    ((block, _),) = rows.blocks()
    assert block.scores(np.eye(2)) == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]]))
    assert (block.scores(np.eye(2))[:2] == x[:2]).all()


def test_the_callers_array_is_neither_copied_nor_changed() -> None:
    x = single_precision(3, 400, 5)
    before = x.copy()
    rows = checked_rows(x, np.ones(400), norm_bound=0.1, constant=0.1)
    everything(rows, Logistic(), np.ones(6))
    assert (x == before).all()
    assert all(np.shares_memory(block.x, x) for block, _ in rows.blocks())  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("stride", [2, 7])
def test_a_stride_visits_one_row_in_so_many(make: Callable[[Array], Any], stride: int) -> None:
    n = 3 * MOST_BLOCK_ROWS + 5
    x = np.arange(1.0, n + 1.0)[:, None]
    rows = checked_rows(make(x), np.ones(n), norm_bound=1e9)
    (seen,) = rows.sum(_count, stride=stride)
    assert abs(float(seen) - n / stride) <= 4


def _count(block: Block, y: Array) -> tuple[Array]:
    return (np.asarray(float(len(y))),)


def test_blocks_are_in_order_and_complete() -> None:
    n, m = 5000, 40
    x = np.zeros((n, m))
    x[:, 0] = np.arange(n)
    rows = checked_rows(x, np.arange(float(n)), norm_bound=1e9)
    parts = [(block.scores(np.eye(1, m))[:, 0], y) for block, y in rows.blocks()]
    assert len(parts) == -(-n // block_rows(m))
    for scores, y in parts:
        assert (scores == y).all()
    assert (np.concatenate([y for _, y in parts]) == np.arange(n)).all()


# -- extreme values --------------------------------------------------------------------------------

EXTREME = [1e308, -1e200, 1e155, 1e50, 5e-324, -1e-310, np.finfo(np.float64).tiny]
EXTREME_SINGLE = [3e38, -1e30, 1e20, 1e-45, -1e-40, float(np.finfo(np.float32).tiny)]


def exact_square(row: NDArray[Any]) -> Fraction:
    """The squared norm without rounding."""
    return sum((Fraction(float(entry)) ** 2 for entry in row), Fraction(0))


def extreme_tables() -> st.SearchStrategy[NDArray[Any]]:
    """Any finite doubles or singles, subnormal ones among them."""
    shapes = st.tuples(st.integers(1, 6), st.integers(1, 9))
    entries = {64: st.sampled_from(EXTREME), 32: st.sampled_from(EXTREME_SINGLE)}
    return st.sampled_from([64, 32]).flatmap(
        lambda width: arrays(
            np.dtype(f"f{width // 8}"),
            shapes,
            elements=st.floats(allow_nan=False, allow_infinity=False, width=width)
            | st.floats(-1.0, 1.0, width=width)
            | entries[width].map(np.dtype(f"f{width // 8}").type).map(float),
        )
    )


@given(
    x=extreme_tables(), bound=st.sampled_from([1e-100, 1e-20, 0.5, 1.0, 3e7, 1e100]), fat=seeds()
)
def test_a_repaired_row_is_within_the_bound_in_exact_arithmetic(
    x: NDArray[Any], bound: float, fat: int
) -> None:
    wide = np.random.default_rng(fat).normal(size=(2, 300)).astype(x.dtype)
    for table in (x, wide * x.dtype.type(1e9), sp.csr_array(x)):
        found, factors = in_ball(table, bound)
        dense = found.toarray() if sp.issparse(found) else found
        sizes = np.abs(dense)
        assert np.isfinite(dense).all()
        assert not ((sizes > 0.0) & (sizes < np.finfo(dense.dtype).tiny)).any()
        factors = np.ones(len(dense)) if factors is None else factors
        for row, factor in zip(dense, factors, strict=True):
            square = exact_square(row) * Fraction(float(factor)) ** 2
            # a row that was not shortened is known to be short up to rounding only
            slack = 0 if factor < 1.0 else Fraction(len(row) + 2, 2**53)
            assert square <= Fraction(bound) ** 2 * (1 + slack)


@given(x=extreme_tables(), bound=st.sampled_from([1e-20, 1.0, 3e7]))
def test_what_becomes_of_a_row_is_a_function_of_the_row_alone(
    x: NDArray[Any], bound: float
) -> None:
    for make in (np.asarray, sp.csr_array):
        whole = seen_rows(make(x), bound)
        for i in range(len(x)):
            assert (whole[i] == seen_rows(make(x[i : i + 1]), bound)[0]).all()


def seen_rows(x: Any, bound: float) -> Array:
    """The rows that a mechanism sees, read entry by entry."""
    found, factors = in_ball(x, bound)
    dense = np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)
    return dense if factors is None else dense * factors[:, None]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_extreme_entries_are_flushed_or_brought_to_the_bound(
    make: Callable[[Any], Any], kind: Any
) -> None:
    x = np.full((6, 2), 0.5, dtype=kind)
    tiny, huge = (1e-310, 1e308) if kind is np.float64 else (1e-40, 3e38)
    x[1, 0], x[2, 0], x[3] = tiny, -huge, huge
    before = x.copy()
    rows = checked_rows(make(x), np.ones(6), norm_bound=1.0, constant=1.0)
    scores = np.concatenate([block.scores(np.eye(2, 3)) for block, _ in rows.blocks()])
    root = np.sqrt(0.5)
    expected = [[0.5, 0.5], [0.0, 0.5], [-1.0, 0.0], [root, root], [0.5, 0.5], [0.5, 0.5]]
    assert scores == pytest.approx(np.array(expected), abs=1e-6)
    assert scores[1, 0] == 0.0
    assert rows.clipped == 2
    assert (x == before).all()
    rough = np.concatenate([block.scores(np.eye(2, 3)) for block, _ in rows.rough().blocks()])
    assert rough == pytest.approx(np.array(expected), abs=1e-6)
    assert np.isfinite(everything(rows, Logistic(), np.array([1e3, -1e3, 1.0]))).all()


def test_a_row_of_norm_one_is_not_told_as_long() -> None:
    """Rounding alone puts about half of such rows above the bound."""
    x = np.random.default_rng().normal(size=(400, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    assert checked_rows(x, np.ones(400), norm_bound=1.0).clipped == 0


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_number_that_is_none_is_refused_without_being_quoted(
    make: Callable[[Any], Any], value: float, kind: Any
) -> None:
    x = np.full((40, 3), SECRET, dtype=kind)
    x[17, 1] = value
    with pytest.raises(DataError) as error:
        checked_rows(make(x), np.ones(40), norm_bound=1.0)
    text = str(error.value)
    assert "987654" not in text
    assert "17" not in text
    assert text.endswith(".")


@pytest.mark.parametrize(
    "x",
    [
        np.ones(3),
        np.ones((3, 1, 1)),
        np.ones((3, 2), dtype=int),
        np.ones((3, 2), dtype=bool),
        np.ones((3, 2), dtype=complex),
        np.ones((3, 2), dtype=object),
        np.array([["a", "b"]] * 3),
        np.ma.masked_array(np.ones((3, 2)), mask=[[0, 1]] * 3),
        sp.csc_array(np.ones((3, 2))),
        sp.coo_array(np.ones((3, 2))),
        [[1.0, 2.0]] * 3,
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}-{getattr(x, 'shape', '')}",
)
def test_a_table_of_another_form_is_refused(x: Any) -> None:
    """A column-wise matrix read by rows would be a wrong sum in silence."""
    with pytest.raises(DataError, match="Rows must be"):
        checked_rows(x, np.ones(3), norm_bound=1.0)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_no_rows_no_columns_and_a_mismatch_are_refused(make: Callable[[Array], Any]) -> None:
    with pytest.raises(DataError, match="no rows"):
        checked_rows(make(np.ones((0, 3))), np.ones(0), norm_bound=1.0)
    with pytest.raises(DataError, match="no columns"):
        checked_rows(make(np.ones((3, 0))), np.ones(3), norm_bound=1.0)
    with pytest.raises(DataError, match="3 rows but 4 targets"):
        checked_rows(make(np.ones((3, 2))), np.ones(4), norm_bound=1.0)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf, 1e-200, 1e200])
def test_a_bad_bound_is_refused(bound: float) -> None:
    """With a bound that is not a number nothing would ever be clipped."""
    with pytest.raises(DeclarationError, match="norm_bound"):
        checked_rows(np.ones((3, 2)), np.ones(3), norm_bound=bound)


def test_a_single_row_and_column_are_enough() -> None:
    rows = checked_rows(np.ones((1, 1)), np.ones(1), norm_bound=1.0)
    assert (rows.n, rows.m) == (1, 1)
    assert checked_rows(np.ones((1, 1)), np.ones(1), norm_bound=1.0, constant=1.0).m == 2
