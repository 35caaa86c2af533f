"""A row's number means the same row in every pass, or the fit ends without a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import fit_table, stream
from privet.errors import DataError
from privet.rows.digests import BLOCK_WORDS, digest, fresh_key
from privet.schema.encode import ChunkEncoder
from tests.rows.cases import MODELS, grid_steps
from tests.rows.tables import N, schema, small_chunks, table

__all__ = ["small_chunks"]
pytestmark = [
    pytest.mark.usefixtures("small_chunks"),
    pytest.mark.filterwarnings("ignore::privet.errors.SeededNoise"),
    pytest.mark.filterwarnings("ignore::privet.tuning.candidates.TuningAdvice"),
]
KEY = b"sixteen octets.."


def altered(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Changes that a digest must see, and that a sum of all bits does not see for the most part."""
    yield "two rows in each other's place", lambda x: x[np.r_[1, 0, 2 : len(x)]]
    yield "reversed", lambda x: x[::-1]
    yield "rotated by one", lambda x: np.roll(x, 1, axis=0)
    yield "one bit", lambda x: (x.view(np.uint64) ^ _bit(x.shape, rng)).view(x.dtype)
    yield "one block in the place of another", lambda x: np.roll(x, BLOCK_WORDS // 2, axis=0)


def _bit(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    flags = np.zeros(shape, dtype=np.uint64)
    flags[rng.integers(shape[0])] = np.uint64(1) << np.uint64(rng.integers(64))
    return flags


def test_a_digest_sees_order_place_bits_and_shape() -> None:
    rng = np.random.default_rng()
    x = np.where(rng.random(2 * BLOCK_WORDS) < 0.5, 0.5, rng.normal(size=2 * BLOCK_WORDS))
    x[:2] = 0.25, 0.75  # two that differ, whatever was drawn
    first = digest(KEY, 0, x)
    assert first == digest(KEY, 0, x.copy())
    for _ in range(20):
        for name, change in altered(rng):
            assert first != digest(KEY, 0, change(x)), name
    assert first != digest(KEY, 1, x)
    assert first != digest(fresh_key(), 0, x)
    assert first != digest(KEY, 0, x.reshape(-1, 2))
    assert digest(KEY, 0, x[:3], x[3:]) != digest(KEY, 0, x[:4], x[4:])
    few = np.array([1, 2, 3], dtype=np.int8)  # not a whole number of words
    assert digest(KEY, 0, few) != digest(KEY, 0, few[::-1])


def test_sums_of_a_block_are_as_written_down() -> None:
    """With the key's words as whole numbers of Python."""
    from privet.rows.digests import _expanded, _sums

    rng = np.random.default_rng()
    words = rng.integers(0, 1 << 32, 1_000, dtype=np.uint64)
    key = [int(k) for k in _expanded(KEY)]
    wanted = [
        sum(k * int(w) for k, w in zip(key[i:], words, strict=False)) % (1 << 64) for i in (0, 1)
    ]
    assert np.frombuffer(_sums(words, _expanded(KEY)), dtype=np.uint64).tolist() == wanted


class Flipping:
    """A lazy table that is computed in the order of ``turned`` from the ``after``-th time on."""

    def __init__(self, whole: pl.DataFrame, after: int, turned: Any) -> None:
        self.whole, self.after, self.turned, self.times = whole, after, turned, 0

    def plan(self) -> pl.LazyFrame:
        """A plan that Polars computes anew each time."""
        return self.whole.lazy().map_batches(self._computed, schema=self.whole.schema)

    def _computed(self, frame: pl.DataFrame) -> pl.DataFrame:
        self.times += 1
        named = {name: self.turned[name] for name in frame.columns}
        return pl.DataFrame(named) if self.times > self.after else frame


@pytest.mark.parametrize("name", ["logistic", "partition search"])
def test_a_plan_whose_order_changes_between_any_two_passes_releases_nothing(name: str) -> None:
    """Training and validation part of a search overlap once a number means another row."""
    whole = pl.DataFrame(table())
    steady = Flipping(whole, 10_000, whole)
    fit_table(MODELS[name], schema(), stream(steady.plan()))
    assert steady.times > 4
    last = steady.times - 1  # the first time counts the rows, the second is the first pass
    for after in {2, last // 2, last}:
        flipping = Flipping(whole, after, whole[::-1])
        with pytest.raises(DataError, match="or their order"):
            fit_table(MODELS[name], schema(), stream(flipping.plan()))


def test_two_parts_are_held_to_one_reading_of_the_table() -> None:
    whole = pl.DataFrame(table())
    source = stream(Flipping(whole, 2, whole[::-1]).plan()).source(ChunkEncoder(schema()))
    half = np.arange(N) < N // 2
    training, validation = source.chosen(half), source.chosen(~half)
    assert sum(training.each(len)) == N // 2
    with pytest.raises(DataError, match="or their order"):
        validation.each(len)


def test_searches_take_lazy_tables_whose_order_is_fixed(tmp_path: Path) -> None:
    arrow = pa.table(table())
    pq.write_table(arrow, tmp_path / "rows.parquet")
    name = "partition search"
    one = fit_table(MODELS[name], schema(), arrow)
    relation = duckdb.sql(f"select * from '{tmp_path}/rows.parquet' order by file_row_number")
    for lazy in (pl.scan_parquet(tmp_path / "rows.parquet"), relation):
        assert grid_steps(one, fit_table(MODELS[name], schema(), stream(lazy))) <= 1.0


def test_nothing_of_a_row_and_no_key_is_in_what_logs_show() -> None:
    source = stream(pl.DataFrame(table())).source(ChunkEncoder(schema()))
    (unit,) = source.handles
    chunk = next(unit.chunks())
    assert repr(chunk) == "Chunk(start=0)"
    for shown in (repr(unit), repr(source.chosen(np.ones(N, dtype=np.bool_)).handles)):
        assert repr(unit.cutter.key) not in shown
        assert "array" not in shown
        assert "┌" not in shown
