"""Every number of a released file, recomputed: which theorem belongs to which part of it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.certificate.balls import ball, precision
from privet.certificate.compositions import composition
from privet.certificate.declared_rows import declared_rows
from privet.certificate.descent_numbers import descent_numbers
from privet.certificate.file_facts import FileFacts, Record, read_facts
from privet.certificate.fit_numbers import FitFacts, fit_numbers
from privet.certificate.kernel_numbers import KERNEL_RELEASES, KernelFacts, kernel_numbers
from privet.certificate.loss_bounds import MARGINS
from privet.certificate.mean_numbers import (
    histogram_numbers,
    matrix_numbers,
    mean_queries,
    moments_numbers,
    statistics_numbers,
)
from privet.certificate.search_numbers import SEARCHES, search_numbers
from privet.certificate.verdicts import Number, Undecided, at_most, equal, fact, stated
from privet.errors import DataError


@dataclass(frozen=True)
class FilePart:
    """One release of a file: its event, its place among those of its mechanism, its grid."""

    name: str
    event: Record
    place: int
    grid: int | None


def recompute(path: str | os.PathLike[str]) -> list[Number]:
    """Every number of a file: claimed, certified enclosure, verdict."""
    facts = read_facts(Path(path))
    with precision():
        try:
            return list(_numbers(facts))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise DataError(
                "The file does not hold what a release of its kind holds: "
                f"{type(error).__name__} while its numbers were recomputed."
            ) from error


def _numbers(facts: FileFacts) -> Iterator[Number]:
    parts = _parts(facts)
    for part in parts:
        yield from _decided(part.name, _part_numbers(facts, part))
        if len(parts) > 1:
            yield from _decided(part.name, _composed(part.name, part.event))
    yield from _decided("total", _whole(facts))


def _decided(name: str, numbers: Iterator[Number]) -> Iterator[Number]:
    """What can be decided, and in words what cannot."""
    try:
        yield from numbers
    except Undecided as reason:
        yield stated(name, "the rest", None, f"cannot be decided here: {reason}")


def _parts(facts: FileFacts) -> list[FilePart]:
    """The releases of an event; a sentence on numerics tells of stages first, then of the fit."""
    event, grids = facts.event, facts.grids
    events = event.get("parts") or [event]
    exponents: list[int | None] = [None] * len(events)
    if facts.kind == "evaluation":
        exponents[0] = grids[0] if grids else None
    elif len(grids) == len(events):
        exponents = [grids[-1], *grids[:-1]]
    seen: dict[str, int] = {}
    found = []
    for one, grid in zip(events, exponents, strict=True):
        place = seen.get(one["mechanism"], 0)
        seen[one["mechanism"]] = place + 1
        label = one["mechanism"] if place == 0 else f"{one['mechanism']} {place + 1}"
        found.append(FilePart(label, one, place, grid))
    return found


# -- one release -----------------------------------------------------------------------------------


def _part_numbers(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    mechanism = part.event["mechanism"]
    if mechanism not in FITS and part.event["share"] != 1.0:
        yield fact(
            part.name,
            "share",
            part.event["share"],
            False,
            "this mechanism has no minimizer gap to pay for",
        )
    if mechanism != "matrix" and part.event["noise"] == "cone laplace":
        told = "cone Laplace noise is proved only for the matrices of intervals"
        yield fact(part.name, "noise scale", part.event["scale"], False, told)
    if mechanism in SEARCHES:
        yield from search_numbers(part.name, part.event, facts)
        yield from _chosen(facts, part)
    elif mechanism in KERNEL_RELEASES:
        rows = declared_rows(facts)
        yield from kernel_numbers(KernelFacts(part.name, part.event, rows, facts, part.grid))
    elif mechanism in RELEASES:
        yield from RELEASES[mechanism](facts, part)
    else:
        raise Undecided(f"the mechanism {mechanism!r} is not known here")


FITS = ("objective",)


def _chosen(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    """The fit that a search chose, where the file keeps its event."""
    kept = facts.constants.get("fit")
    if kept is None:
        raise Undecided("an older file does not keep the numbers of the chosen fit")
    budget, claim = facts.parameters["budget"], kept["claim"]
    told = "the chosen fit must claim the budget declared for it"
    amount = next(claim[name] for name in ("epsilon", "rho", "mu") if name in claim)
    yield fact("chosen fit", "budget", amount, budget == claim, told)
    inner = FileFacts(
        facts.kind,
        {**facts.header, "guarantee": {**facts.guarantee, "event": kept}},
        facts.lines,
        facts.arrays,
    )
    for one in _parts(inner):
        chosen = FilePart(f"chosen fit: {one.name}", one.event, one.place, one.grid)
        yield from _part_numbers(inner, chosen)
    yield composition("chosen fit", claim, kept["curves"])
    yield fact("chosen fit", "rows", kept["n"], *_rows_of_a_fit(part.event, int(kept["n"])))


def _rows_of_a_fit(search: Record, rows: int) -> tuple[bool, str]:
    """Of the search's rows those that do not validate, or a part of them."""
    n, held = int(search["n"]), int(search["m"])
    if search["mechanism"] == "partition search":
        return rows + held <= n, "must leave the validation rows of the search aside"
    if search["mechanism"] == "search with public validation":
        return rows == n, "must be all rows of the search"
    return rows in (n, n - held), "must be the rows of the search, with or without validation rows"


