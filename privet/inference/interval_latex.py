"""The regression table as LaTeX that needs no package and stays on its page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from privet._files import printable, shortened

#: letters of a name, and of a line in its column; longer ones make it a column of paragraphs
LONGEST, LINE = 44, 22
#: lines of a table on one page, with the notes below it
LINES = 40
_SYMBOLS = {
    "≥": "geq", "≤": "leq", "≠": "neq", "≈": "approx", "∞": "infty", "→": "rightarrow",
    "×": "times", "μ": "mu", "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "Δ": "Delta",
    "λ": "lambda", "σ": "sigma",
}  # fmt: skip
#: what LaTeX would take for something else, or does not know
TEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "%&_#${}"}
    | {letter: f"$\\{name}$" for letter, name in _SYMBOLS.items()}
    | {letter: f"$_{digit}$" for digit, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "|": r"$|$",
        ">": r"$>$",
        "<": r"$<$",
        "−": r"$-$",
        "²": r"$^2$",
        "…": r"\ldots{}",
    }
)


def latex_table(heads: Sequence[str], lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Each line's name and numbers under ``heads``, with the notes as the caption.

    Names are cut as in the other forms of the table; in a column of paragraphs where they are long.
    More lines than a page holds make several tables of one number.
    """
    names = [shortened(name, LONGEST) for name, *_ in lines]
    wide = max(map(len, names), default=0) > LINE
    shape = (r"p{0.29\linewidth}" if wide else "l") + "r" * len(heads)
    first = " & ".join(["", *map(tex, heads)]) + r" \\"
    rows = [
        " & ".join([_first_cell(name, wide=wide), *map(_number, numbers)]) + r" \\"
        for name, (_, *numbers) in zip(names, lines, strict=True)
    ]
    tables: list[str] = []
    for some in _pages(rows, names):
        caption = "(continued)" if tables else " ".join(map(tex, notes))
        tables += [
            r"\begin{table}",
            r"\footnotesize\setlength{\tabcolsep}{4pt}",
            *([r"\addtocounter{table}{-1}"] if tables else []),
            rf"\begin{{tabular}}{{{shape}}}",
            r"\hline",
            first,
            r"\hline",
            *some,
            r"\hline",
            r"\end{tabular}",
            rf"\caption{{{caption}}}",
            r"\end{table}",
        ]
    return "\n".join(tables)


def tex(text: str) -> str:
    """``text`` as LaTeX shows it."""
    return printable(text).translate(TEX)


def _pages(rows: list[str], names: list[str]) -> Iterator[list[str]]:
    """Rows of one page after another; a long name takes several lines."""
    page: list[str] = []
    used = 0
    for row, name in zip(rows, names, strict=True):
        needed = math.ceil(len(name) / LINE)
        if page and used + needed > LINES:
            yield page
            page, used = [], 0
        page.append(row)
        used += needed
    yield page


def _first_cell(name: str, *, wide: bool) -> str:
    """A name, which LaTeX must not take for an argument of the line before."""
    shown = tex(name)
    if wide:  # ragged, broken at underscores too, and its lines hang together
        shown = shown.replace(r"\_", r"\_\allowbreak{}")
        return rf"\raggedright\hangindent=1em {shown}"
    return ("{}" if name.startswith(("[", "*")) else "") + shown


def _number(number: str) -> str:
    """A number with a minus for its hyphen."""
    return f"$-${number[1:]}" if number.startswith("-") else number
