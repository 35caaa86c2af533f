"""The area under the ROC curve from noisy counts of two classes in score bins, with its interval.

With ``p_b``, ``q_b`` the counts of positive and negative rows in bin ``b`` and ``k(b, b') = 1, 1/2,
0`` where the positive row's bin is above, the same, below:

    U = sum_{b,b'} k(b, b') p_b q_b',        AUC = E U / E (p q),   p = sum p_b, q = sum q_b

This is the AUC of the *binned* score: ties count one half. Noise in ``p_b`` and ``q_b`` is
independent with mean zero, so ``T(A) = U - A p q`` computed from noisy counts has mean zero at the
true ``A``, whatever the noise. Its variance, with ``h_b = sum_b' (k(b, b') - A) q_b'`` and ``g``
likewise for the other class, ``Q = sum (k - A)^2`` and ``v`` the noise variance of a count:

    sampling    sum_b p_b h_b^2 + sum_b q_b g_b^2                 (Hoeffding's projection)
    noise       v (sum_b h_b^2 + sum_b g_b^2) + v^2 Q

Each is estimated without bias: noisy ``h`` and ``g`` make the sums too large by known amounts,
which are taken off. Near 0 and 1 the sampling part follows ``A (1 - A)``, as in a score interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.evaluation.rates import EDGE_STEPS, Array, acceptance


@dataclass(frozen=True)
class NoisyCurves:
    """Noisy counts of positive and negative rows by score bin, arrays (R, K) of R releases."""

    positive: Array
    negative: Array
    noise_variance: float

    @property
    def totals(self) -> tuple[Array, Array]:
        """Noisy numbers of positive and negative rows."""
        return self.positive.sum(axis=1), self.negative.sum(axis=1)

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Where both classes stand out of the noise of their own counts."""
        least = 3.0 * np.sqrt(self.positive.shape[1] * self.noise_variance)
        p, q = self.totals
        return np.asarray((p > least) & (q > least))

    def _kernel(self) -> Array:
        bins = np.arange(self.positive.shape[1])
        return np.asarray((np.sign(bins[:, None] - bins[None, :]) + 1.0) / 2.0)

    def wins(self) -> Array:
        """``U``: how often a positive row stands above a negative one, unbiased."""
        return np.asarray(np.einsum("rb,rb->r", self.positive, self.negative @ self._kernel().T))

    def estimates(self) -> Array:
        """``U/(p q)`` within [0, 1]; not a number where a class does not stand out."""
        p, q = self.totals
        safe = np.where(self.usable, p * q, np.nan)
        return np.clip(self.wins() / safe, 0.0, 1.0)

    def variances(self, area: Array) -> tuple[Array, Array]:
        """Variance of ``T`` at ``area`` (R,) from the rows and from the noise, each unbiased."""
        k, v = self._kernel(), self.noise_variance
        p, q = self.totals
        h = self.negative @ k.T - area[:, None] * q[:, None]
        g = self.positive @ k - area[:, None] * p[:, None]
        # sum over the other class's bins of (k - A)^2, for each bin: what noise adds to h^2, g^2
        bins, size = np.arange(len(k)), len(k)
        below = bins - 2.0 * area[:, None] * (bins + 0.5) + 0.25 + size * area[:, None] ** 2
        above = below[:, ::-1]
        rows = (self.positive * (h**2 - v * below)).sum(axis=1)
        rows = rows + (self.negative * (g**2 - v * above)).sum(axis=1)
        noise = v * ((h**2).sum(axis=1) + (g**2).sum(axis=1)) - v**2 * below.sum(axis=1)
        return np.maximum(rows, 0.0), np.maximum(noise, v**2 * below.sum(axis=1))

    def accepts(self, area: Array, level: float) -> NDArray[np.bool_]:
        """Whether each release's candidate, shape (R,), is inside its interval."""
        p, q = self.totals
        pairs = np.maximum(p * q, 1e-9)
        best = np.nan_to_num(self.estimates(), nan=0.5)
        # half a win on either side, so that a perfect curve keeps a variance
        shrunk = (best * pairs + 0.5) / (pairs + 1.0)
        rows, _ = self.variances(shrunk)
        # never far below the variance of a curve of one step, A (1 - A) over the larger class
        fewest = shrunk * (1.0 - shrunk) * pairs**2 / np.maximum(np.maximum(p, q), 1.0)
        rows = np.maximum(rows, fewest / 3.0) * (area * (1.0 - area)) / (shrunk * (1.0 - shrunk))
        _, noise = self.variances(area)
        sd = np.sqrt(np.maximum(rows + noise, 1e-12))
        t = (self.wins() - area * pairs) / sd
        zero = np.zeros_like(sd)
        low, high = acceptance(area * pairs / sd, (1.0 - area) * pairs / sd, zero, zero, level)
        return np.asarray((t >= low) & (t <= high)) | ~self.usable

    def intervals(self, level: float) -> tuple[Array, Array]:
        """The smallest and the largest area that is not rejected; [0, 1] where nothing is known."""
        best = np.nan_to_num(self.estimates(), nan=0.5)
        return self._edge(np.zeros_like(best), best, level), self._edge(
            np.ones_like(best), best, level
        )

    def _edge(self, outside: Array, inside: Array, level: float) -> Array:
        inside = np.where(self.accepts(outside, level), outside, inside)
        for _ in range(EDGE_STEPS + 4):
            middle = (outside + inside) / 2.0
            accepted = self.accepts(middle, level)
            inside, outside = (
                np.where(accepted, middle, inside),
                np.where(accepted, outside, middle),
            )
        return inside
