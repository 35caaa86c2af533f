"""Packed rows: the same rows, the same sums, and in their domain whatever the cells hold."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pytest

from privet.domain import Box, Domain, OneHot
from privet.losses import Logistic
from privet.models.row_view import RowView
from privet.risk import RegularizedRisk
from privet.rows.arrays import ArrayBlock, ArrayRows
from privet.rows.ball import in_ball
from privet.rows.inside import in_domain
from privet.rows.packed_rows import PackedBlock, PackedRows, known_inside
from privet.schema import Categorical, Label, Numeric, Schema
from privet.schema.cells import lookup
from privet.schema.encode import ChunkEncoder
from privet.schema.packed import Packed
from privet.schema.tables import ArrowBatch, Batch, open_table

N = 700
LABEL = Label("paid", ("no", "yes"))
CITIES = tuple(f"city {i}" for i in range(5))
COLUMNS: dict[str, dict[str, Any]] = {
    "mixed": {
        "town": Categorical(CITIES, other=False),
        "age": Numeric(0, 100),
        "income": Numeric(0, 1e6, log=True, missing=10.0),
        "job": Categorical(("a", "b")),
        "score": Numeric(-1, 1, knots=4),
        "height": Numeric(1, 2, knots=3),
    },
    "numbers": {"age": Numeric(0, 100), "income": Numeric(0, 1e6)},
    "categories": {"town": Categorical(CITIES, other=False), "job": Categorical(("a", "b"))},
    "bends": {"score": Numeric(-1, 1, knots=4)},
    "many": {
        "wide": Categorical(tuple(map(str, range(300))), other=False),
        "age": Numeric(0, 100),
        "job": Categorical(("a", "b"), other=False),
    },
}


def table(seed: int = 0) -> pa.Table:
    """Cells of all kinds, many of which a schema does not expect."""
    draw = np.random.default_rng(seed)
    odd = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, 0.0, 1.0, -1.0, 50.0])

    def numbers() -> Any:
        return np.where(draw.random(N) < 0.3, draw.choice(odd, N), draw.normal(0.5, 30, N))

    return pa.table(
        {
            "town": pa.array(draw.choice([*CITIES, "elsewhere", None], N).tolist()),
            "job": pa.array(draw.choice(["a", "b", "c", None], N).tolist()),
            "wide": pa.array(draw.integers(-5, 305, N)),
            "age": numbers(),
            "income": numbers(),
            "score": numbers(),
            "height": pa.array(draw.uniform(0.9, 2.1, N).astype(np.float32)),
            "paid": pa.array(draw.choice(["no", "yes", None], N, p=[0.5, 0.4, 0.1]).tolist()),
        }
    )


def packed_table(kind: str, rows: Any = "scaled", **more: Any) -> tuple[Schema, Packed]:
    """The rows as a pass reads them."""
    schema = Schema(COLUMNS[kind], LABEL, rows=rows, **more)
    encoder = ChunkEncoder(schema)
    (batch,) = open_table(table()).batches(encoder.names)
    return schema, encoder.rows(encoder.parts(batch))[0]


@pytest.mark.parametrize("rows", ["scaled", "unit"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_packed_rows_are_the_encoded_rows(kind: str, rows: str) -> None:
    schema, packed = packed_table(kind, rows)
    x = schema.encode(table()).x
    assert np.array_equal(packed.dense(), x)
    assert np.array_equal(packed[3:500:7].dense(), x[3:500:7])
    flags = np.arange(N) % 3 == 1
    assert np.array_equal(packed[flags].dense(), x[flags])


@pytest.mark.parametrize("rows", ["scaled", "unit"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_rows_that_a_scratch_file_keeps_are_the_same(kind: str, rows: str) -> None:
    _, packed = packed_table(kind, rows)
    kept = Packed(packed.packing, (), packed.constant, packed.encoded())
    for which in (slice(None), slice(3, 500, 7), np.arange(N) % 3 == 1):
        assert np.array_equal(kept[which].dense(), packed[which].dense())
    weights = np.random.default_rng(3).normal(size=(1, packed.shape[1]))
    one, other = (PackedBlock(each[5:], None).scores(weights) for each in (kept, packed))
    assert np.array_equal(one, other)


def test_columns_of_arrow_are_read_as_those_of_any_container() -> None:
    columns = {
        "single": pa.array([1.5, -0.0, np.nan, np.inf], pa.float32()),
        "whole": pa.array([1, 2, 2**53 + 1, -4], pa.int64()),
        "gaps": pa.array([1.5, None, 2.5, 1e30], pa.float32()),
        "words": pa.array(["1.0", None, " 2", "x"]).dictionary_encode(),
        "flags": pa.array([True, False, None, True]),
    }
    whole = pa.table(columns)
    plain = Batch(nw.from_native(whole, eager_only=True))
    arrow = ArrowBatch(whole.to_batches()[0].slice(1))
    for name in columns:
        one, other = arrow.cells(name), plain.cells(name)
        assert np.array_equal(one.numbers(), other.numbers()[1:], equal_nan=True)
        assert one.floats().dtype == other.floats().dtype
        assert np.array_equal(one.missing(), other.missing()[1:])
        place = lookup(("1", "2", "x") if name == "words" else (1, 2))
        for unknown, dtype in ((-1, np.int8), (3, np.uint8), (-1, np.intp)):
            found = one.codes(place, dtype, unknown)
            assert found.dtype == dtype
            assert np.array_equal(found, other.codes(place, dtype, unknown)[1:])


@pytest.mark.parametrize("constant", [None, 0.5])
@pytest.mark.parametrize("kind", COLUMNS)
def test_blocks_answer_as_dense_ones(kind: str, constant: float | None) -> None:
    _, packed = packed_table(kind)
    x, draw = packed.dense(), np.random.default_rng(1)
    one, other = PackedBlock(packed, constant), ArrayBlock(x, x.T, None, constant)
    for count in (1, 3):
        weights = draw.normal(size=(count, x.shape[1] + (constant is not None)))
        residuals = draw.normal(size=(N, count))
        assert np.allclose(one.scores(weights), other.scores(weights), rtol=0, atol=1e-13)
        assert np.allclose(one.pull(residuals), other.pull(residuals), rtol=0, atol=1e-12)
        assert np.array_equal(one.pull_squares(residuals), other.pull_squares(residuals))
    assert np.array_equal(one.gram(residuals[:, 0]), other.gram(residuals[:, 0]))
    assert np.array_equal(one.lengths(), other.lengths())
    rough = weights.astype(np.float32)
    assert np.array_equal(one.rough().scores(rough), other.rough().scores(rough))


@pytest.mark.parametrize("kind", COLUMNS)
def test_rows_need_no_check_where_a_check_would_leave_them(kind: str) -> None:
    schema, packed = packed_table(kind)
    x, domain = packed.dense(), schema.domain
    assert domain is not None
    assert known_inside(packed, 1.0, None, domain)
    assert in_domain(x, domain, zero_rows=True) is x
    assert in_ball(x, 1.0) == (x, None)


def test_rows_are_checked_where_it_is_not_known_that_they_are_inside() -> None:
    schema, packed = packed_table("mixed")
    other = Domain((Box(schema.width, 1.0),))
    domain = schema.domain
    assert known_inside(packed, 1.0, 0.5, None)
    assert not known_inside(packed, 0.9, None, None)  # rows may be longer
    assert not known_inside(packed, 1.0, None, other)  # another domain
    assert not known_inside(packed, 1.0, 0.5, domain)  # zero rows beside a constant
    assert known_inside(packed[~packed.constant], 1.0, 0.5, domain)
    assert not known_inside(packed_table("mixed", "unit")[1], 1.0, None, None)
    assert OneHot(5, schema.factor, missing=True) == domain.blocks[0]  # type: ignore[union-attr]


@pytest.mark.parametrize("constant", [None, 0.5])
@pytest.mark.parametrize("bound", [1.0, 0.7])
@pytest.mark.parametrize("declared", [True, False])
def test_a_view_sums_packed_and_dense_rows_alike(
    constant: float | None, bound: float, declared: bool
) -> None:
    schema, packed = packed_table("mixed")
    domain = schema.domain if declared and bound == 1.0 else None
    view, risk = RowView(None, bound, constant, domain), RegularizedRisk(Logistic(), 0.1, 1.2)
    signs = risk.loss.targets(np.arange(N) % 2)
    one, other = view.rows(packed, signs), view.rows(packed.dense(), signs)
    inside = known_inside(packed, bound, constant, domain)
    assert isinstance(one, PackedRows if inside else ArrayRows)
    theta = np.random.default_rng(2).normal(size=one.m)
    for stride in (1, 5):
        for found, wanted in zip(
            (
                *one.sum(risk.gradients, theta[None, :], stride=stride),
                *one.sum(risk.hessian, theta),
            ),
            (
                *other.sum(risk.gradients, theta[None, :], stride=stride),
                *other.sum(risk.hessian, theta),
            ),
            strict=True,
        ):
            assert np.allclose(found, wanted, rtol=0, atol=1e-12)
