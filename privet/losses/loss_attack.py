"""A user's loss attacked before any fit: is there a score at which what is declared is wrong?

The scores lie on lines through score space, densely, and are refined where the gradient changes
fastest, and where it changes by something else than the Hessian says; targets are spread over their
declared interval, and drawn by chance at more scores. For two points ``a`` and ``b`` on a line,
``d = b - a``, a convex loss with these derivatives and bounds has

    <g(a), d> <= l(b) - l(a) <= <g(b), d>        the gradient is that of the value, and grows
    |g(b) - g(a)| <= c |d|                       it is continuous, and the curvature is at most c
    |g| <= L,  0 <= H <= c,  rank H <= r         at every point
    H between (g(b) - g(a))/d for near points    the Hessian is that of the gradient

whatever kinks there are. Everything here is public, so a refusal shows where it failed. What is not
found is not proved: a guarantee says that these bounds are their author's word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import DeclarationError
from privet.losses.declared_loss import ROUNDED, OwnLoss

#: Points of a line before it is refined, with one score and with more; rounds of refinement.
POINTS, FEWER, ROUNDS = 600, 120, 10
#: Intervals that are cut in four in each round: the steepest, those over which most happens, and
#: those over which the Hessian explains least of it. A smooth loss is explained 64 times better by
#: each cut and a jump is not, so that what is left after a few rounds are the jumps.
CUT = 24
#: How far scores go, in widths; rows that are compared with the same rows in smaller blocks.
FARTHEST, ROWS = 1e12, 4096
TARGETS, FEW_TARGETS = 17, 5
UNIT = 2.0**-53
#: What a derivative by differences may be off by, of the curvature bound.
NEAR = 0.01
SEED = 20081


@lru_cache(maxsize=64)
def attack(loss: OwnLoss) -> int:
    """Refuse a loss that is not what it is declared to be; else at how many points it was tried."""
    attacker = Attacker(replace(loss, guarded=False))
    attacker.by_itself()
    tried = 0
    for line in attacker.lines():
        for target in attacker.targets:
            tried += attacker.along(line, float(target))
        tried += attacker.by_chance(line)
    return tried


@dataclass(frozen=True)
class ScoreLine:
    """``start + s direction`` in score space."""

    start: Array
    direction: Array

    def at(self, s: Array) -> Array:
        """Points, shape (n, K)."""
        return np.asarray(self.start + s[:, None] * self.direction)


@dataclass(frozen=True)
class Seen:
    """A loss on one line, at growing ``s``, for one target."""

    s: Array
    value: Array
    gradient: Array
    hessian: Array

    @property
    def rise(self) -> Array:
        """How much the gradient changes from each point to the next."""
        return np.asarray(np.linalg.norm(np.diff(self.gradient, axis=0), axis=1))

    def unexplained(self, direction: Array) -> Array:
        """How much of that is not the mean Hessian of both points."""
        bent = np.diff(self.s)[:, None] * ((self.hessian[1:] + self.hessian[:-1]) / 2 @ direction)
        return np.asarray(np.linalg.norm(np.diff(self.gradient, axis=0) - bent, axis=1))


@dataclass(frozen=True)
class Attacker:
    """The attacks on one loss."""

    loss: OwnLoss

    # -- where to look -------------------------------------------------------------------------

    @property
    def width(self) -> float:
        """Half the length that is covered densely."""
        loss = self.loss
        return max(2.0 * loss.offset, 4.0 * loss.reach)

    @property
    def targets(self) -> Array:
        """Both ends of the interval, and numbers between them."""
        count = TARGETS if self.loss.scores == 1 else FEW_TARGETS
        shares = np.linspace(0.0, 1.0, count // 2 + 1)
        between = np.random.default_rng(SEED).random(count - len(shares))
        return np.asarray(self.loss.targets(np.concatenate([shares, between])))

    @property
    def places(self) -> Array:
        """Where a line is looked at first."""
        far = np.geomspace(1e-6, FARTHEST, 120) * self.width
        count = POINTS if self.loss.scores == 1 else FEWER
        dense = np.linspace(-self.width, self.width, count)
        return np.unique(np.concatenate([-far, dense, far]))

    def lines(self) -> Iterator[ScoreLine]:
        """One with one score; else along axes, between them, and at random."""
        k = self.loss.scores
        if k == 1:
            yield ScoreLine(np.zeros(1), np.ones(1))
            return
        rng = np.random.default_rng(SEED + k)
        axes = np.eye(k)[: min(k, 4)]
        pairs = [axes[i] - axes[j] for i in range(len(axes)) for j in range(i)]
        for direction in (*axes, *pairs, *rng.normal(size=(6, k))):
            unit = direction / np.linalg.norm(direction)
            yield ScoreLine(np.zeros(k), unit)
            yield ScoreLine(rng.normal(size=k) * self.loss.reach, unit)

    # -- one line ------------------------------------------------------------------------------

    def along(self, line: ScoreLine, target: float) -> int:
        """Every check on one line; returns how many points were looked at."""
        seen = self.seen(line, self.places, target)
        self.finite(line, seen, target)
        for _ in range(ROUNDS if self.loss.scores == 1 else ROUNDS // 2):
            seen = self.refined(line, seen, target)
        self.finite(line, seen, target)
        self.bounds(line, seen, target)
        self.pairs(line, seen, target)
        return len(seen.s)

    def by_chance(self, line: ScoreLine) -> int:
        """Points and targets by chance: what is wrong for few targets is seen here if anywhere."""
        rng = np.random.default_rng(SEED + 1)
        count = 200 * len(self.targets)
        s = rng.uniform(-1.0, 1.0, count) * self.width * 10.0 ** rng.uniform(-3.0, 0.0, count)
        targets = np.asarray(self.loss.targets(rng.random(count)))
        seen = self.seen(line, s, targets)
        self.finite(line, seen, targets)
        self.bounds(line, seen, targets)
        self.near_points(line, seen, targets)
        return count

    def seen(self, line: ScoreLine, s: Array, target: float | Array) -> Seen:
        """The three functions at these places."""
        z, y = line.at(s), np.array(np.broadcast_to(target, s.shape))
        loss = self.loss
        return Seen(s, loss.value(z, y), loss.gradient(z, y), loss.hessian(z, y))

    def refined(self, line: ScoreLine, seen: Seen, target: float) -> Seen:
        """With the intervals cut in which the gradient changes most, or fastest."""
        rise, length = seen.rise, np.diff(seen.s)
        steep = rise / np.maximum(length, 1e-300)
        wide = length > 1e-9 * (1.0 + np.abs(seen.s[1:]))  # cutting further shows rounding alone
        wanted = (rise, steep, seen.unexplained(line.direction))
        chosen = np.unique([np.argsort(size * wide)[-CUT:] for size in wanted])
        chosen = chosen[wide[chosen]]
        parts = (0.25, 0.5, 0.75)
        new = np.unique(np.concatenate([seen.s[chosen] + p * length[chosen] for p in parts]))
        more = self.seen(line, new, target)
        order = np.argsort(np.concatenate([seen.s, new]), kind="stable")

        def merged(old: Array, added: Array) -> Array:
            return np.asarray(np.concatenate([old, added])[order])

        return Seen(
            merged(seen.s, more.s),
            merged(seen.value, more.value),
            merged(seen.gradient, more.gradient),
            merged(seen.hessian, more.hessian),
        )

    # -- what must hold ------------------------------------------------------------------------

    def finite(self, line: ScoreLine, seen: Seen, target: float | Array) -> None:
        """Numbers everywhere."""
        for part in ("value", "gradient", "hessian"):
            found = getattr(seen, part)
            bad = ~np.isfinite(found).reshape(len(found), -1).all(axis=1)
            self.refuse_where(bad, line, seen.s, target, f"the {part} is not a finite number")

    def bounds(self, line: ScoreLine, seen: Seen, target: float | Array) -> None:
        """Gradient, curvature and rank at each point."""
        own, h = self.loss.own, seen.hessian
        size = np.linalg.norm(seen.gradient, axis=1)
        worst = float(size.max())
        told = f"the gradient has norm {worst:.6g}, above gradient_bound = {own.gradient_bound:g}"
        self.refuse_where(size > own.gradient_bound * ROUNDED, line, seen.s, target, told, size)
        told = f"two opposite rows' gradients differ by {2 * worst:.6g}, above difference_bound"
        self.refuse_where(
            2.0 * size > self.loss.difference_bound * ROUNDED, line, seen.s, target, told, size
        )
        lopsided = np.abs(h - np.swapaxes(h, 1, 2)).max(axis=(1, 2)) > 1e-9 * own.curvature_bound
        self.refuse_where(lopsided, line, seen.s, target, "the Hessian is not symmetric")
        values = np.linalg.eigvalsh(h)
        top, bottom = values[:, -1], values[:, 0]
        told = f"the curvature is {top.max():.6g}, above curvature_bound = {own.curvature_bound:g}"
        self.refuse_where(top > own.curvature_bound * ROUNDED, line, seen.s, target, told, top)
        told = "the Hessian has a negative eigenvalue, so that the loss is not convex"
        self.refuse_where(bottom < -1e-9 * own.curvature_bound, line, seen.s, target, told, -bottom)
        if own.rank < own.scores:
            extra = values[:, -own.rank - 1]
            told = f"the Hessian has a rank above rank = {own.rank}"
            self.refuse_where(extra > 1e-9 * own.curvature_bound, line, seen.s, target, told, extra)

    def rounding(self, z: Array) -> Array:
        """What rounding may do to a gradient at these scores (``minimize/certificate.py``)."""
        loss = self.loss
        size = np.linalg.norm(z, axis=-1) + loss.offset
        slopes = loss.row_gradient_bound + loss.curvature_bound * size
        return np.asarray(16.0 * loss.classes * UNIT * slopes)

    def pairs(self, line: ScoreLine, seen: Seen, target: float) -> None:
        """Value against gradient, and gradient against curvature bound, from point to point."""
        loss, length = self.loss, np.diff(seen.s)
        slope = seen.gradient @ line.direction
        slack = self.rounding(line.at(seen.s))
        slack = slack[1:] + slack[:-1]
        told = "the gradient falls along a line, so that the loss is not convex"
        self.refuse_where(np.diff(slope) < -slack, line, seen.s, target, told, -np.diff(slope))
        over = seen.rise - loss.curvature_bound * length * ROUNDED - slack
        told = (
            "the gradient jumps, or changes faster than curvature_bound = "
            f"{loss.curvature_bound:g} allows"
        )
        self.refuse_where(over > 0.0, line, seen.s, target, told, over)
        grown = np.diff(seen.value)
        size = np.abs(seen.value) + loss.row_gradient_bound * (np.abs(seen.s) + loss.offset)
        loose = 64.0 * UNIT * (size[1:] + size[:-1]) + slack * length
        off = np.maximum(slope[:-1] * length - grown, grown - slope[1:] * length) - loose
        told = "the gradient is not the derivative of the value"
        self.refuse_where(off > 1e-9 * loss.row_gradient_bound * length, line, seen.s, target, told)

    def near_points(self, line: ScoreLine, seen: Seen, y: Array) -> None:
        """The Hessian beside differences of the gradient."""
        loss, k, s, middle = self.loss, self.loss.scores, seen.s, seen.hessian
        z = line.at(s)
        step = 1e-5 * (loss.reach + np.abs(s) * 1e-3)
        secant, spread = np.empty_like(middle), np.zeros(len(s))
        for axis in range(k):
            move = step[:, None] * np.eye(k)[axis]
            ends = loss.gradient(z + move, y), loss.gradient(z - move, y)
            secant[:, :, axis] = (ends[0] - ends[1]) / (2.0 * step[:, None])
            hessians = loss.hessian(z + move, y) - loss.hessian(z - move, y)
            spread = np.maximum(spread, np.abs(hessians).max(axis=(1, 2)))
        allowed = spread + NEAR * loss.curvature_bound + self.rounding(z) / step
        off = np.abs(secant - middle).max(axis=(1, 2))
        told = "the Hessian is not the derivative of the gradient"
        self.refuse_where(off > allowed, line, s, y, told)

    def by_itself(self) -> None:
        """A row's numbers depend on that row alone, and are the same each time."""
        loss, rng = self.loss, np.random.default_rng(SEED + 2)
        z = rng.normal(size=(ROWS, loss.scores)) * self.width / 2.0
        y = rng.choice(self.targets, ROWS)
        for part in ("value", "gradient", "hessian"):
            function = getattr(loss, part)
            whole = function(z, y)
            if not np.isfinite(whole).all():
                return  # a line will show where
            others = [function(z[::-1], y[::-1])[::-1], function(z, y), whole.copy()]
            others[2][:8] = np.concatenate([function(z[i : i + 1], y[i : i + 1]) for i in range(8)])
            if not all(np.allclose(other, whole, rtol=1e-9, atol=1e-9) for other in others):
                raise self.refusal(
                    f"the {part} of a row changes with the rows beside it, or from call to call"
                )

    # -- refusing ------------------------------------------------------------------------------

    def refuse_where(
        self,
        bad: NDArray[np.bool_],
        line: ScoreLine,
        s: Array,
        target: float | Array,
        told: str,
        size: NDArray[np.floating[Any]] | None = None,
    ) -> None:
        """Refuse at the worst of the places, if there is one."""
        if not bad.any():
            return
        worst = int(bad.argmax() if size is None else np.where(bad, size, -math.inf).argmax())
        score = line.at(s[worst : worst + 1])[0]
        shown = f"{score[0]:.6g}" if len(score) == 1 else np.array2string(score, precision=6)
        number = float(np.broadcast_to(target, s.shape)[worst])
        raise self.refusal(f"at score {shown} and target {number:.6g} {told}")

    def refusal(self, told: str) -> DeclarationError:
        """The sentence, with what to do."""
        return DeclarationError(
            f"The loss {self.loss.own.name!r} is not what is declared of it: {told}. Nothing was "
            "fitted. Correct the function or the declared bound."
        )
