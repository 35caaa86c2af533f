"""Schemas in TOML: a reader that says where a mistake is, and a writer for exactly this shape.

rows = "scaled"                     # or "unit"; may be left out

[file]                              # how CSV files are written; may be left out
separator = ";"
encoding = "latin-1"
decimal = ","

[look]                              # shares that privet asks about; may be left out
cells = 0.05
labels = 0.01

[label]
name = "income"
classes = ["<=50K", ">50K"]

[person]                            # may be left out
column = "patient"
most_rows = 4

[columns.age]                       # one table for each column
low = 17
high = 90

[columns.workclass]
categories = ["Private", "Local-gov"]
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from privet._checks import shown
from privet._untrusted import MEGABYTE, Unbounded, parsed_toml, read_whole
from privet.errors import DeclarationError
from privet.schema.columns import Categorical, Column, Label, Numeric
from privet.schema.declarations import Declarations, Tolerance
from privet.schema.declared_values import Misdeclared
from privet.schema.file_format import TABLES, FileFormat
from privet.schema.persons import Person
from privet.schema.target import Target

Made = TypeVar("Made")
LINE = 96
#: of a file or a text: a hundred thousand codes with room to spare
LARGEST = 8 * MEGABYTE
#: what a draft asks, and how many open questions are named in one refusal
ASKED = ("name", "low", "high", "classes", "categories", "column", "most_rows")
MOST_NAMED = 8
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
#: what a statement of several lines is told by: texts, comments, brackets and ends of lines
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[\]{}]|\n",
    re.DOTALL,
)


# -- reading -----------------------------------------------------------------------------------


def read(make: Callable[..., Made], source: str | Path) -> Made:
    """What ``make``, the class ``Schema``, makes of a file or of text."""
    if isinstance(source, str) and "\n" in source:
        return of_text(make, source)
    if str(source).lower().endswith(TABLES):
        raise DeclarationError(
            f"A schema is a TOML file, and {str(source)!r} has the name of a table. Give the table "
            "and the schema each in its place."
        )
    try:
        return _parse(make, read_whole(source, LARGEST).decode(), f"{source}, ")
    except FileNotFoundError:
        raise DeclarationError(
            f"There is no schema {str(source)!r}. Make one: privet schema draft TABLE --label NAME."
        ) from None
    except OSError:
        raise DeclarationError(f"The schema {str(source)!r} cannot be read as a file.") from None
    except UnicodeDecodeError:
        raise DeclarationError(f"The schema {str(source)!r} is not UTF-8 text.") from None


def of_text(make: Callable[..., Made], text: str) -> Made:
    """The same of text."""
    return _parse(make, text, "")


def _parse(make: Callable[..., Made], text: str, source: str) -> Made:
    text = text.replace("\r\n", "\n")
    if len(text) > LARGEST:
        raise DeclarationError("The schema is larger than any that Privet writes.")
    try:
        return make(**_declared(parsed_toml(text)))
    except Unbounded as error:
        raise DeclarationError(f"{source}{error}.") from None
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        line, column = _end(text) if found is None or found[1] is None else map(int, found.groups())
        problem = _PLACE.sub("", str(error)) + "."
    except Misdeclared as error:
        line, column = locate(text, error.key)
        problem = str(error)
    raise DeclarationError(f"{source}line {line}, column {column}: {problem}")


def _refuse_unanswered(record: dict[str, Any]) -> None:
    """Name every question that a draft left open, at once."""
    tables: list[tuple[tuple[str, ...], Any]] = [
        (("label",), record.get("label")),
        (("person",), record.get("person")),
    ]
    columns = record.get("columns")
    if isinstance(columns, dict):
        tables += [(("columns", name), column) for name, column in columns.items()]
    asked = [
        (*path, key)
        for path, table in tables
        if isinstance(table, dict)
        for key in ASKED
        if table.get(key) in ("?", ["?"])
    ]
    if len(asked) > 1:
        named = [".".join(path) for path in asked[:MOST_NAMED]]
        more = f" and {len(asked) - MOST_NAMED} more" if len(asked) > MOST_NAMED else ""
        raise Misdeclared(
            f"{len(asked)} answers are still '?': {', '.join(named)}{more}. Fill in what you can "
            "name without looking at the data.",
            *asked[0],
        )


def _declared(record: dict[str, Any]) -> dict[str, Any]:
    """The fields of a schema."""
    _refuse_unanswered(record)
    _refuse_unknown(record, ("rows", "file", "look", "label", "person", "columns"))
    return {
        "label": _label(record),
        "person": _optional(Person, record, "person"),
        "rows": record.get("rows", "scaled"),
        "file": _optional(FileFormat, record, "file"),
        "look": _optional(Tolerance, record, "look"),
        "columns": {name: _column(record, name) for name in _table(record, "columns")},
    }


def _label(record: dict[str, Any]) -> Label | Target:
    """Classes, or the bounds of a number."""
    table = _table(record, "label")
    number = "classes" not in table and ("low" in table or "high" in table)
    return _make(Target, table, "label") if number else _make(Label, table, "label")


def _optional(kind: Callable[..., Made], record: dict[str, Any], name: str) -> Made | None:
    return _make(kind, _table(record, name), name) if name in record else None


def _table(record: dict[str, Any], *path: str) -> dict[str, Any]:
    found: Any = record
    for part in path:
        found = found.get(part)
    if not isinstance(found, dict):
        where = () if found is None else path
        raise Misdeclared(f"A schema needs the table {heading(*path)}.", *where)
    return found


def _column(record: dict[str, Any], name: str) -> Column:
    table = _table(record, "columns", name)
    if "categories" in table:
        return _make(Categorical, table, "columns", name)
    if "low" in table or "high" in table:
        return _make(Numeric, table, "columns", name)
    raise Misdeclared(f"Column {shown(name)} needs low and high, or categories.", "columns", name)


def _make(kind: Callable[..., Made], table: dict[str, Any], *path: str) -> Made:
    """A frozen declaration from a table with its fields; mistakes carry their place."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    _refuse_unknown(table, [field.name for field in fields], *path)
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in table:
            raise Misdeclared(f"{_name(path)} needs {field.name}.", *path)
    try:
        return kind(**table)
    except Misdeclared as error:
        raise Misdeclared(f"{_name(path)}: {error}", *path, *error.key) from None


