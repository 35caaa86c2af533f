"""The page and the table of an audit: every attack, what it measured and what it may at most.

Witnesses are drawn in two dimensions: the neighbors that an exact attack found worst, and where the
noise is that leads either of them to the same output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet._version import __version__
from privet.audit.attacks import Finding
from privet.audit.exact import noise_vector
from privet.audit.full_audit import (
    EXACT,
    NAMES,
    AuditResult,
    AuditWitness,
    CaseAudited,
    witnesses,
)
from privet.report.pictures import COLORS, axes_of, inline
from privet.statement.writers import rendered

HEADS = (*NAMES, "exact", "replay", "gap", "tests", "verdict")


@dataclass(frozen=True)
class AuditTable:
    """Rows of words under their headings, with a title and a sentence."""

    title: str
    told: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def narrow(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows for a terminal, the names of a case in one column."""
        if self.heads != HEADS:
            return [*self.heads], [[*row] for row in self.rows]
        names = len(NAMES)
        rows = [[", ".join(row[:names]), *row[names:]] for row in self.rows]
        return ["case", *self.heads[names:]], rows


#: What is told of each kind of replay: title, sentences, and what is measured.
REPLAYED = {
    "replay": (
        "Replayed releases",
        "Whole releases on neighboring tables with the same random numbers: the largest "
        "distance between them, as a share of the declared distance. It may not exceed 1.",
        "distance / declared",
    ),
    "joint loss": (
        "A fit and its intervals as one release",
        "The largest exact privacy loss of a fit and of the matrices at the same output "
        "together, on adversarial neighbors, as a share of both claims. It may not exceed 1.",
        "loss / claimed",
    ),
    "noise": (
        "Noise of what is measured",
        "Pairs of releases of one table with noise from the operating system: the mean square "
        "of the stated noise over that of the noise found. Chance leaves it below "
        "{chance}; noise of less than two thirds of its stated size does not.",
        "stated / found",
    ),
}


def audit_tables(result: AuditResult) -> Iterator[AuditTable]:
    """What was found, part by part."""
    if result.cases:
        yield AuditTable(
            "Mechanisms",
            "Exact: the largest privacy loss, delta or Renyi divergence computed on adversarial "
            "neighbors, as a share of the claim. Replay: the largest distance between neighbors' "
            "releases under the same noise, as a share of the declared distance. Gap: the cost of "
            "hiding the distance to the exact minimum, as a share of the charge. None of these "
            "may exceed 1. Tests: the least likely result among the tests of the recovered noise, "
            "as -log10 of its probability; above 6 is a failure.",
            HEADS,
            tuple(_case(one) for one in result.cases),
        )
    for check, table in REPLAYED.items():
        findings = [one for one in result.replays if one.check == check]
        if findings:
            title, told, measured = table
            told = told.format(chance=f"{findings[0].allowed:g}")
            rows = tuple(_finding(one) for one in findings)
            yield AuditTable(title, told, ("release", measured, "verdict"), rows)
    if result.boxes:
        yield AuditTable(
            "Black boxes",
            "Lower bounds on epsilon, certified from releases alone in one dimension, with noise "
            "from the operating system. A bound above the claim would refute it.",
            ("box", "claimed", "at least", "confidence", "releases per table", "verdict"),
            tuple(
                (
                    one.name,
                    f"{one.epsilon:g}",
                    f"{one.bound.epsilon:.3f}",
                    f"{one.bound.confidence:.1%}",
                    f"{one.bound.draws:,}",
                    _verdict(one.passed),
                )
                for one in result.boxes
            ),
        )
    if result.probes:
        yield _probes(result)


def _finding(one: Finding) -> tuple[str, str, str]:
    """A replay, by what it measured; a distance or a loss as a share of what is allowed."""
    noise = one.check == "noise"
    ratio = f"{one.measured:.4f}" if noise else _share(one.measured / one.allowed)
    return one.sentence.rstrip("."), ratio, _verdict(one.passed)


def _probes(result: AuditResult) -> AuditTable:
    names = dict.fromkeys(one.check for one in result.probes)
    rows = []
    for name in names:
        found = [one for one in result.probes if one.check == name]
        worst = max(found, key=lambda one: one.measured)
        told = f"{worst.measured:.2g} (limit {worst.allowed:g})"
        passed = all(one.passed for one in found)
        rows.append((name, worst.sentence.rstrip("."), str(len(found)), told, _verdict(passed)))
    told = "The worst result of each probe, over all mechanisms."
    return AuditTable(
        "Precision", told, ("probe", "what is measured", "runs", "worst", "verdict"), tuple(rows)
    )


