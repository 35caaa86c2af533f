"""The picture of a plan: noise and risk against rows or budget, this plan marked."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.errors import MissingExtra

if TYPE_CHECKING:
    from privet.planning.planned import Plan

POINTS = 41
BLUE, ORANGE, GREY = "#1f5a94", "#c8641e", "#6b6b6b"
ZONES = (("comfortable", "#e4f1e4"), ("tight", "#fbf3d9"), ("hopeless", "#f8e2de"))
NAMES = {
    "n": "rows",
    "d": "columns",
    "epsilon": "epsilon",
    "rho": "rho",
    "regularization": "regularization",
}


def draw(
    plan: Plan, path: str | os.PathLike[str], over: str, values: Sequence[float] | None
) -> None:
    """Two panels on one horizontal axis, written to ``path``."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Drawing a plan needs matplotlib, the extra 'cli'.") from error
    values = default_values(plan, over) if values is None else list(values)
    plans = plan.curve(over, values)
    figure = Figure(figsize=(10.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _noise(left, plan, plans, values)
    _risk(right, plan, plans, values)
    here = _value(plan, over)
    for axes in (left, right):
        _finish(axes, plans, values, here, NAMES[over])
    figure.suptitle(_title(plan), fontsize=10.5)
    figure.savefig(path, dpi=150)


def default_values(plan: Plan, over: str) -> list[float]:
    """Three powers of ten with the plan's own value in the middle."""
    here = _value(plan, over)
    grid = here * np.logspace(-1.5, 1.5, POINTS)
    if over in ("n", "d"):
        return [int(value) for value in sorted({max(1, round(value)) for value in grid})]
    if over in ("epsilon", "rho"):
        grid = grid[(grid >= 1e-6) & (grid <= 1e3)]
    return [float(value) for value in grid]


def _value(plan: Plan, over: str) -> float:
    if over in ("epsilon", "rho"):
        return plan.declared.amount
    return plan.regularization if over == "regularization" else getattr(plan.declared, over)


def _title(plan: Plan) -> str:
    declared = plan.declared
    return (
        f"{declared.n:,} rows, {declared.d:,} columns, {declared.loss} loss, "
        f"{declared.mechanism} perturbation, {declared.budget}: {plan.verdict}"
    )


def _noise(axes: Any, plan: Plan, plans: list[Plan], values: Sequence[float]) -> None:
    """Norms with the regulariser's shrinkage undone, or much of it would pass for accuracy."""
    undone = np.array([1.0 + each.regularization / each.typical.curvature for each in plans])
    root = math.sqrt(plan.design.parameters)
    least = undone * [each.release_noise.least for each in plans]
    mean = undone * [each.release_noise.mean for each in plans]
    typical = undone * [each.typical.noise_sd * root for each in plans]
    sampling = undone * [each.typical.sampling_sd * root for each in plans]
    if plan.gap is not None:
        band = {"color": BLUE, "alpha": 0.18, "lw": 0, "label": "noise, proved range of the mean"}
        axes.fill_between(values, least, mean, **band)
    axes.plot(values, typical, color=BLUE, lw=2, label="noise, if columns vary alike")
    axes.plot(
        values, sampling, color=GREY, lw=1.5, ls="--", label="sampling error, if columns vary alike"
    )
    axes.set_title("Error norm of the coefficients, shrinkage undone", fontsize=10, pad=20)


def _risk(axes: Any, plan: Plan, plans: list[Plan], values: Sequence[float]) -> None:
    axes.plot(
        values,
        [each.excess_risk() for each in plans],
        color=ORANGE,
        lw=2,
        label="proved bound, 95 %",
    )
    axes.plot(
        values,
        [each.excess_risk_mean for each in plans],
        color=ORANGE,
        lw=1.5,
        ls="--",
        label="proved bound on the mean",
    )
    axes.axhline(plan.zero_risk, color=GREY, lw=1, ls=":", label="risk of knowing nothing")
    axes.set_title("Excess regularised training risk", fontsize=10, pad=20)


def _finish(axes: Any, plans: list[Plan], values: Sequence[float], here: float, name: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(values), max(values))
    axes.set_xlabel(name)
    _zones(axes, plans, values)
    axes.axvline(here, color="black", lw=1)
    axes.annotate(
        "this plan",
        (here, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, -4),
        textcoords="offset points",
        va="top",
        fontsize=8,
    )
    axes.grid(True, which="major", color="white", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, framealpha=0.9, loc="best")


def _zones(axes: Any, plans: list[Plan], values: Sequence[float]) -> None:
    """Background by the verdict's rule: where each verdict holds along the axis."""
    logs = np.log(np.asarray(values, dtype=float))
    edges = np.exp(np.concatenate([logs[:1], (logs[1:] + logs[:-1]) / 2.0, logs[-1:]]))
    for word, colour in ZONES:
        keep = [index for index, each in enumerate(plans) if each.verdict == word]
        for index in keep:
            axes.axvspan(edges[index], edges[index + 1], color=colour, zorder=0, lw=0)
        if keep:
            centre = math.sqrt(edges[keep[0]] * edges[keep[-1] + 1])
            place = {"xycoords": ("data", "axes fraction"), "ha": "center", "fontsize": 8}
            axes.annotate(word, (centre, 1.015), color=GREY, **place)
