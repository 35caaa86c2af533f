"""Every number of a released file, recomputed: which theorem belongs to which part of it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.certificate.accounted import checks
from privet.certificate.balls import ball, precision
from privet.certificate.beside_numbers import BESIDE, fit_beside_numbers, is_one_pure_curve
from privet.certificate.class_numbers import class_numbers
from privet.certificate.compositions import composition
from privet.certificate.declared_rows import declared_rows
from privet.certificate.descent_numbers import descent_numbers
from privet.certificate.event_shapes import shape_numbers, whole_numbers
from privet.certificate.file_facts import FileFacts, Record, read_facts
from privet.certificate.fit_numbers import FitFacts, fit_numbers
from privet.certificate.kernel_numbers import KERNEL_RELEASES, KernelFacts, kernel_numbers
from privet.certificate.loss_bounds import MARGINS
from privet.certificate.mean_numbers import (
    ERROR_COLUMNS,
    column_means,
    histogram_numbers,
    matrix_numbers,
    moments_numbers,
    statistics_numbers,
)
from privet.certificate.model_contents import fit_contents
from privet.certificate.other_contents import table_shape, touched_cells
from privet.certificate.search_numbers import SEARCHES, is_search, search_numbers
from privet.certificate.stages import declared_stages
from privet.certificate.verdicts import Number, Undecided, equal, fact, left_open
from privet.errors import DataError

#: No release has as many; compositions of more would not end.
MOST_PARTS, MOST_CURVES = 16, 64


@dataclass(frozen=True)
class FilePart:
    """One release of a file: its event, its place among those of its mechanism, its grid."""

    name: str
    event: Record
    place: int
    grid: int | None


def recompute(path: str | os.PathLike[str]) -> list[Number]:
    """Every number of a file: claimed, certified enclosure, verdict."""
    return recompute_facts(read_facts(Path(path)))


def recompute_facts(facts: FileFacts) -> list[Number]:
    """Every number of what a file says."""
    with precision():
        try:
            return list(_numbers(facts))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise DataError(
                "The file does not hold what a release of its kind holds: "
                f"{type(error).__name__} while its numbers were recomputed."
            ) from error


def _numbers(facts: FileFacts) -> Iterator[Number]:
    parts = _parts(facts)
    for check in checks(facts):
        yield from _decided("file", check(facts))
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
        yield left_open(name, "the rest", str(reason))


def _parts(facts: FileFacts) -> list[FilePart]:
    """The releases of an event; a sentence on numerics tells of stages first, then of the fit."""
    event, grids = facts.event, facts.grids
    events = event.get("parts") or [event]
    if len(events) > MOST_PARTS or any(len(e["curves"]) > MOST_CURVES for e in (event, *events)):
        raise DataError("The file's event has more parts or curves than that of any release.")
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
    if not mechanism.startswith("matrix") and part.event["noise"] == "cone laplace":
        told = "cone Laplace noise is proved only for the matrices of intervals"
        yield fact(part.name, "noise scale", part.event["scale"], False, told)
    yield from shape_numbers(part.name, part.event)
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
    (amount,) = [claim[name] for name in ("epsilon", "rho", "mu") if name in claim]
    yield fact("chosen fit", "budget", amount, budget == claim, told)
    inner = FileFacts(
        facts.kind,
        {**facts.header, "guarantee": {**facts.guarantee, "event": kept}},
        facts.lines,
        facts.arrays,
        facts.numbers,
    )
    yield from whole_numbers(inner)
    yield from fit_contents(inner)
    for one in _parts(inner):
        chosen = FilePart(f"chosen fit: {one.name}", one.event, one.place, one.grid)
        yield from _part_numbers(inner, chosen)
        yield from _composed(chosen.name, one.event)
    yield from _consists("chosen fit", kept)
    yield composition("chosen fit", claim, kept["curves"])
    right, told = _rows_of_a_fit(part.event, kept["n"], facts.constants["candidates"])
    yield fact("chosen fit", "rows", kept["n"], right, told)


def _rows_of_a_fit(search: Record, rows: int, candidates: int) -> tuple[bool, str]:
    """Of the search's rows those that do not validate, or a part of them."""
    n, held = int(search["n"]), int(search["m"])
    if search["mechanism"] == "partition search":
        told = "must be an equal part of the rows that do not validate"
        return rows == (n - held) // candidates, told
    if search["mechanism"] == "search with public validation":
        return rows == n, "must be all rows of the search"
    return rows == n - held, "must be the rows of the search that do not validate"