def _case(one: CaseAudited) -> tuple[str, ...]:
    shares = (one.share(*EXACT), one.share("replay"), one.share("gap charged", "gap reached"))
    cells = ("" if share is None else _share(share) for share in shares)
    return (*one.case.names, *cells, f"{one.surprise:.1f}", _verdict(one.passed))


def _share(share: float) -> str:
    """Never rounded to 1 from below, nor down to it from above."""
    return f"{np.floor(share * 1e4) / 1e4:.4f}" if share < 1.0 else f"{share:.10g}"


def _verdict(passed: bool) -> str:
    return "passed" if passed else "FAILED"


def audit_markdown(result: AuditResult) -> str:
    """The tables for a page of documentation."""
    lines = []
    for one in audit_tables(result):
        lines += [f"## {one.title}", "", one.told, ""]
        lines += [f"| {' | '.join(one.heads)} |", f"|{'---|' * len(one.heads)}"]
        lines += [f"| {' | '.join(row)} |" for row in one.rows]
        lines.append("")
    return "\n".join(lines)


def audit_page(result: AuditResult, what: str) -> str:
    """One file without outside parts."""
    drawn = [_drawn(one, f"witness{place}") for place, one in enumerate(witnesses(result))]
    return rendered(
        "audit.html",
        room="privet.report",
        what=what,
        passed=result.passed,
        minutes=f"{result.seconds / 60.0:.1f}",
        tables=list(audit_tables(result)),
        pictures=drawn,
        version=__version__,
    )


# -- witnesses -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WitnessDrawn:
    """A picture with the words under it."""

    svg: str
    caption: str


def _drawn(witness: AuditWitness, name: str) -> WitnessDrawn:
    pair, bound = witness.pair, witness.design.risk.norm_bound
    crowd, (leaving, entering) = pair.first.x[:-2], (pair.first.x[-2], pair.second.x[-2])
    mechanism, _, loss, budget = witness.case.names
    title = f"{mechanism} perturbation, {loss} loss, {budget}"
    with axes_of(4.6) as (figure, axes):
        turn = np.linspace(0.0, 2.0 * np.pi, 200)
        axes.plot(bound * np.cos(turn), bound * np.sin(turn), color=COLORS["muted"], lw=0.8)
        axes.plot(*crowd.T, "o", ms=4, color=COLORS["ink"], label="all other rows")
        for row, color, told, style in (
            (leaving, "accent", "the row in the first table", "-"),
            (entering, "warm", "its replacement in the second table", "--"),
        ):
            axes.plot([0, row[0]], [0, row[1]], style, color=COLORS[color], lw=2, label=told)
        if mechanism == "objective":
            _draw_noise(axes, witness)
        axes.set_aspect("equal")
        axes.set_title(title)
        axes.set_axis_off()
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2)
        svg = inline(figure, name, f"Neighbors that tell {title} apart best")
    return WitnessDrawn(svg, _caption(witness))


def _draw_noise(axes: Any, witness: AuditWitness) -> None:
    """Where the noise must be for the same output, from either table, in units of the bound."""
    ends = [
        noise_vector(witness.design, table, witness.pair.weights)
        for table in (witness.pair.first, witness.pair.second)
    ]
    unit = witness.design.risk.norm_bound / max(float(np.linalg.norm(end)) for end in ends)
    for end, color, told in zip(ends, ("accent", "warm"), ("first", "second"), strict=True):
        label = f"noise for the {told} table, scaled"
        axes.plot(*(unit * end), "*", ms=11, color=COLORS[color], label=label)


def _of(witness: AuditWitness, label: int, other: int) -> str:
    """What the two rows are labeled; a number's label is an end of its interval."""
    if witness.design.risk.loss.family != "residual":
        return f"of class {label} and of class {other}"
    low, high = "the low end", "the high end"
    ends = (high if each else low for each in (label, other))
    return "with targets at {} and at {} of the interval".format(*ends)


def _caption(witness: AuditWitness) -> str:
    table, (loss, claim) = witness.pair.first, (witness.worst.loss, witness.claim)
    rows = witness.design.n
    crowd = float(table.times[:-2].sum())
    label, other = int(witness.pair.first.y[-2]), int(witness.pair.second.y[-2])
    return (
        f"Two tables of {rows:.3g} rows that differ in one row, {_of(witness, label, other)}; "
        f"{crowd:.3g} other rows move the output and the rest are zero. The privacy loss at this "
        f"output is {loss:.6f}; {claim:.6f} is allowed (share {_share(loss / claim)})."
    )
