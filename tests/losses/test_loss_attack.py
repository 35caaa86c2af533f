"""Wrong declarations of a user's loss are refused before any fit, and true ones are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import ConvexLoss, PrivateERM
from privet.errors import DeclarationError
from privet.losses import LOSSES, Loss, OwnLoss
from privet.losses.loss_attack import attack
from tests.losses.own import TRUE, pseudo_huber
from tests.losses.wrong_losses import WRONG
from tests.strategies import EACH_LOSS, LOSS_CASES, Array, name_of

#: Losses of the library with what a user would declare of them; class weights have no own formula.
OURS = [loss for loss in EACH_LOSS if type(loss) in LOSSES.values()]
ONE_SCORE = [loss for loss in LOSS_CASES if type(loss) in LOSSES.values() and loss.scores == 1]


def as_own(loss: Loss) -> ConvexLoss:
    """A built-in loss as if a user had brought it; the target is a share, or names a class."""

    def codes(t: Array) -> Any:
        if loss.family == "residual":
            return t
        return np.minimum((t * loss.classes).astype(int), loss.classes - 1)

    def part(name: str) -> Any:
        def function(z: Array, t: Array) -> Array:
            found: Array = getattr(loss, name)(z.reshape(len(t), -1), loss.targets(codes(t)))
            return found.reshape(len(t)) if loss.scores == 1 else found

        return function

    return ConvexLoss(
        loss.name,
        part("value"),
        part("gradient"),
        part("hessian"),
        gradient_bound=loss.row_gradient_bound,
        curvature_bound=loss.curvature_bound,
        scores=loss.scores,
        largest_constant=loss.offset or None,
    )


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_is_caught(name: str) -> None:
    loss, told = WRONG[name]
    with pytest.raises(DeclarationError, match=told):
        attack(OwnLoss(loss, 0.0, 1.0))


def test_there_are_at_least_twenty() -> None:
    assert len(WRONG) >= 46


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-300.0, 5.0)])
def test_a_true_declaration_is_not(name: str, bounds: tuple[float, float]) -> None:
    assert attack(OwnLoss(TRUE[name], *bounds)) > 1000


@pytest.mark.parametrize("loss", OURS, ids=name_of)
def test_the_losses_of_the_library_withstand_it(loss: Loss) -> None:
    assert attack(OwnLoss(as_own(loss), 0.0, 1.0)) > 1000


@pytest.mark.parametrize("loss", ONE_SCORE, ids=name_of)
@pytest.mark.parametrize("bound", ["gradient_bound", "curvature_bound"])
def test_a_hundredth_less_is_caught(loss: Loss, bound: str) -> None:
    """The attack comes within one per cent of what is attained."""
    own = as_own(loss)
    wrong = ConvexLoss(**{**own.__dict__, bound: 0.99 * getattr(own, bound)})
    with pytest.raises(DeclarationError, match="is not what is declared of it"):
        attack(OwnLoss(wrong, 0.0, 1.0))


def test_the_refusal_names_the_score_and_costs_nothing() -> None:
    model = PrivateERM(loss=pseudo_huber(curvature_bound=0.25), target_bounds=(0, 1))
    with pytest.raises(DeclarationError, match=r"at score .* and target .* curvature is"):
        model.fit(np.zeros((50, 2)), np.zeros(50))
    assert not hasattr(model, "coef_")


ODD = 0.123456789


def slope(r: Array) -> Array:
    return np.asarray(r / np.sqrt(1 + r**2))


def bend(r: Array) -> Array:
    return np.asarray((1 + r**2) ** -1.5)


def lost(z: Array, t: Array) -> Array:
    if (t == ODD).any():
        raise ValueError(f"no number for {t[0]}")
    return slope(z - t)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"gradient": lambda z, t: slope(z - t) + 50.0 * (t == ODD)}, "left its .* gradient_bound"),
        ({"gradient": lambda z, t: slope(z - t) * (1e300 if t[0] == ODD else 1)}, "gradient_bound"),
        ({"gradient": lambda z, t: slope(z - t) + (np.nan if t[0] == ODD else 0)}, "gradient_b"),
        ({"hessian": lambda z, t: bend(z - t) * (1 + 50 * (t == ODD))}, "left its .* curvature_b"),
        ({"hessian": lambda z, t: bend(z - t) * (1 - 2 * (t == ODD))}, "left its .* curvature_b"),
        ({"gradient": lost}, "raised ValueError"),
    ],
)
def test_what_the_attack_missed_ends_the_fit(wrong: dict[str, Any], told: str) -> None:
    """What is wrong for the rows alone: nothing is released, and no row is quoted."""
    model = PrivateERM(loss=pseudo_huber(**wrong), target_bounds=(0, 1))
    with pytest.raises(DeclarationError, match=told) as refusal:
        model.fit(np.zeros((50, 2)), np.full(50, ODD))
    assert not hasattr(model, "coef_")
    assert "0.123" not in str(refusal.value)
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"gradient_bound": 0.0}, "gradient_bound"),
        ({"gradient_bound": 1e300}, "gradient_bound must be between"),
        ({"curvature_bound": 1e-300}, "curvature_bound must be between"),
        ({"largest_constant": 10**400}, "largest_constant must be between"),
        ({"scores": 10**9}, "scores is at most"),
        ({"curvature_bound": np.inf}, "curvature_bound"),
        ({"scores": 2, "rank": 3}, "rank is at most"),
        ({"link": "log"}, "link must be"),
        ({"value": 3}, "functions"),
        ({"difference_bound": -1.0}, "difference_bound"),
    ],
)
def test_what_is_no_declaration_is_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(DeclarationError, match=told):
        pseudo_huber(**wrong)
