"""The numbers of counts, means and matrices: queries whose sensitivity is a count of rows.

histogram   2 t and sqrt(2 t) for rows in t cells; 1 for one cell          counts.proof.md
moments     diameter/n and rounding, widened by the grid                   moments.proof.md
matrix      1 in units of its own sensitivity, rounding, the grid          matrix.proof.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from privet.certificate.balls import Ball, ball
from privet.certificate.beside_numbers import BESIDE, BesideFacts, beside_unit
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.fit_numbers import needed_before, slack_number
from privet.certificate.pair_bounds import pair_number
from privet.certificate.rounding import (
    BLOCK,
    UNIT,
    coordinate_sd,
    grid_number,
    noise_scale,
    norm_quantile,
    widened,
)
from privet.certificate.verdicts import Number, Undecided, at_least, fact, stated

#: Counts are made consistent with the public number of rows; what rounding leaves of that.
CONSISTENT = 1e-6
#: Standard deviations that the sum of all noises in a table stays within, but for 1e-15.
MOST_SPREAD = 25.0


# -- counts --------------------------------------------------------------------------------------


def histogram_numbers(
    release: str, event: Record, counts: Sequence[float], touched: int, grid: int | None
) -> Iterator[Number]:
    """Sensitivity, noise and grid of the counts of one table, a row in ``touched`` cells of it."""
    cells, n, noise = int(event["m"]), int(event["n"]), event["noise"]
    if cells > 1:
        yield _rows_number(release, event, abs(math.fsum(counts) - touched * n), n)
    whole = ball(1 if cells == 1 else 2 * touched)
    needed = whole if noise == "laplace" else whole.sqrt()
    told = f"for rows counted in {touched} of {cells} cells" if cells > 1 else "for a single count"
    yield at_least(release, "sensitivity", event["sensitivity"], needed, told, 1e-9)
    yield from _noise(release, event, cells)
    if grid is not None:
        scale = ball(event["scale"])
        sd = scale * ball(2).sqrt() if noise == "laplace" else scale
        yield grid_number(release, grid, sd, most=0)


def _rows_number(release: str, event: Record, off: float, n: int) -> Number:
    """The counts add up to the rows times the cells that a row is in, but for their noise."""
    each = 2.0 if event["noise"] == "laplace" else 1.0
    spread = MOST_SPREAD * event["scale"] * math.sqrt(each * int(event["m"]))
    if off <= CONSISTENT * n or (off <= spread and 4.0 * spread < n):
        return fact(
            release, "rows", n, True, "the counts add up to the number of rows, up to noise"
        )
    if off > spread:
        told = "the counts miss the number of rows by far more than noise can explain"
        return fact(release, "rows", n, False, told)
    return stated(
        release,
        "rows",
        n,
        "the noise is too large to compare counts and rows; no price of a count depends on them",
    )


def _noise(release: str, event: Record, numbers: int) -> Iterator[Number]:
    """The scale for the stated sensitivity, and the slack of a discrete Gaussian."""
    curve = event["curves"][0]  # of several rounds, which are alike
    scale = noise_scale(event["noise"], ball(event["sensitivity"]), curve)
    told = "required by this sensitivity and curve"
    yield at_least(release, "noise scale", event["scale"], scale, told)
    if event["noise"] == "gaussian":
        yield slack_number(release, curve, numbers)


# -- means ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MeanQuery:
    """What is averaged: how far two rows' vectors are apart, how long one is, how many numbers."""

    diameter: Ball
    norm: Ball
    numbers: int
    columns: int


def column_means(d: int) -> MeanQuery:
    """Means and mean squares of ``d`` columns in [-1, 1]."""
    return MeanQuery(2 * ball(d).sqrt(), ball(3 * d).sqrt(), 2 * d, d)


#: What the evaluation of a regression averages: absolute error, squared error, target.
ERROR_COLUMNS = 3


