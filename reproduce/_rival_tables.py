"""The tables of ``rivals.py``: raw columns, a schema written without looking, labels by place.

Public files through ``PRIVET_DATA``, tables that come with scikit-learn, and made-up ones with many
classes or few rows. Bounds are those of each file's documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import tables
from _common import HERE, SEED, TENTHS
from numpy.typing import NDArray
from tables.columns import Column as Encoded
from tables.columns import Number

from privet import Schema
from privet.schema import Categorical, Column, Label, Numeric

MOST_ROWS, MOST_TEST = 12_000, 3_000
LABEL = "label"


@dataclass(frozen=True)
class RawTable:
    """Columns with the label among them, and what is declared of them."""

    name: str
    columns: dict[str, NDArray[Any]]
    schema: Schema

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.columns[self.schema.label.name])

    @property
    def classes(self) -> int:
        """How many are declared."""
        return len(self.schema.label.classes)

    @cached_property
    def encoded(self) -> tuple[NDArray[Any], NDArray[np.int_]]:
        """Rows of the unit ball, and classes by place."""
        x, y = self.schema.encode(self.columns)
        places = {value: place for place, value in enumerate(self.schema.label.classes)}
        return x, np.array([places[value] for value in y.tolist()])

    @cached_property
    def _bent(self) -> dict[Schema, NDArray[Any]]:
        return {}

    def encoded_by(self, schema: Schema) -> NDArray[Any]:
        """Rows by this schema with knots, or by another one of the same columns."""
        if schema not in self._bent:
            self._bent[schema] = schema.encode(self.columns).x
        return self._bent[schema]

    def split(self, draw: int) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
        """Training and test rows of one draw: a quarter for the test, at most 3,000."""
        order = np.random.default_rng(SEED + draw).permutation(self.n)
        test = min(self.n // 4, MOST_TEST)
        return order[test:], order[:test]


def raw(name: str, columns: dict[str, Any], y: Any, declared: dict[str, Column]) -> RawTable:
    """At most 12,000 random rows of a table whose classes are 0, 1, ..."""
    y = np.asarray(y, dtype=int)
    kept = np.random.default_rng(SEED).permutation(len(y))[:MOST_ROWS]
    label = Label(LABEL, tuple(range(int(y.max()) + 1)))
    cells = {key: np.asarray(columns[key])[kept] for key in declared}
    return RawTable(name, {**cells, LABEL: y[kept]}, Schema(declared, label))


# -- public files ----------------------------------------------------------------------------------


def adult() -> RawTable:
    """UCI Adult by ``examples/adult.toml``."""
    columns, y = tables.adult()
    kept = np.random.default_rng(SEED).permutation(len(y))[:MOST_ROWS]
    schema = Schema.from_toml(HERE.parent / "examples" / "adult.toml")
    cells = {key: columns[key][kept] for key in schema.columns}
    classes = np.array(schema.label.classes)
    return RawTable("Adult", {**cells, schema.label.name: classes[y[kept]]}, schema)


def declared_as(encoding: dict[str, Encoded], columns: dict[str, Any]) -> dict[str, Column]:
    """A reproduction's encoding as declarations of a schema."""
    out: dict[str, Column] = {}
    for key, how in encoding.items():
        if isinstance(how, Number):
            out[key] = Numeric(how.low, how.high, log=how.logarithm)
        else:
            named = [name for name in how.names() if name != "another"]
            out[key] = Categorical(tuple(named))
    return out


def kdd99() -> RawTable:
    """KDD Cup 1999, normal or attack, in the full file's shares: numbers and one-hot groups."""
    columns, kinds = tables.kddcup99()
    weight = np.where(np.isin(kinds, TENTHS), 10.0, 1.0)
    rng = np.random.default_rng(SEED)
    some = rng.choice(len(kinds), size=MOST_ROWS, replace=False, p=weight / weight.sum())
    columns = {key: values[some] for key, values in columns.items()}
    declared = declared_as(tables.KDDCUP99, columns)
    return raw("KDD99", columns, kinds[some] == "normal", declared)


def forests() -> list[RawTable]:
    """Covertype: ten scaled numbers and two classes; soils and areas too and seven classes."""
    columns, y = tables.covertype()
    numbers = declared_as(tables.COVERTYPE_NUMBERS, columns)
    for name, count in (("Wilderness_Area", 4), ("Soil_Type", 40)):
        hot = np.stack([columns[f"{name}{i}"] for i in range(1, count + 1)], axis=1)
        columns[name] = hot.argmax(axis=1)
    groups = {
        "Wilderness_Area": Categorical(tuple(range(4)), other=False),
        "Soil_Type": Categorical(tuple(range(40)), other=False),
    }
    two = raw("Covertype numbers", columns, y == 2, numbers)
    return [two, raw("Covertype seven", columns, y - 1, numbers | groups)]


