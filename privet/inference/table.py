"""Intervals as a table: text like a statistician's summary, HTML for notebooks and reports."""

from __future__ import annotations

import html
import math
import textwrap
from typing import TYPE_CHECKING

from privet._files import printable

if TYPE_CHECKING:
    from privet.inference.intervals import Intervals

HEADS = ("estimate", "std error", "z", "P>|z|")
LONGEST_NAME = 44


def heads(intervals: Intervals) -> tuple[str, ...]:
    """The columns of numbers."""
    tail = 100.0 * (1.0 - intervals.level) / 2.0
    return (*HEADS, f"[{tail:.3g} %", f"{100.0 - tail:.3g} %]")


def cells(intervals: Intervals) -> list[tuple[str, ...]]:
    """Name and formatted numbers of each line."""
    columns = (
        intervals.estimate,
        intervals.std_error,
        intervals.z,
        intervals.p_value,
        intervals.lower,
        intervals.upper,
    )
    lines: list[tuple[str, ...]] = []
    for name, unit, *numbers in zip(intervals.names, intervals.units, *columns, strict=True):
        told = f"{name}, {unit}" if unit else name
        estimate, error, z, p, low, high = map(float, numbers)
        lines.append(
            (
                told,
                _plain(estimate),
                _plain(error),
                f"{z:.2f}",
                f"{p:.3f}",
                _plain(low),
                _plain(high),
            )
        )
    return lines


def _plain(number: float) -> str:
    return f"{number:.4g}" if math.isfinite(number) else str(number)


def notes(intervals: Intervals) -> list[str]:
    """What a reader must know beside the numbers."""
    from privet.inference.intervals import ABOUT

    level = f"{100.0 * intervals.level:.4g} %"
    told = [f"Private {level} intervals for changes of the {intervals.named.target}."]
    if intervals.joint:
        told = [
            f"Private intervals that hold all at once with probability {level} "
            f"({intervals.joint.capitalize()})."
        ]
    noise = intervals.uncertainty.noise
    return [
        *told,
        f"{ABOUT} {intervals.geometry.given}".rstrip(),
        f"Standard errors hold sampling and the noise of {noise.mechanism} perturbation "
        f"({noise.main.kind}).",
        f"{price(intervals)} They rely on the rows being those of the fit: only their number was "
        "compared.",
    ]


def price(intervals: Intervals) -> str:
    """What the intervals cost beyond the model, in a sentence."""
    guarantee = intervals.guarantee
    if not guarantee.private:
        return f"{guarantee}"
    return (
        f"The intervals cost {guarantee.budget} for {guarantee.each} beyond the model: two "
        f"matrices released with {guarantee.event.noise} noise."
    )


def as_text(intervals: Intervals, width: int = 100) -> str:
    """Columns aligned, notes below."""
    lines = [("", *heads(intervals)), *cells(intervals)]
    short = [(_cut(first), *rest) for first, *rest in lines]
    sizes = [max(len(line[i]) for line in short) for i in range(len(short[0]))]
    rule = "-" * (sum(sizes) + 2 * len(sizes) - 2)
    shown = [
        "  ".join(
            [
                line[0].ljust(sizes[0]),
                *(c.rjust(s) for c, s in zip(line[1:], sizes[1:], strict=True)),
            ]
        )
        for line in short
    ]
    told = [textwrap.fill(note, max(width, 60)) for note in notes(intervals)]
    return "\n".join([rule, shown[0], rule, *shown[1:], rule, *told])


def _cut(name: str) -> str:
    clean = printable(name)
    return clean if len(clean) <= LONGEST_NAME else clean[: LONGEST_NAME - 1] + "…"


def as_html(intervals: Intervals) -> str:
    """A table element and the notes."""
    head = "".join(f'<th class="number">{html.escape(h)}</th>' for h in heads(intervals))
    body = "".join(
        f"<tr><td>{html.escape(_cut(name))}</td>"
        + "".join(f'<td class="number">{html.escape(number)}</td>' for number in numbers)
        + "</tr>"
        for name, *numbers in cells(intervals)
    )
    told = "".join(f"<p>{html.escape(note)}</p>" for note in notes(intervals))
    return (
        f'<div class="wide"><table class="intervals"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{told}"
    )
