"""Numbers that nothing pays for: a second draw, a stray line, a measure that no table says."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.certificate.mutants import Parsed, accepted
from tests.certificate.test_forged import opened

Forge = Callable[[list[Any]], None]


def stray(line: dict[str, Any]) -> Forge:
    """One more line of a transcript."""
    return lambda lines: lines.insert(1, line)


def second_vector(lines: list[Any]) -> None:
    """Another draw of the vector that answers everything."""
    lines.append({"state": {"vector": [0.5 + each for each in lines[1]["state"]["vector"]]}})


def asked_again(lines: list[Any]) -> None:
    """The same queries with another noise: their mean has less of it."""
    again = copy.deepcopy(lines[1])
    again["answers"] = [answer + 0.125 for answer in again["answers"]]
    again["queries"][0] = [-0.0 if each == 0.0 else each for each in again["queries"][0]]
    lines.insert(2, again)


def answered(value: Any) -> Forge:
    def forge(lines: list[Any]) -> None:
        lines[1]["answers"][0] = value

    return forge


def one_more(change: dict[str, Any], place: int = 0) -> Forge:
    """A measure more, made from one that is there."""
    return lambda lines: lines[0]["measures"].append({**lines[0]["measures"][place], **change})


def measured(change: dict[str, Any]) -> Forge:
    return lambda lines: lines[0]["measures"][0].update(change)


def longer_query(lines: list[Any]) -> None:
    lines[1]["queries"][0].append(0.5)


UNPAID: dict[str, tuple[str, Forge]] = {
    "an expansion in a transcript": (
        "function zcdp",
        stray({"points": [[0.1, 0.2, 0.3]], "weights": [0.5]}),
    ),
    "weights in a transcript": ("sparse pure", stray({"weights": [0.5, 0.25]})),
    "a count of nothing": ("sparse pure", stray({"count": 7})),
    "a second vector": ("function vector", second_vector),
    "a second noise for a query": ("function zcdp", asked_again),
    "a second noise for a comparison": ("sparse pure", asked_again),
    "a text for an answer": ("function zcdp", answered("the label of the third row is 1")),
    "several numbers for an answer": ("function zcdp", answered([0.5, 0.25])),
    "a query of more columns": ("function zcdp", longer_query),
    "an error of some rows": ("regression errors zcdp", one_more({"of": "rows of a name"})),
    "a second error": ("regression errors zcdp", one_more({"estimate": 0.125})),
    "an accuracy of some rows": ("evaluate pure", one_more({"of": "rows of a name"})),
    "a second accuracy": ("evaluate zcdp", one_more({"estimate": 0.125})),
    "a rate of a label that is not there": (
        "evaluate pure",
        one_more({"of": "0 predicted as 7"}, 1),
    ),
    "a group that has no cells": ("evaluate groups", one_more({"of": "group 7"}, 1)),
    "a text for a measure": ("evaluate pure", measured({"estimate": "7 of 9"})),
    "numbers for a measure": ("evaluate pure", measured({"estimate": [0.5, 0.25]})),
}


@pytest.mark.parametrize("name", UNPAID)
def test_what_nothing_pays_for_is_not_accepted(name: str) -> None:
    release, forge = UNPAID[name]
    honest = opened(release)
    lines = copy.deepcopy(honest.lines)
    forge(lines)
    assert not accepted(Parsed(lines, honest.body, honest.binary))


def test_a_query_that_is_asked_again_may_have_its_answer() -> None:
    honest = opened("function zcdp")
    lines = [honest.lines[0], honest.lines[1], *honest.lines[1:]]
    assert accepted(Parsed(lines, b"", False))
