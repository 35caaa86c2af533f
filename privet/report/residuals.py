"""The histogram of a regression's residuals, from the counts that an evaluation released."""

from __future__ import annotations

import math

import numpy as np

from privet.evaluation import Evaluation
from privet.evaluation.residual_counts import RESIDUALS, residual_edges
from privet.report.pictures import COLORS, Picture, axes_of, inline


def residual_picture(evaluation: Evaluation) -> Picture | None:
    """Noisy counts in their bins; None where none were released."""
    counts = evaluation.counts.get(RESIDUALS)
    if counts is None:
        return None
    edges = residual_edges(evaluation.measures, evaluation.classes)
    inner = edges[1:-1]
    step = float(inner[1] - inner[0])
    # the outermost bins are open: they are drawn as wide as the others
    places = np.append(inner - step / 2.0, inner[-1] + step / 2.0)
    with axes_of(3.0) as (figure, axes):
        heights = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
        axes.bar(places, heights, width=0.92 * step, color=COLORS["accent"], linewidth=0)
        axes.axvline(0.0, color=COLORS["muted"], linewidth=0.8)
        axes.set(xlabel="target less prediction, in the target's units", ylabel="rows, with noise")
        svg = inline(figure, "residuals", "Histogram of the residuals, counts with noise")
    event = evaluation.guarantee.event
    noise = [part for part in event.parts if part.mechanism == "histogram"]
    size = noise[0].scale * (math.sqrt(2.0) if noise[0].noise == "laplace" else 1.0)
    caption = (
        f"Released counts of {evaluation.n:,} rows, each with noise of standard deviation "
        f"{size:.3g}; counts below zero are drawn as zero. The bins are a function of the released "
        f"RMSE. The outermost hold all beyond {float(inner[-1]):.3g} on either side."
    )
    return Picture("Residuals", svg, caption)