def _fit(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    rows = declared_rows(facts)
    calibration = facts.parameters.get("calibration")
    if calibration not in (None, "exact", "wang2018", "chaudhuri2011"):
        raise Undecided(f"the calibration {calibration!r} is not known here")
    yield from fit_numbers(
        FitFacts(part.name, part.event, rows, facts.parameters, part.grid, facts.constants)
    )
    coef = facts.arrays.get("coef_")
    if coef and part.grid is not None and rows.loss.name in MARGINS:
        told = "every released coefficient must lie on the grid"
        whole = all(math.ldexp(weight, -part.grid).is_integer() for weight in coef)
        yield fact(part.name, "coefficients", len(coef), whole, told)


def _descent(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    rows = declared_rows(facts)
    return descent_numbers(
        FitFacts(part.name, part.event, rows, facts.parameters, part.grid, facts.constants)
    )


def _statistics(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    """Noisy second moments of rows and target; what is solved from them is post-processing."""
    columns = declared_rows(facts).columns
    if columns is None:
        raise Undecided("the file does not keep its columns")
    return statistics_numbers(part.name, part.event, columns, part.grid)


def _histogram(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    cells = int(part.event["m"])
    tables = [_flat(table) for table in facts.header.get("counts", {}).values()]
    alike = [table for table in tables if len(table) == cells]
    events = facts.event.get("parts") or [facts.event]
    before = [one for one in events[: part.place] if int(one["m"]) == cells]
    if tables and len(before) >= len(alike):
        told = "the file has no table of counts with this many cells"
        yield fact(part.name, "cells", cells, False, told)
        return
    counts = alike[len(before)] if tables else None
    yield from histogram_numbers(part.name, part.event, counts, part.grid)


def _flat(value: Any) -> list[float]:
    return (
        [number for each in value for number in _flat(each)] if isinstance(value, list) else [value]
    )


def _moments(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    if facts.kind not in ("model", "evaluation"):
        raise Undecided("the file does not keep the declarations of these means")
    queries = mean_queries(facts)
    if part.place >= len(queries):
        raise Undecided("the file does not declare what these means are of")
    return moments_numbers(part.name, part.event, queries[part.place], part.grid)


def _matrix(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    if facts.kind != "intervals":
        raise Undecided("the file does not keep the matrices")
    return matrix_numbers(part.name, part.event, facts, part.grid)


#: The mechanisms that are known here, beside searches and answers from a kernel.
RELEASES: dict[str, Callable[[FileFacts, FilePart], Iterator[Number]]] = {
    "output": _fit,
    "objective": _fit,
    "gradient": _descent,
    "statistics": _statistics,
    "histogram": _histogram,
    "moments": _moments,
    "matrix": _matrix,
}


# -- the whole -------------------------------------------------------------------------------------


DESCRIBED = ("scale", "sensitivity", "share", "n", "m", "regularization")


def _composed(name: str, event: Record) -> Iterator[Number]:
    yield composition(name, event["claim"], event["curves"])


def _whole(facts: FileFacts) -> Iterator[Number]:
    """The claim by its curves, the curves of the parts, the rows, and what a person is promised."""
    event, name = facts.event, "total"
    parts = event.get("parts", [])
    if parts:
        curves = [curve for part in parts for curve in part["curves"]]
        told = "the total must consist of the curves of its parts"
        yield fact(name, "curves", len(event["curves"]), event["curves"] == curves, told)
        told = "all parts must have the same number of rows"
        yield fact(name, "rows", event["n"], {part["n"] for part in parts} == {event["n"]}, told)
        told = "the total must repeat the numbers of one of its parts"
        right = any(all(event[key] == part[key] for key in DESCRIBED) for part in parts)
        yield fact(name, "noise scale", event["scale"], right, told)
    if "n" in facts.header and facts.kind != "intervals":
        told = "must match the number of rows stated elsewhere in the file"
        yield fact(name, "rows", event["n"], facts.header["n"] == event["n"], told)
    yield composition(name, event["claim"], event["curves"])
    yield from _declared(facts)
    yield from _group(facts)


def _declared(facts: FileFacts) -> Iterator[Number]:
    """A model's claim is the budget that was declared for it."""
    event = facts.event
    budget = facts.parameters.get("budget", facts.header.get("budget"))
    if budget is None or event["mechanism"] in SEARCHES:
        return
    for number in ("epsilon", "rho", "mu", "delta"):
        if number in event["claim"]:
            told = "must equal the declared budget"
            right = budget.get("kind") == event["claim"]["kind"] and number in budget
            if right:
                yield equal("total", number, event["claim"][number], ball(budget[number]), told)
            else:
                yield fact("total", number, event["claim"][number], False, told)


def _group(facts: FileFacts) -> Iterator[Number]:
    """What the claim is worth to a person with several rows."""
    size, claim = int(facts.guarantee["group"]), facts.event["claim"]
    rows = str(facts.guarantee["unit"]).startswith("one row of the ")
    told = "rows that one protected unit can contribute"
    yield fact("total", "rows per protected unit", size, size == 1 if rows else size >= 1, told)
    if size == 1:
        return
    told = f"for a person with {size} rows, computed from the claim for one row"
    amount = claim.get("epsilon", claim.get("mu"))
    cost = size**2 * ball(claim["rho"]) if amount is None else size * ball(amount)
    value = float(cost.mid())
    yield at_most("total", "amount for a person", value, cost, told)
    if "delta" in claim:
        e = ball(claim["epsilon"])
        cost = ball(claim["delta"]) * (size * e).expm1() / e.expm1()
        yield at_most("total", "delta for a person", float(cost.mid()), cost, told)
