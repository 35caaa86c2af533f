"""Random schemas and tables, polite and hostile, and every container a table may come in."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import tests.strategies  # noqa: F401  (loads the settings of hypothesis)
from privet._names import alike, is_safe
from privet.schema import Categorical, Column, Label, Numeric, Person, Schema

#: characters that formats, parsers and comparisons treat in a special way
ODD = "aAbTrue019.,;:=-+ []{}()#?'\"\\/_%&<>~^$*|\t\n\r\x01\x1b\x7f\x85\xa0\u2028éß\u0130１☃😀"
TEXT = st.text(ODD, max_size=8)
#: texts of one line, and of several as cells have them
PLAIN = TEXT.filter(lambda text: bool(text.strip()) and text.strip() != "(other)").filter(is_safe)
LINES = TEXT.filter(lambda text: bool(text.strip()) and is_safe(" ".join(text.split())))
BOUND = st.floats(-1e99, 1e99) | st.integers(-1000, 1000).map(float)
MARKS = st.sampled_from([False, True, "confirmed"])
WHOLE = st.integers(-(2**40), 2**40)


@st.composite
def numerics(draw: st.DrawFn) -> Numeric:
    log = draw(st.booleans())
    side = st.floats(0, 1e6) | st.just(0.0) if log else BOUND
    low, high = sorted([draw(side), draw(side)])
    # a half of the least number above zero is zero, and would be no scale
    close = (high - low) / 2 <= 0 or (log and math.log1p(high) - math.log1p(low) < 1e-9)
    high = low + abs(low) + 1 if close else high
    missing = draw(st.none() | st.floats(low, high))
    knots = draw(st.none() | st.integers(3, 6))
    return Numeric(low, high, log=log, missing=missing, from_data=draw(MARKS), knots=knots)


def distinct(values: st.SearchStrategy[Any], fewest: int = 1) -> st.SearchStrategy[tuple[Any, ...]]:
    listed = st.lists(values, min_size=fewest, max_size=5, unique_by=lambda v: str(v).strip())
    seen = listed.filter(lambda found: alike(map(str.strip, map(str, found)), case=True) is None)
    return seen.map(tuple).filter(lambda listed: listed != ("?",))


CATEGORIES = distinct(LINES) | distinct(WHOLE) | st.just((False, True))
CATEGORICALS = st.builds(Categorical, CATEGORIES, other=st.booleans(), from_data=MARKS)
COLUMNS: st.SearchStrategy[Column] = numerics() | CATEGORICALS


@st.composite
def schemas(draw: st.DrawFn, names: st.SearchStrategy[str] = PLAIN) -> Schema:
    called = draw(
        st.lists(names, min_size=3, max_size=7, unique=True).filter(
            lambda called: called[0] != "?" and alike(called) is None
        )
    )
    label, person, *columns = called
    classes = draw(distinct(PLAIN, 2) | distinct(WHOLE, 2) | st.just((False, True)))
    return Schema(
        {name: draw(COLUMNS) for name in columns},
        Label(label, classes, draw(st.none() | st.sampled_from(classes)), draw(st.booleans())),
        draw(st.none() | st.builds(Person, st.just(person), st.integers(1, 3))),
        draw(st.sampled_from(["scaled", "unit"])),
    )


#: Anything that could stand in a cell, except dates (whose columns are refused by their type).
HOSTILE = (
    st.none()
    | st.floats()
    | st.floats(width=32).map(np.float32)
    | st.integers()
    | st.just(10**400)
    | st.booleans()
    | st.text(ODD + "\0", max_size=6)
    | st.sampled_from(["inf", "-inf", "nan", "1e400", " 7 ", "1_0", "0x1", "12abc", "", "１"])
    | st.sampled_from([b"1", [1], (1,), {"a": 1}, Decimal("1.5"), Decimal("NaN"), object])
)


def near(column: Column | Label) -> st.SearchStrategy[Any]:
    """Cells that the column knows, and some that it does not."""
    if isinstance(column, Numeric):
        return st.floats(column.low, column.high) | HOSTILE
    values = column.classes if isinstance(column, Label) else column.categories
    return st.sampled_from(values) | st.sampled_from(values).map(str) | HOSTILE


@st.composite
def hostile_tables(draw: st.DrawFn, schema: Schema, most: int = 8) -> dict[str, list[Any]]:
    n = draw(st.integers(0, most))
    kinds: dict[str, st.SearchStrategy[Any]] = {n: near(c) for n, c in schema.columns.items()}
    kinds[schema.label.name] = near(schema.label)
    if schema.person is not None:
        kinds[schema.person.column] = st.sampled_from([None, "a", "b", 1, "1", math.nan])
    return {name: draw(st.lists(kind, min_size=n, max_size=n)) for name, kind in kinds.items()}


# -- containers --------------------------------------------------------------------------------

Table = dict[str, list[Any]]


def pandas_table(table: Table, folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(table)


def pandas_nullable(table: Table, folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(table).convert_dtypes()


def pandas_arrow(table: Table, folder: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return arrow_table(table, folder).to_pandas(types_mapper=pandas.ArrowDtype)


def pandas_object(table: Table, folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(table, dtype=object)


def pandas_category(table: Table, folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(table).astype("category")


def polars_table(table: Table, folder: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(table)


def polars_lazy(table: Table, folder: Path) -> Any:
    return polars_table(table, folder).lazy()


def polars_category(table: Table, folder: Path) -> Any:
    polars = pytest.importorskip("polars")
    return polars_table(table, folder).with_columns(
        polars.col(polars.String).cast(polars.Categorical)
    )


def arrow_table(table: Table, folder: Path) -> Any:
    return pytest.importorskip("pyarrow").table(table)


def arrow_chunks(table: Table, folder: Path) -> Any:
    whole = arrow_dictionary(table, folder)
    parts = [
        arrow_dictionary({k: v[i : i + 2] for k, v in table.items()}, folder).cast(whole.schema)
        for i in range(0, len(whole), 2)
    ]
    return pytest.importorskip("pyarrow").concat_tables(parts) if parts else whole


def arrow_dictionary(table: Table, folder: Path) -> Any:
    pa = pytest.importorskip("pyarrow")
    made = pa.table(table)
    for i, name in enumerate(made.column_names):
        if made[name].type == pa.string():
            made = made.set_column(i, name, made[name].dictionary_encode())
    return made


def duckdb_relation(table: Table, folder: Path) -> Any:
    return pytest.importorskip("duckdb").connect().from_arrow(arrow_table(table, folder))


def parquet_file(table: Table, folder: Path) -> Any:
    path = folder / "table.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(arrow_table(table, folder), path)
    return path


def csv_file(table: Table, folder: Path) -> Any:
    path = folder / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return str(path)


CONTAINERS: dict[str, Callable[[Table, Path], Any]] = {
    make.__name__: make
    for make in (
        pandas_table,
        pandas_nullable,
        pandas_arrow,
        pandas_object,
        pandas_category,
        polars_table,
        polars_lazy,
        polars_category,
        arrow_table,
        arrow_dictionary,
        arrow_chunks,
        duckdb_relation,
        parquet_file,
        csv_file,
    )
}
