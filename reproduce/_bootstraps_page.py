"""The page of ``little_bootstraps.py``: what its cells say together, and each of them."""

from __future__ import annotations

import math
from statistics import geometric_mean
from typing import Any

from _common import table

HEAD = """# Intervals from little bootstraps

Written by `python reproduce/little_bootstraps.py`. Chadha, Duchi and Kuditipudi (2024) need no
matrix: each of s parts of the table tells a length, and the median is released privately. Numbers
are mean lengths over non-private ones at the same regularization, over {replicates} replicates
({more} where they would be offered), with the mean coverage, which is worked out from the law of
the error with the exact matrices, to first order; resamples are without end. *Ours* is
`fit_with_intervals` with defaults. *Medians* are those of the lengths over the replicates, ours and
by the rule.

- *By a rule*: as they would be released. The number of parts is the largest of {parts} that leaves
  each {rows} rows for every parameter; each median gets eps = {needs} times 64/s, and the fit the
  rest, in steps of 0.05; ends are those that no length can be beyond, by the fit's noise and the
  regularization. They are *offered* where that leaves the fit {least} of the budget or more; a cell
  without is shown with {least}.
- *In hindsight*: parts, share and a factor that makes the mean coverage exactly 0.95 are the best
  for each cell; ends within a factor of 10 of the exact lengths. *Bare* is their coverage without
  that factor, and *ours, scaled* has such a factor too. Not worked out for the cells of
  [interval_grid.md](interval_grid.md) below the first 24.

"""


def bootstraps_page(results: list[dict[str, Any]], settings: dict[str, Any]) -> str:
    """The whole page, of all cells' results; ``settings`` are the numbers that its head tells."""
    heads = (
        "table", "d", "n", "loss", "eps", "ours (coverage)", "by a rule", "medians", "parts, share",
        "offered", "ours, scaled", "in hindsight", "bare",
    )  # fmt: skip
    lines = [line(one) for one in results if "refused" not in one]
    return HEAD.format(**settings) + verdict(results) + table(heads, lines)


def line(one: dict[str, Any]) -> tuple[Any, ...]:
    """Of the table."""
    ours = f"{one['ours']:.2f} ({one['coverage']:.3f})"
    rule = f"{one['rule']:.2f} ({one['rule_coverage']:.3f})"
    medians = f"{one['ours_median']:.2f}, {one['rule_median']:.2f}"
    how = f"{one['rule_parts']}, {one['rule_share']:.2f}"
    hindsight = ("", "", "")
    if "bootstraps" in one:
        hindsight = (f"{one['scaled']:.2f}", f"{one['bootstraps']:.2f}", f"{one['bare']:.3f}")
    place = (one["data"], one["d"], f"{one['n']:,}", one["loss"], f"{one['budget']:g}")
    return (*place, ours, rule, medians, how, "yes" if one["offered"] else "", *hindsight)


def ratios_of(some: list[dict[str, Any]], which: str) -> list[float]:
    """Lengths by the rule over ours: means, or medians."""
    return [one[f"rule{which}"] / one[f"ours{which}"] for one in some]


def relative_error(one: dict[str, Any]) -> float:
    """The standard error of the ratio of means, relative to it."""
    return math.hypot(one["rule_error"] / one["rule"], one["ours_error"] / one["ours"])


def verdict(results: list[dict[str, Any]]) -> str:
    """How often they are shorter, and by how much."""
    shown = [one for one in results if "refused" not in one]
    offered = [one for one in shown if one["offered"]]
    ratios, medians = ratios_of(offered, ""), ratios_of(offered, "_median")
    names = ", ".join(
        f"{one['data']} d = {one['d']}, n = {one['n']:,}, {one['loss']}, eps = {one['budget']:g} "
        f"({ratio - 1.0:+.0%} ± {ratio * relative_error(one):.0%}, medians {median - 1.0:+.0%}, "
        f"coverage {one['rule_coverage']:.3f})"
        for one, ratio, median in zip(offered, ratios, medians, strict=True)
        if ratio < 0.98
    )
    others = [one for one in shown if not one["offered"]]
    below = sum(one["rule_coverage"] < 0.93 for one in others)
    known = [one for one in shown if "bootstraps" in one]
    hindsight = sum(one["bootstraps"] < one["ours"] for one in known)
    return (
        f"- {len(shown)} cells, {len(results) - len(shown)} refused. By a rule: offered in "
        f"{len(offered)}, where coverage is {min(one['rule_coverage'] for one in offered):.3f} or "
        f"more and lengths are {min(ratios):.2f} to {max(ratios):.2f} times ours, "
        f"{geometric_mean(ratios):.2f} on geometric average. More than 2 % shorter: "
        f"{names or 'none'}. More than 2 % longer: {sum(ratio > 1.02 for ratio in ratios)}.\n"
        f"- By medians they are {min(medians):.2f} to {max(medians):.2f} times as long as ours "
        f"where they are offered, {geometric_mean(medians):.2f} on geometric average.\n"
        f"- In the {len(others)} others their coverage is below 0.93 in {below} "
        f"(lowest {min(one['rule_coverage'] for one in others):.3f}).\n"
        f"- In hindsight they are shorter than ours in {hindsight} of {len(known)}.\n\n"
    )
