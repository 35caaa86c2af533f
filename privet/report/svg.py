"""Figures as SVG that lives inside a page: its colours, its fonts, its identifiers.

Matplotlib writes a file of its own: a prologue with addresses of standards, fixed colours, names
that repeat from figure to figure. Inside a page the colours must follow the reader's light or dark
setting, and nothing may point outside.
"""

from __future__ import annotations

import io
import re
from typing import Any

#: what figures are drawn with, and the page's colour that takes its place
COLOURS = {
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
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.titlecolor": COLOURS["ink"],
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.labelcolor": COLOURS["ink"],
    "ytick.labelcolor": COLOURS["ink"],
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


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
    for role, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{role})")
    label = description.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
