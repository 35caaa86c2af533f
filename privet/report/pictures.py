"""The report's pictures, each from public quantities and released numbers alone.

Figures are as wide as a phone so that their letters stay readable there; wider screens put two side
by side.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import MissingExtra
from privet.privacy import ZCDP
from privet.privacy.odds import attacker_accuracy, detection, posterior, sure_odds
from privet.privacy.statement.facts import percent
from privet.report.released import Coefficient, Released, amount
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
        raise MissingExtra("Pictures need matplotlib, the extra 'cli'.") from error
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # a name in another script: the reader's browser has the letters, the drawing font need not
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, figure.subplots()


def coefficients(released: Released) -> Picture:
    """The largest coefficients over the band in which noise alone would lie."""
    shown = released.coefficients[:MOST_BARS]
    total, places = len(released.coefficients), np.arange(len(shown))
    with _axes(1.1 + 0.23 * len(shown)) as (figure, axes):
        _shade(axes.axvspan, shown[0], mirrored=True)
        if not released.exact:
            for side in (-1.0, 1.0):
                edge = side * shown[0].most
                axes.axvline(edge, color=COLOURS["muted"], linewidth=0.8, linestyle=":", zorder=0)
        axes.axvline(0.0, color=COLOURS["muted"], linewidth=0.8, zorder=1)
        for place, one in zip(places, shown, strict=True):
            colour = COLOURS["accent" if one.stands_out else "muted"]
            axes.plot([0.0, one.value], [place, place], color=colour, linewidth=1.4, zorder=2)
            axes.plot(one.value, place, "o", markersize=5, color=colour, zorder=3)
        axes.set_yticks(places, [_cut(one.name) for one in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(_score_axis(released))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        svg = inline(figure, "coefficients", "Released coefficients with their noise band")
    which = f"The {len(shown)} largest of {total}" if total > len(shown) else f"All {total}"
    caption = (
        f"{which} released coefficients. Shaded: where noise alone would lie 95 times in 100, "
        f"{band_words(released)}. {_units(released)}"
    )
    return Picture("Released coefficients", svg, caption)


def _shade(span: Callable[..., Any], one: Coefficient, *, mirrored: bool) -> None:
    """Light up to the noise of a typical table, darker up to what it is at least."""
    for width, role in ((one.about, "band"), (one.least, "deep")):
        low = -width if mirrored else one.least / 1e6
        if role == "band" or one.least < one.about:
            span(low, width, color=COLOURS[role], linewidth=0, zorder=0)


def band_words(released: Released) -> str:
    """The noise band of a coefficient in words."""
    one = released.coefficients[0]
    if released.exact:
        return f"± {one.about:.2g}"
    return (
        f"about ± {one.about:.2g} for a typical column, at least ± {one.least:.2g}, and up to "
        f"± {one.most:.2g} (dotted) for a category that hardly any row has"
    )


def _score_axis(released: Released) -> str:
    return (
        f"change of the {_cut(released.score_name)}" if released.in_table_units else "coefficient"
    )


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
        "How far the noise moves a coefficient depends on the rows and is private; the lower limit "
        "is proved, on average over the coefficients; the typical table is a rough rule."
    )


def _cut(name: str, longest: int = LONGEST_NAME) -> str:
    name = "".join(c if c.isprintable() else "\ufffd" for c in name)
    short = name if len(name) <= longest else name[: longest - 1] + "…"
    return short.replace("$", r"\$")  # a dollar would start a formula


def signal(released: Released) -> Picture:
    """All coefficients by size against the noise."""
    sizes = np.array([abs(one.value) for one in released.coefficients])
    one = released.coefficients[0]
    clear, most = int((sizes > one.about).sum()), int((sizes > one.least).sum())
    with _axes(3.0) as (figure, axes):
        bottom = max(float(sizes[sizes > 0].min(initial=one.least)) * 0.7, one.least / 100.0)
        ranks = np.arange(1, len(sizes) + 1)
        _shade(axes.axhspan, one, mirrored=False)
        axes.plot(ranks[:clear], sizes[:clear], "o", markersize=3.5, color=COLOURS["accent"])
        axes.plot(ranks[clear:], sizes[clear:], "o", markersize=3.5, color=COLOURS["muted"])
        axes.set(yscale="log", xlabel="rank", ylabel="size of the coefficient")
        axes.set_ylim(bottom, max(float(sizes.max(initial=one.about)), one.about) * 1.6)
        _name_bands(axes, released)
        svg = inline(figure, "signal", "Sizes of all coefficients against the noise")
    proved = "" if released.exact else f" of a typical table, at most {most} out of any"
    length = f"{released.usual_noise:.3g}"
    if not released.exact:
        length = f"about {length} for a typical table, at least {released.noise.least:.3g}"
    caption = (
        f"{clear} of {len(sizes)} coefficients stand out of the noise{proved}. As a whole, the "
        f"released vector has length {released.norm:.3g}; the noise in it has a mean length of "
        f"{length}."
    )
    return Picture("Noise against signal", svg, caption)


def _name_bands(axes: Any, released: Released) -> None:
    one = released.coefficients[0]
    names = [("noise, typical table", one.about), ("noise, at least", one.least)]
    for name, level in [("noise", one.about)] if released.exact else names:
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(name, (0.02, level), (0, -3), va="top", **place)


def attacker(released: Released) -> Picture:
    """The best test for one record: hits against false alarms."""
    promise = released.promise
    alarms = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 400)])
    hits = detection(promise, alarms)
    with _axes(3.2) as (figure, axes):
        axes.fill_between(alarms, alarms, hits, color=COLOURS["band"], linewidth=0)
        axes.plot(alarms, hits, color=COLOURS["accent"], linewidth=2)
        axes.plot([0, 1], [0, 1], color=COLOURS["muted"], linewidth=1, linestyle="--")
        axes.annotate("a coin", (0.6, 0.6), (5, -11), textcoords="offset points")
        axes.set(xlabel="false alarms", ylabel="hits, at most", xlim=(0, 1), ylim=(0, 1.02))
        _percent(axes.xaxis, axes.yaxis)
        svg = inline(figure, "attacker", "Largest detection rate against false-alarm rate")
    at = float(detection(promise, np.array([0.05]))[0])
    caption = (
        f"An attacker who knows everything else guesses whether {released.whom} was in the table. "
        f"No test lies above the line: with 5 % false alarms he finds at most {percent(at)}, "
        f"and from even odds he is right at most {percent(attacker_accuracy(promise))} of the time."
    )
    return Picture("What an attacker can find out", svg, caption)


def belief(released: Released) -> Picture:
    """How far the release can move a belief about one record."""
    epsilon, delta = sure_odds(released.promise)
    priors = np.linspace(0.0, 1.0, 401)
    after = posterior(epsilon, priors)
    with _axes(3.2) as (figure, axes):
        axes.fill_between(priors, priors, after, color=COLOURS["band"], linewidth=0)
        axes.plot(priors, after, color=COLOURS["accent"], linewidth=2)
        axes.plot([0, 1], [0, 1], color=COLOURS["muted"], linewidth=1, linestyle="--")
        examples = np.array([0.01, 0.1, 0.5])
        reached = posterior(epsilon, examples)
        axes.plot(examples, reached, "o", markersize=5, color=COLOURS["warm"], clip_on=False)
        axes.set(
            xlabel="belief before", ylabel="belief after, at most", xlim=(0, 1), ylim=(0, 1.02)
        )
        _percent(axes.xaxis, axes.yaxis)
        svg = inline(figure, "belief", "Largest belief after the release against belief before")
    except_for = f", but for a share of {delta:g} of releases" if delta else ""
    moves = [f"{p:.0%} to {percent(q)}" for p, q in zip(examples, reached.tolist(), strict=True)]
    caption = (
        f"How sure the same attacker can become that {released.whom} was in the table, by how sure "
        f"he was: from {', '.join(moves)} at most{except_for}."
    )
    return Picture("From belief to belief", svg, caption)


def price(released: Released) -> Picture:
    """Noise in the release against the budget, everything else declared as it is."""
    claim = released.model.guarantee_.event.claim
    found = released.price(np.geomspace(1 / 30, 30, 61))
    name = "rho" if isinstance(claim, ZCDP) else "epsilon"
    with _axes(3.2) as (figure, axes):
        amounts = [each.amount for each in found]
        axes.plot(amounts, [each.usual for each in found], color=COLOURS["accent"], linewidth=2)
        if not released.exact:
            low, high = [e.noise.least for e in found], [e.noise.mean for e in found]
            axes.fill_between(amounts, low, high, color=COLOURS["band"], linewidth=0)
        _mark(axes, released, amount(claim))
        axes.set(xscale="log", yscale="log", xlabel=f"{name} (smaller protects more)")
        axes.set_ylabel("mean length of the noise")
        svg = inline(figure, "price", "Noise in the release against the budget")
    between = (
        "Length of the noise in the release."
        if released.exact
        else "Length of the noise in the release: between the edges for every table (proved), on "
        "the line for a typical one (a rough rule)."
    )
    caption = (
        f"{between} The same declarations at other budgets, regularised as here or as much as the "
        "budget needs; computed from public quantities."
    )
    return Picture("The price of privacy", svg, caption)


def _mark(axes: Any, released: Released, here: float) -> None:
    """This release on the price's line, and its length across."""
    points: dict[str, Any] = {"textcoords": "offset points"}
    axes.axhline(released.norm, color=COLOURS["warm"], linewidth=1.2, linestyle="--")
    across = ("axes fraction", "data")
    words = "length of the released vector"
    axes.annotate(words, (0.98, released.norm), (0, 3), ha="right", xycoords=across, **points)
    spot = (here, released.usual_noise)
    axes.plot(*spot, "o", markersize=7, color=COLOURS["accent"])
    axes.annotate("this release", spot, (-6, -7), ha="right", va="top", **points)


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
