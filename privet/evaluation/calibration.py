"""The expected calibration error from noisy counts of hits in probability bins.

With ``g_b = (hits in b - m_b rows in b)/n`` and ``m_b`` the middle of bin ``b``, the error is
``sum_b |g_b|``: the calibration of the probability rounded to the middles of the bins. Absolute
values of noisy gaps are too large on average, so the estimate takes each gap's known variance off
its square. Its interval is conservative: by the triangle inequality

    | sum |g^_b| - sum |g_b| |  <=  sum |g^_b - g_b|,

and the right side, a sum of about independent half-normal numbers, is below the quantile of the
gamma law with its mean and variance.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaincinv

from privet.evaluation.consistent import Counts
from privet.evaluation.rates import Array


def calibration_error(counts: Counts, level: float) -> tuple[Array, Array, Array]:
    """Estimate, lower and upper end of each release, (R,)."""
    bins = counts.values.shape[1] // 2
    middle = (np.arange(bins) + 0.5) / bins
    # one row of coefficients for each gap: -m_b on misses, 1 - m_b on hits
    gaps = np.concatenate([np.diag(-middle), np.diag(1.0 - middle)], axis=1)
    found = counts.values @ gaps.T / counts.n
    noise = (counts.weights(gaps) ** 2 * counts.variance).sum(axis=1)
    # the share of rows in a cell is not negative; its noise may make it look so
    rows = np.maximum(counts.values, 0.0) @ (gaps**2).T
    variance = (rows + noise) / counts.n**2
    sizes = np.sqrt(np.maximum(found**2 - variance, 0.0)).sum(axis=1)
    raw = np.abs(found).sum(axis=1)
    # the gamma law with the mean and variance of sum |e_b| for independent normal e_b
    mean = math.sqrt(2.0 / math.pi) * np.sqrt(variance).sum(axis=1)
    scale = (1.0 - 2.0 / math.pi) * variance.sum(axis=1) / mean
    far = scale * gammaincinv(mean / scale, level)
    lower, upper = np.maximum(raw - far, 0.0), np.minimum(raw + far, 1.0)
    return np.clip(sizes, lower, upper), lower, upper
