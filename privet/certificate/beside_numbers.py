"""Matrices that were released beside their fit: both are one pure release.

    u >= R^2 e/(n c),  c the largest number with
         max_t {a t + log(1 + q t (1 - t)) + c w(t)} + max_t {a t + c w(t)} <= E + e - (2 a + q) off
         w(t) = t (eta (1 - t) + t),  slopes t up to that of the longest score

Written from ``matrix_beside.proof.md``. Of the fit, a file of intervals holds what this needs; the
rest of its numbers is in the model's own file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from privet.certificate.balls import Ball, ball, concave_maximum, larger, largest_within, total
from privet.certificate.declared_rows import recorded_loss
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.loss_bounds import slope_and_jacobian
from privet.certificate.rounding import norm_quantile
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

    @property
    def fit(self) -> Record:
        """The event of the fit: the first of two parts."""
        parts: list[Record] = self.facts.event.get("parts", [])
        if [part["mechanism"] for part in parts] != ["objective", BESIDE]:
            raise Undecided("matrices beside a fit are known here as the second of two parts")
        return parts[0]

    @property
    def claims(self) -> tuple[Ball, Ball]:
        """The pure losses of the fit's main noise and of the matrices."""
        (main, _), (matrices,) = self.fit["curves"], self.facts.event["parts"][1]["curves"]
        return ball(main["loss"]), ball(matrices["loss"])

    @property
    def norm(self) -> Ball:
        """The longest row, with its constant column."""
        layout = self.facts.header["geometry"]
        column = layout.get("constant") or (layout["bound"] if layout["intercept"] else 0.0)
        declared = (ball(layout["bound"]) ** 2 + ball(column) ** 2).sqrt()
        return larger(ball(self.facts.constants["norm_bound"]), declared)

    @property
    def a(self) -> Ball:
        """The rate of the fit's noise for a row's slope."""
        if self.fit["noise"] not in (*LENGTHS, *GAUGES):
            raise Undecided(f"{self.fit['noise']} noise beside matrices is not known here")
        length = self.norm if self.fit["noise"] in LENGTHS else ball(1)
        return length / ball(self.fit["scale"])

    @property
    def q(self) -> Ball:
        """``R^2/(n Lam)``."""
        return self.norm**2 / (int(self.fit["n"]) * ball(self.fit["regularization"]))

    @property
    def off(self) -> Ball:
        """How far slopes at the released parameters may be from those at the exact minimum."""
        p, gap = len(self.facts.header["theta"]), ball(self.facts.header["fit_noise"]["gap_sd"])
        scale = gap / ball(p + 1).sqrt()
        distance = scale * ball(self.fit["curves"][1]["loss"]) / 2
        distance += norm_quantile("laplace", scale, p)
        distance += ball(2) ** self.facts.grids[-1] * ball(p).sqrt()
        return self.norm * distance / 4

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
    if recorded_loss(facts.constants["loss"]).name != "logistic":
        raise Undecided("matrices beside a fit are known here for logistic loss")
    eta, (_, second) = ball(matrices["eta"]), about.claims
    if not eta >= 1:
        raise Undecided("matrices beside a fit are known here for eta of 1 and more")
    reach = about.norm * total(ball(x) ** 2 for x in facts.header["theta"]).sqrt()
    steepest = (1 / (1 + (-reach).exp())).upper()
    c = largest_within(lambda c: about.keeps(c, eta, steepest), sum(about.claims, ball(0)))
    needed = about.norm**2 * second / (c * int(about.fit["n"]))
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
    told = "its tolerance and its grid are checked with the model's own file"
    yield stated(release, "gap of the fit", noise["gap_sd"], told)


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
