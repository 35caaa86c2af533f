"""Facts that a file tells twice, as a number and in a sentence: both must say the same.

numerics      a grid for each part, and "exact" only where noise is exact on it
assumptions   norms, intervals, kernels and candidates; and what only an assertion makes public
budget        the declared one is there, to be compared with the claim
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from privet.certificate.declared_rows import kernel_bound
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.search_numbers import is_search
from privet.certificate.verdicts import Number, Undecided, agreed, left_open

#: Sentences show six digits.
SHOWN = 1e-5
EXACT = ("output", "gradient", "statistics", "moments", "matrix", "projection")
_GRID = re.compile(r"2\^-?\d+")
_NORM = re.compile(r"clipped to Euclidean norm ([0-9.e+-]+)")
_TARGET = re.compile(r"the target's interval, from (\S+) to (\S+); ")
_KERNEL = re.compile(r"K\(x, x\) at most ([0-9.e+-]+)")
_CANDIDATES = re.compile(r"the list of (\d+) candidates")
#: What is public by assertion only, and words of the sentence that says so.
ASSERTED = {
    "center": "the center of the regularization",
    "public_rows": "the public rows for whitening",
    "public_points": "public points, declared public",
    "class_weight": "the class weights",
    "centers": "the centers of the components",
    "column_bounds": "declared column_bounds",
}
#: What every promise relies on: the table's size, its labels, and how long a row can be.
RELIED = (
    "the number of rows",
    "the coding of the two classes|the set of classes|the target's interval",
    r"Euclidean norm|declared domain|random features of norm|K\(x, x\)|features of norm",
)


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
    needed = [said for key, said in ASSERTED.items() if p.get(key) is not None]
    needed += [each for each in RELIED if facts.kind != "evaluation" or each is not RELIED[-1]]
    if right and not all(re.search(said, words) for said in needed):
        told = "the list of what the promise relies on is not one that is known here"
        return left_open("total", "assumptions", told)
    told = "must repeat the declared numbers, and name what is public by assertion only"
    return agreed("total", "assumptions", right, told)
