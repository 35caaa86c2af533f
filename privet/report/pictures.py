"""The report's pictures, each from public quantities and released numbers alone.

Figures are as wide as a phone so that their letters stay readable there; wider screens put two
side by side.

Figures as SVG that lives inside a page: its colors, its fonts, its identifiers.

Matplotlib writes a file of its own: a prologue with addresses of standards, fixed colors, names
that repeat from figure to figure. Inside a page the colors must follow the reader's light or dark
setting, and nothing may point outside.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet._files import shortened
from privet.errors import MissingExtra
from privet.privacy.attacker import attacker_accuracy, detection, posterior, sure_odds
from privet.report.released_numbers import PromiseDrawn, ReportedModel
from privet.statement.facts import at_most, percent
from privet.statement.promise import rarely

#: what figures are drawn with, and the page's color that takes its place
COLORS = {
    "ink": "#010101",
    "muted": "#020202",
    "accent": "#030303",
    "warm": "#040404",
    "band": "#050505",
    "paper": "#060606",
    "deep": "#070707",
}

STYLE: Any = {
    "text.usetex": False,  # whatever a settings file in the current folder says: it runs programs
    "svg.fonttype": "none",  # text stays text: it can be read aloud, found and copied
    "svg.hashsalt": "privet",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": COLORS["muted"],
    "axes.labelcolor": COLORS["ink"],
    "axes.titlecolor": COLORS["ink"],
    "text.color": COLORS["ink"],
    "xtick.color": COLORS["muted"],
    "ytick.color": COLORS["muted"],
    "xtick.labelcolor": COLORS["ink"],
    "ytick.labelcolor": COLORS["ink"],
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


#: inches: as wide as a phone
WIDTH = 4.5


@contextmanager
def axes_of(height: float) -> Iterator[tuple[Any, Any]]:
    """A figure of the page's width and its axes, in the page's style."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Pictures need matplotlib: pip install 'privet[cli]'.") from error
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # a name in another script: the reader's browser has the letters, the drawing font need not
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, figure.subplots()