def _name(path: tuple[str, ...]) -> str:
    return f"Column {shown(path[1])}" if len(path) > 1 else f"The {path[0]}"


def _refuse_unknown(table: dict[str, Any], known: Any, *path: str) -> None:
    for key in table:
        if key not in known:
            raise Misdeclared(
                f"Unknown key {shown(key)}; known here are {', '.join(known)}.", *path, key
            )


# -- where a key is ----------------------------------------------------------------------------


def locate(text: str, path: tuple[str, ...]) -> tuple[int, int]:
    """Line and column of a key in valid TOML, both from 1.

    The statement that brings a key is the one with which the text up to there first contains it;
    asking the parser itself is right also inside arrays and texts of many lines.
    """
    if not path:  # what is missing would stand at the end
        return _end(text)
    lines = text.split("\n")
    starts = [*_statements(text), len(lines)]
    low, high = 0, len(starts) - 1
    while low < high:  # the shortest head of the file that has the key, by bisection
        middle = (low + high) // 2
        if _holds(parsed_toml("\n".join(lines[: starts[middle]])), path):
            high = middle
        else:
            low = middle + 1
    first = starts[max(low - 1, 0)]
    line = lines[min(first, len(lines) - 1)]
    found = line.find(path[-1])
    return first + 1, (found if found >= 0 else len(line) - len(line.lstrip())) + 1


def _statements(text: str) -> Iterator[int]:
    """The lines of valid TOML at which a statement, a comment or nothing begins, from 0.

    Up to each of them the text is TOML by itself. To find them by trying would take time that
    grows with the square of a long list.
    """
    depth, line = 0, 0
    yield 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        line += token.count("\n")
        depth += (token in "[{") - (token in "]}")
        if token == "\n" and not depth:
            yield line


def _holds(record: Any, path: tuple[str, ...]) -> bool:
    for part in path:
        if not isinstance(record, dict) or part not in record:
            return False
        record = record[part]
    return True


def _end(text: str) -> tuple[int, int]:
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1


# -- writing -----------------------------------------------------------------------------------


def write(schema: Declarations) -> str:
    """A schema as TOML, columns in order, defaults left out."""
    parts = [f"rows = {value(schema.rows)}\n"]
    for name in ("file", "look", "label", "person"):
        declared = getattr(schema, name)
        if declared is not None:
            parts.append(table((name,), declared))
    parts += [table(("columns", name), column) for name, column in schema.columns.items()]
    return "\n".join(parts)


def table(path: tuple[str, ...], declared: Any) -> str:
    """One declaration under its heading."""
    lines = [heading(*path)]
    for field in dataclasses.fields(declared):
        held = getattr(declared, field.name)
        if held != field.default:
            lines.append(entry(field.name, held))
    return "\n".join(lines) + "\n"


def heading(*path: str) -> str:
    """The line that opens a table."""
    return f"[{'.'.join(map(_key, path))}]"


def entry(key: str, held: Any) -> str:
    """``key = value``, long lists on several lines."""
    line = f"{_key(key)} = {value(held)}"
    if len(line) <= LINE or not isinstance(held, tuple):
        return line
    lines = [""]
    for item in held:
        shown = f"{value(item)},"
        if lines[-1] and len(lines[-1]) + len(shown) + 3 > LINE:
            lines.append("")
        lines[-1] += f" {shown}" if lines[-1] else shown
    return f"{_key(key)} = [\n" + "".join(f"  {line}\n" for line in lines) + "]"


def value(held: Any) -> str:
    """A value in TOML's notation."""
    if isinstance(held, tuple):
        return f"[{', '.join(map(value, held))}]"
    if isinstance(held, bool):
        return "true" if held else "false"
    if isinstance(held, float):
        return str(int(held)) if held.is_integer() and abs(held) < 1e15 else repr(held)
    if isinstance(held, int):
        return str(held)
    text = json.dumps(held, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_written, text))


def _written(sign: str) -> str:
    """A sign that is not seen, or that would turn a line round, by its number."""
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) < 1 << 16 else f"\\U{ord(sign):08x}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)
