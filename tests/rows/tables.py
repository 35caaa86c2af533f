"""Small folders of Parquet files with uneven row groups, and who may read them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet.datasets import census_schema, census_table
from privet.rows import chunks, parquet
from privet.schema import Label, Schema, Target

N = 20_011
#: cut points of the files; the third one is empty, the fourth has one row
FILES = (0, 9_000, 14_500, 14_500, 14_501, N)


def table() -> dict[str, Any]:
    """Made-up people, some of whom have no label."""
    found = census_table(N, seed=3)
    found["income"][::97] = None
    found["marriage"] = np.where(found["marriage"] == "separated", None, found["marriage"])
    return found


def schema(label: str = "income") -> Schema:
    """Numbers and categories; ``label`` may be a column of many classes."""
    whole = census_schema()
    names = ("age", "schooling", "employer", "sex", "hours", "capital_income")
    columns = {name: whole.columns[name] for name in names}
    if label == "income":
        return Schema(columns, whole.label)
    if label == "commute":
        return Schema(columns, Target("commute", 0, 240))
    marriage: Any = whole.columns["marriage"]
    return Schema(columns, Label("marriage", marriage.categories, missing="married"))


def write(folder: Path, rows: pa.Table | None = None) -> Path:
    """The table in files of uneven row groups."""
    rows = pa.table(table()) if rows is None else rows
    folder.mkdir(exist_ok=True)
    for number, (first, last) in enumerate(pairwise(FILES)):
        part = rows.slice(first, last - first)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=1_700 + 900 * number)
    return folder


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks and units from few rows."""
    monkeypatch.setattr(chunks, "MOST_CHUNK_ROWS", 4_096)
    monkeypatch.setattr(parquet, "UNIT_CHUNKS", 1)
