"""The numbers of answers from a kernel minimizer.

S >= (2 L R/n + 2 sqrt(M) gamma)/Lam in the kernel's space, M minimizers   kernel_minimizer
s >= R S + 2 e of one prediction, e its rounding                           projection, step 6
function        sigma >= S sqrt(1.01)/sqrt(2 rho), M = 64
sparse vector   comparisons with Lap(4 s/eps1)
projection      S for coordinates; sqrt(lambda_max) S, |Z| R S for predictions
distinguishing  answers with Lap(s/eps2), or Gaussian noise s/sqrt(2 rho2)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from privet.certificate.balls import Ball, ball, ratio, smaller, total
from privet.certificate.declared_rows import DeclaredRows
from privet.certificate.eigenvalues import is_narrow, largest_eigenvalue, largest_of_positive
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.fit_numbers import WIDEST_GAP, needed_before, slack_number
from privet.certificate.rounding import (
    UNIT,
    coordinate_sd,
    grid_number,
    lost,
    minimizer_norm,
    noise_scale,
    norm_quantile,
    widened,
)
from privet.certificate.verdicts import Number, Undecided, at_least, at_most, fact, stated

KERNEL_UNITS = 1024  # a kernel's value is known to this many units in the last place
COEFFICIENTS = 2  # the coefficients add up to at most this many times L/Lam
RESUMED = 64  # how often a function release may find its minimizer
MOST_POINTS = 80


@dataclass(frozen=True)
class KernelFacts:
    """A kernel minimizer by its declarations."""

    release: str
    event: Record
    rows: DeclaredRows
    facts: FileFacts
    grid: int | None

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.event["n"])

    @property
    def lam(self) -> Ball:
        """The regularization."""
        return ball(self.event["regularization"])

    def sensitivity(self, minimizers: int = 1) -> Ball:
        """``S``, with a gap of at least three times the rounding of a gradient."""
        loss, R = self.rows.loss, self.rows.norm
        size = COEFFICIENTS * loss.slope * R / self.lam
        floor = lost(self.n + KERNEL_UNITS) * loss.curvature * R**2 * size + 16 * ball(UNIT) * (
            loss.slope * R + loss.curvature * loss.offset * R
        )
        gap = ball(minimizers).sqrt() * 3 * floor
        return (2 * loss.slope * R / self.n + 2 * gap) / self.lam

    @property
    def rounding(self) -> Ball:
        """``e``: what a computed prediction can be off by."""
        size = COEFFICIENTS * self.rows.loss.slope / self.lam
        return lost(self.n + KERNEL_UNITS) * self.rows.norm**2 * size

    @property
    def of_prediction(self) -> Ball:
        """``s``."""
        return self.rows.norm * self.sensitivity() + 2 * self.rounding

    @property
    def longest(self) -> Ball:
        """No minimizer is longer."""
        return minimizer_norm(self.rows, self.n, self.lam, ball(0))

    @property
    def exponent(self) -> int:
        """The grid's, which nothing is decided without."""
        if self.grid is None:
            raise Undecided("the file does not say which grid the noise is on")
        return self.grid

    def on_the_grid(self, *, marked: bool) -> Number:
        """Whether the released answers lie on the grid: all, or those that are corrections."""
        told, grid = "every released answer must lie on the grid", self.exponent
        pairs = [
            pair
            for line in self.facts.lines
            if "answers" in line
            for pair in zip(line["answers"], line["marked"], strict=True)
        ]
        drawn = [answer for answer, mark in pairs if mark or not marked]
        right = all(math.ldexp(answer, -grid).is_integer() for answer in drawn)
        return fact(self.release, "answers", len(drawn), right, told)


