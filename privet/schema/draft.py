"""A first schema for a table, for a person to finish.

From names and types alone every bound is left as a question. A CSV file has no types: whether a
column is drafted with bounds or with categories is read from its first rows, and the draft says so.
When asked, bounds and categories are proposed from the data; each is then marked ``from_data``,
since a bound that was measured tells about the rows it was measured on. Removing the mark is a
person's statement that the value could have been named without them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privet.errors import DataError
from privet.schema.cells import Cells, Value, is_readable, text_of
from privet.schema.declared_values import OTHER, is_plain
from privet.schema.file_format import PLAIN, FileFormat
from privet.schema.tables import OpenTable, open_table
from privet.schema.toml import entry, heading
from privet.schema.toml import table as section

MOST_CATEGORIES = 50
_OPEN = '"?"'
_ASK = """\
# A draft. Replace every "?" by what you can name without looking at the data: the bounds that a
# form or an instrument allows, the categories of a code book. Remove columns not to be used.
"""
_MARKED = """\
# A draft with bounds and categories read from the data, each marked from_data = true: they depend
# on the rows. Replace each by what you can name without looking at the data, and remove its mark;
# or take it over as it is with from_data = "confirmed", which every statement will repeat.
"""
_FILE = """\
# How the CSV file is written. A CSV file has no types: which columns are drafted with bounds and
# which with categories was read from its first rows, so check it. Numbers with a decimal comma need
# decimal = ","; without it they are drafted as categories.
"""
_PERSON = """\
# If a person may have several rows, name the column that says whose row it is:
# [person]
# column = "?"
# most_rows = 1
"""


@dataclass
class _Seen:
    """What was seen of one column; for the curator's eyes, like the draft."""

    low: float = math.inf
    high: float = -math.inf
    kinds: dict[str, Any] = field(default_factory=dict)

    def look(self, cells: Cells, *, numeric: bool) -> None:
        if numeric:
            numbers = cells.numbers()
            numbers = numbers[np.isfinite(numbers)]
            self.low = min(self.low, float(numbers.min(initial=math.inf)))
            self.high = max(self.high, float(numbers.max(initial=-math.inf)))
        elif len(self.kinds) <= MOST_CATEGORIES:
            for kind in cells.distinct()[0]:
                text = text_of(kind)
                if text is not None and text != OTHER and is_plain(text):
                    self.kinds.setdefault(text, kind if isinstance(kind, bool) else text)

    def values(self) -> tuple[Value, ...] | None:
        """Values in order, unless there are none or too many to be categories."""
        if not 0 < len(self.kinds) <= MOST_CATEGORIES:
            return None
        return tuple(self.kinds[text] for text in sorted(self.kinds))


def draft(
    table: Any,
    label: str | None = None,
    *,
    from_data: bool = False,
    file: FileFormat | None = None,
) -> str:
    """TOML for a table: questions to answer, or with ``from_data`` proposals to confirm.

    ``file`` says how a CSV file is written; the draft repeats it.
    """
    opened = open_table(table, file)
    if label is not None and label not in opened.types:
        raise DataError(
            f"The table has no column {label!r} that could be the label. {opened.known()}"
        )
    opened = replace(opened, types=opened.likely_types())
    seen = _look(opened, label) if from_data else {}
    parts = [_MARKED if from_data else _ASK, _label(opened, label, seen), _PERSON]
    if opened.separator is not None:
        written = replace(file or PLAIN, separator=opened.separator)
        parts.insert(1, _FILE + section(("file",), written))
    parts += [_column(opened, name, seen) for name in opened.types if name != label]
    return "\n".join(parts)


def _is_numeric(kind: Any) -> bool:
    return bool(kind.is_numeric())


def _look(table: OpenTable, label: str | None) -> dict[str, _Seen]:
    usable = [name for name, kind in table.types.items() if is_readable(kind)]
    seen = {name: _Seen() for name in usable}
    for batch in table.batches(usable):
        for name, what in seen.items():
            kind = table.types[name]
            as_number = kind.is_float() if name == label else _is_numeric(kind)
            what.look(batch.cells(name), numeric=as_number)
    return seen


def _is_boolean(kind: Any) -> bool:
    import narwhals.stable.v2 as nw

    return bool(kind == nw.Boolean)


def _label(table: OpenTable, label: str | None, seen: dict[str, _Seen]) -> str:
    lines = [heading("label")]
    if label is None:
        return "\n".join([*lines, f"name = {_OPEN}", f"classes = [{_OPEN}]", ""])
    lines.append(entry("name", label))
    if table.types[label].is_float():  # a number with decimals is not a class
        return "\n".join([*lines, *_bounds(seen.get(label)), ""])
    found = seen[label].values() if label in seen else None
    if _is_boolean(table.types[label]):
        lines.append("classes = [false, true]")
    elif found is not None and len(found) > 1:
        if _is_numeric(table.types[label]):
            found = _whole(found)
        lines += [entry("classes", found), "from_data = true"]
    else:
        lines.append(f"classes = [{_OPEN}]")
    return "\n".join([*lines, ""])


def _whole(found: tuple[Value, ...]) -> tuple[Value, ...]:
    """Whole numbers as numbers in their order, where all are."""
    try:
        return tuple(sorted(int(text) for text in found))
    except ValueError:
        return found


def _column(table: OpenTable, name: str, seen: dict[str, _Seen]) -> str:
    kind, lines = table.types[name], [heading("columns", name)]
    if not is_plain(name) or not is_readable(kind):
        told = [f"# holds {kind}: left out; turn it into numbers or categories to use it"]
        return "\n".join([*("# " + line for line in lines), *told, ""])
    if _is_boolean(kind):
        lines += ["categories = [false, true]", "other = false"]
    elif _is_numeric(kind):
        lines += _bounds(seen.get(name))
    else:
        lines += _categories(seen.get(name))
    return "\n".join([*lines, ""])


def _bounds(seen: _Seen | None) -> list[str]:
    if seen is None or not seen.low <= seen.high:
        return [f"low = {_OPEN}", f"high = {_OPEN}"]
    low, high = _outward(seen.low, -1), _outward(seen.high, 1)
    if not low < high:
        low, high = low - 1.0, high + 1.0
    return [entry("low", low), entry("high", high), "from_data = true"]


def _outward(bound: float, sign: int) -> float:
    """Two digits, away from the data."""
    if bound == 0.0 or not abs(bound) < 1e90:
        return max(-1e90, min(1e90, bound))
    if abs(bound) < 1e-90:  # two digits of it would round to zero
        return sign * 1e-90 if bound * sign > 0.0 else 0.0
    step = 10.0 ** (math.floor(math.log10(abs(bound))) - 1)
    rounded = (math.ceil if sign > 0 else math.floor)(bound / step) * step
    return float(f"{rounded:.6g}") if step else bound


def _categories(seen: _Seen | None) -> list[str]:
    found = None if seen is None else seen.values()
    if found is not None:
        return [entry("categories", found), "from_data = true"]
    lines = [f"categories = [{_OPEN}]"]
    if seen is not None and seen.kinds:
        lines.insert(0, f"# more than {MOST_CATEGORIES} different values: an identifier?")
    return lines
