"""A file is one idea that fits on a few screens, and a function is one step of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import privet

HOUSE = Path(privet.__file__).parent
MOST_LINES = 350
MOST_STATEMENT_LINES = 60
#: Commands that declare their flags one by one, and tables of sentences: none may join them.
LONG = {
    "cli/schema_and_plan.py:plan",
    "cli/serve_commands.py:serve",
}


def files() -> list[Path]:
    """Every module of the package."""
    return sorted(HOUSE.rglob("*.py"))


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the docstring."""
    first = node.body[0]
    if ast.get_docstring(node) is None:
        return 0
    return (first.end_lineno or 0) - first.lineno + 1


def long_functions(path: Path) -> set[str]:
    """Functions of more lines than they may have, without what their docstrings take."""
    tree = ast.parse(path.read_text())
    return {
        f"{path.relative_to(HOUSE).as_posix()}:{node.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 - docstring_lines(node) > MOST_STATEMENT_LINES
    }


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(HOUSE).as_posix())
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_functions_are_short_but_for_those_named() -> None:
    assert set().union(*map(long_functions, files())) == LONG


def test_a_long_function_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "HOUSE", tmp_path)
    (tmp_path / "long.py").write_text("def f():\n" + "    pass\n" * MOST_STATEMENT_LINES)
    assert long_functions(tmp_path / "long.py") == {"long.py:f"}
