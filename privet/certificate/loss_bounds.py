"""What one row can do to a loss: slopes, curvatures and determinants, enclosed.

Written from ``objective.proof.md`` (steps 3 to 9) and ``gaussian_objective.proof.md``. A loss is
given by its name and its declared numbers; ``weight`` is the largest class weight, which multiplies
a row's gradient and curvature.

    logistic       L = 1           D = 2                c = 1/4
    huber          L = 1           D = 2                c = 1/(2h)
    smooth_hinge   L = 1           D = 2                c = 3/(4h)
    softmax        L = sqrt2       D = 2 sqrt2          c = 1/2
    joint_huber    L = sqrt(C(C-1))  D = 2 L, sqrt2 C   c = C/(2h)
    huber_residual L = h           D = 2 h              c = 1
    poisson_rate   L = 1           D = 2                c = 1
    own            declared in the file: ``own_loss_facts.py``
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.certificate.balls import Ball, ball, concave_maximum, larger, ratio, smaller
from privet.certificate.verdicts import Undecided

MARGINS = ("logistic", "huber", "smooth_hinge")
#: losses of a number: slopes of both signs
RESIDUALS = ("huber_residual", "poisson_rate", "own")
ONE_SCORE = (*MARGINS, *RESIDUALS)
#: losses of several classes, and a user's own of several scores
OF_CLASSES, OWN_SCORES = ("softmax", "joint_huber"), "own_scores"
ONE_SCORE_CLASSES = 2
#: A Poisson regression starts from this share of the largest rate.
START = (1, 4)


@dataclass(frozen=True)
class RowLoss:
    """A loss by its declarations.

    ``apart`` says why two rows' gradients cannot be opposite: "lifted" features have inner products
    that are never negative, "constant" rows have a constant column.
    """

    name: str
    classes: int = 2
    h: float = 0.5
    margin: float = 1.0
    weight: float = 1.0
    apart: str = ""
    #: with a constant column: the norm of the features over that of the whole row
    features: Ball = 1

    def __post_init__(self) -> None:
        if self.name not in (*ONE_SCORE, *OF_CLASSES, OWN_SCORES):
            raise Undecided(f"the loss {self.name!r} is not known here")
        if self.name in ONE_SCORE and self.classes != ONE_SCORE_CLASSES:
            raise Undecided(f"the loss {self.name!r} has one score, which is for two classes")

    # -- constants -----------------------------------------------------------------------------

    @property
    def scores(self) -> int:
        """Scores of a row: one for two-class losses, ``C - 1`` otherwise."""
        return 1 if self.name in ONE_SCORE else self.classes - 1

    @property
    def slope(self) -> Ball:
        """``L``."""
        C = self.classes
        base = {"softmax": ball(2).sqrt(), "joint_huber": ball(C * (C - 1)).sqrt()}
        base["huber_residual"] = ball(self.h)
        return base.get(self.name, ball(1)) * ball(self.weight)

    @property
    def difference(self) -> Ball:
        """``D``: how far two rows' gradients are apart, in units of a row's norm."""
        whole = 2 * self.slope
        if self.name != "joint_huber" or not self.apart:
            return whole
        most = ball(2).sqrt() * self.classes * ball(self.weight)
        if self.apart == "lifted":
            return most
        return larger(self.features * whole, smaller(most, whole))

    @property
    def curvature(self) -> Ball:
        """``c``."""
        w = ball(self.weight)
        if self.name in RESIDUALS:
            return w
        if self.name == "logistic":
            return w / 4
        if self.name == "softmax":
            return w / 2
        if self.name == "smooth_hinge":
            return 3 * w / (4 * ball(self.h))
        C = self.classes if self.name == "joint_huber" else 1
        return C * w / (2 * ball(self.h))

    def taken(self) -> Iterator[tuple[str, float]]:
        """Bounds that are taken from the file: none of a loss that is known here."""
        yield from ()

    @property
    def at_zero(self) -> Ball | None:
        """The largest loss where all scores are zero; None where it is not known."""
        w = ball(self.weight)
        if self.name == "huber_residual":  # a target at an end of its interval
            knee = smaller(ball(self.h), ball(1))
            return knee**2 / 2 + ball(self.h) * (1 - knee)
        if self.name == "poisson_rate":
            return ratio(*START) - ratio(*START).log()
        if self.name == "logistic":
            return w * ball(2).log()
        if self.name == "softmax":
            return w * ball(self.classes).log()
        if self.name == "smooth_hinge":
            return w * _smooth_at_zero(ball(self.h))
        if self.name == "huber":
            return w * _huber_value(ball(0), ball(self.h))
        return w * (self.classes - 1) * _huber_value(1 - ball(self.margin), ball(self.h))

    @property
    def offset(self) -> Ball:
        """The size of the constants that scores are compared with."""
        if self.name in ("logistic", "softmax"):
            return ball(0)
        if self.name == "poisson_rate":
            return 1 - ratio(*START).log()
        extra = ball(self.margin) if self.name == "joint_huber" else ball(0)
        return 1 + ball(self.h) + extra

    # -- the Jacobian --------------------------------------------------------------------------

    def log_determinant(self, q: Ball) -> Ball:
        """Largest ``log det(I + q l'')`` of one row."""
        C, wq = self.classes, ball(self.weight) * q
        if self.name == "softmax":
            return (C - 1) * (wq / C).log1p()
        if self.name == "joint_huber":
            t = wq / (2 * ball(self.h))
            return (C * t).log1p() + (C - 2) * t.log1p()
        return (self.curvature * q).log1p()

    def privacy_loss(self, a: Ball, q: Ball) -> Ball:
        """Of pure objective perturbation: ``a = R/scale``, ``q = R^2/(n Lam)``.

        The row that leaves pays for its slope, the row that enters for slope and determinant at one
        and the same scores (step 5).
        """
        w = ball(self.weight)
        general = a * self.difference + self.log_determinant(q)
        if self.name == "logistic":
            return w * a + slope_and_jacobian(w * a, w * q)
        if self.name == "smooth_hinge":
            return smaller(general, w * a + _smooth_maximum(w * a, w * q, ball(self.h)))
        if self.name == "softmax":
            return smaller(
                general, ball(2).sqrt() * w * a + _softmax_maximum(w * a, w * q, self.classes)
            )
        return general

    def wrong_chance_maximum(self, a: Ball, q: Ball) -> Ball:
        """Softmax: ``max { a r + J(r) }`` over the chance ``r`` of the wrong classes together.

        ``J`` is the log-determinant where these are alike (``domain_noise.proof.md``, step 6).
        """
        k = self.classes - 1

        def parts(r: Ball) -> tuple[Ball, Ball, Ball]:
            own, each = 1 + q * (1 - r), 1 + q * r / k
            return own, each, (1 - r) / own + r / each

        def value(r: Ball) -> Ball:
            own, each, mixed = parts(r)
            return a * r + own.log() + k * each.log() + mixed.log()

        def slope(r: Ball) -> Ball:
            own, each, mixed = parts(r)
            return a - q / own + q / each + (1 / each**2 - 1 / own**2) / mixed

        return concave_maximum(value, slope, ball(0), ball(1))


def slope_and_jacobian(a: Ball, q: Ball) -> Ball:
    """Logistic: ``max { a t + log(1 + q t (1-t)) }`` over slopes ``t``; ``a`` once ``a >= q``."""
    return concave_maximum(
        lambda t: a * t + (q * t * (1 - t)).log1p(),
        lambda t: a + q * (1 - 2 * t) / (1 + q * t * (1 - t)),
        ball(0),
        ball(1),
    )


def _smooth_maximum(a: Ball, q: Ball, h: Ball) -> Ball:
    """``max { a |l'| + log(1 + q l'') }`` over ``w = (1 - m)/h`` in [0, 1] (step 7)."""
    c = 3 * q / (4 * h)
    return concave_maximum(
        lambda w: a * (ratio(1, 2) + 3 * w / 4 - w**3 / 4) + (c * (1 - w * w)).log1p(),
        lambda w: 3 * a * (1 - w * w) / 4 - 2 * c * w / (1 + c * (1 - w * w)),
        ball(0),
        ball(1),
    )


def _softmax_maximum(a: Ball, q: Ball, classes: int) -> Ball:
    """``max { a v + (C-1) log(1 + q T(v)/(C-1)) }`` over gradient norms (step 8)."""
    k, root2 = classes - 1, ball(2).sqrt()
    kink = (ball(classes) / k).sqrt()
    if classes == 2:
        kink = root2  # the kink is the end

    def piece(low: Ball, high: Ball, trace: object, fall: object) -> Ball:
        return concave_maximum(
            lambda v: a * v + k * (q * trace(v) / k).log1p(),  # type: ignore[operator]
            lambda v: a + q * fall(v) / (1 + q * trace(v) / k),  # type: ignore[operator]
            low,
            high,
        )

    best = piece(ball(0), kink.mid(), lambda v: 2 * v / kink - v * v, lambda v: 2 / kink - 2 * v)
    best = larger(best, a * kink + k * (q * (2 - kink * kink) / k).log1p())
    if classes > 2:
        best = larger(best, piece(kink.mid(), root2.mid(), lambda v: 2 - v * v, lambda v: -2 * v))
        best = larger(best, a * root2)
    return best


def _huber_value(m: Ball, h: Ball) -> Ball:
    """The Huber hinge at a margin of at most ``1 + h``: parabola, then a line."""
    u = 1 + h - m
    line = u - h
    parabola = u * u / (4 * h)
    if u >= 2 * h:
        return line
    return parabola if u < 2 * h else larger(line, parabola)


def _smooth_at_zero(h: Ball) -> Ball:
    if h <= 1:
        return ball(1)
    w = 1 / h
    return h * (ratio(3, 16) + w / 2 + 3 * w * w / 8 - w**4 / 16)
