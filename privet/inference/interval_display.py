"""Intervals for readers: a table like a statistician's summary (text, HTML, LaTeX), a forest plot.

``ShownIntervals`` holds what a reader can be shown, whatever the numbers were computed from.
"""

from __future__ import annotations

import html
import math
import textwrap
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from privet._files import shortened
from privet._types import Array
from privet.errors import DeclarationError, MissingExtra
from privet.inference.interval_latex import latex_table
from privet.inference.released_model import NamedDirections, ParameterLayout
from privet.inference.uncertainty import Uncertainty
from privet.privacy.guarantee import Guarantee, noise_words

ABOUT = (
    "The intervals are for theta0, the minimizer of the regularized population risk: what the fit "
    "would tend to with ever more rows at the same regularization. P and the limits allow for the "
    "noise in the matrices, so they are not those of a normal law."
)
HEADS = ("estimate", "std error", "z", "P")
#: letters of a name in the table, and in the plot
TABLE_NAME, PLOT_NAME = 44, 36
#: lines of a plot, and numbers that a note names
MOST, NAMED = 40, 6
INK, ACCENT, MUTED = "#1b2127", "#1b6ca8", "#8a949e"


class ShownIntervals(ABC):
    """Named estimates with their intervals, as text, HTML and a picture."""

    named: NamedDirections
    level: float
    uncertainty: Uncertainty
    layout: ParameterLayout
    guarantee: Guarantee
    joint: str

    @property
    @abstractmethod
    def numbers(self) -> dict[str, Array]:
        """Estimate, std_error, z, p_value, lower and upper of each line."""

    # -- the table -----------------------------------------------------------------------------

    def summary(self, width: int = 100) -> str:
        """The table as text, with the promise and what the intervals are about.

        Parameters
        ----------
        width : int, default 100
            Columns of the notes below the table.

        Returns
        -------
        str
            Several lines.
        """
        lines = [("", *self._heads()), *self._cells()]
        short = [(shortened(first, TABLE_NAME), *rest) for first, *rest in lines]
        sizes = [max(len(line[i]) for line in short) for i in range(len(short[0]))]
        rule = "-" * (sum(sizes) + 2 * len(sizes) - 2)
        shown = []
        for name, *cells in short:
            padded = (cell.rjust(size) for cell, size in zip(cells, sizes[1:], strict=True))
            shown.append("  ".join([name.ljust(sizes[0]), *padded]))
        told = [textwrap.fill(note, max(width, 60)) for note in self._notes()]
        return "\n".join([rule, shown[0], rule, *shown[1:], rule, *told])

    def __str__(self) -> str:
        return self.summary()

    def to_html(self) -> str:
        """A table element with the notes below it, for notebooks, reports and web pages.

        Returns
        -------
        str
            HTML without styles of its own.
        """
        head = "".join(
            f'<th class="number" align="right">{html.escape(h)}</th>' for h in self._heads()
        )
        body = "".join(
            f"<tr><td>{html.escape(shortened(name, TABLE_NAME))}</td>"
            + "".join(
                f'<td class="number" align="right">{html.escape(number)}</td>' for number in numbers
            )
            + "</tr>"
            for name, *numbers in self._cells()
        )
        told = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        return (
            f'<div class="wide"><table class="intervals" cellpadding="4">'
            f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>{told}"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self) -> str:
        """A ``tabular`` in a ``table`` with the notes as its caption; needs no package.

        Names are cut as in the text, and more than about 40 lines make several tables of one
        number. Names in scripts that pdflatex does not know need XeLaTeX or LuaLaTeX and a font.

        Returns
        -------
        str
            LaTeX.
        """
        return latex_table(self._heads(), self._cells(), self._notes())

    def _heads(self) -> tuple[str, ...]:
        if self.joint:  # of wider intervals: no single one has these tails
            return (*HEADS, "[lower", "upper]")
        tail = 100.0 * (1.0 - self.level) / 2.0
        return (*HEADS, f"[{tail:.3g} %", f"{100.0 - tail:.3g} %]")

    def _cells(self) -> list[tuple[str, ...]]:
        """Name and formatted numbers of each line."""
        shapes = (_plain, _plain, "{:.2f}".format, "{:.3f}".format, _plain, _plain)
        columns = [
            [shape(float(value)) for value in values]
            for shape, values in zip(shapes, self.numbers.values(), strict=True)
        ]
        pairs = zip(self.named.names, self.named.units, strict=True)
        names = [f"{name}, {unit}" if unit else name for name, unit in pairs]
        return list(zip(names, *columns, strict=True))

    def _notes(self) -> list[str]:
        """What a reader must know beside the numbers."""
        level = f"{100.0 * self.level:.4g} %"
        first = f"Private {level} intervals for {self.named.about}."
        if self.joint:
            first = (
                f"Private intervals for {self.named.about} that hold all at once with probability "
                f"{level} ({self.joint.capitalize()}); z and P are of each number alone."
            )
        about, noise = self.uncertainty, self.uncertainty.noise
        return [
            f"{about.n:,} rows, regularization {about.regularization:.4g}. {first}",
            f"{ABOUT} {self.layout.given}".rstrip(),
            f"Standard errors hold sampling and, from {noise.mechanism} perturbation, "
            f"{noise_words(noise.main.kind)}.{self._doubt()}",
            f"{self.price()} They rely on the rows being those of the fit: only their number was "
            "compared.",
        ]

    def _doubt(self) -> str:
        """What the noise in the released matrices does to these numbers, where it does much."""
        marked = [
            name for name, doubtful in zip(self.named.names, self.doubtful, strict=True) if doubtful
        ]
        if not marked:
            return ""
        some = ", ".join(shortened(name, PLOT_NAME) for name in marked[:NAMED])
        more = f" and {len(marked) - NAMED} more" if len(marked) > NAMED else ""
        return (
            f" The released curvature is within its own noise for {some}{more}: their intervals "
            "are longer for that reason, and a larger budget for them would shorten them."
        )

    @property
    @abstractmethod
    def doubtful(self) -> list[bool]:
        """Which numbers have lengths that noise in the released matrices decides."""

    def price(self) -> str:
        """What the intervals cost, beyond the model or together with it.

        Returns
        -------
        str
            A sentence.
        """
        guarantee = self.guarantee
        if not guarantee.private:
            return f"{guarantee}"
        each = f"{guarantee.budget} for {guarantee.each}"
        if self.with_model:
            noise, more = guarantee.event.parts[-1].noise, "less of it by what the fit left"
            whole = f"The model and its intervals cost {each} together, as one release"
            return f"{whole}: two matrices with {noise_words(noise)}, {more}."
        released = f"two matrices released with {noise_words(guarantee.event.noise)}"
        return f"The intervals cost {each} beyond the model: {released}."

    @property
    def with_model(self) -> bool:
        """Whether the promise is one for the model and the intervals, not for these alone."""
        return bool(self.guarantee.event.parts)

    # -- the forest plot -----------------------------------------------------------------------

    def plot(self, path: Any = None) -> Any:
        """A forest plot: every estimate with its interval, the clearest first, at most 40 of them.

        Parameters
        ----------
        path : path-like, default None
            PNG, SVG or PDF by its name.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, also where it was written to ``path``.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtra("Pictures need matplotlib: pip install 'privet[cli]'.") from error
        shown = self.clearest()[:MOST]
        figure = Figure(figsize=(7.0, 1.3 + 0.24 * len(shown)), layout="constrained")
        self.draw(figure.subplots(), shown)
        if path is None:
            return figure
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # a name in another script
            figure.savefig(path, dpi=150)
        return figure

    def clearest(self) -> list[int]:
        """Places of the numbers, the clearest first; baselines and intercepts last.

        Returns
        -------
        list of int
            Places in ``named.names``.
        """
        base = [name.startswith("(") for name in self.named.names]
        keys = zip(base, -np.abs(self.numbers["z"]), range(len(base)), strict=True)
        return [place for _, _, place in sorted(keys)]

    def draw(
        self, axes: Any, shown: list[int], colors: tuple[str, str, str] = (INK, ACCENT, MUTED)
    ) -> None:
        """The plot on given axes.

        Parameters
        ----------
        axes : matplotlib axes
            Where to draw.
        shown : list of int
            Places of the numbers, from top to bottom.
        colors : tuple of three str
            Of the names, of intervals without zero, and of the others.
        """
        ink, accent, muted = colors
        axes.axvline(0.0, color=muted, linewidth=0.8, zorder=0)
        ends = [self.numbers[name] for name in ("lower", "estimate", "upper")]
        for line, place in enumerate(shown):
            stretch = self.named.stretch[place]
            low, middle, high = (stretch * float(values[place]) for values in ends)
            color = accent if low > 0.0 or high < 0.0 else muted
            axes.plot([low, high], [line, line], color=color, linewidth=1.6, zorder=1)
            axes.plot(middle, line, "o", color=color, markersize=4, zorder=2)
        axes.set_yticks(range(len(shown)), [self._drawn_name(place) for place in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0, labelcolor=ink)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        level = f"{100.0 * self.level:.4g} %"
        words = textwrap.fill(f"{self.named.target}, {level} private interval", PLOT_NAME)
        axes.set_xlabel(words.replace("$", r"\$"))

    def _drawn_name(self, place: int) -> str:
        """A number is drawn from the middle of its declared range to the upper end."""
        name, unit = self.named.names[place], self.named.units[place]
        short = shortened(f"{name} (half range)" if unit else name, PLOT_NAME)
        return short.replace("$", r"\$")  # a dollar would start a formula


def drawable(path: Any) -> None:
    """Refuse, before intervals are paid for, a picture that could not be drawn."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise MissingExtra("Pictures need matplotlib: pip install 'privet[cli]'.") from error
    kinds = FigureCanvasBase.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in kinds:
        raise DeclarationError(
            f"A picture's name must end in .png, .svg or .pdf, got {Path(path).name!r}."
        )


def _plain(number: float) -> str:
    return f"{number:.4g}" if math.isfinite(number) else str(number)