def kernel_numbers(kernel: KernelFacts) -> Iterator[Number]:
    """Every number of a release from a kernel minimizer."""
    declared, used = kernel.facts.parameters.get("regularization"), kernel.event["regularization"]
    if isinstance(declared, int | float):
        told = "must equal the declared value"
        yield fact(kernel.release, "regularization", used, used == declared, told)
    else:
        yield stated(
            kernel.release,
            "regularization",
            used,
            "taken from the file as stated; the noise must fit it",
        )
    if kernel.event["mechanism"] != "projection":
        columns = kernel.facts.parameters.get("columns", kernel.facts.header.get("columns"))
        told = "must match the columns of the table"
        m = int(kernel.event["m"])
        yield fact(kernel.release, "columns", m, m == columns, told)
    yield from KERNEL_RELEASES[kernel.event["mechanism"]](kernel)


def _function(kernel: KernelFacts) -> Iterator[Number]:
    event, name = kernel.event, kernel.release
    told = "of the minimizer in the kernel's space, computed up to 64 times"
    needed = kernel.sensitivity(RESUMED)
    yield at_least(name, "sensitivity", event["sensitivity"], needed, told, WIDEST_GAP)
    (curve,) = event["curves"]
    room = ratio(101, 100).sqrt()
    scale = noise_scale("gaussian", ball(event["sensitivity"]) * room, curve)
    told = "required by this sensitivity and curve, plus 1 % for queries that are not stored"
    yield at_least(name, "noise scale", event["scale"], scale, told)
    sd = ball(event["scale"]) * kernel.rows.norm
    largest = kernel.longest * kernel.rows.norm + norm_quantile("gaussian", sd, 1)
    yield grid_number(name, kernel.exponent, sd, largest)
    yield kernel.on_the_grid(marked=False)


def _sparse(kernel: KernelFacts) -> Iterator[Number]:
    event, name = kernel.event, kernel.release
    told = "of one prediction: R S plus rounding"
    yield at_least(
        name, "sensitivity", event["sensitivity"], kernel.of_prediction, told, WIDEST_GAP
    )
    s, constants = ball(event["sensitivity"]), kernel.facts.constants
    if "epochs" not in constants:
        raise Undecided("an older file has neither the number of epochs nor the answers' noise")
    epochs, answer = int(constants["epochs"]), ball(constants["answer_scale"])
    epsilon = 4 * s / ball(event["scale"])
    (curve,) = event["curves"]
    told = f"cost of {epochs} epochs of comparisons and released answers"
    largest = None
    if event["noise"] == "laplace":
        cost = epochs * (epsilon + s / answer)
        yield at_most(name, "cost of the noise", curve["loss"], cost, told)
        largest = kernel.longest * kernel.rows.norm + norm_quantile("laplace", answer, 1)
    else:
        cost = epochs * (epsilon**2 / 2 + (widened(s, kernel.exponent, 1) / answer) ** 2 / 2)
        yield at_most(name, "cost of the noise", curve["rho"], cost, told)
    yield grid_number(name, kernel.exponent, s, largest)
    yield kernel.on_the_grid(marked=True)


def _distinguishing(kernel: KernelFacts) -> Iterator[Number]:
    event, name = kernel.event, kernel.release
    told = "of one prediction: R S plus rounding"
    yield at_least(
        name, "sensitivity", event["sensitivity"], kernel.of_prediction, told, WIDEST_GAP
    )
    s, scale, constants = ball(event["sensitivity"]), ball(event["scale"]), kernel.facts.constants
    if "rounds" not in constants:
        raise Undecided("an older file has neither the number of rounds nor the points' epsilon")
    rounds, point = int(constants["rounds"]), ball(constants["point_epsilon"])
    (curve,) = event["curves"]
    told = f"cost of {rounds} rounds, each a drawn point and a noisy answer"
    if event["noise"].endswith("laplace"):
        yield at_most(name, "cost of the noise", curve["loss"], rounds * (point + s / scale), told)
        largest = kernel.longest * kernel.rows.norm + norm_quantile("laplace", scale, 1)
        sd = coordinate_sd("laplace", scale, 1)
        yield grid_number(name, kernel.exponent, sd, largest)
        return
    whole = widened(s, kernel.exponent, 1)
    each = point**2 / 8 + (whole / scale) ** 2 / 2
    yield at_most(name, "cost of the noise", curve["rho"], rounds * each, told)
    yield grid_number(name, kernel.exponent, scale * s / whole)


