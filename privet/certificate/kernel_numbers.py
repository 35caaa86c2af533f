"""The numbers of answers from a kernel minimizer.

    S >= (2 L R/n + 2 sqrt(M) gamma)/Lam in the kernel's space, M minimizers   kernel_minimizer
    s >= R S + 2 e of one prediction, e its rounding                           projection, step 6
    function        sigma >= S sqrt(1.01)/sqrt(2 rho), M = 64
    sparse vector   comparisons with Lap(4 s/eps1)
    projection      S for coordinates; sqrt(lambda_max) S, |Z| R S for predictions
    distinguishing  answers with Lap(s/eps2), or Gaussian noise s/sqrt(2 rho2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flint import arb_mat

from privet.certificate.balls import Ball, ball, larger, ratio, smaller
from privet.certificate.declared_rows import DeclaredRows
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.fit_numbers import WIDEST_GAP, slack_number
from privet.certificate.rounding import UNIT, lost, noise_scale, widened
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


def kernel_numbers(kernel: KernelFacts) -> Iterator[Number]:
    """Every number of a release from a kernel minimizer."""
    declared, used = kernel.facts.parameters.get("regularization"), kernel.event["regularization"]
    if isinstance(declared, int | float):
        told = "as declared"
        yield fact(kernel.release, "regularization", used, used == declared, told)
    else:
        yield stated(kernel.release, "regularization", used, "taken from the file; used below")
    yield from KERNEL_RELEASES[kernel.event["mechanism"]](kernel)


def _function(kernel: KernelFacts) -> Iterator[Number]:
    event, name = kernel.event, kernel.release
    told = "of the minimizer in the kernel's space, found up to 64 times"
    needed = kernel.sensitivity(RESUMED)
    yield at_least(name, "sensitivity", event["sensitivity"], needed, told, WIDEST_GAP)
    (curve,) = event["curves"]
    room = ratio(101, 100).sqrt()
    scale = noise_scale("gaussian", ball(event["sensitivity"]) * room, curve)
    told = "for this sensitivity and curve, with a hundredth for queries that are not kept"
    yield at_least(name, "noise scale", event["scale"], scale, told)


def _sparse(kernel: KernelFacts) -> Iterator[Number]:
    event, name = kernel.event, kernel.release
    told = "of one prediction, R S and its rounding"
    yield at_least(
        name, "sensitivity", event["sensitivity"], kernel.of_prediction, told, WIDEST_GAP
    )
    epsilon = 4 * ball(event["sensitivity"]) / ball(event["scale"])
    claim = event["claim"]
    if claim["kind"] == "pure":
        epochs = round(float((ratio(3, 4) * ball(claim["epsilon"]) / epsilon).mid()))
        cost, limit = epochs * epsilon, 0.75 * claim["epsilon"]
        told = f"{epochs} epochs of comparisons cost three quarters of the claim"
        yield at_most(name, "comparisons", limit, cost, told)
        yield at_least(name, "noise scale", limit, cost, "no more noise than that", None)
    told = "the number of epochs and the noise of released answers are not in the file"
    yield stated(name, "answers", None, f"cannot be decided here: {told}")


def _distinguishing(kernel: KernelFacts) -> Iterator[Number]:
    event, name, claim = kernel.event, kernel.release, kernel.event["claim"]
    told = "of one prediction, R S and its rounding"
    yield at_least(
        name, "sensitivity", event["sensitivity"], kernel.of_prediction, told, WIDEST_GAP
    )
    s, scale = ball(event["sensitivity"]), ball(event["scale"])
    if claim["kind"] == "pure":
        each, half = s / scale, claim["epsilon"] / 2.0
    elif claim["kind"] == "zcdp" and kernel.grid is not None:
        each, half = (widened(s, kernel.grid, 1) / scale) ** 2 / 2, claim["rho"] / 2.0
    else:
        raise Undecided("the file does not say how many rounds there were")
    rounds = max(round(float((ball(half) / each).mid())), 1)
    told = f"{rounds} noisy answers cost half of the claim"
    yield at_most(name, "noise scale", half, rounds * each, told)
    told = "the rate at which points are drawn is not in the file"
    yield stated(name, "points", None, f"cannot be decided here: {told}")


def _projection(kernel: KernelFacts) -> Iterator[Number]:
    event, name = kernel.event, kernel.release
    noise, numbers = event["noise"], int(event["m"])
    points = next((line["points"] for line in kernel.facts.lines if "points" in line), [])
    wide, lost_twice, told = ball(1), ball(0), "of coordinates, without the rounding of the basis"
    if kernel.facts.parameters.get("mechanism") == "tddl":
        yield fact(name, "numbers", numbers, numbers == len(points), "one for each public point")
        wide = _stretch(kernel, points, in_l1=noise == "laplace")
        many = ball(len(points)) if noise == "laplace" else ball(len(points)).sqrt()
        lost_twice, told = 2 * kernel.rounding * many, "of predictions at the public points"
    needed = wide * kernel.sensitivity() + lost_twice
    if noise == "gaussian":
        if kernel.grid is None:
            raise Undecided("the file does not say which grid the noise is on")
        needed = widened(needed, kernel.grid, numbers)
    yield at_least(name, "sensitivity", event["sensitivity"], needed, told, WIDEST_GAP)
    (curve,) = event["curves"]
    scale = noise_scale(noise, ball(event["sensitivity"]), curve)
    yield at_least(name, "noise scale", event["scale"], scale, "for this sensitivity and curve")
    if noise == "gaussian":
        yield slack_number(name, curve, numbers)


def _stretch(kernel: KernelFacts, points: list[list[float]], *, in_l1: bool) -> Ball:
    """How much further predictions move than the minimizer."""
    if len(points) > MOST_POINTS:
        raise Undecided(f"more than {MOST_POINTS} public points: their eigenvalue is not computed")
    between = _kernel_function(kernel.facts.header["kernel"])
    matrix = arb_mat([[between(x, z) for z in points] for x in points])
    try:
        top = ball(0)
        for value in matrix.eig():
            top = larger(top, value.real)
    except ValueError as error:
        raise Undecided("the eigenvalues of the points' kernel lie too close together") from error
    if not in_l1:
        return top.sqrt()
    count = ball(len(points))
    return smaller(count * kernel.rows.norm, (count * top).sqrt())


def _kernel_function(record: Record) -> Callable[[list[float], list[float]], Ball]:
    """The kernel itself, for those that this needs."""
    if record["name"] == "gaussian":
        gamma = ball(record["gamma"])
        return lambda x, z: (
            -gamma * sum(((ball(a) - ball(b)) ** 2 for a, b in zip(x, z, strict=True)), ball(0))
        ).exp()
    if record["name"] == "laplacian":
        gamma = ball(record["gamma"])
        return lambda x, z: (
            -gamma * sum((abs(ball(a) - ball(b)) for a, b in zip(x, z, strict=True)), ball(0))
        ).exp()
    raise Undecided(f"the eigenvalues of the kernel {record['name']!r} are not computed here")


#: How each release of a kernel minimizer is recomputed.
KERNEL_RELEASES: dict[str, Callable[[KernelFacts], Iterator[Number]]] = {
    "function": _function,
    "sparse_vector": _sparse,
    "projection": _projection,
    "distinguishing": _distinguishing,
}