def inline(figure: Any, name: str, description: str) -> str:
    """The figure as an ``svg`` element for an HTML page; ``name`` keeps its identifiers apart."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"', "", text)
    text = re.sub(r'\s(?:width|height)="[\d.]+pt"', "", text, count=2)
    text = text.replace("xlink:href", "href")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    for role, color in COLORS.items():
        text = text.replace(color, f"var(--{role})")
    label = description.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


# -- pictures ------------------------------------------------------------------------------------

MOST_BARS = 40
LONGEST_NAME = 36


@dataclass(frozen=True)
class Picture:
    """An inline figure with the words around it."""

    title: str
    svg: str
    caption: str


def coefficients(released: ReportedModel) -> Picture:
    """Released coefficients over the range that noise alone may take up at most."""
    shown = released.largest(MOST_BARS)
    total, places = len(released.coefficients), np.arange(len(shown))
    with axes_of(1.1 + 0.23 * len(shown)) as (figure, axes):
        if released.band is not None:
            axes.axvspan(-released.band, released.band, color=COLORS["band"], linewidth=0, zorder=0)
        axes.axvline(0.0, color=COLORS["muted"], linewidth=0.8, zorder=1)
        for place, one in zip(places, shown, strict=True):
            color = COLORS["muted" if one.rest else "accent"]
            axes.plot([0.0, one.value], [place, place], color=color, linewidth=1.4, zorder=2)
            axes.plot(one.value, place, "o", markersize=5, color=color, zorder=3)
        axes.set_yticks(places, [_cut(one.name) for one in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(_score_axis(released))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        svg = inline(figure, "coefficients", "Released coefficients with the range of the noise")
    which = f"The {len(shown)} largest of {total}" if total > len(shown) else f"All {total}"
    caption = f"{which} released coefficients, in the order of the columns. {_rest(released)}"
    return Picture("Released coefficients", svg, caption + noise_words(released))


def noise_words(released: ReportedModel) -> str:
    """What public numbers say of the noise in a coefficient, and what they do not."""
    if released.band is None and not released.chosen:
        return (
            "The noise in a coefficient has no known law here: it was added to sums or gradients "
            "from which the coefficients were then computed, or columns have weights of their own, "
            "or the file does not keep the user's loss. Do not read single coefficients."
        )
    if released.band is None:
        return (
            "This model was chosen by a search among several, so the noise in its coefficients has "
            "no known law: do not read single coefficients."
        )
    size = at_most(released.band, 2)
    if released.exact:
        return (
            f"Shaded: noise alone moves a coefficient by up to ± {size} in 95 of 100 fits. "
            f"{_not_sampling(released)}"
        )
    return (
        f"Shaded: noise alone moves a coefficient by at most ± {size} in 95 of 100 fits, whatever "
        "the rows, to first order in the noise. It comes near to that for a category that few rows "
        "have, and is less for others; how much less depends on the rows and is private. "
        f"{_not_sampling(released)}"
    )


def _not_sampling(released: ReportedModel) -> str:
    told = " cannot be told: there are no intervals for this kind of model."
    if released.has_intervals:
        told = ", only private intervals tell: the command privet intervals."
    return (
        "Other rows from the same population would move it too. "
        f"Whether a coefficient differs from zero{told}"
    )


def _rest(released: ReportedModel) -> str:
    units = ""
    if released.in_table_units:
        units = (
            "For a category: for being in it. For a number: from the middle of its declared range "
            "to the upper end. "
        )
    if any(each.rest for each in released.coefficients):
        units += (
            "The category (other) is for cells that were not declared: perhaps no row has one, and "
            "then its coefficient is noise alone. "
        )
    return units


def _score_axis(released: ReportedModel) -> str:
    return (
        f"change of the {_cut(released.score_name)}" if released.in_table_units else "coefficient"
    )


def _cut(name: str) -> str:
    return shortened(name, LONGEST_NAME).replace("$", r"\$")  # a dollar would start a formula


def sizes(released: ReportedModel) -> Picture:
    """All coefficients by size, beside the most that noise alone comes to."""
    band, noise = released.known_noise()
    ordered = np.sort(np.abs([one.value for one in released.coefficients]))[::-1]
    with axes_of(3.0) as (figure, axes):
        least = float(ordered[ordered > 0].min(initial=band))
        bottom = max(least * 0.7, band / 1e4)
        axes.axhspan(bottom, band, color=COLORS["band"], linewidth=0, zorder=0)
        ranks = np.arange(1, len(ordered) + 1)
        axes.plot(ranks, ordered, "o", markersize=3.5, color=COLORS["accent"])
        axes.set(yscale="log", xlabel="rank", ylabel="size of the coefficient")
        axes.set_ylim(bottom, max(float(ordered.max(initial=0.0)), band) * 1.6)
        words = "noise" if released.exact else "noise, at most"
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(words, (0.02, bottom), (0, 3), va="bottom", **place)
        svg = inline(figure, "sizes", "Sizes of all coefficients beside the range of the noise")
    length = f"{noise.mean:.3g}"
    if not released.exact:
        length = f"between {noise.least:.3g} and {noise.mean:.3g}, whatever the rows"
    caption = (
        f"As a whole, the released vector has length {released.norm:.3g}; the noise in it has a "
        f"mean length of {length}. Large coefficients are often large by their noise: size alone "
        "does not show that a column matters."
    )
    return Picture("Sizes and noise", svg, caption)


def attacker(released: PromiseDrawn) -> Picture:
    """The best test for one record: hits against false alarms."""
    promise = released.promise
    alarms = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 400)])
    hits = detection(promise, alarms)
    with axes_of(3.2) as (figure, axes):
        axes.fill_between(alarms, alarms, hits, color=COLORS["band"], linewidth=0)
        axes.plot(alarms, hits, color=COLORS["accent"], linewidth=2)
        axes.plot([0, 1], [0, 1], color=COLORS["muted"], linewidth=1, linestyle="--")
        axes.annotate("a coin", (0.6, 0.6), (5, -11), textcoords="offset points")
        axes.set(xlabel="false alarms", ylabel="hits, at most", xlim=(0, 1), ylim=(0, 1.02))
        _percent(axes.xaxis, axes.yaxis)
        svg = inline(figure, "attacker", "Largest detection rate against false-alarm rate")
    at = float(detection(promise, np.array([0.05]))[0])
    caption = (
        f"An attacker who knows everything else guesses whether {released.whom} was in the table. "
        f"No test lies above the line: with 5 % false alarms they find at most {percent(at)}, "
        f"and from even odds they are right at most {percent(attacker_accuracy(promise))} of the "
        "time."
    )
    return Picture("What an attacker can find out", svg, caption)


def belief(released: PromiseDrawn) -> Picture:
    """How far the release can move a belief about one record."""
    epsilon, delta = sure_odds(released.promise)
    priors = np.linspace(0.0, 1.0, 401)
    after = posterior(epsilon, priors)
    with axes_of(3.2) as (figure, axes):
        axes.fill_between(priors, priors, after, color=COLORS["band"], linewidth=0)
        axes.plot(priors, after, color=COLORS["accent"], linewidth=2)
        axes.plot([0, 1], [0, 1], color=COLORS["muted"], linewidth=1, linestyle="--")
        examples = np.array([0.01, 0.1, 0.5])
        reached = posterior(epsilon, examples)
        axes.plot(examples, reached, "o", markersize=5, color=COLORS["warm"], clip_on=False)
        axes.set(
            xlabel="belief before", ylabel="belief after, at most", xlim=(0, 1), ylim=(0, 1.02)
        )
        _percent(axes.xaxis, axes.yaxis)
        svg = inline(figure, "belief", "Largest belief after the release against belief before")
    except_for = f", except in {rarely(delta)}" if delta else ""
    moves = [f"{p:.0%} to {percent(q)}" for p, q in zip(examples, reached.tolist(), strict=True)]
    caption = (
        f"How sure the same attacker can become that {released.whom} was in the table, by how sure "
        f"they were: from {', '.join(moves)} at most{except_for}."
    )
    return Picture("From belief to belief", svg, caption)


def price(released: ReportedModel) -> Picture:
    """Noise in the release against the budget, everything else declared as it is."""
    claim = released.model.guarantee_.event.claim
    found = released.price(np.geomspace(1 / 30, 30, 61))
    of_whom = " of one row" if released.model.guarantee_.group > 1 else ""
    name = f"{claim.amount_name}{of_whom}"
    with axes_of(3.2) as (figure, axes):
        amounts = [each.amount for each in found]
        low, high = [e.noise.least for e in found], [e.noise.mean for e in found]
        if released.exact:
            axes.plot(amounts, high, color=COLORS["accent"], linewidth=2)
        else:
            axes.fill_between(amounts, low, high, color=COLORS["band"], linewidth=0)
        _mark(axes, released, claim.amount)
        axes.set(xscale="log", yscale="log", xlabel=f"{name} (smaller protects more)")
        axes.set_ylabel("mean length of the noise")
        svg = inline(figure, "price", "Noise in the release against the budget")
    between = "" if released.exact else " It is between the edges, whatever the rows (proved)."
    caption = (
        f"Mean length of the noise in the release.{between} The same declarations at other "
        "budgets, regularized as here or as much as the budget needs; computed from public "
        "quantities."
    )
    return Picture("The price of privacy", svg, caption)


def _mark(axes: Any, released: ReportedModel, here: float) -> None:
    """This release on the price's line or between its edges, and its length across."""
    _, noise = released.known_noise()
    points: dict[str, Any] = {"textcoords": "offset points"}
    axes.axhline(released.norm, color=COLORS["warm"], linewidth=1.2, linestyle="--")
    across = ("axes fraction", "data")
    words = "length of the release"
    axes.annotate(words, (0.98, released.norm), (0, 3), ha="right", xycoords=across, **points)
    low, high = noise.least, noise.mean
    axes.plot([here, here], [low, high], color=COLORS["accent"], linewidth=2)
    axes.plot([here] * 2, [low, high], "o", markersize=5, color=COLORS["accent"])
    axes.annotate("this release", (here, low), (-6, -7), ha="right", va="top", **points)


def _percent(*each: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    for axis in each:
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))


#: in the order of the page
PICTURES: dict[str, Callable[[ReportedModel], Picture]] = {
    "attacker": attacker,
    "belief": belief,
    "coefficients": coefficients,
    "sizes": sizes,
    "price": price,
}
#: those that need the law of the noise, which a model that a search chose has not
OF_NOISE = ("sizes", "price")


def drawn(released: ReportedModel) -> dict[str, Picture]:
    """Every picture that can be drawn of this model, by its name."""
    return {
        name: draw(released)
        for name, draw in PICTURES.items()
        if released.design is not None or name not in OF_NOISE
    }
