"""The histogram of a regression's residuals, released as counts beside its errors.

    r      the target, clipped to its bounds, less the prediction: |r| <= W
    bins   of equal width over ``+- REACH`` times the released RMSE; the outermost are open

The RMSE is released first (``number_evaluation.py``), so the bins are public when rows are counted:
each row is in one of them, and what that costs is ``mechanisms/counts.proof.md`` with ``t = 1``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.evaluation.released_evaluation import ERRORS, Measure
from privet.mechanisms.counts import Histogram, cell_counts
from privet.privacy.budget import Budget

#: the table's name in an evaluation, and among the measures that may be asked for
RESIDUALS = "residuals"
BINS = 20
#: how many times the released RMSE the bins reach, on either side
REACH = 4.0
#: but no less than this share of the bounds' width: below it noise has hidden the RMSE
LEAST = 1e-3
#: the histogram's share of an evaluation's budget
SHARE = 0.25


def residual_histogram(budget: Budget, seed: int | None) -> Histogram:
    """The mechanism; a row is in one bin."""
    return Histogram(BINS, budget, 1, seed).with_seed(1)


def residual_edges(measures: Sequence[Measure], bounds: Sequence[float]) -> Array:
    """Ends of the bins in the target's units, from what was released before.

    The first and the last are as far as a residual can be.
    """
    width = float(bounds[1]) - float(bounds[0])
    found = [one.estimate for one in measures if one.measure == ERRORS[1]]
    spread = found[0] if found and found[0] is not None else width
    reach = min(max(REACH * spread, LEAST * width), width)
    edges = np.linspace(-reach, reach, BINS + 1)
    edges[0], edges[-1] = -width, width
    return edges


def counted_residuals(pairs: Array, edges: Array, bounds: Sequence[float]) -> NDArray[np.int64]:
    """Rows in each bin, from predictions and targets: a curator's intermediate."""
    low, high = bounds
    residuals = np.clip(pairs[:, 1], low, high) - np.clip(pairs[:, 0], low, high)
    return cell_counts(np.searchsorted(edges[1:-1], residuals, side="right"), BINS)
