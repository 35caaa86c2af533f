"""Matrices that were released beside their fit: both are one pure release.

    u >= R^2 e/(n c),  c the largest number with
         max_t {a t + log(1 + q t (1 - t)) + c w(t)} + max_t {a t + c w(t)} <= E + e - (2 a + q) off
         w(t) = t (eta (1 - t) + t),  slopes t up to that of the longest score

Written from ``matrix_beside.proof.md``. Of the fit, a file of intervals holds all numbers but the
tolerance, which is in the model's own file: the gap's noise is at least that of rounding alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from privet.certificate.balls import (
    Ball,
    above,
    ball,
    concave_maximum,
    larger,
    largest_near,
    total,
)
from privet.certificate.declared_rows import DeclaredRows, declared_blocks, recorded_loss
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.fit_numbers import FitFacts, objective_grid
from privet.certificate.loss_bounds import RowLoss, slope_and_jacobian
from privet.certificate.noise_laws import NoiseLaw, noise_law
from privet.certificate.rounding import gradient_floor, noise_scale, norm_quantile
from privet.certificate.verdicts import (
    Number,
    Undecided,
    agreed,
    at_least,
    at_most,
    equal,
    fact,
    stated,
)

BESIDE = "matrix_beside_fit"
#: Noise in Euclid's norm, and in the gauge of a domain, in groups or not.
LENGTHS, GAUGES = ("laplace",), ("product", "hull", "grouped")


@dataclass(frozen=True)
class BesideFacts:
    """What a file of intervals says about its fit and its matrices."""

    facts: FileFacts

    @cached_property
    def fit(self) -> Record:
        """The event of the fit: the first of two parts."""
        parts: list[Record] = self.facts.event.get("parts", [])
        if [part["mechanism"] for part in parts] != ["objective", BESIDE]:
            raise Undecided("matrices beside a fit are known here as the second of two parts")
        return parts[0]

    @cached_property
    def claims(self) -> tuple[Ball, Ball]:
        """The pure losses of the fit's main noise and of the matrices."""
        (main, _), (matrices,) = self.fit["curves"], self.facts.event["parts"][1]["curves"]
        return ball(main["loss"]), ball(matrices["loss"])

    @cached_property
    def norm(self) -> Ball:
        """The longest row, with its constant column."""
        layout = self.facts.header["geometry"]
        column = layout.get("constant") or (layout["bound"] if layout["intercept"] else 0.0)
        declared = (ball(layout["bound"]) ** 2 + ball(column) ** 2).sqrt()
        return larger(ball(self.facts.constants["norm_bound"]), declared)

    @cached_property
    def a(self) -> Ball:
        """The rate of the fit's noise for a row's slope."""
        if self.fit["noise"] not in (*LENGTHS, *GAUGES):
            raise Undecided(f"{self.fit['noise']} noise beside matrices is not known here")
        length = self.norm if self.fit["noise"] in LENGTHS else ball(1)
        return length / ball(self.fit["scale"])

    @cached_property
    def q(self) -> Ball:
        """``R^2/(n Lam)``."""
        return self.norm**2 / (int(self.fit["n"]) * ball(self.fit["regularization"]))

    @property
    def gap_scale(self) -> Ball:
        """Of the noise that hides the distance to the exact minimum."""
        gap = ball(self.facts.header["fit_noise"]["gap_sd"])
        return gap / ball(len(self.facts.header["theta"]) + 1).sqrt()

    @cached_property
    def off(self) -> Ball:
        """How far slopes at the released parameters may be from those at the exact minimum."""
        p, scale = len(self.facts.header["theta"]), self.gap_scale
        distance = scale * ball(self.fit["curves"][1]["loss"]) / 2
        distance += norm_quantile("laplace", scale, p)
        distance += ball(2) ** self.facts.grids[-1] * ball(p).sqrt()
        return self.norm * distance / 4

    @cached_property
    def law(self) -> NoiseLaw:
        """The fit's noise, in the shape of the domain that it was drawn for."""
        m = int(self.fit["m"])
        blocks = declared_blocks(self.facts.header["fit_noise"]["main"].get("domain"))
        rows = DeclaredRows(RowLoss("logistic"), self.norm, m, blocks)
        return noise_law(self.fit["noise"], rows, self.fit["scale"], m)

    @property
    def reduction(self) -> Ball:
        """The unit is no smaller than that of the matrices alone over this (step 7)."""
        first, second = self.claims
        return (first + second) / second

    def keeps(self, c: Ball, eta: Ball, steepest: Ball) -> bool:
        """Whether both losses stay within both claims; certain."""
        a, q, (first, second) = self.a, self.q, self.claims
        leaves = concave_maximum(
            lambda t: a * t + (q * t * (1 - t)).log1p() + c * t * (eta * (1 - t) + t),
            lambda t: a + q * (1 - 2 * t) / (1 + q * t * (1 - t)) + c * (eta - 2 * (eta - 1) * t),
            ball(0),
            steepest,
        )
        enters = concave_maximum(
            lambda t: a * t + c * t * (eta * (1 - t) + t),
            lambda t: a + c * (eta - 2 * (eta - 1) * t),
            ball(0),
            steepest,
        )
        return bool(leaves + enters <= first + second - (2 * a + q) * self.off)


