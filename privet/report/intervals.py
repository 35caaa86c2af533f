"""Private confidence intervals as a fragment of a page: the forest plot and the table."""

from __future__ import annotations

import warnings
from html import escape
from typing import Any

from privet.errors import DataError, MissingExtra
from privet.inference import Intervals
from privet.report.svg import COLOURS, STYLE, inline

MOST = 25
WIDTH = 4.5


def fragment(intervals: Intervals) -> str:
    """A section of the report; ``intervals`` were released beside the model and paid for."""
    guarantee = intervals.guarantee
    alarm = (
        ""
        if guarantee.private
        else '<p class="alarm" role="alert"><strong>Not private:</strong> '
        f"{escape(guarantee.event.why_not_private)}.</p>"
    )
    shown = min(MOST, len(intervals))
    which = f"The {shown} clearest of {len(intervals)}" if shown < len(intervals) else "All"
    level = f"{100.0 * intervals.level:.4g} %"
    caption = (
        f"{which} numbers with their {level} intervals, by their size in standard errors. Coloured "
        "where the interval does not hold zero."
    )
    if any(intervals.units):
        caption += " Half range: from the middle of the declared range to the upper end."
    return (
        f'<section class="intervals"><h2>Confidence intervals</h2>{alarm}'
        f"<p>{escape(intervals.price())}</p>"
        f"<figure>{picture(intervals)}<figcaption>{escape(caption)}</figcaption></figure>"
        f"<details><summary>The intervals in numbers</summary>{intervals._repr_html_()}</details>"
        "</section>"
    )


def picture(intervals: Intervals) -> str:
    """The forest plot, in the page's own colours."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Pictures need matplotlib, the extra 'cli'.") from error
    shown = intervals.clearest()[:MOST]
    colours = COLOURS["ink"], COLOURS["accent"], COLOURS["muted"]
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=(WIDTH, 1.1 + 0.23 * len(shown)), layout="constrained")
        FigureCanvasSVG(figure)
        intervals.draw(figure.subplots(), shown, colours)
        return inline(figure, "intervals", "Estimates with their confidence intervals")


def matching(intervals: Intervals, model: Any) -> Intervals:
    """``intervals``, refused where they are about another model."""
    layout, about = intervals.layout, intervals.uncertainty
    if model.coef_.shape == (len(layout.scores), len(layout.columns)):
        theta = layout.parameters(model.coef_, model.intercept_)
        if abs(theta - about.theta).max() <= 1e-9 * (1.0 + abs(theta).max()):
            return intervals
    raise DataError("The intervals are about another model: their coefficients differ.")