def moments_numbers(
    release: str, event: Record, query: MeanQuery, grid: int | None
) -> Iterator[Number]:
    """Sensitivity, noise and grid of one round; rounds are alike."""
    n, p, noise = int(event["n"]), query.numbers, event["noise"]
    told = "must match the columns of the table"
    yield fact(release, "columns", event["m"], int(event["m"]) == query.columns, told)
    exact = query.diameter / n + 2 * query.norm * 4 * BLOCK * ball(UNIT)
    needed = exact
    if noise == "gaussian":
        if grid is None:
            raise Undecided("the file does not say which grid the noise is on")
        needed = widened(exact, grid, p)
    told = "diameter/n, plus rounding and the grid"
    yield at_least(release, "sensitivity", event["sensitivity"], needed, told, 1e-6)
    told = "all rounds must have the same curve"
    same = all(curve == event["curves"][0] for curve in event["curves"])
    yield fact(release, "rounds", len(event["curves"]), same, told)
    yield from _noise(release, event, p)
    if grid is not None:
        yield _mean_grid(release, event, query.norm, needed, grid, p)


def _mean_grid(
    release: str, event: Record, longest: Ball, needed: Ball, grid: int, p: int
) -> Number:
    noise, scale = event["noise"], ball(event["scale"])
    if noise == "laplace":
        largest = longest + norm_quantile(noise, scale, p)
        return grid_number(release, grid, coordinate_sd(noise, scale, p), largest)
    return grid_number(release, grid, scale * needed_before(needed, grid, p) / needed)


def statistics_numbers(
    release: str, event: Record, columns: int, grid: int | None
) -> Iterator[Number]:
    """Second moments of a row and its target, but for the last (``statistics.proof.md``)."""
    numbers = (columns + 1) * (columns + 2) // 2 - 1
    query = MeanQuery(ball(2).sqrt(), ball(1), numbers, columns)
    yield from moments_numbers(release, event, query, grid)


# -- matrices ------------------------------------------------------------------------------------


def _scores(header: Record) -> int:
    """Reduced scores: the columns of the matrix that shows them."""
    return len(header["geometry"]["scores"][0])


def matrix_numbers(
    release: str, event: Record, facts: FileFacts, grid: int | None
) -> Iterator[Number]:
    """The pair behind intervals, in units of its own sensitivity."""
    header: dict[str, Any] = facts.header
    n, noise, side = int(event["n"]), event["noise"], len(header["theta"])
    entries = side * (side + 1)
    told = "must match the number of rows stated elsewhere in the file"
    yield fact(release, "rows", n, n == header["n"], told)
    told = "must match the number of parameters per score"
    yield fact(release, "columns", event["m"], side == int(event["m"]) * _scores(header), told)
    stretch = 2 * side if noise == "cone laplace" else 2
    beside = event["mechanism"] == BESIDE
    reduction = BesideFacts(facts).reduction if beside else ball(1)
    exact = 1 + reduction * ball(stretch).sqrt() * n * (BLOCK + 16) * ball(UNIT)
    needed = exact
    if noise == "gaussian":
        if grid is None:
            raise Undecided("the file does not say which grid the noise is on")
        needed = widened(exact, grid, entries)
    told = "1 in its own units, plus rounding and the grid"
    yield at_least(release, "sensitivity", event["sensitivity"], needed, told, 1e-6)
    # in its own units the pair's sensitivity is 1 in the norm of either Laplace law
    law = "laplace" if noise == "cone laplace" else noise
    yield from _noise(release, {**event, "noise": law}, entries)
    kept = header["matrices"]["noise"]
    yield _kept_noise(release, event, kept, side)
    if grid is not None and noise == "cone laplace":
        # four traces of matrices of side p are Gamma(2 p (p + 1)) together
        scale = ball(event["scale"])
        largest = n * reduction + norm_quantile("laplace", scale, 2 * entries)
        yield grid_number(release, grid, scale * ball(side + 1).sqrt(), largest)
    elif grid is not None:
        yield _mean_grid(release, event, ball(n), needed, grid, entries)
    told = "must match the number of entries in both matrices"
    yield fact(release, "numbers", kept["dimension"], kept["dimension"] == entries, told)
    told = "must match the regularization stated in the file"
    right = header["regularization"] == event["regularization"]
    yield fact(release, "regularization", event["regularization"], right, told)
    yield beside_unit(release, facts) if beside else pair_number(release, event, facts)


def _kept_noise(release: str, event: Record, kept: Record, side: int) -> Number:
    """The matrices' noise has the charged law and scale; cone Laplace, also the matrices' side."""
    right = kept["kind"] == event["noise"] and kept["scale"] == event["scale"]
    if event["noise"] == "cone laplace":
        right = right and kept["side"] == side
    told = "must be the noise that was charged"
    return fact(release, "noise of the matrices", kept["scale"], right, told)
