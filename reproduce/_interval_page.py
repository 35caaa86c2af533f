"""The page of ``interval_grid.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HEAD = """# Do intervals cover what they say?

Written by `python reproduce/interval_grid.py`. A table stands for the population; each replicate
draws rows from it, fits and makes intervals with one budget for both and defaults for everything
else. Coverage is the mean over the coefficients at a nominal 0.95, with its standard error over
the replicates; *width* is the mean length over that of non-private intervals at the same
regularization, mean of the coefficients; *false* is how often P < 0.05 for coefficients that are
zero in the population (empty where there are none). A cell is *short* when it is significantly
below 0.93 (one-sided p < 0.001).

Constants (how many standard deviations are clear, how far eigenvalues are lowered, the widening
that the share is chosen by) were chosen before any cell was run, on a dozen settings with tables
of these kinds and other seeds (Adult's is the same table), and not changed afterwards.

"""


def page(
    results: dict[str, dict[str, Any]],
    short: Callable[[dict[str, Any]], bool],
    most_false: float,
    table: Callable[[Any, Any], str],
    planned: int,
) -> str:
    """Verdicts first, then every cell that was run."""
    cells = sorted(results.values(), key=lambda one: one["place"])
    told = [one for one in cells if "refused" not in one]
    below = [one for one in told if short(one)]
    false = [one for one in told if one["idle"]]
    worst = max(false, key=lambda one: one["false"], default=None)
    verdicts = [
        f"- {len(cells)} of {planned} planned cells run, up to {max(one['d'] for one in cells)} "
        f"columns and {max(one['n'] for one in cells):,} rows; {len(cells) - len(told)} refused. "
        "The others are not measured yet.",
        f"- Short: {len(below)} of {len(told)}. Lowest coverage "
        f"{min(one['coverage'] for one in told):.3f}, mean {_mean(told):.3f}.",
    ]
    if worst is not None:
        above = sum(one["false"] > most_false for one in false)
        verdicts.append(
            f"- P < 0.05 without effect: at most {worst['false']:.3f} (± {worst['false_se']:.3f}) "
            f"in {len(false)} cells with such coefficients; above {most_false:g} in {above}."
        )
    heads = ("table", "d", "n", "loss", "budget", "fit's share", "coverage", "width", "false", "")
    return HEAD + "\n".join(verdicts) + "\n\n" + table(heads, [_line(one, short) for one in cells])


def _mean(cells: list[dict[str, Any]]) -> float:
    return float(sum(one["coverage"] for one in cells) / len(cells))


def _line(one: dict[str, Any], short: Callable[[dict[str, Any]], bool]) -> tuple[object, ...]:
    budget = f"{'eps' if one['kind'] == 'pure' else 'rho'} = {one['budget']:g}"
    setting = one["data"], one["d"], f"{one['n']:,}", one["loss"], budget
    if "refused" in one:
        return (*setting, "", "refused", "", "", "")
    return (
        *setting,
        f"{one['share']:.1f}",
        f"{one['coverage']:.3f} ± {one['coverage_se']:.3f}",
        f"{one['width']:.3f}",
        f"{one['false']:.3f}" if one["idle"] else "",
        "short" if short(one) else "",
    )
