"""Losses on scores: the registry that the laws run over, and the words that ``loss=`` takes."""

from __future__ import annotations

from collections.abc import Callable, Collection

from privet.errors import DeclarationError
from privet.losses.declared_loss import ConvexLoss, OwnLoss, loss_from_json
from privet.losses.loss import Loss
from privet.losses.margin import HuberHinge, Logistic, MarginLoss, SmoothHinge
from privet.losses.multiclass import JointHuber, MulticlassLoss, Softmax, sum_zero_basis
from privet.losses.residual import HuberResidual, PoissonRate, ResidualLoss

#: Every loss by its name; a law that holds for losses is tested on all of these.
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Logistic,
        HuberHinge,
        SmoothHinge,
        Softmax,
        JointHuber,
        HuberResidual,
        PoissonRate,
    )
}

#: What ``loss=`` may say everywhere, and the loss behind it for two classes and for more.
_TWO: dict[str, Callable[[float], MarginLoss]] = {
    "logistic": lambda h: Logistic(),
    "huber": HuberHinge,
    "smooth_hinge": SmoothHinge,
}
_MORE: dict[str, Callable[[int, float, float], MulticlassLoss]] = {
    "logistic": lambda classes, h, opposite: Softmax(classes),
    "huber": lambda classes, h, opposite: JointHuber(classes, h, opposite=opposite),
}

__all__ = [
    "LOSSES",
    "ConvexLoss",
    "HuberHinge",
    "HuberResidual",
    "JointHuber",
    "Logistic",
    "Loss",
    "MarginLoss",
    "MulticlassLoss",
    "OwnLoss",
    "PoissonRate",
    "ResidualLoss",
    "SmoothHinge",
    "Softmax",
    "loss_from_json",
    "margin_loss",
    "named_loss",
    "sum_zero_basis",
]


def margin_loss(name: str, h: float, among: Collection[str] = tuple(_TWO)) -> MarginLoss:
    """The two-class loss of that name; ``h`` is the half-width of a hinge's knee."""
    if not isinstance(name, str) or name not in _TWO or name not in among:
        *others, last = [repr(known) for known in among]
        raise DeclarationError(f"loss must be {', '.join(others)} or {last}, got {name!r}.")
    return _TWO[name](h)


def named_loss(
    name: str,
    classes: int,
    h: float,
    opposite: float = 1.0,
    among: Collection[str] = tuple(_TWO),
) -> Loss:
    """The loss of that name for so many classes; one budget serves all of them.

    ``opposite`` is the share of a row's norm that is not in a constant column.
    """
    two = margin_loss(name, h, among)
    if classes == 2:
        return two
    if name not in _MORE:
        raise DeclarationError("More than two classes need loss='huber' (the joint Huber loss).")
    return _MORE[name](classes, h, opposite)