def mnist() -> RawTable:
    """MNIST at 7 x 7 pixels, ten classes."""
    pixels, y, _ = tables.mnist()
    small = pixels.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(len(y), -1)
    some = np.random.default_rng(SEED).permutation(len(y))[:8_000]
    return pixel_table("MNIST 7x7", small[some], y[some], 255.0)


def pixel_table(name: str, pixels: NDArray[Any], y: Any, high: float) -> RawTable:
    """Every pixel a number."""
    columns = {f"p{i:02d}": pixels[:, i] for i in range(pixels.shape[1])}
    return raw(name, columns, y, {key: Numeric(0.0, high) for key in columns})


# -- tables of scikit-learn ------------------------------------------------------------------------

# Round numbers around the ranges that scikit-learn's documentation prints.
CANCER = (30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1, 3, 5, 22, 550, 0.04, 0.15, 0.4, 0.06)
CANCER += (0.08, 0.03, 40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25)
WINE = (15, 6, 3.5, 30, 165, 4, 5.5, 0.7, 3.6, 13, 1.8, 4, 1700)


def packaged() -> list[RawTable]:
    """Digits, breast cancer and wine."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    digits = load_digits()
    out = [pixel_table("Digits", digits.data, digits.target, 16.0)]
    for name, load, highs in (
        ("Breast cancer", load_breast_cancer, CANCER),
        ("Wine", load_wine, WINE),
    ):
        bunch = load()
        names = [str(text).replace("/", " ") for text in bunch.feature_names]
        columns = dict(zip(names, bunch.data.T, strict=True))
        declared: dict[str, Column] = {
            key: Numeric(0.0, high) for key, high in zip(names, highs, strict=True)
        }
        out.append(raw(name, columns, bunch.target, declared))
    return out


# -- made-up tables --------------------------------------------------------------------------------


def numbers_made(name: str, n: int, d: int, classes: int, spread: float) -> RawTable:
    """Classes around centers in [-1, 1]^d with correlated noise; bounds twice as wide as needed."""
    rng = np.random.default_rng(SEED + classes + d)
    y = rng.integers(classes, size=n)
    centers = rng.uniform(-1.0, 1.0, (classes, d))
    mix = rng.standard_normal((d, d)) / np.sqrt(d)
    x = centers[y] + spread * rng.standard_normal((n, d)) @ mix
    columns = {f"x{j}": x[:, j] for j in range(d)}
    return raw(name, columns, y, {key: Numeric(-4.0, 4.0) for key in columns})


def groups_made(name: str, n: int, groups: int, width: int, classes: int) -> RawTable:
    """One-hot groups whose categories depend on the class and on a hidden trait of the row.

    Without the trait columns would be independent in each class, which is naive Bayes' own model.
    """
    rng = np.random.default_rng(SEED + classes + groups)
    y, trait = rng.integers(classes, size=n), rng.integers(3, size=n)
    columns, declared = {}, {}
    for g in range(groups):
        by_class = rng.dirichlet(np.full(width, 0.6), size=(classes, 1))
        chances = by_class + rng.dirichlet(np.full(width, 0.6), size=(1, 3))
        steps = (chances / 2.0).cumsum(axis=2)[y, trait]
        cell = (rng.uniform(size=(n, 1)) > steps).sum(axis=1)
        columns[f"g{g}"] = np.minimum(cell, width - 1)
        declared[f"g{g}"] = Categorical(tuple(range(width)), other=False)
    return raw(name, columns, y, declared)


def made() -> list[RawTable]:
    """Six, ten and twenty-six classes; two tables of 700 rows."""
    return [
        numbers_made("Made, six classes", 10_000, 20, 6, 1.0),
        groups_made("Made, ten classes", 10_000, 8, 6, 10),
        numbers_made("Made, twenty-six classes", 12_000, 16, 26, 0.7),
        numbers_made("Made, 700 rows of numbers", 700, 8, 2, 1.0),
        groups_made("Made, 700 rows of groups", 700, 5, 4, 2),
    ]


def rival_tables() -> list[RawTable]:
    """All of them."""
    return [adult(), kdd99(), *forests(), mnist(), *packaged(), *made()]