def _fit(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    if facts.kind == "intervals":
        yield from fit_beside_numbers(part.name, facts)
        return
    rows = declared_rows(facts)
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


def _means(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    """Noisy sums by class; the scores computed from them are post-processing."""
    rows = declared_rows(facts)
    return class_numbers(
        FitFacts(part.name, part.event, rows, facts.parameters, part.grid, facts.constants)
    )


def _statistics(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    """Noisy second moments of rows and target; what is solved from them is post-processing."""
    columns = declared_rows(facts).columns
    if columns is None:
        raise Undecided("the file does not keep its columns")
    return statistics_numbers(part.name, part.event, columns, part.grid)


def _histogram(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    """The counts of a table: the next one with as many cells as the part paid for."""
    cells = int(part.event["m"])
    counts = facts.header.get("counts", {})
    alike = [name for name in counts if math.prod(table_shape(counts[name])) == cells]
    events = facts.event.get("parts") or [facts.event]
    histograms = [one for one in events if one["mechanism"] == "histogram"]
    before = sum(int(one["m"]) == cells for one in histograms[: part.place])
    if before >= len(alike):
        told = "the file has no table of counts with this many cells"
        yield fact(part.name, "cells", cells, False, told)
        return
    # tables with as many cells are not told apart: a row may be in as many as in any of them
    touched = max(touched_cells(name, table_shape(counts[name])) for name in alike)
    table = _flat(counts[alike[before]])
    yield from histogram_numbers(part.name, part.event, table, touched, part.grid)


def _flat(value: Any) -> list[float]:
    return (
        [number for each in value for number in _flat(each)] if isinstance(value, list) else [value]
    )


def _moments(facts: FileFacts, part: FilePart) -> Iterator[Number]:
    if facts.kind not in ("model", "evaluation"):
        raise Undecided("the file does not keep the declarations of these means")
    if facts.kind == "evaluation":
        queries = [column_means(ERROR_COLUMNS)]
    else:
        queries = [stage.query for stage in declared_stages(facts)]
    if part.place >= len(queries):
        told = "the file declares no stage that these means are of"
        yield fact(part.name, "numbers", int(part.event["m"]), False, told)
        return
    yield from moments_numbers(part.name, part.event, queries[part.place], part.grid)


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
    "means": _means,
    "histogram": _histogram,
    "moments": _moments,
    "matrix": _matrix,
    BESIDE: _matrix,
}


# -- the whole -------------------------------------------------------------------------------------


def _composed(name: str, event: Record) -> Iterator[Number]:
    yield composition(name, event["claim"], event["curves"])


def _consists(name: str, event: Record) -> Iterator[Number]:
    """The curves and the rows of the parts are those of the whole."""
    parts = event.get("parts", [])
    if not parts:
        return
    curves = [curve for part in parts for curve in part["curves"]]
    told = "the total must consist of the curves of its parts"
    beside = any(part["mechanism"] == BESIDE for part in parts)
    right = is_one_pure_curve(event) if beside else event["curves"] == curves
    yield fact(name, "curves", len(event["curves"]), right, told)
    told = "all parts must have the same number of rows"
    yield fact(name, "rows", event["n"], {part["n"] for part in parts} == {event["n"]}, told)


def _whole(facts: FileFacts) -> Iterator[Number]:
    """The claim by its curves, the curves of the parts, the rows, the declared budget."""
    event, name = facts.event, "total"
    yield from _consists(name, event)
    if facts.kind == "evaluation":
        told = "must match the number of rows stated elsewhere in the file"
        yield fact(name, "rows", event["n"], facts.header["n"] == event["n"], told)
    yield composition(name, event["claim"], event["curves"])
    yield from _declared(facts)


def _declared(facts: FileFacts) -> Iterator[Number]:
    """A model's claim is the budget that was declared for it."""
    event = facts.event
    budget = facts.parameters.get("budget", facts.header.get("budget"))
    if budget is None or is_search(event):
        return
    for number in ("epsilon", "rho", "mu", "delta"):
        if number in event["claim"]:
            told = "must equal the declared budget"
            right = budget.get("kind") == event["claim"]["kind"] and number in budget
            if right:
                yield equal("total", number, event["claim"][number], ball(budget[number]), told)
            else:
                yield fact("total", number, event["claim"][number], False, told)
