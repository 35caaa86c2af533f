"""What one row can add to the Hessian and to the covariance of gradients, enclosed.

    S >= sqrt2 R^2 B/n,  B = max sqrt(eta^2 |h|_F^2 + |g|^4) over scores of norm at most R |W|

and for noise by the nuclear norm ``S >= 2 R^2 max (eta tr h + |g|^2)/n``. Written from
``matrix.proof.md``, steps 1 to 3 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator

from privet.certificate.balls import Ball, ball, larger, ratio, smaller, total
from privet.certificate.declared_rows import recorded_loss
from privet.certificate.eigenvalues import largest_singular_value
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.loss_bounds import START, RowLoss
from privet.certificate.verdicts import Number, Undecided, at_least, stated

#: A multiple of the cells that a release takes: its bound is then no smaller than this one.
CELLS = 2048
#: Eigenvalues of larger matrices take longer than a fit.
MOST_SCORES = 40


def pair_number(release: str, event: Record, facts: FileFacts) -> Number:
    """The unit in which the matrices were released, at the released parameters."""
    claimed, constants = facts.header["matrices"]["sensitivity"], facts.constants
    name = "unit of the matrices"
    if "loss" not in constants:
        return stated(release, name, claimed, "cannot be decided here: an older file has no loss")
    loss, R = recorded_loss(constants["loss"]), ball(constants["norm_bound"])
    layout = facts.header["geometry"]
    column = layout.get("constant") or (layout["bound"] if layout["intercept"] else 0.0)
    declared = (ball(layout["bound"]) ** 2 + ball(column) ** 2).sqrt()
    reach = larger(R, declared) * _spectral_norm(facts.header["theta"], loss.scores)
    eta = ball(facts.header["matrices"]["eta"])
    if event["noise"] == "cone laplace":
        row, times, told = trace_bound(loss, eta, reach), ball(2), "2 R^2 B/n, B of traces"
    else:
        row, times, told = joint_bound(loss, eta, reach), ball(2).sqrt(), "sqrt2 R^2 B/n"
    needed = times * larger(R, declared) ** 2 * row / int(event["n"])
    told = f"{told} at the released parameters"
    return at_least(release, name, claimed, needed, told, 0.01)


def _spectral_norm(theta: list[float], scores: int) -> Ball:
    """The largest singular value of the weights, one row for each score."""
    m = len(theta) // scores
    rows = [[ball(x) for x in theta[k * m : (k + 1) * m]] for k in range(scores)]
    if scores == 1:
        return total(x * x for x in rows[0]).sqrt()
    if scores > MOST_SCORES:
        raise Undecided(
            f"more than {MOST_SCORES} scores: their largest singular value is not known"
        )
    try:
        return largest_singular_value(rows)
    except ValueError as error:
        raise Undecided("the eigenvalues of the released weights lie too close together") from error


def joint_bound(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """``B``; a class weight ``w`` turns it into ``w^2 B(eta/w)``."""
    w = ball(loss.weight)
    return w * w * BOUNDS[loss.name](loss, eta / w, reach)


def _logistic(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """``max p sqrt(eta^2 (1-p)^2 + p^2)`` up to ``p = 1/(1 + exp(-reach))``."""
    most = 1 / (1 + (-reach).exp())

    def size(p: Ball) -> Ball:
        return p * (eta * eta * (1 - p) ** 2 + p * p).sqrt()

    square = eta * eta
    if square < 8:
        return size(most)
    root = square / (4 * (square + 1)) * (3 - (1 - 8 / square).nonnegative_part().sqrt())
    return larger(size(most), size(smaller(root, most)))


def _huber(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    return ((eta / (2 * ball(loss.h))) ** 2 + 1).sqrt()


def _smooth(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """In each cell of ``w`` the curvature at its lower end and the slope at its upper end."""
    best = ball(0)
    for curvature, slope in _smooth_cells(ball(loss.h)):
        best = larger(best, (eta * curvature) ** 2 + slope**4)
    return best.sqrt()


def _smooth_cells(h: Ball) -> Iterator[tuple[Ball, Ball]]:
    """Bounds of curvature and slope in each cell: the one falls with ``w``, the other rises."""
    c = 3 / (4 * h)
    for i in range(CELLS):
        low, high = ratio(i, CELLS), ratio(i + 1, CELLS)
        yield c * (1 - low * low), ratio(1, 2) + 3 * high / 4 - high**3 / 4


def _softmax(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """A quadratic in ``s = sum p_c^2`` at the largest chance ``r`` of the wrong classes."""
    C, root2 = loss.classes, ball(2).sqrt()
    if C == 2:
        return 2 * _logistic(loss, eta, root2 * reach)
    odds = (C - 1) * (root2 * reach).exp()
    r = odds / (1 + odds)
    square, top = eta * eta, (1 - r) ** 2 + r * r

    def size(s: Ball) -> Ball:
        return (square * s * (1 - s) + (s + 2 * r - 1) ** 2).sqrt()

    ends = larger(size(ball(0)), size(top))
    if square <= 1:
        return ends
    middle = (square + 2 * (2 * r - 1)) / (2 * (square - 1))
    return larger(ends, size(smaller(larger(middle, ball(0)), top)))


def _joint_huber(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    C, t = loss.classes, 1 / (2 * ball(loss.h))
    return ((eta * t) ** 2 * (C * C + C - 2) + ball(C * (C - 1)) ** 2).sqrt()


def _knee(loss: RowLoss, reach: Ball) -> Ball:
    """The largest slope of a residual: at the knee, or where residuals end."""
    return smaller(ball(loss.h), reach + 1)


def _rates(reach: Ball) -> tuple[Ball, Ball]:
    """The smallest and the largest rate in units of the declared one, from a quarter of it."""
    least, most = (ratio(*START) * (side * reach).exp() for side in (-1, 1))
    return least, smaller(most, ball(1))


def _huber_residual(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    return (eta * eta + _knee(loss, reach) ** 4).sqrt()


def _poisson_rate(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """Curvature ``r`` and slope ``max(r, 1 - r)``: convex in ``r``, so at an end."""
    one, two = (((eta * r) ** 2 + larger(r, 1 - r) ** 4).sqrt() for r in _rates(reach))
    return larger(one, two)


BOUNDS = {
    "huber_residual": _huber_residual,
    "poisson_rate": _poisson_rate,
    "logistic": _logistic,
    "huber": _huber,
    "smooth_hinge": _smooth,
    "softmax": _softmax,
    "joint_huber": _joint_huber,
}


# -- traces ---------------------------------------------------------------------------------------


def trace_bound(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """The largest ``eta tr h + |g|^2``; a class weight ``w`` turns it into ``w^2 B(eta/w)``."""
    w = ball(loss.weight)
    return w * w * TRACES[loss.name](loss, eta / w, reach)


def _logistic_trace(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """``p (eta (1-p) + p)`` at the largest ``p``, or where it is flat before that."""
    p = 1 / (1 + (-reach).exp())
    if eta > 2:
        p = smaller(p, eta / (2 * (eta - 1)))
    return p * (eta * (1 - p) + p)


def _huber_trace(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    return eta / (2 * ball(loss.h)) + 1


def _smooth_trace(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """In cells of ``w``, as for the joint bound."""
    best = ball(0)
    for curvature, slope in _smooth_cells(ball(loss.h)):
        best = larger(best, eta * curvature + slope**2)
    return best


def _softmax_trace(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    """A quadratic in the chance ``r`` of the wrong classes, the other chances even or all one's."""
    C = loss.classes
    odds = (C - 1) * (ball(2).sqrt() * reach).exp()
    r = odds / (1 + odds)
    if eta < 1:
        return 2 * r * (eta + (1 - eta) * r)
    bend = (eta - 1) * C / (C - 1)
    if bend > 0:
        r = smaller(r, eta / bend)
    return r * (2 * eta - bend * r)


def _joint_huber_trace(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    C, t = loss.classes, 1 / (2 * ball(loss.h))
    return (C - 1) * (2 * eta * t + C)


def _huber_residual_trace(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    return eta + _knee(loss, reach) ** 2


def _poisson_rate_trace(loss: RowLoss, eta: Ball, reach: Ball) -> Ball:
    one, two = (eta * r + larger(r, 1 - r) ** 2 for r in _rates(reach))
    return larger(one, two)


TRACES = {
    "huber_residual": _huber_residual_trace,
    "poisson_rate": _poisson_rate_trace,
    "logistic": _logistic_trace,
    "huber": _huber_trace,
    "smooth_hinge": _smooth_trace,
    "softmax": _softmax_trace,
    "joint_huber": _joint_huber_trace,
}
