"""The exception tree is as drawn in the module's docstring, and every word is in it."""

from __future__ import annotations

import inspect
import re

import pytest

from privet import errors

TREE: dict[str, tuple[type, ...]] = {
    "PrivetError": (Exception,),
    "DeclarationError": (errors.PrivetError, ValueError),
    "InfeasibleBudget": (errors.DeclarationError,),
    "DataError": (errors.PrivetError, ValueError),
    "BudgetExceeded": (errors.PrivetError,),
    "LedgerError": (errors.PrivetError, RuntimeError),
    "NotConverged": (errors.PrivetError, RuntimeError),
    "MissingExtra": (errors.PrivetError, ImportError),
    "PrivetWarning": (UserWarning,),
    "RegularizationRaised": (errors.PrivetWarning,),
    "SeededNoise": (errors.PrivetWarning,),
}


@pytest.mark.parametrize("name", TREE)
def test_each_word_has_its_parents(name: str) -> None:
    assert getattr(errors, name).__bases__ == TREE[name]


def test_nothing_else_is_raised() -> None:
    found = inspect.getmembers(errors, inspect.isclass)
    public = [name for name, kind in found if kind.__module__ == errors.__name__]
    assert sorted(public) == sorted(TREE)


def test_the_drawing_shows_the_tree() -> None:
    drawn = _drawn(errors.__doc__ or "")
    assert drawn == {name: parents[0].__name__ for name, parents in TREE.items()}


def _drawn(text: str) -> dict[str, str]:
    """Each word of the drawing with the word it hangs on; roots hang on what they name."""
    path: list[str] = []
    parents: dict[str, str] = {}
    for line in text.splitlines():
        found = re.match(r"    ([|` ]*-- )?([A-Z][A-Za-z]+)(?: \((\w+)\))?", line)
        if found is None:
            continue
        branch, word, also = found.groups()
        depth = len(branch or "") // 4
        path[depth:] = [word]
        parents[word] = path[depth - 1] if depth else also or "Exception"
    return parents
