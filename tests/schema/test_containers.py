"""Every container gives the same rows, files are read in batches, and no error quotes a cell."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privet.errors import DataError
from privet.schema import Categorical, Label, Numeric, Person, Schema
from privet.schema import tables as opened
from tests.schema.tables import CONTAINERS, ODD, Table, csv_file, parquet_file

pa = pytest.importorskip("pyarrow")

SCHEMA = Schema(
    {
        "size": Numeric(-10, 10, missing=-3),
        "count": Numeric(0, 100, log=True),
        "ward": Categorical(["A", "B", "C d"]),
        "code": Categorical([1, 2, 3], other=False),
        "smoker": Categorical([False, True]),
    },
    Label("ill", ["no", "yes"], missing="yes"),
    Person("who", 2),
)
CANARY = "canary-7183"


def lists(cells: st.SearchStrategy[Any], n: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | cells, min_size=n, max_size=n)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A table whose columns have one type each, as a database would have it."""
    n = draw(st.integers(1, 7))
    words = st.text(ODD.replace("\r", ""), max_size=5)
    cells = {
        "size": st.floats(-20, 20) | st.sampled_from([math.inf, -math.inf, math.nan]),
        "count": st.integers(-5, 200),
        "ward": st.sampled_from(["A", "B", "C d", " A", "a"]) | words,
        "code": st.integers(0, 4),
        "smoker": st.booleans(),
        "ill": st.sampled_from(["no", "yes", "YES"]) | words,
        "who": st.sampled_from(["p", "q"]),
    }
    table = {name: draw(lists(kind, n)) for name, kind in cells.items()}
    return {**table, "unused": [CANARY] * n}


