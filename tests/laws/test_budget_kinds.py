"""A budget answers for itself: nobody asks what kind it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.laws.test_imports import FILES, ROOT

KINDS = {"PureDP", "ZCDP", "ApproxDP"}
#: Where the kinds are defined.
HOME = "privacy/budget.py"


def asked(tree: ast.AST) -> Iterator[int]:
    """Lines with ``isinstance``, ``type(...) is`` or a pattern that names a kind of budget."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in {"isinstance", "issubclass"}:
                parts = [*node.args[1:]]
        elif isinstance(node, ast.Compare):
            if any(
                isinstance(x, ast.Call) and ast.unparse(x.func) == "type" for x in ast.walk(node)
            ):
                parts = [node]
        elif isinstance(node, ast.MatchClass):
            parts = [node.cls]
        names = {x.id for part in parts for x in ast.walk(part) if isinstance(x, ast.Name)}
        if names & KINDS:
            yield node.lineno


def test_no_ladder_over_the_kinds_of_budget() -> None:
    found = {}
    for path in FILES:
        here = str(path.relative_to(ROOT))
        count = len(list(asked(ast.parse(path.read_text()))))
        if count and here != HOME:
            found[here] = count
    assert not found, "give Budget a method, or use budget.numbers"


def test_a_ladder_is_seen() -> None:
    code = """
def size(budget):
    if isinstance(budget, (PureDP, ApproxDP)):
        return budget.epsilon
    if type(budget) is ZCDP:
        return budget.rho
    match budget:
        case PureDP():
            return 0
"""
    assert len(list(asked(ast.parse(code)))) == 3
    assert not list(asked(ast.parse("ok = isinstance(budget, Budget) and PureDP(1.0)")))
