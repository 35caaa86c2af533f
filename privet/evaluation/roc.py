"""The area under the ROC curve from noisy counts of two classes in score bins, with its interval.

With ``p_b``, ``q_b`` the counts of positive and negative rows in bin ``b`` and ``k(b, b') = 1, 1/2,
0`` where the positive row's bin is above, the same, below:

    U = sum_{b,b'} k(b, b') p_b q_b',        AUC = E U / E (p q),   p = sum p_b, q = sum q_b

This is the AUC of the *binned* score: ties count one half. Noise in ``p_b`` and ``q_b`` is
independent with mean zero, so ``T(A) = U - A p q`` computed from noisy counts has mean zero at the
true ``A``, whatever the noise. The interval holds every ``A`` at which ``T(A)`` is not too large
for its variance (``spread``); values beyond 0 and 1 are ordered as in ``rates``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.evaluation.rates import EDGE_STEPS, Array, acceptance
from privet.evaluation.spread import Spread, above, spread, wider


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

    def wins(self) -> Array:
        """``U``: how often a positive row stands above a negative one, unbiased."""
        return np.asarray((self.positive * above(self.negative, np.zeros((1, 1)))).sum(axis=1))

    def estimates(self) -> Array:
        """``U/(p q)`` within [0, 1]; not a number where a class does not stand out."""
        p, q = self.totals
        safe = np.where(self.usable, p * q, np.nan)
        return np.clip(self.wins() / safe, 0.0, 1.0)

    def accepts(self, area: Array, level: float) -> NDArray[np.bool_]:
        """Whether each release's candidate, shape (R,), is inside its interval."""
        found = self._spread(area)
        best = np.nan_to_num(self.estimates(), nan=0.5)
        # half a win on either side, so that a perfect curve keeps a variance
        shrunk = (best * found.pairs + 0.5) / (found.pairs + 1.0)
        there = self._spread(shrunk)
        variance, doubt = found.believed(shrunk, there.variance - there.noise)
        sd = np.sqrt(variance)
        zero = np.zeros_like(sd)
        room = area * found.pairs / sd, (1.0 - area) * found.pairs / sd
        low, high = (wider(end, doubt) for end in acceptance(*room, zero, zero, level))
        t = found.statistic / sd
        return np.asarray((t >= low) & (t <= high)) | ~self.usable

    def _spread(self, area: Array) -> Spread:
        return spread(self.positive, self.negative, self.noise_variance, area)

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
