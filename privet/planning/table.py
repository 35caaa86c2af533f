"""A plan as a readable table, and as plain values."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from privet.noise import Noise
from privet.planning.bounds import TAIL
from privet.planning.prediction import RULE
from privet.planning.text import WIDTH, line
from privet.statement import in_words
from privet.statement.facts import at_most

if TYPE_CHECKING:
    from privet.planning.planned import Plan


def facts(plan: Plan) -> dict[str, Any]:
    """Everything that a plan says, as plain values."""
    declared, design, typical, noise = plan.declared, plan.design, plan.typical, plan.release_noise
    return {
        "declared": {
            "n": declared.n,
            "d": declared.d,
            "budget": declared.budget.to_json(),
            "loss": declared.loss,
            "classes": declared.classes,
            "mechanism": declared.mechanism,
            "noise": declared.noise,
            "regularization": declared.regularization,
            "norm_bound": float(declared.norm_bound),
            "fit_intercept": bool(declared.fit_intercept),
            "h": float(declared.h),
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


def table(plan: Plan) -> str:
    """The plan in words and numbers, proved and rough ones apart."""
    declared = plan.declared
    columns = f"{declared.d:,} columns" + (" and an intercept" if declared.fit_intercept else "")
    lines = [
        f"Plan for {declared.n:,} rows, {columns}, {declared.classes} classes: "
        f"{declared.loss} loss, {declared.mechanism} perturbation, {declared.budget}",
        "",
        "Proved, whatever the table",
        *(line(name, text) for name, text in _proved(plan)),
        "",
        "Rough, for a table whose columns all vary alike (one-hot columns do not)",
        *(line(name, text) for name, text in _rough(plan)),
        "",
        *textwrap.wrap("Verdict: " + plan.verdict_sentence, WIDTH),
        *textwrap.wrap(RULE, WIDTH, initial_indent="  ", subsequent_indent="  "),
    ]
    return "\n".join([*textwrap.wrap(lines[0], WIDTH), *lines[1:]])


def _proved(plan: Plan) -> list[tuple[str, str]]:
    main, gap, on = plan.main, plan.gap, plan.release_noise
    law = "spherical Laplace" if main.kind == "laplace" else "Gaussian"
    noise = f"{law}, scale {main.scale:.4g} in {main.dimension:,} dimensions"
    norm = f"mean norm {main.expected_norm:.4g} (95 % below {main.norm_quantile(TAIL):.4g})"
    if gap is None:
        release, place, payer = "that noise", "on the minimiser", "that noise"
    else:
        release = (
            f"mean norm {on.least:.3g} to {on.mean:.3g} (95 % below {on.high:.3g}), by curvature"
        )
        place, payer = "in the objective", f"{gap.kind} noise of norm {gap.expected_norm:.2g}"
    guess = f"right at most {100.0 * plan.attacker_accuracy:.3g} % of the time"
    return [
        ("regularization", f"{plan.regularization:.4g} ({_floor_words(plan)})"),
        (f"noise {place}", f"{noise}; {norm}"),
        ("noise on the release", release),
        ("noise in a coefficient", _coefficient_words(plan)),
        ("tolerance", f"gradient {plan.design.tolerance:.2g}, paid for by {payer}"),
        ("excess training risk", _risk_words(plan)),
        ("an attacker", f"{in_words(plan.declared.budget)} A guess from even odds is {guess}."),
    ]


def _coefficient_words(plan: Plan) -> str:
    size = at_most(plan.coefficient_noise)
    if plan.gap is None:
        return f"± {size} in 95 of 100 fits"
    return (
        f"at most ± {size} in 95 of 100 fits; near to that for a category that few rows have, less "
        "for columns that vary more"
    )


def _risk_words(plan: Plan) -> str:
    bound, nothing = plan.excess_risk(), plan.zero_risk
    words = f"mean below {plan.excess_risk_mean:.3g} (95 % below {bound:.3g})"
    if bound > nothing:
        words += f"; above {nothing:.3g}, the risk of knowing nothing, a bound says nothing"
    return words


def _floor_words(plan: Plan) -> str:
    if plan.floor == 0.0:
        return "no floor: any positive value is used as declared"
    if plan.raised:
        return f"raised from {plan.declared.regularization:.4g} to the floor"
    return f"the floor is {plan.floor:.4g}"


def _rough(plan: Plan) -> list[tuple[str, str]]:
    typical, declared = plan.typical, plan.declared
    ratio = typical.noise_sd / typical.sampling_sd
    if plan.meeting is None:
        meeting = f"at no {declared.amount_name} between 1e-4 and 1000"
    else:
        meeting = f"{declared.amount_name} = {plan.meeting:.3g} at this regularization"
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
