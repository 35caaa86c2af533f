"""The forest plot: every estimate with its interval, the clearest first."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privet._files import printable
from privet.errors import DeclarationError, MissingExtra

if TYPE_CHECKING:
    from privet.inference.intervals import Intervals

MOST = 40
LONGEST_NAME = 36
INK, ACCENT, MUTED = "#1b2127", "#1b6ca8", "#8a949e"


def forest(intervals: Intervals, path: Any = None, most: int = MOST) -> Any:
    """A matplotlib figure; written to ``path`` where one is given."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Pictures need matplotlib, the extra 'cli'.") from error
    shown = order(intervals)[:most]
    figure = Figure(figsize=(7.0, 1.3 + 0.24 * len(shown)), layout="constrained")
    draw(figure.subplots(), intervals, shown)
    if path is None:
        return figure
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in another script
        figure.savefig(path, dpi=150)
    return figure


def drawable(path: Any) -> None:
    """Refuse, before intervals are paid for, a picture that could not be drawn."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise MissingExtra("Pictures need matplotlib, the extra 'cli'.") from error
    kinds = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in kinds:
        raise DeclarationError(
            f"A picture's name must end in .png, .svg or .pdf, got {Path(path).name!r}."
        )


def order(intervals: Intervals) -> list[int]:
    """Places of the numbers, the clearest first; baselines and intercepts last."""
    base = [name.startswith("(") for name in intervals.names]
    keys = zip(base, -np.abs(intervals.z), range(len(base)), strict=True)
    return [place for _, _, place in sorted(keys)]


def draw(
    axes: Any,
    intervals: Intervals,
    shown: list[int],
    colours: tuple[str, str, str] = (INK, ACCENT, MUTED),
) -> None:
    """The plot on given axes."""
    ink, accent, muted = colours
    axes.axvline(0.0, color=muted, linewidth=0.8, zorder=0)
    for place, i in enumerate(shown):
        stretch = intervals.named.stretch[i]
        low, high = stretch * float(intervals.lower[i]), stretch * float(intervals.upper[i])
        middle = stretch * float(intervals.estimate[i])
        colour = accent if low > 0.0 or high < 0.0 else muted
        axes.plot([low, high], [place, place], color=colour, linewidth=1.6, zorder=1)
        axes.plot(middle, place, "o", color=colour, markersize=4, zorder=2)
    axes.set_yticks(range(len(shown)), [_cut(_name(intervals, i)) for i in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelcolor=ink)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    level = f"{100.0 * intervals.level:.4g} %"
    axes.set_xlabel(f"{intervals.named.target}, {level} private interval".replace("$", r"\$"))


def _name(intervals: Intervals, i: int) -> str:
    """A number is drawn from the middle of its declared range to the upper end."""
    return f"{intervals.names[i]} (half range)" if intervals.units[i] else intervals.names[i]


def _cut(name: str) -> str:
    clean = printable(name)
    short = clean if len(clean) <= LONGEST_NAME else clean[: LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")  # a dollar would start a formula
