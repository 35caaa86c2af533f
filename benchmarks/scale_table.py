"""Writes the embedded census table to a folder of Parquet files, a million people in each.

    python benchmarks/scale_table.py folder --rows 100000000 [--wide]

The 40 encoded columns are those of ``scale_schema``; ``--wide`` adds a birthplace and 28 scores of
a survey, 119 encoded columns in all. File ``i`` is made from seed ``i``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privet.datasets import census_schema, census_table
from privet.schema import Categorical, Column, Numeric, Schema

FILE_ROWS, GROUP_ROWS = 1_000_000, 262_144
NARROW = ("age", "schooling", "occupation", "employer", "marriage")
NUMBERS = ("hours", "children", "commute", "capital_income")
BIRTHPLACES = tuple(f"{i:02d}" for i in range(1, 31))
SCORES = tuple(f"score_{i:02d}" for i in range(1, 29))


def scale_schema(*, wide: bool = False) -> Schema:
    """40 encoded columns of the census table, or 119."""
    census = census_schema()
    names = census.columns if wide else (*NARROW, *NUMBERS)
    columns = {name: _without_others(census.columns[name]) for name in names}
    if wide:
        columns["birthplace"] = Categorical(BIRTHPLACES, other=False)
        columns |= {name: Numeric(-4, 4) for name in SCORES}
    return Schema(columns, census.label)


def _without_others(column: Column) -> Column:
    return replace(column, other=False) if isinstance(column, Categorical) else column


def people(n: int, seed: int, *, wide: bool = False) -> pa.Table:
    """``n`` people as an Arrow table; words are dictionaries, which keeps the files small."""
    columns = {}
    for name, values in census_table(n, seed).items():
        array = pa.array(values)
        columns[name] = array.dictionary_encode() if values.dtype == object else array
    if wide:
        generator = np.random.default_rng([seed, 1])
        places = pa.array(generator.integers(0, len(BIRTHPLACES), n, dtype=np.int32))
        columns["birthplace"] = pa.DictionaryArray.from_arrays(places, list(BIRTHPLACES))
        scores = generator.normal(size=(len(SCORES), n)).astype(np.float32)
        columns |= dict(zip(SCORES, map(pa.array, scores), strict=True))
    return pa.table(columns)


def write(folder: Path, rows: int, *, wide: bool = False) -> None:
    """The folder, a file for each million rows; files that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"part-{number:05d}.parquet"
        if path.exists():
            continue
        made = people(min(FILE_ROWS, rows - start), number, wide=wide)
        written = path.with_suffix(".partial")
        # a dictionary of numbers that are all different is as long as they are
        words = [name for name in made.column_names if name not in SCORES]
        pq.write_table(made, written, row_group_size=GROUP_ROWS, use_dictionary=words)
        written.rename(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--wide", action="store_true")
    given = parser.parse_args()
    write(given.folder, given.rows, wide=given.wide)
