"""What a single cell means: its text, its number, or that it is missing.

The containers disagree on types (a column of whole numbers with one gap is floating point in one
and not in another, and a CSV file has only text), so a cell is read by rules that look at this cell
alone: 1, 1.0 and "1" are one category, and "12.5" in a numeric column is a number. Whatever has no
meaning is missing. No rule looks at a neighboring cell.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privet._types import Array, Flags
from privet.errors import DataError

Index = NDArray[np.intp]
#: what a category or class may be declared as
Value = str | int | bool

#: kinds of numpy's that a column of categories may still hide
_REFUSED = {"c": "complex numbers", "M": "dates", "m": "durations"}
#: pandas' types of stretches of time or of numbers
_SPANS = ("period", "interval")
_TRUE = ("true", "True", "TRUE", "1")
_FALSE = ("false", "False", "FALSE", "0")
#: Cells that are turned into numbers together.
FEW = 128


def text_of(cell: Any) -> str | None:
    """The text that a cell is compared by; None where it is missing."""
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, int | np.integer):
        return str(int(cell)) if abs(int(cell)) < 1 << 64 else None
    if isinstance(cell, float | np.floating | Decimal):
        number = float(cell)
        if math.isnan(number):
            return None
        whole = abs(number) < 1 << 64 and number.is_integer()
        return str(int(number)) if whole else repr(number)
    return None


def number_of(cell: Any) -> float:
    """The number that a cell holds; NaN where it is missing or is no number."""
    if not isinstance(
        cell, str | bool | np.bool_ | int | np.integer | float | np.floating | Decimal
    ):
        return math.nan
    try:
        return float(cell)
    except ValueError:  # a file has words where a table of types has booleans
        return {"true": 1.0, "false": 0.0}.get(str(cell).strip().lower(), math.nan)
    except OverflowError:  # a whole number beyond the largest float: clipped later
        return math.copysign(math.inf, 1 if cell > 0 else -1)  # type: ignore[operator]


def with_point(cell: Any) -> Any:
    """A text with a decimal comma as one with a point; a point in it is no decimal sign."""
    if not isinstance(cell, str):
        return cell
    return cell.replace(".", "?").replace(",", ".")


def spellings(value: Value) -> Iterable[str]:
    """How a declared value may be written in a table besides its own text."""
    if isinstance(value, str):
        return [value.strip().lower()] if value.strip() in _TRUE[:3] + _FALSE[:3] else []
    if value in (0, 1):
        return _TRUE if value else _FALSE
    return []


def lookup(values: Sequence[Value]) -> Callable[[Any], int]:
    """The place of a cell among declared values, or -1."""
    table = {_composed(text_of(value)): i for i, value in enumerate(values)}
    for i, value in enumerate(values):
        for other in spellings(value):
            table.setdefault(other, i)
    whole = any(isinstance(value, int) for value in values)

    def place(cell: Any) -> int:
        text = text_of(cell)
        if text is None:
            return -1
        if text not in table and whole:  # "1.0" or "01" where 1 is declared
            text = text_of(number_of(text))
        return table.get(_composed(text), -1) if text is not None else -1

    return place


def _composed(text: str | None) -> str | None:
    """A letter and its accent as one sign: files write both, and they are the same text."""
    return text if text is None or text.isascii() else unicodedata.normalize("NFC", text)


def is_readable(kind: Any) -> bool:
    """Whether cells of a narwhals type can be numbers or text; dates and lists cannot."""
    import narwhals.stable.v2 as nw

    plain = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)
    return bool(kind.is_numeric()) or kind in plain


class _Numbering(dict[Any, int]):
    """Numbers keys in the order in which they are first asked for."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


