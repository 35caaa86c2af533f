"""Which files of a folder are its table: each once, none left out, or the folder is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from privet import stream
from privet.errors import DataError
from privet.rows.cutting import Cutter
from privet.rows.door import RawStream
from privet.rows.parquet import open_parquet, parquet_units
from privet.rows.sequential import csv_units
from privet.schema import Categorical, Label, Numeric, Schema
from privet.schema.encode import ChunkEncoder
from tests.rows.tables import small_chunks

__all__ = ["small_chunks"]
pytestmark = pytest.mark.usefixtures("small_chunks")

ROWS = 9_000
SCHEMA = Schema(
    {"age": Numeric(0, ROWS), "sex": Categorical(("female", "male"))}, Label("sick", ("no", "yes"))
)
PEOPLE = pa.table(
    {
        "age": np.arange(ROWS, dtype=np.int32),
        "sex": np.where(np.arange(ROWS) % 3 == 0, "female", "male"),
        "sick": np.where(np.arange(ROWS) % 2 == 0, "no", "yes"),
    }
)


def put(folder: Path, *names: str) -> Path:
    """All people in files of one length, in the order of their names."""
    size = ROWS // len(names)
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        part = PEOPLE.slice(number * size, size)
        pq.write_table(part, folder / name, row_group_size=1_000)
    return folder


def ages(table: str | Path | RawStream) -> list[int]:
    """Ages as a fit reads them, rounded back."""
    source = (table if isinstance(table, RawStream) else stream(table)).source(ChunkEncoder(SCHEMA))
    chunks = source.each(lambda chunk: chunk.x[:, 0].copy())
    factor = SCHEMA.factor
    return [round((x / factor + 1.0) * ROWS / 2.0) for x in np.concatenate(chunks).tolist()]


def refused(folder: Path, told: str) -> None:
    """The folder is refused before a row is read, wherever it is opened."""
    for opened in (lambda: stream(folder).opened(), lambda: ages(folder)):
        with pytest.raises(DataError, match=told):
            opened()


def test_links_to_folders_and_files_are_followed(tmp_path: Path) -> None:
    put(tmp_path / "far", "b.parquet", "c/2020.parquet/part.parquet", "c/d.pq")
    folder = tmp_path / "near"
    folder.mkdir()
    (tmp_path / "far" / "b.parquet").rename(folder / "b.parquet")
    (folder / "c").symlink_to(tmp_path / "far" / "c")
    assert ages(folder) == list(range(ROWS))
    (folder / "c").unlink()
    (folder / "c").mkdir()
    (folder / "c" / "1.parquet").symlink_to(tmp_path / "far/c/2020.parquet/part.parquet")
    (folder / "c" / "2.parquet").symlink_to(tmp_path / "far/c/d.pq")
    assert ages(folder) == list(range(ROWS))


def test_csv_files_are_found_as_those_of_parquet_are(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    for name, first in (("a.csv", 0), ("deeper/b.csv", 4_500), (".c.csv", 0), ("_d.csv", 0)):
        pa.csv.write_csv(PEOPLE.slice(first, 4_500), tmp_path / name)
    assert ages(tmp_path) == list(range(ROWS))


def test_a_csv_file_that_is_written_to_while_it_is_read_ends_the_pass(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pa.csv.write_csv(PEOPLE, path)
    (unit,) = csv_units(path, Cutter.of(ChunkEncoder(SCHEMA)))
    pieces = unit.pieces()
    next(pieces)
    os.utime(path, ns=(0, 0))
    with pytest.raises(DataError, match="changed while it was read"):
        list(pieces)


def test_names_that_are_no_data_are_left_out(tmp_path: Path) -> None:
    folder = put(tmp_path, "a.parquet", "b.PARQUET")
    for name in (".a.parquet", "_a.parquet", "_temporary/a.parquet", ".x/a.parquet"):
        put(folder, name)
    (folder / "schema.toml").write_text("")
    (folder / "_SUCCESS").touch()
    assert ages(folder) == list(range(ROWS))


def linked(folder: Path) -> None:
    (folder / "latest.parquet").symlink_to("b.parquet")


def linked_hard(folder: Path) -> None:
    os.link(folder / "a.parquet", folder / "c.parquet")


def linked_folder(folder: Path) -> None:
    put(folder, "deeper/c.parquet")
    (folder / "e").symlink_to("deeper")


def endless(folder: Path) -> None:
    (folder / "deeper").mkdir()
    (folder / "deeper" / "up").symlink_to(folder)


def dangling(folder: Path) -> None:
    (folder / "c.parquet").symlink_to("nowhere")


def own_link(folder: Path) -> None:
    (folder / "c.parquet").symlink_to("c.parquet")


def two_kinds(folder: Path) -> None:
    pa.csv.write_csv(PEOPLE, folder / "c.csv")


def other_ending(folder: Path) -> None:
    (folder / "b.parquet").rename(folder / "b.parq")


def no_ending(folder: Path) -> None:
    (folder / "b.parquet").rename(folder / "000000_0")


def delta(folder: Path) -> None:
    (folder / "_delta_log").mkdir()


def hudi(folder: Path) -> None:
    (folder / ".hoodie").mkdir()


def iceberg(folder: Path) -> None:
    (folder / "metadata").mkdir()
    (folder / "metadata" / "v1.metadata.json").write_text("{}")


def odd_name(folder: Path) -> None:
    os.mkdir(os.fsencode(folder) + b"/sex=\xff")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (linked, "'b.parquet' and 'latest.parquet' are one file"),
        (linked_hard, "'a.parquet' and 'c.parquet' are one file"),
        (linked_folder, "are one file, whose rows would count twice"),
        (endless, "'up' is a link to a folder that it lies in"),
        (dangling, "may be a link to nothing"),
        (own_link, "may be a link to nothing"),
        (two_kinds, "Parquet and CSV files"),
        (other_ending, "'b.parq' is a Parquet file by what it holds"),
        (no_ending, "'000000_0' is a Parquet file by what it holds"),
        (delta, "a table of Delta"),
        (hudi, "a table of Hudi"),
        (iceberg, "a table of Iceberg"),
        (odd_name, "is not UTF-8"),
    ],
)
def test_what_would_count_rows_twice_or_leave_them_out_is_refused(
    tmp_path: Path, spoil: Callable[[Path], None], told: str
) -> None:
    folder = put(tmp_path, "a.parquet", "b.parquet")
    try:
        spoil(folder)
    except OSError:
        pytest.skip("this file system has no such names or links")
    refused(folder, told)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    folder = put(tmp_path / "one", "a.parquet", "b.parquet")
    again = PEOPLE.append_column("age", PEOPLE["age"])
    pq.write_table(again, folder / "b.parquet")
    refused(folder, r"Column 'age' is in 'b\.parquet' twice")
    named = put(tmp_path / "two", "sex=male/a.parquet")
    refused(named, r"Column 'sex' is in 'a\.parquet' and in the names of its folders")


def test_a_cell_that_its_checksum_contradicts_ends_the_fit(tmp_path: Path) -> None:
    """Where a file has checksums; a number that is not compressed decodes whatever it is."""
    path = tmp_path / "a.parquet"
    pq.write_table(
        PEOPLE, path, compression="none", use_dictionary=["sex", "sick"], write_page_checksum=True
    )
    with pq.ParquetFile(path) as file:
        place = file.metadata.row_group(0).column(0)
        middle = place.data_page_offset + place.total_compressed_size // 2
    octets = bytearray(path.read_bytes())
    octets[middle] ^= 1
    path.write_bytes(octets)
    with pytest.raises(DataError, match="damaged"):
        ages(path)
    with pytest.raises(DataError, match="damaged"):
        SCHEMA.encode(path)


@pytest.mark.parametrize("seed", range(5))
def test_units_of_any_row_groups_hold_each_row_once(tmp_path: Path, seed: int) -> None:
    """Also of files and row groups without rows."""
    generator = np.random.default_rng(seed)
    cuts = np.sort(generator.integers(0, ROWS, 7))
    start = 0
    for number, stop in enumerate([*cuts.tolist(), ROWS]):
        with pq.ParquetWriter(tmp_path / f"{number}.parquet", PEOPLE.schema) as file:
            while start < stop:
                rows = min(stop - start, int(generator.integers(0, 900)))
                file.write_table(PEOPLE.slice(start, rows))
                start += rows
    assert ages(tmp_path) == list(range(ROWS))


def test_units_are_made_by_looking_at_each_file_once_or_twice(tmp_path: Path) -> None:
    """To look at all files for each unit takes minutes where there are 10,000 files."""
    files, _ = open_parquet(put(tmp_path, "a.parquet"))
    group: Any = {"path": files[0].path, "known": (0, 0), "schema": files[0].schema, "named": ()}
    many = [type(files[0])(groups=(250_000,) * 4, **group) for _ in range(1_000)]
    visited = 0

    class Counted(list[Any]):
        def __getitem__(self, place: Any) -> Any:
            nonlocal visited
            visited += 1
            return super().__getitem__(place)

    units = parquet_units(Counted(many), Cutter.of(ChunkEncoder(SCHEMA)))
    assert sum(unit.rows for unit in units) == 1_000_000_000
    assert visited <= 2 * (len(units) + len(many))
