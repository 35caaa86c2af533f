"""The report's pictures, each from public quantities and released numbers alone.

Figures are as wide as a phone so that their letters stay readable there; wider screens put two side
by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import MissingExtra
from privet.planning.odds import attacker_accuracy
from privet.privacy import ZCDP
from privet.report.attack import detection, odds_epsilon, posterior
from privet.report.released import Released, amount
from privet.report.svg import COLOURS, STYLE, inline

WIDTH = 4.5
MOST_BARS = 25
LONGEST_NAME = 30


@dataclass(frozen=True)
class Picture:
    """An inline figure with the words around it."""

    title: str
    svg: str
    caption: str


@contextmanager
def _axes(height: float) -> Iterator[tuple[Any, Any]]:
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Pictures need matplotlib: pip install 'privet[cli]'.") from error
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, figure.subplots()


def coefficients(released: Released) -> Picture:
    """The largest coefficients over the band in which noise alone would lie."""
    shown = released.coefficients[:MOST_BARS]
    total, least = len(released.coefficients), "" if released.exact else "at least "
    with _axes(1.1 + 0.23 * len(shown)) as (figure, axes):
        places, band = np.arange(len(shown)), shown[0].band
        axes.axvspan(-band, band, color=COLOURS["band"], linewidth=0, zorder=0)
        axes.axvline(0.0, color=COLOURS["muted"], linewidth=0.8, zorder=1)
        for place, one in zip(places, shown, strict=True):
            colour = COLOURS["accent" if one.stands_out else "muted"]
            axes.plot([0.0, one.value], [place, place], color=colour, linewidth=1.4, zorder=2)
            axes.plot(one.value, place, "o", markersize=5, color=colour, zorder=3)
        axes.set_yticks(places, [_short(one.name) for one in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(_score_axis(released))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        svg = inline(figure, "coefficients", "Released coefficients with their noise band")
    which = f"The {len(shown)} largest of {total}" if total > len(shown) else f"All {total}"
    caption = (
        f"{which} released coefficients. Shaded: where noise alone would lie 95 times in 100, "
        f"{least}± {band:.2g}. {_units(released)}"
    )
    return Picture("Released coefficients", svg, caption)


def _score_axis(released: Released) -> str:
    return f"change of the {released.score_name}" if released.in_table_units else "coefficient"


def _units(released: Released) -> str:
    told = ""
    if released.in_table_units:
        told = (
            "For a category: for being in it. For a number: from the middle of its declared range "
            "to the upper end. "
        )
    if released.exact:
        return told
    return told + (
        "How far the noise moves one coefficient depends on the rows and is private; shown is what "
        "it is at least, on average over the coefficients, for every table."
    )


def _short(name: str) -> str:
    # a dollar would start a formula
    name = name.replace("$", r"\$")
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def signal(released: Released) -> Picture:
    """All coefficients by size against the noise."""
    sizes = np.array([abs(one.value) for one in released.coefficients])
    band = released.coefficients[0].band
    clear = int((sizes > band).sum())
    with _axes(3.0) as (figure, axes):
        bottom = max(float(sizes[sizes > 0].min(initial=band)) * 0.7, band / 100.0)
        ranks = np.arange(1, len(sizes) + 1)
        axes.axhspan(bottom, band, color=COLOURS["band"], linewidth=0)
        axes.plot(ranks[:clear], sizes[:clear], "o", markersize=3.5, color=COLOURS["accent"])
        axes.plot(ranks[clear:], sizes[clear:], "o", markersize=3.5, color=COLOURS["muted"])
        axes.set(yscale="log", xlabel="rank", ylabel=f"size ({_score_axis(released)})")
        axes.set_ylim(bottom, max(float(sizes.max(initial=band)), band) * 1.6)
        axes.annotate(
            "noise" if released.exact else "noise, at least",
            (0.98, band),
            (0, -4),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="top",
        )
        svg = inline(figure, "signal", "Sizes of all coefficients against the noise")
    word = "" if released.exact else "At most "
    noise, least = released.noise.least, "" if released.exact else "at least "
    caption = (
        f"{word}{clear} of {len(sizes)} coefficients stand out of the noise. As a whole, the "
        f"released vector has length {released.norm:.3g}; the noise in it has a mean length of "
        f"{least}{noise:.3g}."
    )
    return Picture("Noise against signal", svg, caption)


def attacker(released: Released) -> Picture:
    """The best test for one record: hits against false alarms."""
    event = released.model.guarantee_.event
    alarms = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 400)])
    hits = detection(event, alarms)
    with _axes(3.2) as (figure, axes):
        axes.fill_between(alarms, alarms, hits, color=COLOURS["band"], linewidth=0)
        axes.plot(alarms, hits, color=COLOURS["accent"], linewidth=2)
        axes.plot([0, 1], [0, 1], color=COLOURS["muted"], linewidth=1, linestyle="--")
        axes.annotate("a coin", (0.6, 0.6), (5, -11), textcoords="offset points")
        axes.set(xlabel="false alarms", ylabel="hits, at most", xlim=(0, 1), ylim=(0, 1.02))
        _percent(axes.xaxis, axes.yaxis)
        svg = inline(figure, "attacker", "Largest detection rate against false-alarm rate")
    at = float(detection(event, np.array([0.05]))[0])
    caption = (
        "An attacker who knows every other row guesses whether a given record was in the table. No "
        f"test lies above the line: with 5 % false alarms he finds at most {100 * at:.3g} % of the "
        f"records, and from even odds he is right at most "
        f"{100 * attacker_accuracy(event.claim):.3g} % of the time."
    )
    return Picture("What an attacker can find out", svg, caption)


def belief(released: Released) -> Picture:
    """How far the release can move a belief about one record."""
    event = released.model.guarantee_.event
    epsilon, delta = odds_epsilon(event)
    priors = np.linspace(0.0, 1.0, 401)
    after = posterior(epsilon, priors)
    with _axes(3.2) as (figure, axes):
        axes.fill_between(priors, priors, after, color=COLOURS["band"], linewidth=0)
        axes.plot(priors, after, color=COLOURS["accent"], linewidth=2)
        axes.plot([0, 1], [0, 1], color=COLOURS["muted"], linewidth=1, linestyle="--")
        for prior in (0.01, 0.1, 0.5):
            top = float(posterior(epsilon, np.array([prior]))[0])
            axes.plot(prior, top, "o", markersize=4.5, color=COLOURS["warm"])
            low = min(top, 0.94)  # clear of the frame on both sides
            axes.annotate(f"{prior:.0%} → {_share(top)}", (prior + 0.035, max(low - 0.02, 0.03)))
        axes.set(xlabel="belief before", ylabel="belief after, at most", xlim=(0, 1), ylim=(0, 1.02))
        _percent(axes.xaxis, axes.yaxis)
        svg = inline(figure, "belief", "Largest belief after the release against belief before")
    except_for = f", except in cases of total probability {delta:g}" if delta else ""
    caption = (
        "How sure the same attacker can become that a given record was in the table, by how sure "
        f"he was{except_for}."
    )
    return Picture("From belief to belief", svg, caption)


def _share(value: float) -> str:
    percent = 100.0 * value
    return f"{percent:.1f}%" if percent < 10 else f"{percent:.0f}%" if percent < 99.5 else ">99%"


def price(released: Released) -> Picture:
    """Noise in the release against the budget, everything else declared as it is."""
    claim = released.model.guarantee_.event.claim
    found = released.price(np.geomspace(1 / 30, 30, 61))
    name = "rho" if isinstance(claim, ZCDP) else "epsilon"
    here = (amount(claim), released.noise)
    with _axes(3.2) as (figure, axes):
        amounts = [at for at, _ in found]
        axes.plot(amounts, [n.least for _, n in found], color=COLOURS["accent"], linewidth=2)
        if not released.exact:
            axes.fill_between(
                amounts,
                [n.least for _, n in found],
                [n.mean for _, n in found],
                color=COLOURS["band"],
                linewidth=0,
            )
        axes.axhline(released.norm, color=COLOURS["warm"], linewidth=1.2, linestyle="--")
        axes.annotate(
            "length of the released vector",
            (0.02, released.norm),
            (0, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
        )
        axes.plot(here[0], here[1].least, "o", markersize=7, color=COLOURS["accent"])
        axes.annotate(
            "this release",
            (here[0], here[1].least),
            (-6, -7),
            textcoords="offset points",
            ha="right",
            va="top",
        )
        axes.set(xscale="log", yscale="log", xlabel=f"{name} (smaller protects more)")
        axes.set_ylabel("mean length of the noise")
        svg = inline(figure, "price", "Noise in the release against the budget")
    between = (
        "Length of the noise in the release."
        if released.exact
        else "Length of the noise in the release: at least the line, at most the shaded edge, "
        "depending on the rows."
    )
    caption = (
        f"{between} The same table and declarations at other budgets, regularised by the same rule; "
        "computed from public quantities."
    )
    return Picture("The price of privacy", svg, caption)


def _percent(*each: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    for axis in each:
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))


#: in the order of the page
PICTURES: dict[str, Callable[[Released], Picture]] = {
    "attacker": attacker,
    "belief": belief,
    "coefficients": coefficients,
    "signal": signal,
    "price": price,
}