class Cells:
    """One column of a batch of rows, whatever container it came from."""

    def __init__(self, name: str, series: Any, decimal: str = ".") -> None:
        import narwhals.stable.v2 as nw

        self._name, self._series, self._nw, self._decimal = name, series, nw, decimal
        kind = series.dtype
        #: what numpy holds as it is; decimals and very long whole numbers are Python objects there
        objects = kind in (nw.Decimal, nw.Int128, nw.UInt128)
        self._is_number = (kind.is_numeric() or kind == nw.Boolean) and not objects
        self._is_text = kind in (nw.String, nw.Categorical, nw.Enum)
        if not is_readable(kind):
            self._refuse(kind)

    def numbers(self) -> Array:
        """Every cell as a number in double precision; NaN where there is none."""
        return self.floats().astype(np.float64)

    def floats(self) -> NDArray[Any]:
        """The same; single precision stays, and what is returned may be the container's own."""
        if self._is_number:
            # not by a cast of the container: Arrow's quotes a whole number beyond 2**53
            if not self._series.null_count():
                return _floating(self._series.to_numpy())
            filled = _floating(self._filled())
            return np.where(self._gaps(), filled.dtype.type(np.nan), filled)
        kinds, index = self.distinct()
        return _parsed([self._pointed(kind) for kind in kinds])[index]

    def missing(self) -> Flags:
        """Which cells hold nothing."""
        kinds, index = self.distinct()
        return np.array([text_of(kind) is None for kind in kinds], dtype=np.bool_)[index]

    def codes(
        self, place: Callable[[Any], int], dtype: DTypeLike = np.intp, unknown: int = -1
    ) -> NDArray[Any]:
        """``place`` of every cell, called once for each different one; ``unknown`` for -1."""
        kinds, index = self.distinct()
        found = [self._placed(place, kind) for kind in kinds]
        return _looked_up(np.array([unknown if k < 0 else k for k in found], dtype=dtype), index)

    def _placed(self, place: Callable[[Any], int], kind: Any) -> int:
        found = place(kind)
        if found < 0 and self._decimal == ",":  # "1,0" where 1 is declared
            found = place(number_of(self._pointed(kind)))
        return found

    def _pointed(self, kind: Any) -> Any:
        """A text with the declared decimal sign, as a number is written here."""
        return kind if self._decimal == "." else with_point(kind)

    def distinct(self) -> tuple[list[Any], Index]:
        """Different cells (the same may be listed twice), and where each row's cell is listed."""
        if self._is_number:
            return self._distinct_numbers()
        if self._is_text and self._series.implementation.is_pyarrow():
            column = self._series.to_native()
            if _is_dictionary_of_others(column):
                self._refuse(column.type.value_type)
            return _distinct_arrow(column)
        return _distinct_objects(self._objects(), only_text=self._is_text and not self._is_pandas())

    def _objects(self) -> NDArray[Any]:
        """Every cell as a Python object."""
        if self._series.dtype in (self._nw.Int128, self._nw.UInt128):
            return np.array(self._series.to_list(), dtype=object)
        if self._is_pandas() and str(self._series.to_native().dtype).startswith(_SPANS):
            self._refuse(self._series.to_native().dtype)
        cells = np.asarray(self._series.to_numpy())
        if cells.dtype.kind in _REFUSED:
            self._refuse(_REFUSED[cells.dtype.kind])
        return cells.astype(object)

    def _refuse(self, what: Any) -> NoReturn:
        raise DataError(
            f"Column {self._name!r} holds {what}. Turn it into numbers or text before encoding."
        )

    def _is_pandas(self) -> bool:
        """A pandas column of text may hide other objects behind its first rows."""
        return bool(self._series.implementation.is_pandas_like())

    def _distinct_numbers(self) -> tuple[list[Any], Index]:
        kinds, index = np.unique(self._filled(), return_inverse=True)
        return [*kinds.tolist(), None], np.where(self._gaps(), len(kinds), index)

    def _gaps(self) -> Flags:
        return np.asarray(self._series.is_null().to_numpy(), dtype=np.bool_)

    def _filled(self) -> NDArray[Any]:
        """Cells without gaps, in their own type: 2**53 + 1 must not be rounded."""
        if self._series.dtype == self._nw.Boolean:
            return np.asarray(self._series.fill_null(False).to_numpy(), dtype=np.bool_)
        return np.asarray(self._series.fill_null(0).to_numpy())


class ArrowNumbers(Cells):
    """Numbers of an Arrow batch, without gaps."""

    def __init__(self, column: Any) -> None:
        self._column, self._decimal = column, "."

    def floats(self) -> NDArray[Any]:
        """The batch's own array where it is one of floating point."""
        return _floating(self._column.to_numpy())

    def distinct(self) -> tuple[list[Any], Index]:
        """By their values."""
        kinds, index = np.unique(self._column.to_numpy(), return_inverse=True)
        return kinds.tolist(), index