def _projection(kernel: KernelFacts) -> Iterator[Number]:
    event, name = kernel.event, kernel.release
    noise, numbers = event["noise"], int(event["m"])
    points: list[list[float]] = next(
        (line["points"] for line in kernel.facts.lines if "points" in line), []
    )
    told = "must not exceed the number of public points"
    yield fact(name, "numbers", numbers, 1 <= numbers <= len(points), told)
    wide, lost_twice, told = ball(1), ball(0), "of coordinates, without the rounding of the basis"
    reach, of_one = ball(1), numbers  # coordinates have one length, predictions each their own
    if kernel.facts.parameters.get("mechanism") == "tddl":
        yield fact(name, "numbers", numbers, numbers == len(points), "one for each public point")
        reach, of_one = _largest_eigenvalue(kernel, points).sqrt(), 1
        wide = reach
        if noise == "laplace":
            count = ball(len(points))
            wide = smaller(count * kernel.rows.norm, count.sqrt() * reach)
        many = ball(len(points)) if noise == "laplace" else ball(len(points)).sqrt()
        lost_twice, told = 2 * kernel.rounding * many, "of predictions at the public points"
    needed = wide * kernel.sensitivity() + lost_twice
    if noise == "gaussian":
        needed = widened(needed, kernel.exponent, numbers)
    yield at_least(name, "sensitivity", event["sensitivity"], needed, told, WIDEST_GAP)
    (curve,) = event["curves"]
    scale = noise_scale(noise, ball(event["sensitivity"]), curve)
    yield at_least(
        name, "noise scale", event["scale"], scale, "required by this sensitivity and curve"
    )
    drawn = ball(event["scale"])
    if noise == "gaussian":
        yield slack_number(name, curve, numbers)
        sd = drawn * needed_before(needed, kernel.exponent, numbers) / needed
        yield grid_number(name, kernel.exponent, sd)
    else:
        largest = reach * kernel.longest + norm_quantile(noise, drawn, of_one)
        yield grid_number(name, kernel.exponent, coordinate_sd(noise, drawn, of_one), largest)


def _largest_eigenvalue(kernel: KernelFacts, points: list[list[float]]) -> Ball:
    """Of the points' kernel: predictions move its root times as far as the minimizer."""
    if len(points) > MOST_POINTS:
        raise Undecided(f"more than {MOST_POINTS} public points: their eigenvalue is not computed")
    between = _kernel_function(kernel.facts.header["kernel"])
    times = list(Counter(map(tuple, points)).items())  # a point twice weighs as much as two
    half = [
        [ball(a * b).sqrt() * between([*x], [*z]) for z, b in times[: i + 1]]
        for i, (x, a) in enumerate(times)
    ]
    rows = [[half[max(i, j)][min(i, j)] for j in range(len(half))] for i in range(len(half))]
    found = largest_of_positive(rows)
    if is_narrow(found):
        return found
    try:
        return largest_eigenvalue(rows)
    except ValueError:  # they lie too close together: the wider enclosure may do
        return found


def _kernel_function(record: Record) -> Callable[[list[float], list[float]], Ball]:
    """The kernel itself, for those that this needs."""
    if record["name"] == "gaussian":
        gamma = ball(record["gamma"])
        return lambda x, z: (
            -gamma * total((ball(a) - ball(b)) ** 2 for a, b in zip(x, z, strict=True))
        ).exp()
    if record["name"] == "laplacian":
        gamma = ball(record["gamma"])
        return lambda x, z: (
            -gamma * total(abs(ball(a) - ball(b)) for a, b in zip(x, z, strict=True))
        ).exp()
    raise Undecided(f"the eigenvalues of the kernel {record['name']!r} are not computed here")


#: How each release of a kernel minimizer is recomputed.
KERNEL_RELEASES: dict[str, Callable[[KernelFacts], Iterator[Number]]] = {
    "function": _function,
    "sparse_vector": _sparse,
    "projection": _projection,
    "distinguishing": _distinguishing,
}
