"""Names with an underscore stay in their room: what another room needs has a public name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.laws.test_imports import FILES, ROOT, WORDS, room

#: Public names of others that are spelled so: of named tuples, for notebooks, the end of a fork.
STANDARD = {"_asdict", "_exit", "_fields", "_make", "_replace", "_repr_html_"}
#: Functions that reach an attribute by its name.
BY_NAME = {"getattr", "hasattr", "setattr", "delattr"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in STANDARD


def members(tree: ast.AST) -> Iterator[str]:
    """Private names that classes define: methods, attributes, and what is set on ``self``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield part.name
                elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    yield part.target.id
                elif isinstance(part, ast.Assign):
                    yield from (name.id for name in part.targets if isinstance(name, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def of_itself(value: ast.AST) -> bool:
    """``self``, ``cls`` and ``super()``: what a subclass inherits is its own."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def reached(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Private attributes of other objects, also by ``getattr``, and private modules and names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not of_itself(node.value):
            yield node.lineno, node.attr
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in BY_NAME
            and isinstance(node.args[1], ast.Constant)
            and is_private(str(node.args[1].value))
            and not of_itself(node.args[0])
        ):
            yield node.lineno, str(node.args[1].value)


def imported(tree: ast.AST, here: str) -> Iterator[tuple[int, str]]:
    """Private modules of other rooms, and private names out of their modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privet"):
            parts = [*(node.module or "").split(".")[1:]]
            for alias in node.names:
                path = [*parts, alias.name]
                inner = path[1:] if path[0] in WORDS or not parts else path
                if path[0] != here and any(map(is_private, inner)) and path[0] not in WORDS:
                    yield node.lineno, ".".join(path)


def offenders(trees: dict[Path, ast.AST], rooms: dict[Path, str]) -> list[str]:
    own: dict[str, set[str]] = {}
    for path, tree in trees.items():
        own.setdefault(rooms[path], set()).update(members(tree))
    found = []
    for path, tree in trees.items():
        here = rooms[path]
        foreign = [(line, name) for line, name in reached(tree) if name not in own[here]]
        for line, name in (*foreign, *imported(tree, here)):
            found.append(f"{path}:{line} {name}")
    return found


def test_no_room_reaches_for_the_private_names_of_another() -> None:
    trees: dict[Path, ast.AST] = {path: ast.parse(path.read_text()) for path in FILES}
    rooms = {path: room(path) for path in FILES}
    found = [text.removeprefix(str(ROOT)) for text in offenders(trees, rooms)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "def f(model): return model._prepare()",
        "def f(model): return getattr(model, '_prepare')",
        "def f(models): return models[0]._prepare",
        "from privet.upper._fit import prepare",
        "from privet.upper import _fit",
        "from privet.upper.fit import _prepare",
    ],
)
def test_the_search_can_see_one(text: str) -> None:
    other = "class Model:\n    def _prepare(self): ...\n    def fit(self): return self._prepare()"
    here, there = Path("lower.py"), Path("upper.py")
    trees: dict[Path, ast.AST] = {here: ast.parse(text), there: ast.parse(other)}
    found = offenders(trees, {here: "lower", there: "upper"})
    assert len(found) == 1
    assert found[0].startswith("lower.py")


#: Old addresses of rooms that moved, and a word that the ledger and the model files share.
SHARED = {"ledger.py", "store.py"}


def test_files_and_classes_are_found_by_their_names() -> None:
    """No two files of the house have one name, and no two public classes."""
    files = [path.name for path in FILES if not path.name.startswith("__")]
    assert {name for name in files if files.count(name) > 1} <= SHARED
    classes = [
        node.name
        for path in FILES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert {name for name in classes if classes.count(name) > 1} == set()