class ArrowWords(Cells):
    """Words of an Arrow batch, which it holds as a dictionary."""

    def __init__(self, column: Any) -> None:
        self._column, self._decimal, self._is_number = column, ".", False

    def distinct(self) -> tuple[list[Any], Index]:
        """By their places in the dictionary."""
        return _listed([self._column])


def arrow_cells(name: str, column: Any) -> Cells:
    """A column of an Arrow batch.

    What most columns are is read without the questions that are asked of a container that may be
    anything: tables that are read in parts come here in every pass.
    """
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    kind = column.type
    floating = kind in (pa.float32(), pa.float64())
    if (floating or pa.types.is_integer(kind)) and not column.null_count:
        return ArrowNumbers(column)
    if pa.types.is_dictionary(kind) and kind.value_type in (pa.string(), pa.large_string()):
        return ArrowWords(column)
    return Cells(name, nw.from_native(pa.chunked_array([column]), series_only=True))


def _floating(cells: Any) -> NDArray[Any]:
    """Numbers of any type in single or double precision, without a copy where they are already."""
    found = np.asarray(cells)
    return found if found.dtype == np.float32 else found.astype(np.float64, copy=False)


def _looked_up(table: NDArray[Any], index: Index) -> NDArray[Any]:
    """``table[index]``; few values of one byte each as text is translated, in half the time."""
    if table.itemsize > 1 or len(table) > 1 << 8:
        return table[index]
    whole = table.tobytes().ljust(1 << 8, b"\0")
    return np.frombuffer(index.astype(np.uint8).tobytes().translate(whole), dtype=table.dtype)


def _parsed(kinds: list[Any]) -> Array:
    """``number_of`` each, a few at a time.

    Where all text is numbers numpy is faster. One cell that is none makes its neighbors in these
    few slower and no others: how long a table takes to read must not tell of a cell.
    """
    parts = [_parsed_few(kinds[i : i + FEW]) for i in range(0, len(kinds), FEW)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _parsed_few(kinds: list[Any]) -> Array:
    if all(kind is None or type(kind) is str for kind in kinds):
        try:
            return np.array(kinds, dtype=object).astype(np.float64)
        except ValueError:
            pass  # some text is no number
    return np.array([number_of(kind) for kind in kinds], dtype=np.float64)


def _distinct_objects(cells: NDArray[Any], *, only_text: bool) -> tuple[list[Any], Index]:
    """Different Python objects; the type is part of the key, since True == 1 == 1.0."""
    seen = _Numbering()
    keys: Iterable[Any] = cells if only_text else zip(map(type, cells), cells, strict=True)
    try:
        index = np.fromiter(map(seen.__getitem__, keys), np.intp, len(cells))
    except TypeError:  # something that cannot be a key, such as a list
        return list(cells), np.arange(len(cells))
    return list(seen) if only_text else [cell for _, cell in seen], index


def _is_dictionary_of_others(column: Any) -> bool:
    """Whether an Arrow dictionary holds what is no text, number or boolean, such as dates."""
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return False
    kind = column.type.value_type
    known = (
        *(types.is_string, types.is_large_string, types.is_string_view, types.is_integer),
        *(types.is_floating, types.is_boolean, types.is_decimal, types.is_null),
    )
    return not any(is_kind(kind) for is_kind in known)


def _distinct_arrow(column: Any) -> tuple[list[Any], Index]:
    """Arrow's own dictionary of a text column, with one more entry for the gaps."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            column = column.cast(pa.large_string())
        column = column.dictionary_encode()
    return _listed(column.chunks)


def _listed(chunks: list[Any]) -> tuple[list[Any], Index]:
    import pyarrow as pa

    kinds: list[Any] = []
    parts: list[Index] = []
    for chunk in chunks:
        places = chunk.indices
        if places.null_count:
            places = places.cast(pa.int64()).fill_null(len(chunk.dictionary))
        found = places.to_numpy(zero_copy_only=False)
        parts.append(found + np.intp(len(kinds)) if kinds else found)
        kinds += [*chunk.dictionary.to_pylist(), None]
    return kinds, np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)
