"""Law 4: derivatives are right, and no declared bound is exceeded anywhere nor idle everywhere.

Each bound is attacked: a scan of scores from saturation to the knee in many directions, then a
local search from the worst of them.
"""

from __future__ import annotations

import inspect
import itertools
import math
import pkgutil
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

import privet.losses
from privet.errors import DeclarationError
from privet.losses import LOSSES, HuberHinge, JointHuber, Logistic, Loss, SmoothHinge, Softmax
from privet.losses.second_moments import joint_bound, trace_bound
from privet.losses.weighted import Weighted
from tests.laws.listed import names_all, names_the_same
from tests.strategies import EACH_LOSS, LOSS_CASES, Array, name_of, seeds

every_loss = pytest.mark.parametrize("loss", LOSS_CASES, ids=name_of)
ROUNDING = 1.0 + 1e-12


def test_the_cases_cover_the_registry() -> None:
    names_all({type(loss).name for loss in LOSS_CASES}, LOSSES, "LOSS_CASES, tests/strategies.py")
    names_all({type(loss).name for loss in EACH_LOSS}, LOSSES, "LOSSES, privet/audit/cases.py")


#: Losses made of what a user declares: of a user's own functions, and of another loss.
DECLARED = {"OwnLoss", "Weighted"}


def test_every_loss_is_registered() -> None:
    """No law runs over a loss that is defined and in no registry."""
    made = [
        kind
        for file in pkgutil.iter_modules(privet.losses.__path__)
        for kind in vars(import_module(f"privet.losses.{file.name}")).values()
        if inspect.isclass(kind) and issubclass(kind, Loss)
    ]
    concrete = {kind.__name__ for kind in made if not inspect.isabstract(kind)}
    known = {kind.__name__ for kind in LOSSES.values()} | DECLARED
    names_the_same(known, concrete, "LOSSES, privet/losses/__init__.py")


@pytest.mark.parametrize("bound", [joint_bound, trace_bound], ids=["joint", "trace"])
def test_every_loss_has_its_bounds_on_second_moments(bound: Any) -> None:
    """Those behind intervals; a user's own loss has none, and its intervals are refused."""
    where = "second_moments.py (joint_bound and trace_bound), its argument into matrix.proof.md"
    names_all([kind.name for kind in bound.registry if issubclass(kind, Loss)], LOSSES, where)


# -- derivatives -----------------------------------------------------------------------------------