def by_hand(table: Table) -> tuple[np.ndarray[Any, Any], list[str]]:
    """The encoding again, one cell at a time."""
    rows, labels, seen = [], [], {}
    for i in range(len(table["ill"])):
        cell = {name: cells[i] for name, cells in table.items()}
        size = -3.0 if cell["size"] is None or math.isnan(cell["size"]) else cell["size"]
        count = math.sqrt(101) - 1 if cell["count"] is None else min(max(cell["count"], 0), 100)
        row = [min(max(size / 10, -1), 1), 2 * math.log1p(count) / math.log(101) - 1]
        ward = (cell["ward"] or "").strip()
        row += [ward == "A", ward == "B", ward == "C d", ward not in ("A", "B", "C d")]
        row += [cell["code"] == code for code in (1, 2, 3)]
        row += [cell["smoker"] is False, cell["smoker"] is True, cell["smoker"] is None]
        seen[cell["who"]] = seen.get(cell["who"], 0) + 1
        good = (cell["ill"] or "").strip() in ("no", "yes")
        good = good and cell["who"] is not None and seen[cell["who"]] <= 2
        rows.append(np.array(row, dtype=float) / math.sqrt(5) * good)
        labels.append(cell["ill"].strip() if good else "yes")
    return np.array(rows), labels


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_gives_the_same_rows(name: str, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("tables")

    @given(tables())
    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    def check(table: Table) -> None:
        x, y = SCHEMA.encode(CONTAINERS[name](table, folder), as_rows=True)
        rows, labels = by_hand(table)
        assert x == pytest.approx(rows, abs=1e-5)
        assert y.tolist() == labels
        arrow = SCHEMA.encode(CONTAINERS["arrow_table"](table, folder), as_rows=True)
        assert np.array_equal(x, arrow.x)

    check()


@pytest.mark.parametrize("make", [csv_file, parquet_file])
def test_files_are_read_in_batches_into_one_array(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 500
    table = {
        "size": [i / 50 for i in range(n)],
        "count": [i % 90 for i in range(n)],
        "ward": ["ABx"[i % 3] for i in range(n)],
        "code": [i % 4 for i in range(n)],
        "smoker": [i % 2 == 0 for i in range(n)],
        "ill": [["no", "yes", "?"][i % 3] for i in range(n)],
        "who": [str(i // 3) for i in range(n)],
    }
    path = make(table, tmp_path)
    whole = SCHEMA.encode(path, as_rows=True)
    monkeypatch.setattr(opened, "BATCH", 7)
    monkeypatch.setattr("privet.schema.csv_files.BLOCK", 600)
    batches = [len(batch) for batch in opened.open_table(path).batches(["size"])]
    assert len(batches) > 10
    assert sum(batches) == n
    small = SCHEMA.encode(path, dtype=np.float32, as_rows=True)
    assert np.array_equal(small.x, whole.x.astype(np.float32))
    assert small.y.tolist() == whole.y.tolist()
    rows, labels = by_hand(table)
    assert whole.x == pytest.approx(rows, abs=1e-5)
    assert whole.y.tolist() == labels


def test_a_row_of_a_csv_file_cannot_change_how_another_is_read(tmp_path: Path) -> None:
    """Readers that guess types turn 01 into 1 unless some row holds a text."""
    schema = Schema({"code": Categorical(["01", "1"])}, Label("y", ["a", "b"]))
    for last in ("1", "x"):
        path = tmp_path / "codes.csv"
        path.write_text(f"code,y\n01,a\n1,b\n{last},a\n")
        assert schema.encode(path, as_rows=True).x[:2].argmax(axis=1).tolist() == [0, 1]


def test_a_blank_line_is_a_row_where_it_can_only_be_one(tmp_path: Path) -> None:
    schema = Schema({"a": Numeric(0, 1)}, Label("y", [0, 1]))
    path = tmp_path / "one.csv"
    path.write_text("a\n1\n\n0\n")
    assert schema.encode_features(path)[:, 0] == pytest.approx([1, 0, -1], abs=1e-5)


def test_an_empty_csv_file_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text(",".join([*SCHEMA.columns, "ill", "who"]) + "\n")
    assert SCHEMA.encode(path, as_rows=True).x.shape == (0, SCHEMA.width)


def test_decimals_large_numbers_and_empty_columns() -> None:
    from decimal import Decimal

    schema = Schema({"a": Numeric(0, 2), "b": Categorical([2**53 + 1])}, Label("y", [0, 1]))
    table = pa.table({"a": [Decimal("1.5"), None], "b": [2**53 + 1, 2**53], "y": [0, 1]})
    x = schema.encode(table, as_rows=True).x / schema.factor
    assert x.tolist() == [[0.5, 1, 0], [0, 0, 1]]
    empty = pa.table({"a": pa.nulls(2), "b": pa.nulls(2), "y": [0, 1]})
    assert (schema.encode(empty, as_rows=True).x / schema.factor).tolist() == [[0, 0, 1]] * 2


@pytest.mark.parametrize("name", CONTAINERS)
def test_whole_numbers_beyond_floats_are_clipped_and_not_quoted(name: str, tmp_path: Path) -> None:
    """Arrow's own cast to floats refuses 2**53 + 1, and quotes it."""
    schema = Schema({"a": Numeric(0, 2**53), "b": Categorical([2**53 + 1])}, Label("y", [0, 1]))
    table = {"a": [2**53 + 1, 0], "b": [2**53 + 1, 2**53], "y": [0, 1]}
    x = schema.encode(CONTAINERS[name](table, tmp_path), as_rows=True).x / schema.factor
    assert x.tolist() == [[1, 1, 0], [-1, 0, 1]]


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_boolean_is_the_same_number_in_every_container(name: str, tmp_path: Path) -> None:
    """A CSV file has only the words."""
    schema = Schema({"a": Numeric(0, 2), "b": Categorical([False, True])}, Label("y", [0, 1]))
    table = {"a": [True, False], "b": [True, False], "y": [False, True]}
    x, y = schema.encode(CONTAINERS[name](table, tmp_path), as_rows=True)
    assert (x / schema.factor).tolist() == [[0, 0, 1, 0], [-1, 1, 0, 0]]
    assert y.tolist() == [0, 1]


def test_very_long_whole_numbers_of_polars() -> None:
    polars = pytest.importorskip("polars")
    schema = Schema({"a": Numeric(0, 2), "b": Categorical([1, 2])}, Label("y", [0, 1]))
    long = polars.Series([2**100, None, 1], dtype=polars.Int128)
    x = (
        schema.encode(polars.DataFrame({"a": long, "b": long, "y": [0, 1, 1]}), as_rows=True).x
        / schema.factor
    )
    assert x.tolist() == [[1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]]


def dates_in_disguise() -> list[Any]:
    import datetime

    pandas = pytest.importorskip("pandas")
    days = [datetime.date(1983, 7, 1), None]
    return [
        pandas.DataFrame({"a": pandas.Series(pandas.to_datetime(days)).astype("category")}),
        pandas.DataFrame({"a": pandas.period_range("1983-07-01", periods=2)}),
        pandas.DataFrame({"a": pandas.interval_range(1983, 1985)}),
        pa.table({"a": pa.array(days).dictionary_encode()}),
    ]


@pytest.mark.parametrize("place", range(4))
def test_dates_are_refused_as_categories_too(place: int) -> None:
    """They were read as missing, every one, without a word."""
    table = dates_in_disguise()[place]
    for column in (Numeric(0, 2), Categorical([1, 2])):
        with pytest.raises(DataError, match="Column 'a' holds") as error:
            Schema({"a": column}, Label("y", [0, 1])).encode_features(table)
        assert "1983" not in str(error.value)


def test_columns_of_no_use_are_all_named_at_once() -> None:
    import datetime

    day = [datetime.date(1983, 7, 1)]
    schema = Schema({"a": Numeric(0, 2), "b": Numeric(0, 2)}, Label("y", [0, 1]))
    with pytest.raises(DataError, match="Column 'a' holds Date, column 'b' holds List"):
        schema.encode(pa.table({"a": day, "b": [[1]], "y": [0]}), as_rows=True)


# -- errors ------------------------------------------------------------------------------------


def bad_file(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


HEADER = b"size,count,ward,code,smoker,ill,who\n"
ROW = b"1,2,A,1,true,yes," + CANARY.encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b""),
        ("t.csv", HEADER + ROW + b"3," + CANARY.encode() + b"\n"),
        ("t.csv", HEADER + ROW + ROW.strip() + b",8\n"),
        ("t.csv", HEADER + b"1,2,\xff\xfe,1,true,yes," + CANARY.encode() + b"\n"),
        ("t.csv", b"\xff\xff\n" + ROW),
        ("t.csv", b"size,size\n1," + CANARY.encode() + b"\n"),
        ("t.parquet", b""),
        ("t.parquet", b"PAR1" + CANARY.encode() + b"PAR1"),
        ("t.txt", HEADER + ROW),
    ],
)
def test_a_broken_file_is_refused_without_quoting_it(
    tmp_path: Path, name: str, content: bytes
) -> None:
    with pytest.raises(DataError) as error:
        SCHEMA.encode(bad_file(tmp_path, name, content), as_rows=True)
    assert CANARY not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


@pytest.mark.parametrize("rows", [0, 3, 4_000])  # beyond the first block too
def test_a_row_of_another_length_is_named_by_its_number(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privet.schema.csv_files.BLOCK", 1 << 14)
    path = bad_file(tmp_path, "t.csv", HEADER + rows * ROW + b"3," + CANARY.encode() + b"\n")
    with pytest.raises(DataError, match=f"row {rows + 2}, counting the first line, has 2 cells"):
        SCHEMA.encode(path, as_rows=True)


def test_a_parquet_file_cut_or_flipped_is_refused(tmp_path: Path) -> None:
    table = {name: [CANARY] * 50 for name in [*SCHEMA.columns, "ill", "who"]}
    whole = Path(parquet_file(table, tmp_path)).read_bytes()
    for cut in range(0, len(whole), 97):
        with pytest.raises(DataError) as error:
            SCHEMA.encode(bad_file(tmp_path, "cut.parquet", whole[:cut]), as_rows=True)
        assert CANARY not in str(error.value)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", str(tmp_path), "no.parquet"):
        with pytest.raises(DataError, match="There is no file"):
            SCHEMA.encode(path, as_rows=True)


def test_a_relation_that_cannot_be_computed_is_refused_without_quoting_it() -> None:
    duckdb = pytest.importorskip("duckdb")
    schema = Schema({"a": Numeric(0, 1)}, Label("y", [0, 1]))
    query = f"select cast(v as integer) as a, 1 as y from (values ('{CANARY}')) t(v)"
    with pytest.raises(DataError, match="cannot be computed") as error:
        schema.encode(duckdb.connect().sql(query), as_rows=True)
    assert CANARY not in str(error.value)


def test_importing_is_light() -> None:
    heavy = ("narwhals", "pyarrow", "pandas", "sklearn", "scipy")
    code = (
        "import sys\nfrom privet import Schema, Numeric, Categorical, Label\n"
        f"assert not [name for name in {heavy!r} if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
