"""Losses on scores, and the registry that the laws run over."""

from privet.losses.base import Loss
from privet.losses.margin import HuberHinge, Logistic, MarginLoss, SmoothHinge
from privet.losses.multiclass import JointHuber, MulticlassLoss, Softmax, sum_zero_basis

#: Every loss by its name; a law that holds for losses is tested on all of these.
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (Logistic, HuberHinge, SmoothHinge, Softmax, JointHuber)
}

__all__ = [
    "LOSSES",
    "HuberHinge",
    "JointHuber",
    "Logistic",
    "Loss",
    "MarginLoss",
    "MulticlassLoss",
    "SmoothHinge",
    "Softmax",
    "sum_zero_basis",
]
