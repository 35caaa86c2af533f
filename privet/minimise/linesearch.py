"""A line search for convex functions that looks at slopes only.

Along ``theta + t d`` the slope ``phi'(t) = <grad J(theta + t d), d>`` of a convex ``J`` never
decreases in ``t``. So ``phi'(t) <= 0`` proves that ``J`` fell, and ``phi'(t) >= phi'(0)/2`` that
the step was not too short: together they are Wolfe's conditions without a single value of ``J``,
and hold near a minimum, where differences of values have drowned in rounding. A step past the
minimum of the line is also taken if it brings the gradient norm below a fixed share of the smallest
one so far. That can happen only so often (``log(first/tolerance)/log(1/share)`` times), so it
cannot spoil convergence; every other step is a Wolfe step.
"""

from __future__ import annotations

import numpy as np

from privet.losses import Array
from privet.minimise.result import Mask, Numbers

SHORT = 0.5  # a step is too short while the slope keeps more than this share of its first value
AIM = 0.9  # of the way to the estimated minimum: to stop just before it
MOST_TRIALS = 2_000  # never reached: brackets collapse after a few hundred trials at most
VANISHED = 1e-60  # a step that moves nothing, however long the direction
COLLAPSED = 4.0 * np.finfo(np.float64).eps  # the ends of a bracket are neighbouring numbers


class LineSearch:
    """Brackets ``low < t <= high`` for ``k`` searches in lockstep."""

    def __init__(self, paths: int) -> None:
        self.step = np.ones(paths)
        self._low = np.zeros(paths)
        self._high = np.full(paths, np.inf)
        self._slope_low = np.zeros(paths)
        self._slope_high = np.zeros(paths)
        self._first = np.zeros(paths)
        self._trials = np.zeros(paths, dtype=np.intp)

    def keep(self, mask: Mask) -> None:
        """Forget the searches outside ``mask``."""
        for name, values in vars(self).items():
            setattr(self, name, values[mask])

    def begin(self, paths: Numbers, slopes: Array) -> None:
        """Start afresh along new directions with first slopes ``slopes < 0``."""
        self.step[paths], self._low[paths], self._high[paths] = 1.0, 0.0, np.inf
        self._slope_low[paths] = self._first[paths] = slopes
        self._trials[paths] = 0

    def judge(self, slopes: Array, progress: Mask) -> Mask:
        """Mask of the searches whose trial step is taken; the others get their next step.

        ``progress`` marks the trials whose gradient norm alone is reason enough.
        """
        wolfe = (slopes <= 0.0) & (slopes >= SHORT * self._first)
        taken = wolfe | progress
        self._trials += 1
        self._narrow(slopes, ~taken)
        return np.asarray(taken)

    def exhausted(self) -> Mask:
        """Mask of the searches that only rounding can have brought this far."""
        finite = np.where(np.isinf(self._high), 0.0, self._high)
        collapsed = finite - self._low <= COLLAPSED * finite
        vanished = finite < VANISHED
        given_up = ~np.isinf(self._high) & (collapsed | vanished)
        lost = np.isnan(self.step)
        return np.asarray(given_up | lost | (self._trials >= MOST_TRIALS))

    def _narrow(self, slopes: Array, rejected: Mask) -> None:
        """Move the bracket to the trial and choose the next one by the secant of the slopes."""
        short = rejected & (slopes < 0.0)
        long = rejected & ~short  # not-a-number too: scores that overflowed are far too long
        self._low[short], self._slope_low[short] = self.step[short], slopes[short]
        self._high[long] = self.step[long]
        self._slope_high[long] = np.where(np.isfinite(slopes[long]), slopes[long], np.inf)
        grow = rejected & np.isinf(self._high)
        self.step[grow] *= 4.0
        inside = rejected & ~grow
        low, width = self._low[inside], (self._high - self._low)[inside]
        steep = -self._slope_low[inside]
        share = AIM * steep / (steep + self._slope_high[inside])
        share = np.clip(share, 0.05, 0.95)
        # every second trial halves the bracket at least, so it collapses before anything gives up:
        # giving up early would be a refusal that depends on the rows. Where no step was short yet
        # the model is off by orders of magnitude, which are cut by tens.
        later = self._trials[inside] > 1
        share = np.where(later & (low == 0.0), np.minimum(share, 0.1), share)
        share = np.where((self._trials[inside] % 2 == 0) & (low > 0.0), 0.5, share)
        self.step[inside] = low + share * width
