"""Tables: declared encodings read nothing from the rows, and the made-up census is what it says."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from privet import datasets
from privet.errors import DeclarationError, MissingExtra
from reproduce import tables
from reproduce.tables.columns import Bins, Column, Groups, Number, each

ENCODINGS = {
    "ADULT": (tables.ADULT, 31),
    "ADULT_FULL": (tables.ADULT_FULL, 103),
    "KDDCUP99": (tables.KDDCUP99, 43),
    "KDDCUP99_FULL": (tables.KDDCUP99_FULL, 121),
}
LOADERS = {
    "adult": tables.adult,
    "kddcup99_10pct": tables.kddcup99,
    "mnist": tables.mnist,
}


def needs(name: str) -> pytest.MarkDecorator:
    folder = os.environ.get("PRIVET_DATA")
    present = folder is not None and (Path(folder) / f"{name}.parquet").is_file()
    return pytest.mark.skipif(not present, reason=f"{name}.parquet is not in PRIVET_DATA")


# -- the made-up census ------------------------------------------------------------------------


def test_census_rows_are_on_the_unit_sphere_and_named() -> None:
    x, y = datasets.census_like(2_000)
    assert x.shape == (2_000, len(datasets.CENSUS_COLUMNS)) == (2_000, 105)
    assert len(set(datasets.CENSUS_COLUMNS)) == 105
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-12)
    assert set(np.unique(y)) == {0, 1}
    assert 12.0 < (x > 0).sum(axis=1).mean() < 14.0


def test_census_is_seeded() -> None:
    x, y = datasets.census_like(50, seed=3)
    same_x, same_y = datasets.census_like(50, seed=3)
    other_x, _ = datasets.census_like(50, seed=4)
    assert np.array_equal(x, same_x)
    assert np.array_equal(y, same_y)
    assert not np.array_equal(x, other_x)


def test_census_can_be_learned_but_not_by_guessing() -> None:
    x, y = datasets.census_like(16_000, seed=1)
    assert 0.22 < y.mean() < 0.28
    model = LogisticRegression(C=10.0, max_iter=300).fit(x[:12_000], y[:12_000])
    assert 0.83 < model.score(x[12_000:], y[12_000:]) < 0.89


# -- encodings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoding_has_distinct_names(name: str) -> None:
    encoding, columns = ENCODINGS[name]
    names = tables.feature_names(encoding)
    assert len(names) == len(set(names)) == columns


def sample_values(column: Column, n: int) -> Any:
    generator = np.random.default_rng(0)
    if isinstance(column, Groups):
        return generator.choice([*column._home, "undeclared"], size=n)
    return generator.integers(-5, 200_000, size=n)


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_row_is_encoded_alone_and_has_norm_one(name: str) -> None:
    encoding, columns = ENCODINGS[name]
    table = {key: sample_values(column, 40) for key, column in encoding.items()}
    x = tables.encode(table, encoding)
    assert x.shape == (40, columns)
    assert (x >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-12)
    alone = {key: values[7:8] for key, values in table.items()}
    assert np.array_equal(tables.encode(alone, encoding)[0], x[7])


def test_a_number_is_clipped_to_its_bounds() -> None:
    values = np.array([-3, 17, 90, 1000])
    assert Number(17, 90).encode(values)[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0]
    log = Number(0, 1e9, logarithm=True).encode(np.array([0, 10**9, 10**12], dtype=np.int64))
    np.testing.assert_allclose(log[:, 0], [0.0, 1.0, 1.0])
    small = Number(0, 255).encode(np.array([255, 0], dtype=np.uint8))
    assert small[:, 0].tolist() == [1.0, 0.0]


def test_bins_hold_their_lower_edge() -> None:
    column = Bins((25, 35))
    assert column.encode(np.array([24, 25, 34, 35])).argmax(axis=1).tolist() == [0, 1, 1, 2]
    assert column.names() == ("below 25", "from 25", "from 35")


def test_undeclared_categories_take_the_rest_or_nothing() -> None:
    values = np.array(["a", "b", "c"])
    assert each("a b").encode(values).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert Groups({"ab": "a b"}, "rest").encode(values).tolist() == [[1, 0], [1, 0], [0, 1]]


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("folder", [None, "", "/nowhere"])
def test_a_missing_file_says_what_to_fetch(
    name: str, folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if folder is None:
        monkeypatch.delenv("PRIVET_DATA", raising=False)
    else:
        monkeypatch.setenv("PRIVET_DATA", folder)
    with pytest.raises(DeclarationError, match=rf"PRIVET_DATA .*{name}\.parquet.*http"):
        LOADERS[name]()


def test_missing_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "adult.parquet").touch()
    monkeypatch.setenv("PRIVET_DATA", str(tmp_path))
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="extra 'parquet'"):
        tables.adult()


@needs("adult")
def test_adult_has_the_papers_rows_and_declared_categories() -> None:
    columns, y = tables.adult()
    assert len(y) == 45_222
    assert y.sum() == 11_208
    x = tables.encode(columns, tables.ADULT)
    assert ((x > 0).sum(axis=1) == 8).all()
    for name, column in tables.ADULT_FULL.items():
        if isinstance(column, Groups):
            assert (column.encode(columns[name]).sum(axis=1) == 1).all(), name


@needs("kddcup99_10pct")
def test_kddcup99_lies_within_its_declared_categories() -> None:
    columns, kinds = tables.kddcup99()
    assert len(kinds) == 494_021
    assert len(np.unique(kinds)) == 23
    for name, column in tables.KDDCUP99_FULL.items():
        if isinstance(column, Groups):
            assert (column.encode(columns[name]).sum(axis=1) == 1).all(), name


@needs("mnist")
def test_mnist_has_its_standard_split() -> None:
    pixels, digits, train = tables.mnist()
    assert pixels.shape == (70_000, 784)
    assert pixels.dtype == np.uint8
    assert train.sum() == 60_000
    assert set(np.unique(digits)) == set(range(10))
