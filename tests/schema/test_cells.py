"""Cells as numbers: each by itself, also in how long it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privet.schema import cells
from privet.schema.tables import Batch


def test_one_word_among_numbers_slows_only_its_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that is read another way for the sake of one cell tells of the cell by its time."""
    import narwhals.stable.v2 as nw

    slowly: list[Any] = []
    plain = cells.number_of
    monkeypatch.setattr(cells, "number_of", lambda cell: slowly.append(cell) or plain(cell))
    texts = [str(i) for i in range(10_000)]
    expected = np.arange(10_000.0)
    texts[5_000], expected[5_000] = "a word", np.nan
    column = nw.from_native(pa.table({"a": texts}), eager_only=True)
    np.testing.assert_array_equal(Batch(column).cells("a").numbers(), expected)
    assert 0 < len(slowly) <= cells.FEW < 1_000
