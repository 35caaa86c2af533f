"""A plan for readers: a table of words, plain values for programs, and a picture."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.errors import MissingExtra
from privet.noise import Noise
from privet.planning.bounds import TAIL, generalization
from privet.planning.numbers import LARGEST_AMOUNT, SMALLEST_AMOUNT, PlanNumbers
from privet.planning.prediction import RULE
from privet.statement import in_words
from privet.statement.facts import at_most, percent
from privet.statement.writers import WIDTH, labeled

POINTS = 41
BLUE, ORANGE, GRAY = "#1f5a94", "#c8641e", "#6b6b6b"
ZONES = (("comfortable", "#e4f1e4"), ("tight", "#fbf3d9"), ("hopeless", "#f8e2de"))
NAMES = {"n": "rows", "d": "columns"}
Plans = Sequence[PlanNumbers]

#: the noise of a fit in words
LAWS = {
    "laplace": "spherical Laplace",
    "gaussian": "Gaussian",
    "product": "domain-shaped (product)",
    "hull": "domain-shaped (hull)",
    "grouped": "domain-shaped (groups of columns)",
    "class product": "domain-shaped (classes)",
    "matrix laplace": "matrix Laplace",
}


def facts(plan: PlanNumbers) -> dict[str, Any]:
    """Everything that a plan says, as plain values."""
    declared, design, typical, noise = plan.declared, plan.design, plan.typical, plan.release_noise
    return {
        "declared": {
            "n": declared.n,
            "d": declared.d,
            "budget": declared.budget.to_json(),
            "model": type(declared.model).__name__,
            "loss": declared.loss,
            "classes": declared.classes,
            "mechanism": plan.design.event.mechanism,
            "noise": declared.model.noise,
            "regularization": declared.model.regularization,
            "norm_bound": declared.norm_bound,
            "fit_intercept": bool(declared.model.fit_intercept),
            "h": getattr(declared.model, "h", None),
        },
        "parameters": design.parameters,
        "regularization": plan.regularization,
        "floor": plan.floor,
        "raised": plan.raised,
        "noise": _noise_facts(plan.main),
        "gap_noise": None if plan.gap is None else _noise_facts(plan.gap),
        "tolerance": design.tolerance,
        "grid_exponent": design.exponent,
        "release_noise": {"least": noise.least, "mean": noise.mean, "high": noise.high},
        "excess_risk": {"beta": TAIL, "bound": plan.excess_risk(), "mean": plan.excess_risk_mean},
        "excess_true_risk": plan.excess_true_risk,
        "coefficient_noise_95": plan.coefficient_noise,
        "zero_risk": plan.zero_risk,
        "typical": {
            "curvature": typical.curvature,
            "sampling_sd": typical.sampling_sd,
            "noise_sd": typical.noise_sd,
            "score_noise": typical.score_noise,
            "unshrunk_score_noise": typical.unshrunk_score_noise,
            "noise_to_signal": typical.noise_to_signal,
            "half_width": plan.half_width,
        },
        "meeting": plan.meeting,
        "attacker_accuracy": plan.attacker_accuracy,
        "odds_factor": plan.odds_factor,
        "verdict": plan.verdict,
        "verdict_sentence": plan.verdict_sentence,
        "rule": RULE,
    }


def _noise_facts(noise: Noise) -> dict[str, Any]:
    return {
        **noise.facts(),
        "expected_norm": noise.expected_norm,
        "norm_95": noise.norm_quantile(TAIL),
        "coordinate_sd": noise.coordinate_sd,
    }


def table(plan: PlanNumbers) -> str:
    """The plan in words and numbers: proved, to first order, and rough ones apart."""
    rough = "for a table whose columns all vary alike (one-hot columns do not)"
    if not plan.declared.model.features_are_columns:
        rough = "as if all features varied alike (products and kernel features do not)"
    proved, first_order = _proved(plan), [("noise in a coefficient", _coefficient_words(plan))]
    if plan.gap is None:  # what is added to a coefficient is the noise itself
        proved, first_order = [*proved, *first_order], []
    sections = [
        ("Proved, whatever the table", proved),
        ("To first order in the noise, whatever the table", first_order),
        (f"Rough, {rough}", _rough(plan)),
    ]
    lines = textwrap.wrap(_title(plan), WIDTH)
    for title, pairs in sections:
        if pairs:
            lines += ["", title, *(labeled(name, text) for name, text in pairs)]
    return "\n".join(
        [
            *lines,
            "",
            *textwrap.wrap("Verdict: " + plan.verdict_sentence, WIDTH),
            *textwrap.wrap(RULE, WIDTH, initial_indent="  ", subsequent_indent="  "),
        ]
    )


def _title(plan: PlanNumbers) -> str:
    declared = plan.declared
    columns = f"{declared.d:,} columns"
    if not declared.model.features_are_columns:
        columns += f" ({plan.design.m:,} features)"
    if declared.model.fit_intercept:
        columns += " and an intercept"
    return (
        f"Plan for {declared.n:,} rows, {columns}, {declared.classes} classes: {declared.loss} "
        f"loss, {plan.design.event.mechanism} perturbation, {declared.budget}"
    )


def _proved(plan: PlanNumbers) -> list[tuple[str, str]]:
    main, gap, on = plan.main, plan.gap, plan.release_noise
    law = LAWS[main.kind]
    noise = f"{law}, scale {main.scale:.4g} in {main.dimension:,} dimensions"
    norm = f"mean norm {main.expected_norm:.4g} (95 % below {main.norm_quantile(TAIL):.4g})"
    if gap is None:
        release, place, payer = "that noise", "on the minimizer", "that noise"
    else:
        release = (
            f"mean norm {on.least:.3g} to {on.mean:.3g} (95 % below {on.high:.3g}), by curvature"
        )
        place, payer = "in the objective", f"{gap.kind} noise of norm {gap.expected_norm:.2g}"
    guess = f"right at most {percent(plan.attacker_accuracy)} of the time"
    return [
        ("regularization", f"{plan.regularization:.4g} ({_floor_words(plan)})"),
        (f"noise {place}", f"{noise}; {norm}"),
        ("noise on the release", release),
        ("tolerance", f"gradient {plan.design.tolerance:.2g}, paid for by {payer}"),
        ("excess training risk", _risk_words(plan)),
        *_true_risk(plan),
        ("an attacker", f"{in_words(plan.declared.budget)} A guess from even odds is {guess}."),
    ]


def _true_risk(plan: PlanNumbers) -> list[tuple[str, str]]:
    if plan.excess_true_risk is None:
        return []
    words = (
        f"mean below {plan.excess_true_risk:.3g} for rows drawn independently, of which "
        f"{generalization(plan.design):.3g} would remain without noise"
    )
    return [("excess risk on new rows", words)]


def _coefficient_words(plan: PlanNumbers) -> str:
    size = at_most(plan.coefficient_noise)
    if plan.gap is None:
        return f"± {size} in 95 of 100 fits"
    return (
        f"at most ± {size} in 95 of 100 fits; near to that for a category that few rows have, less "
        "for columns that vary more"
    )


def _risk_words(plan: PlanNumbers) -> str:
    bound, nothing = plan.excess_risk(), plan.zero_risk
    words = f"mean below {plan.excess_risk_mean:.3g} (95 % below {bound:.3g})"
    if bound > nothing:
        words += f"; above {nothing:.3g}, the risk of knowing nothing, a bound says nothing"
    return words


def _floor_words(plan: PlanNumbers) -> str:
    if plan.floor == 0.0:
        return "no floor: any positive value is used as declared"
    if plan.raised:
        return f"raised from {plan.declared.model.regularization:.4g} to the floor"
    return f"the floor is {plan.floor:.4g}"


def _rough(plan: PlanNumbers) -> list[tuple[str, str]]:
    typical = plan.typical
    ratio = typical.noise_sd / typical.sampling_sd
    name = plan.declared.budget.amount_name
    meeting = f"at no {name} between {SMALLEST_AMOUNT:g} and {LARGEST_AMOUNT:g}"
    if plan.meeting is not None:
        meeting = f"{name} = {plan.meeting:.3g} at this regularization"
    return [
        (
            "noise in a coefficient",
            f"sd about {typical.noise_sd:.3g}, {_times(ratio)} the sampling error "
            f"({typical.sampling_sd:.3g})",
        ),
        ("they meet", meeting),
        ("95 % interval", f"coefficient ± about {plan.half_width:.3g} (sampling and noise)"),
        ("noise in a score", f"sd about {typical.score_noise:.3g} for a row at the norm bound"),
    ]


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times" if math.isfinite(ratio) else "far above"


# -- the picture ---------------------------------------------------------------------------------


def draw(
    plan: PlanNumbers,
    plans: Plans,
    values: Sequence[float],
    over: str,
    path: str | os.PathLike[str],
) -> None:
    """Noise and risk of ``plans`` against ``values`` of ``over``, ``plan`` marked, into a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Drawing a plan needs matplotlib: pip install 'privet[cli]'.") from error
    figure = Figure(figsize=(10.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _noise(left, plan, plans, values)
    _risk(right, plan, plans, values)
    for axes in (left, right):
        _finish(axes, plans, values, _value(plan, over), NAMES.get(over, over))
    figure.suptitle(f"{_title(plan).removeprefix('Plan for ')}: {plan.verdict}", fontsize=10.5)
    figure.savefig(path, dpi=150)


def default_values(plan: PlanNumbers, over: str) -> list[float]:
    """Three powers of ten with the plan's own value in the middle."""
    here = _value(plan, over)
    grid = here * np.logspace(-1.5, 1.5, POINTS)
    if over in ("n", "d"):
        return [int(value) for value in sorted({max(1, round(value)) for value in grid})]
    if over in ("epsilon", "rho", "mu"):
        grid = grid[(grid >= 1e-6) & (grid <= 1e3)]
    return [float(value) for value in grid]


def _value(plan: PlanNumbers, over: str) -> float:
    if over in ("epsilon", "rho", "mu"):
        return plan.declared.budget.amount
    return plan.regularization if over == "regularization" else getattr(plan.declared, over)


def _noise(axes: Any, plan: PlanNumbers, plans: Plans, values: Sequence[float]) -> None:
    """Norms with the regularizer's shrinkage undone, or much of it would pass for accuracy."""
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
    axes.plot(values, sampling, color=GRAY, lw=1.5, ls="--", label="sampling error, likewise")
    axes.set_title("Error norm of the coefficients, shrinkage undone", fontsize=10, pad=20)


def _risk(axes: Any, plan: PlanNumbers, plans: Plans, values: Sequence[float]) -> None:
    bound, mean = zip(*((each.excess_risk(), each.excess_risk_mean) for each in plans), strict=True)
    axes.plot(values, bound, color=ORANGE, lw=2, label="proved bound, 95 %")
    axes.plot(values, mean, color=ORANGE, lw=1.5, ls="--", label="proved bound on the mean")
    axes.axhline(plan.zero_risk, color=GRAY, lw=1, ls=":", label="risk of knowing nothing")
    axes.set_title("Excess regularized training risk", fontsize=10, pad=20)


def _finish(axes: Any, plans: Plans, values: Sequence[float], here: float, name: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(values), max(values))
    axes.set_xlabel(name)
    _zones(axes, plans, values)
    axes.axvline(here, color="black", lw=1)
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    axes.annotate("this plan", (here, 1.0), (4, -4), va="top", fontsize=8, **place)
    axes.grid(True, which="major", color="white", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, framealpha=0.9, loc="best")


def _zones(axes: Any, plans: Plans, values: Sequence[float]) -> None:
    """Background by the verdict's rule: where each verdict holds along the axis."""
    logs = np.log(np.asarray(values, dtype=float))
    edges = np.exp(np.concatenate([logs[:1], (logs[1:] + logs[:-1]) / 2.0, logs[-1:]]))
    for word, color in ZONES:
        keep = [index for index, each in enumerate(plans) if each.verdict == word]
        for index in keep:
            axes.axvspan(edges[index], edges[index + 1], color=color, zorder=0, lw=0)
        if keep:
            center = math.sqrt(edges[keep[0]] * edges[keep[-1] + 1])
            place = {"xycoords": ("data", "axes fraction"), "ha": "center", "fontsize": 8}
            axes.annotate(word, (center, 1.015), color=GRAY, **place)
