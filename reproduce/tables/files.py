"""Loaders of the papers' tables: raw columns of public files, never copied into the project.

The folder with the files is the value of the environment variable ``PRIVET_DATA``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privet.errors import DeclarationError, MissingExtra

from .columns import Columns

Labels = NDArray[np.int_]

_WHERE = {
    "adult": "UCI Adult (https://archive.ics.uci.edu/dataset/2/adult), 14 features, income, split",
    "kddcup99_10pct": "the KDD Cup 1999 10 % file (https://kdd.ics.uci.edu/databases/kddcup99/), "
    "41 features, label",
    "covertype": "UCI Covertype (https://archive.ics.uci.edu/dataset/31/covertype), 54 features, "
    "Cover_Type",
    "mnist": "MNIST (http://yann.lecun.com/exdb/mnist/), p000..p783, y, split",
}


def _columns(name: str) -> Columns:
    folder = os.environ.get("PRIVET_DATA")
    path = Path(folder or "") / f"{name}.parquet"
    if not folder or not path.is_file():
        raise DeclarationError(
            f"Set PRIVET_DATA to a folder with {name}.parquet, written from {_WHERE[name]}."
        )
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("Reading Parquet files needs pyarrow, the extra 'parquet'.") from error
    table = parquet.read_table(path)
    raw = {column: table[column].to_numpy() for column in table.column_names}
    return {k: v.astype(str) if v.dtype == object else v for k, v in raw.items()}


def adult() -> tuple[Columns, Labels]:
    """UCI Adult, the 45,222 rows without a missing entry; class 1 earns more than 50,000."""
    columns = _columns("adult")
    gaps = ("workclass", "occupation", "native-country")
    complete = np.all([columns[name] != "?" for name in gaps], axis=0)
    columns = {name: values[complete] for name, values in columns.items()}
    return columns, (columns.pop("income") == ">50K").astype(np.int_)


def kddcup99() -> tuple[Columns, NDArray[np.str_]]:
    """KDD Cup 1999, the 494,021 rows of the 10 % file, and the 23 kinds of connection."""
    columns = _columns("kddcup99_10pct")
    return columns, columns.pop("label")


def covertype() -> tuple[Columns, Labels]:
    """UCI Covertype, 581,012 patches of forest, and their cover type, 1 to 7."""
    columns = _columns("covertype")
    return columns, columns.pop("Cover_Type").astype(np.int_)


def mnist() -> tuple[NDArray[np.uint8], Labels, NDArray[np.bool_]]:
    """MNIST pixels (70,000 x 784), digits, and which rows are for training."""
    columns = _columns("mnist")
    digits, train = columns.pop("y").astype(np.int_), columns.pop("split") == "train"
    return np.stack([columns[f"p{i:03d}"] for i in range(784)], axis=1), digits, train
