"""Figures as SVG that lives inside a page: its colors, its fonts, its identifiers.

Matplotlib writes a file of its own: a prologue with addresses of standards, fixed colors, names
that repeat from figure to figure. Inside a page the colors must follow the reader's light or dark
setting, and nothing may point outside.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from privet.errors import MissingExtra

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
        raise MissingExtra("Pictures need matplotlib, the extra 'cli'.") from error
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
