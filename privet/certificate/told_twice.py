"""Facts that a file tells twice, as a number and in a sentence: both must say the same.

numerics      a grid for each part, and "exact" only where noise is exact on it
assumptions   norms, intervals, kernels and candidates
budget        the declared one is there, to be compared with the claim
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from privet.certificate.declared_rows import kernel_bound, map_norm
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.promised_unit import SHOWN
from privet.certificate.search_numbers import is_search
from privet.certificate.verdicts import Number, Undecided, agreed, left_open

EXACT = ("output", "gradient", "statistics", "moments", "matrix", "projection")
_GRID = re.compile(r"2\^-?\d+")
_NORM = re.compile(r"clipped to Euclidean norm ([0-9.e+-]+)")
_TARGET = re.compile(r"the target's interval, from (\S+) to (\S+); ")
_KERNEL = re.compile(r"K\(x, x\) at most ([0-9.e+-]+)")
_CANDIDATES = re.compile(r"the list of (\d+) candidates")


def told_twice(facts: FileFacts) -> Iterator[Number]:
    """Sentences against the numbers that they repeat."""
    yield _numerics(facts)
    yield _assumptions(facts)
    if facts.kind in ("model", "answers") and _budget(facts) is None:
        yield left_open("total", "budget", "the file does not keep the declared budget")


def _budget(facts: FileFacts) -> Any:
    return facts.parameters.get("budget", facts.header.get("budget"))


def _numerics(facts: FileFacts) -> Number:
    event = facts.event
    if is_search(event):
        event = facts.constants.get("fit", event)
    first, *stages = event.get("parts") or [event]
    parts = [first] if facts.kind == "evaluation" else [*stages, first]
    clauses = [each for each in str(facts.guarantee["numerics"]).split(";") if _GRID.search(each)]
    if not len(clauses) == len(facts.grids) == len(parts):  # one grid in each, none elsewhere
        raise Undecided("the file does not say the grid of each of its parts")
    right = all(
        _is_exact(part) or "exact discrete" not in clause
        for clause, part in zip(clauses, parts, strict=True)
    )
    told = "noise may be called exact only where it is drawn exactly on its grid"
    return agreed("total", "numerics", right, told)


def _is_exact(part: Record) -> bool:
    if part["mechanism"] in ("histogram", "sparse_vector"):
        return True
    return part["mechanism"] in EXACT and part["noise"] == "gaussian"


def _assumptions(facts: FileFacts) -> Number:
    words, p = "; ".join(map(str, facts.guarantee["assumptions"])), facts.parameters
    pairs: list[tuple[float, float]] = []
    bound = p.get("norm_bound", facts.header.get("geometry", {}).get("bound"))
    if p.get("features") is not None:  # what is clipped are the features of the map
        bound = float(map_norm(p["features"]).mid())
    if bound is not None:
        pairs += [(float(told), float(bound)) for told in _NORM.findall(words)]
    for low, high in _TARGET.findall(words):
        if "target_bounds" in p:
            pairs += zip((float(low), float(high)), map(float, p["target_bounds"]), strict=True)
    kernel: Any = facts.header.get("kernel", p.get("kernel"))
    for told in _KERNEL.findall(words) if kernel else ():
        pairs.append((float(told), float(kernel_bound(kernel).mid())))
    for told in _CANDIDATES.findall(words):
        pairs.append((float(told), float(facts.constants.get("candidates", told))))
    right = all(abs(told - meant) <= SHOWN * abs(meant) for told, meant in pairs)
    told = "must repeat the declared numbers"
    return agreed("total", "assumptions", right, told)