def beside_unit(release: str, facts: FileFacts) -> Number:
    """The unit in which matrices beside a fit were released."""
    about, matrices = BesideFacts(facts), facts.header["matrices"]
    loss = recorded_loss(facts.constants["loss"])
    if loss.name != "logistic" or loss.weight != 1.0:  # the largest; a file may name the weights
        raise Undecided("matrices beside a fit are known here for logistic loss without weights")
    eta, (_, second) = ball(matrices["eta"]), about.claims
    if not eta >= 1:
        raise Undecided("matrices beside a fit are known here for eta of 1 and more")
    reach = about.norm * total(ball(x) ** 2 for x in facts.header["theta"]).sqrt()
    steepest = (1 / (1 + (-reach).exp())).upper()
    of_one = about.norm**2 * second / int(about.fit["n"])
    guess, most = of_one / ball(matrices["sensitivity"]), sum(about.claims, ball(0))
    c = largest_near(lambda c: about.keeps(c, eta, steepest), most, guess)
    needed = of_one / c
    told = "what the fit leaves at the same slopes, at the released parameters"
    return at_least(release, "unit of the matrices", matrices["sensitivity"], needed, told, 0.01)


def fit_beside_numbers(release: str, facts: FileFacts) -> Iterator[Number]:
    """The fit in a file of intervals: the numbers that its matrices rely on."""
    about, header = BesideFacts(facts), facts.header
    event, noise = about.fit, header["fit_noise"]
    told = "must match the number of rows stated elsewhere in the file"
    yield fact(release, "rows", event["n"], event["n"] == header["n"], told)
    told = "must match the number of parameters"
    yield fact(release, "columns", event["m"], event["m"] == len(header["theta"]), told)
    told = "must be the noise and the mechanism that the intervals are computed with"
    right = noise["mechanism"] == event["mechanism"]
    right = right and all(noise["main"][name] == event[to] for name, to in KEPT)
    yield agreed(release, "noise of the fit", right, told)
    right = header["regularization"] == event["regularization"]
    told = "must match the regularization stated in the file"
    yield fact(release, "regularization", event["regularization"], right, told)
    main, gap = event["curves"]
    cost = about.a + slope_and_jacobian(about.a, about.q)
    told = "privacy loss of noise and Jacobian together, at the stated scale"
    yield at_most(release, "loss of the noise", main["loss"], cost, told)
    left = 1 - ball(gap["loss"]) / ball(event["claim"]["epsilon"])
    told = "the share of the budget left for the main noise"
    yield equal(release, "price of the gap", event["share"], left, told)
    yield from _minimizer_numbers(release, about, gap)
    told = "its tolerance is checked with the model's own file"
    yield stated(release, "gap of the fit", noise["gap_sd"], told)


def _minimizer_numbers(release: str, about: BesideFacts, gap: Record) -> Iterator[Number]:
    """What follows from the fit's noise and rows whatever its tolerance and its center are."""
    event, law = about.fit, about.law
    n, m, lam = int(event["n"]), int(event["m"]), ball(event["regularization"])
    told = "the most that one replaced row can move the noise, in its own norm"
    yield at_least(release, "sensitivity", event["sensitivity"], law.difference, told, 1e-9)
    floor = gradient_floor(law.rows, n, m, lam, law.norm)
    needed = noise_scale("laplace", 2 * floor / lam, gap)
    told = "must hide at least what rounding can do to the minimum"
    yield at_least(release, "noise for the gap", above(about.gap_scale), needed, told)
    grids = about.facts.grids
    if len(grids) != len(about.facts.event["parts"]):
        raise Undecided("the file does not say which grid the fit's noise is on")
    fine = objective_grid(FitFacts(release, event, law.rows, {}, grids[-1], {}), law, grids[-1])
    told = "no finer than that of this noise: a coarser one makes the unit larger"  # by a center
    yield fact(release, "grid", grids[-1], (fine.low or 0.0) <= grids[-1], told)


KEPT = (("kind", "noise"), ("scale", "scale"))


def is_one_pure_curve(event: Record) -> bool:
    """Whether parts that prove nothing alone have one pure loss together, no less than all."""
    parts = event.get("parts", [])
    if not any(part["mechanism"] == BESIDE for part in parts):
        return False
    kinds = {curve["kind"] for part in parts for curve in part["curves"]}
    if kinds != {"pure"} or [curve["kind"] for curve in event["curves"]] != ["pure"]:
        return False
    losses = [curve["loss"] for part in parts for curve in part["curves"]]
    return bool(event["curves"][0]["loss"] >= math.fsum(losses))