def draw(loss: Loss, seed: int, count: int = 8) -> tuple[Array, Array]:
    """Scores around the knee and labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=3.0, size=(count, loss.scores))
    return z, loss.targets(rng.integers(0, loss.classes, count))


def central(function: Callable[[Array], Array], z: Array, step: float) -> Array:
    """Central differences in each score, as a new last axis."""
    parts = []
    for axis in range(z.shape[-1]):
        move = np.zeros(z.shape[-1])
        move[axis] = step
        parts.append((function(z + move) - function(z - move)) / (2.0 * step))
    return np.stack(parts, axis=-1)


@every_loss
@given(seed=seeds())
def test_the_gradient_is_the_slope_of_the_value(loss: Loss, seed: int) -> None:
    z, y = draw(loss, seed)
    expected = central(lambda at: loss.value(at, y), z, 1e-5)
    # the second derivative jumps at a kink: an error of at most its bound times the step
    assert loss.gradient(z, y) == pytest.approx(expected, abs=1e-5 * loss.curvature_bound + 1e-8)


@every_loss
@given(seed=seeds())
def test_the_hessian_is_the_slope_of_the_gradient(loss: Loss, seed: int) -> None:
    z, y = draw(loss, seed, count=1)
    below, above = (loss.hessian(z + side, y) for side in (-1e-3, 1e-3))
    assume(np.abs(above - below).max() < 0.02 * loss.curvature_bound)  # no kink nearby
    expected = central(lambda at: loss.gradient(at, y), z, 1e-6)
    assert loss.hessian(z, y) == pytest.approx(expected, abs=1e-4 * loss.curvature_bound)


@every_loss
@given(seed=seeds())
def test_the_hessian_is_symmetric_and_never_negative(loss: Loss, seed: int) -> None:
    z, y = draw(loss, seed)
    h = loss.hessian(z, y)
    assert h == pytest.approx(np.swapaxes(h, -1, -2), abs=1e-15)
    assert np.linalg.eigvalsh(h).min() >= -1e-13 * loss.curvature_bound


@every_loss
@given(seed=seeds(), t=st.floats(0.0, 1.0))
def test_the_loss_is_convex_and_never_negative(loss: Loss, seed: int, t: float) -> None:
    (one, y), (two, _) = draw(loss, seed), draw(loss, seed + 1)
    between = loss.value(t * one + (1.0 - t) * two, y)
    assert (between <= t * loss.value(one, y) + (1.0 - t) * loss.value(two, y) + 1e-12).all()
    told = "rounding made a loss negative: take np.maximum(value, 0.0)"
    assert (between >= 0.0).all(), told


@every_loss
def test_extreme_scores_stay_finite(loss: Loss) -> None:
    for size in (1e8, 1e150):
        for direction in directions(loss):
            y = loss.targets(np.arange(loss.classes))
            z = np.broadcast_to(size * direction, (loss.classes, loss.scores))
            value, gradient, h = loss.value(z, y), loss.gradient(z, y), loss.hessian(z, y)
            assert np.isfinite(value).all()
            assert (np.linalg.norm(gradient, axis=-1) <= loss.row_gradient_bound * ROUNDING).all()
            assert np.linalg.eigvalsh(h).max() <= loss.curvature_bound * ROUNDING


@every_loss
def test_the_shapes_are_as_documented(loss: Loss) -> None:
    z = np.zeros((4, 5, loss.scores))
    y = loss.targets(np.zeros((4, 5), dtype=int))
    assert loss.value(z, y).shape == (4, 5)
    assert loss.gradient(z, y).shape == (4, 5, loss.scores)
    assert loss.hessian(z, y).shape == (4, 5, loss.scores, loss.scores)


def test_hand_numbers() -> None:
    zero, one = np.zeros((1, 1)), np.ones(1)
    assert Logistic().value(zero, one) == pytest.approx(math.log(2.0))
    assert HuberHinge(0.5).value(zero, one) == 1.0
    assert HuberHinge(0.5).value(zero + 1.0, one) == 0.125
    assert HuberHinge(0.5).value(zero + 1.5, one) == 0.0
    assert SmoothHinge(0.5).value(zero, one) == 1.0
    assert SmoothHinge(0.5).value(zero + 1.0, one) == pytest.approx(0.1875 * 0.5)
    assert Softmax(4).value(np.zeros((1, 3)), np.zeros(1, dtype=int)) == pytest.approx(math.log(4))
    assert JointHuber(4).value(np.zeros((1, 3)), np.zeros(1, dtype=int)) == pytest.approx(3.0)
    assert JointHuber(4, margin=2.0).value(
        np.zeros((1, 3)), np.zeros(1, dtype=int)
    ) == pytest.approx(6.0)


# -- bounds ----------------------------------------------------------------------------------------


def directions(loss: Loss) -> list[Array]:
    """Score directions in which two or more classes drift apart, and a few at random."""
    k = loss.scores
    if k == 1:
        return [np.ones(1), -np.ones(1)]
    from privet.losses import sum_zero_basis

    basis = sum_zero_basis(loss.classes)
    pairs = itertools.permutations(range(min(loss.classes, 3)), 2)
    out = [(basis[a] - basis[b]) / math.sqrt(2.0) for a, b in pairs]
    out += [sign * basis[c] for c in range(min(loss.classes, 3)) for sign in (-1.0, 1.0)]
    rng = np.random.default_rng(0)
    return out + list(rng.normal(size=(6, k)))


@lru_cache(maxsize=64)
def scan(loss: Loss) -> tuple[Array, Array]:
    """Scores and targets that every attack starts from."""
    fine = np.linspace(0.0, 6.0, 601 if loss.scores == 1 else 31)
    # the lower end of a knee, where slope and curvature are both largest
    knee = [abs(loss.margin - loss.h)] if isinstance(loss, JointHuber) else []
    sizes = np.concatenate([fine, knee, np.geomspace(8.0, 400.0, 6)])
    scores = np.array([size * d for d in directions(loss) for size in sizes])
    codes = np.arange(loss.classes if loss.classes < 4 else 3)
    z = np.repeat(scores, len(codes), axis=0)
    return z, loss.targets(np.tile(codes, len(scores)))


def worst(loss: Loss, facts: Callable[[Array, Array], Array]) -> float:
    """The largest value of ``facts`` over scores and labels that a scan and a search find."""
    z, y = scan(loss)
    found = facts(z, y)
    best = float(found.max())
    for index in np.argsort(found)[-2:]:
        target = y[index : index + 1]

        def negative(at: Array, target: Array = target) -> float:
            return -float(facts(at[None, :], target)[0])

        end = minimize(negative, z[index], method="Nelder-Mead", options={"maxiter": 300})
        best = max(best, -float(end.fun))
    return best


def gradient_norms(loss: Loss) -> Callable[[Array, Array], Array]:
    return lambda z, y: np.linalg.norm(loss.gradient(z, y), axis=-1)


def log_determinants(loss: Loss, q: float) -> Callable[[Array, Array], Array]:
    def facts(z: Array, y: Array) -> Array:
        return np.linalg.slogdet(np.eye(loss.scores) + q * loss.hessian(z, y))[1]

    return facts


@every_loss
def test_the_row_gradient_bound_is_kept_and_reached(loss: Loss) -> None:
    found = worst(loss, gradient_norms(loss))
    assert 0.99 * loss.row_gradient_bound <= found <= loss.row_gradient_bound * ROUNDING


@every_loss
def test_the_curvature_bound_is_kept_and_reached(loss: Loss) -> None:
    found = worst(loss, lambda z, y: np.linalg.eigvalsh(loss.hessian(z, y))[..., -1])
    assert 0.99 * loss.curvature_bound <= found <= loss.curvature_bound * ROUNDING


@every_loss
@pytest.mark.parametrize("q", [0.01, 1.0, 100.0])
def test_the_log_determinant_bound_is_kept_and_reached(loss: Loss, q: float) -> None:
    found, bound = worst(loss, log_determinants(loss, q)), loss.log_determinant_bound(q)
    assert 0.99 * bound <= found <= bound * ROUNDING


def is_lifted(loss: Loss) -> bool:
    return isinstance(loss, JointHuber) and loss.lifted


def least_cosine(loss: Loss) -> float:
    """Of two longest rows: opposite ones, or opposite beside a constant column, or lifted ones."""
    if is_lifted(loss):
        return 0.0
    return 1.0 - 2.0 * loss.opposite**2 if isinstance(loss, JointHuber) else -1.0


def largest_difference(loss: Loss, noise: float = 1.0, bonus: Array | None = None) -> float:
    """``max noise |g (x) x - g' (x) x'| + bonus`` over two rows of the scan.

    Unit rows matter through ``t = <x, x'>`` alone, and the distance is largest at an end: -1 or 1,
    for lifted features 0 or 1. Rows nearly at that angle can have any two scores.
    """
    z, y = scan(loss)
    g = loss.gradient(z, y)
    bonus = np.zeros(len(g)) if bonus is None else bonus
    squares = (g**2).sum(axis=1)
    low = least_cosine(loss)
    best = 0.0
    for first in range(0, len(g), 64):  # the table of all pairs would be large
        part = slice(first, first + 64)
        inner = g[part] @ g.T
        distance = np.maximum(-2.0 * low * inner, -2.0 * inner)
        distance += squares[part, None] + squares[None, :]
        total = noise * np.sqrt(np.maximum(distance, 0.0)) + bonus[part, None]
        best = max(best, float(total.max()))
    return best


@every_loss
def test_the_difference_bound_is_kept_and_reached(loss: Loss) -> None:
    found = largest_difference(loss)
    assert 0.99 * loss.difference_bound <= found <= loss.difference_bound * ROUNDING


@given(seed=seeds(), classes=st.integers(2, 6))
def test_lifted_features_cannot_be_opposite(seed: int, classes: int) -> None:
    """``x x^T`` in Frobenius norm, with scores from one and the same parameters."""
    loss, rng = JointHuber(classes, lifted=True), np.random.default_rng(seed)
    x = rng.normal(size=(2, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    lifted = np.stack([np.outer(row, row).ravel() for row in x])
    weights = rng.normal(scale=10.0 ** rng.uniform(-2, 2), size=(loss.scores, 9))
    g = loss.gradient(lifted @ weights.T, loss.targets(rng.integers(0, classes, 2)))
    gap = np.outer(g[0], lifted[0]) - np.outer(g[1], lifted[1])
    assert np.linalg.norm(gap) <= loss.difference_bound * ROUNDING


@given(seed=seeds(), classes=st.integers(2, 6), constant=st.floats(0.05, 3.0))
def test_rows_with_a_constant_cannot_be_opposite(seed: int, classes: int, constant: float) -> None:
    """Any two rows ``(x, c)``, with any slopes; the bound is in units of ``sqrt(1 + c^2)``."""
    norm, rng = math.hypot(1.0, constant), np.random.default_rng(seed)
    loss = JointHuber(classes, opposite=1.0 / norm)
    x = rng.normal(size=(2, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[1] = rng.choice([-x[0], x[0], x[1]])
    x *= rng.choice([0.0, 0.5, 1.0], size=(2, 1), p=[0.1, 0.1, 0.8])
    rows = np.column_stack([x, np.full(2, constant)]) / norm
    label = rng.integers(0, classes, 2)
    push = rng.choice([0.0, rng.random(), 1.0], size=(2, classes), p=[0.2, 0.2, 0.6])
    g = []
    for y, slopes in zip(label, push, strict=True):
        slopes[y] = 0.0
        g.append(slopes - slopes.sum() * np.eye(classes)[y])
    gap = np.outer(g[0], rows[0]) - np.outer(g[1], rows[1])
    assert np.linalg.norm(gap) <= loss.difference_bound * ROUNDING


def test_hand_numbers_of_the_constant_column() -> None:
    """Three classes and half the norm bound: ``2 sqrt6 B`` is above ``3 sqrt2 R``; at it, below."""
    whole, apart = 2.0 * math.sqrt(6.0), 3.0 * math.sqrt(2.0)
    share = 1.0 / math.sqrt(1.25)
    assert JointHuber(3, opposite=share).difference_bound == pytest.approx(whole * share)
    assert JointHuber(3, opposite=math.sqrt(0.5)).difference_bound == pytest.approx(apart)
    assert JointHuber(3).difference_bound == whole


def is_tight(loss: Loss) -> bool:
    """Softmax over more than two classes rests on an inequality of means: not attained."""
    base = loss.base if isinstance(loss, Weighted) else loss
    return not (isinstance(base, Softmax) and base.classes > 2)


@every_loss
@pytest.mark.parametrize("a", [1e-3, 0.5, 20.0])
@pytest.mark.parametrize("q", [1e-3, 1.0, 30.0])
def test_the_privacy_loss_bound_is_kept_and_reached(loss: Loss, a: float, q: float) -> None:
    """Noise term and determinant at the scores of one and the same row, over all pairs of rows."""
    z, y = scan(loss)
    found = largest_difference(loss, a, log_determinants(loss, q)(z, y))
    bound = loss.privacy_loss_bound(a, q)
    assert found <= bound * ROUNDING
    assert found >= (0.99 if is_tight(loss) else 0.7) * bound


@pytest.mark.parametrize("loss", [Logistic(), SmoothHinge(0.5), SmoothHinge(3.0)], ids=name_of)
@given(a=st.floats(1e-6, 50.0), q=st.floats(1e-6, 1e4))
def test_the_margin_maximum_is_the_brute_force_one(loss: Loss, a: float, q: float) -> None:
    margins = np.concatenate([np.linspace(-12.0, 6.0, 40_001), [-800.0]])[:, None]
    one = np.ones(len(margins))
    slope, curvature = -loss.gradient(margins, one)[:, 0], loss.hessian(margins, one)[:, 0, 0]
    brute = a + float((a * slope + np.log1p(q * curvature)).max())
    assert brute <= loss.privacy_loss_bound(a, q) * ROUNDING
    assert brute >= 0.999 * loss.privacy_loss_bound(a, q)


@given(classes=st.integers(2, 8), a=st.floats(1e-6, 50.0), q=st.floats(1e-6, 1e3))
def test_the_softmax_maximum_is_never_missed(classes: int, a: float, q: float) -> None:
    """The stated function of ``v`` on a fine grid and exactly at its kink."""
    kink = math.sqrt(classes / (classes - 1.0))
    v = np.append(np.linspace(0.0, math.sqrt(2.0), 20_001), kink)
    trace = np.maximum(2.0 * np.minimum(1.0, v / kink) - v * v, 0.0)
    brute = (a * v + (classes - 1) * np.log1p(q * trace / (classes - 1))).max() + math.sqrt(2.0) * a
    general = 2.0 * math.sqrt(2.0) * a + Softmax(classes).log_determinant_bound(q)
    stated = Softmax(classes).privacy_loss_bound(a, q)
    assert min(brute, general) <= stated * (1.0 + 1e-14)
    assert stated <= brute * (1.0 + 1e-6)


@pytest.mark.parametrize("ratio", [0.9, 1.2, 1.6, 2.2])
def test_the_softmax_maximum_at_its_kink(ratio: float) -> None:
    """Where the maximum sits on the kink a smooth search loses half its digits."""
    q = 1e-3
    kink = math.sqrt(1.5)
    at_kink = ratio * q * (kink + math.sqrt(2.0)) + 2.0 * math.log1p(q * 0.5 / 2.0)
    assert Softmax(3).privacy_loss_bound(ratio * q, q) >= at_kink


@every_loss
@given(a=st.floats(1e-6, 20.0), q=st.floats(1e-6, 1e3), more=st.floats(1.0001, 3.0))
def test_the_privacy_loss_grows_with_noise_rate_and_row(
    loss: Loss, a: float, q: float, more: float
) -> None:
    here = loss.privacy_loss_bound(a, q)
    assert here <= loss.privacy_loss_bound(a * more, q) * (1.0 + 1e-8)
    assert here <= loss.privacy_loss_bound(a, q * more) * (1.0 + 1e-8)
    assert here <= (a * loss.difference_bound + loss.log_determinant_bound(q)) * ROUNDING
    assert here >= a * loss.difference_bound / ROUNDING


@every_loss
@given(epsilon=st.floats(1e-3, 20.0))
def test_at_the_floor_the_jacobian_is_free_or_takes_its_share(loss: Loss, epsilon: float) -> None:
    """A tenth, or a quarter where the ridge pulls a number to the middle of its bounds."""
    share = 0.25 if loss.family == "residual" else 0.1
    q = loss.curvature_floor(epsilon)
    free = loss.privacy_loss_bound(epsilon / loss.difference_bound, q) <= epsilon * ROUNDING
    taken = loss.log_determinant_bound(q) == pytest.approx(share * epsilon, rel=1e-9)
    assert free or taken
    more = 1.02 * q
    assert loss.privacy_loss_bound(epsilon / loss.difference_bound, more) > epsilon * ROUNDING or (
        not is_tight(loss)
    )


def test_hand_numbers_of_the_floors() -> None:
    assert Logistic().curvature_floor(1.0) == 0.5
    assert Softmax(2).curvature_floor(1.0) == 0.25
    assert Softmax(5).curvature_floor(1.0) == 0.125
    assert HuberHinge(0.5).curvature_floor(1.0) == pytest.approx(math.expm1(0.1))
    assert HuberHinge(0.5).curvature_floor(0.5, 1000) == pytest.approx(math.expm1(0.05))
    assert HuberHinge(0.5).curvature_floor(1.0, 1000) == pytest.approx(math.expm1(0.125))
    assert HuberHinge(0.5).curvature_floor(0.1, 10**12) == pytest.approx(math.expm1(0.015))
    assert Logistic().curvature_floor(1.0, 1000) == 0.5


@every_loss
@given(n=st.integers(1, 10**7), epsilon=st.floats(1e-3, 20.0), more=st.floats(1.0, 1.1))
def test_the_floor_falls_with_rows_and_budget_without_a_jump(
    loss: Loss, n: int, epsilon: float, more: float
) -> None:
    here, there = loss.curvature_floor(epsilon, n), loss.curvature_floor(epsilon * more, n)
    assert here <= loss.curvature_floor(epsilon, 2 * n) * ROUNDING
    assert here <= there * ROUNDING
    slope = 3.0 * max(1.0, 0.25 * epsilon)  # of log q by log epsilon: expm1 is steeper
    assert there <= here * more**slope * ROUNDING


# -- two classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("two", "margin"),
    [(Softmax(2), Logistic()), (JointHuber(2, h=0.3), HuberHinge(0.3))],
    ids=name_of,
)
@given(seed=seeds(), a=st.floats(1e-3, 20.0), q=st.floats(1e-3, 100.0))
def test_two_classes_are_a_margin_loss_of_root_2_times_the_row(
    two: Loss, margin: Loss, seed: int, a: float, q: float
) -> None:
    rng = np.random.default_rng(seed)
    s, codes = rng.normal(scale=3.0, size=(20, 1)), rng.integers(0, 2, 20)
    sign = np.sign(two.gradient(np.zeros((1, 1)), two.targets(np.array([0])))[0, 0])
    z, root = sign * math.sqrt(2.0) * s, math.sqrt(2.0)
    y, labels = two.targets(codes), margin.targets(codes)
    assert two.value(s, y) == pytest.approx(margin.value(z, labels), abs=1e-12)
    assert two.gradient(s, y) == pytest.approx(sign * root * margin.gradient(z, labels), abs=1e-12)
    assert two.hessian(s, y) == pytest.approx(2.0 * margin.hessian(z, labels), abs=1e-12)
    assert two.row_gradient_bound == pytest.approx(root * margin.row_gradient_bound)
    assert two.difference_bound == pytest.approx(root * margin.difference_bound)
    assert two.curvature_bound == pytest.approx(2.0 * margin.curvature_bound)
    assert two.log_determinant_bound(q) == pytest.approx(margin.log_determinant_bound(2.0 * q))
    assert two.privacy_loss_bound(a, q) == pytest.approx(
        margin.privacy_loss_bound(root * a, 2.0 * q), rel=1e-8
    )
    assert two.curvature_floor(a) == pytest.approx(margin.curvature_floor(a) / 2.0)


# -- declarations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.0, -1.0, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize("make", [HuberHinge, SmoothHinge, lambda h: JointHuber(3, h=h)])
def test_a_bad_knee_is_refused(make: Callable[[object], Loss], h: object) -> None:
    with pytest.raises(DeclarationError, match="h must be a positive finite number"):
        make(h)


@pytest.mark.parametrize("margin", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_a_bad_margin_is_refused(margin: object) -> None:
    with pytest.raises(DeclarationError, match="margin must be a positive finite number"):
        JointHuber(3, margin=margin)  # type: ignore[arg-type]


@pytest.mark.parametrize("classes", [1, 0, -2, 2.0, "3", True, None])
def test_a_bad_number_of_classes_is_refused(classes: object) -> None:
    for make in (Softmax, JointHuber):
        with pytest.raises(DeclarationError, match="n_classes must be"):
            make(classes)
