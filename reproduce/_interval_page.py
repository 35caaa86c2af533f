"""The page of ``interval_grid.py``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Result = dict[str, Any]
Short = Callable[[Result], bool]

#: the constants that the library has
USED = "**used**"
#: marks results from before the constants were changed; a run measures these cells again
EARLIER = "earlier"
HEAD = """# Do intervals cover what they say?

Written by `python reproduce/interval_grid.py`. A table stands for the population; each replicate
draws rows from it, fits and makes intervals with one budget for both and defaults for everything
else. 400 replicates, 100 with a million rows; with columns without effect 1,600 up to 10,000 rows
and with a million. Coverage is the mean over the coefficients at a nominal 0.95, with its standard
error over the replicates; *decision* is that of a decision value at a public point, *joint* how
often all Bonferroni intervals hold at once; *width* is the mean length over that of non-private
intervals at the same regularization, mean of the coefficients; *false* is how often P < 0.05 for
columns without effect (empty where there are none). A cell is *short* when
it is significantly below 0.93 (one-sided p < 0.001).

"""

WAITING = """Measured before a pure fit of logistic loss and its matrices were one release
(`privet/mechanisms/matrix_beside.proof.md`), which makes the noise in the matrices smaller; part
of no verdict above. `python reproduce/interval_grid.py` measures them again.

"""

RULE = """## How the constants were chosen

A cell is for choosing when the first bit of the SHA-256 of its name is zero, and for showing
otherwise. On cells for choosing with at most 12 parameters other constants are tried on 200 of the
same releases (`Caution` in `privet/inference/uncertainty.py`). The rule: no cell short or clearly
below 0.93, no more than 0.06 false positives, then the shortest intervals. Lengths are geometric
means over those of the constants that are used. Likelihoods are logistic and softmax loss. What was
looked at besides, with other seeds: the four columns of Adult at eps = 8; Adult with 1 and 37
columns in [wang2018.md](wang2018.md), for how far the two matrices may differ and for what is taken
off for errors across a direction; and two nearly constant tables for showing (n = 500 with
rho = 0.5, n = 10,000 with rho = 0.01), whose false positives of 0.076 and 0.062 told that
eigenvalues have to be lowered.

"""


def page(
    results: dict[str, Result],
    short: Short,
    most_false: float,
    table: Callable[[Any, Any], str],
    planned: int,
) -> str:
    """Verdicts first, then the constants, then every cell that was run."""
    everything = list(results.values())
    cells = [one for one in everything if EARLIER not in one]
    before = [one for one in everything if EARLIER in one]
    choosing = [one for one in cells if one["chooses"]]
    showing = [one for one in cells if not one["chooses"]]
    heads = (
        "table", "d", "n", "loss", "budget", "fit's share", "coverage", "decision", "joint",
        "width", "false", "",
    )  # fmt: skip
    parts = [
        HEAD,
        f"{len(cells)} of {planned} planned cells were run.{_compared(cells)}\n\n",
        *_verdict("For showing", showing, short, most_false),
        *_verdict("For choosing", choosing, short, most_false),
        "\n" + RULE + _tried(choosing, short, table),
    ]
    for name, some in (("for showing", showing), ("for choosing", choosing)):
        lines = [_line(one, short) for one in sorted(some, key=_order)]
        parts.append(f"\n## Cells {name}\n\n{table(heads, lines)}")
    if before:
        lines = [_line(one, short) for one in sorted(before, key=_order)]
        parts.append(f"\n## Cells that wait\n\n{WAITING}{table(heads, lines)}")
    return "".join(parts)


def _compared(cells: list[Result]) -> str:
    """How far counted samples are from the library's own fits."""
    found = [one["compared"] for one in cells if one.get("compared") is not None]
    if not found:
        return ""
    return (
        f" Samples of {len(found)} cells count rows instead of repeating them; two of each were "
        f"fitted by the library too: parameters differ by at most {max(found):.0e} non-private "
        "standard errors, and matrices relatively by no more."
    )


def _verdict(name: str, cells: list[Result], short: Short, most_false: float) -> list[str]:
    told = [one for one in cells if "refused" not in one]
    if not told:
        return []
    false = [one for one in told if one["idle"]]
    lines = [
        f"- {name}: {len(cells)} cells, {len(cells) - len(told)} refused; short: "
        f"{sum(map(short, told))}; lowest coverage {min(one['coverage'] for one in told):.3f}, "
        f"mean {sum(one['coverage'] for one in told) / len(told):.3f}.\n"
    ]
    if false:
        worst = max(false, key=lambda one: one["false"])
        above = [one for one in false if one["false"] > most_false]
        surely = [one for one in above if one["false"] - most_false > 3.09 * one["false_se"]]
        lines.append(
            f"  P < 0.05 without effect: at most {worst['false']:.3f} (± {worst['false_se']:.3f}) "
            f"in {len(false)} cells with such columns; above {most_false:g} in {len(above)}, "
            f"significantly in {len(surely)}.\n"
        )
    return lines


def _tried(cells: list[Result], short: Short, table: Callable[[Any, Any], str]) -> str:
    """Other constants against those that are used, on the same releases."""
    heads = ("losses", "constants", "short", "lowest", "mean coverage", "most false", "length")
    lines = []
    told = [one for one in cells if one.get("tried")]
    for kind in ("likelihoods", "Huber"):
        some = [one for one in told if (one["loss"] == "Huber") == (kind == "Huber")]
        for name in some[0]["tried"] if some else ():
            tried = [one["tried"][name] for one in some]
            logs = [
                math.log(one["tried"][name]["width"] / one["tried"][USED]["width"]) for one in some
            ]
            lines.append(
                (
                    kind,
                    name,
                    sum(map(short, tried)),
                    f"{min(one['coverage'] for one in tried):.3f}",
                    f"{sum(one['coverage'] for one in tried) / len(tried):.3f}",
                    f"{max(one['false'] for one in tried):.3f}",
                    f"{math.exp(sum(logs) / len(logs)):.3f}",
                )
            )
    return table(heads, lines)


def _order(one: Result) -> tuple[object, ...]:
    return one["loss"], one["data"], one["d"], one["n"], one["kind"], one["budget"]


def _line(one: Result, short: Short) -> tuple[object, ...]:
    budget = f"{'eps' if one['kind'] == 'pure' else 'rho'} = {one['budget']:g}"
    setting = one["data"], one["d"], f"{one['n']:,}", one["loss"], budget
    if "refused" in one:
        return (*setting, "", "refused", "", "", "", "", "")
    return (
        *setting,
        f"{one['share']:.2f}",
        f"{one['coverage']:.3f} ± {one['coverage_se']:.3f}",
        f"{one['decision']:.3f}",
        f"{one['joint']:.3f}",
        f"{one['width']:.3f}",
        f"{one['false']:.3f}" if one["idle"] else "",
        "short" if short(one) else "",
    )
