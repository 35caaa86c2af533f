"""Which model a command fits: the flags that say it, and the model that they make."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from privet.schema import Schema

Model = Annotated[
    Literal["logistic", "svm", "gaussian", "kernel-logistic", "kernel-svm"],
    typer.Option(
        help="What to fit: a linear model, an ellipsoid for each class, or a kernel machine."
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(help="Width of a kernel machine's Gaussian kernel; without it, a public rule."),
]
Frequencies = Annotated[
    int | None,
    typer.Option(help="Random frequencies of a kernel machine; each makes two features."),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(help="A public weight, label=weight; may be repeated. The others weigh 1."),
]
Standardize = Annotated[
    Literal["private"] | None,
    typer.Option(help="Center and scale the encoded columns; a part of the budget pays for it."),
]
NormBound = Annotated[
    float | None,
    typer.Option(help="Rows are clipped to this Euclidean norm. Encoded rows are within 1."),
]

HOMES = {
    "logistic": ("privet.models", "LogisticRegression"),
    "svm": ("privet.models", "LinearSVC"),
    "gaussian": ("privet.models", "LargeMarginGaussian"),
    "kernel-logistic": ("privet.kernels", "KernelLogisticRegression"),
    "kernel-svm": ("privet.kernels", "KernelSVC"),
}


def unfitted(model: str, **options: Any) -> Any:
    """The model of this kind, before it has seen a schema."""
    home, name = HOMES[model]
    return getattr(import_module(home), name)(**options)


def model_options(
    model: str,
    schema: Schema,
    *,
    gamma: float | None = None,
    frequencies: int | None = None,
    class_weight: Sequence[str] | None = None,
    standardize: str | None = None,
    norm_bound: float | None = None,
) -> dict[str, Any]:
    """The parameters that the flags name; a flag that this model does not have is wrong usage."""
    kernel = model.startswith("kernel-")
    if not kernel and (gamma is not None or frequencies is not None):
        raise typer.BadParameter("--gamma and --frequencies go with --model kernel-... only.")
    if kernel and norm_bound is not None:
        raise typer.BadParameter("a kernel's features have a norm of their own: no --norm-bound.")
    given = {
        "gamma": gamma,
        "n_frequencies": frequencies,
        "norm_bound": norm_bound,
        "standardize": standardize,
        "class_weight": weights(class_weight, schema.label.classes) if class_weight else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def weights(texts: Sequence[str], classes: Sequence[Any]) -> dict[Any, float]:
    """``label=weight`` for declared labels; an unknown one, or one twice, is wrong usage."""
    known = {str(label): label for label in classes}
    found: dict[Any, float] = {}
    for text in texts:
        label, sign, weight = text.rpartition("=")
        if not sign or label not in known:
            raise typer.BadParameter(
                f"--class-weight {text}: give label=weight with a label of the schema, which are "
                f"{', '.join(known)}."
            )
        if known[label] in found:
            raise typer.BadParameter(f"--class-weight names {label} twice.")
        try:
            found[known[label]] = float(weight)
        except ValueError:
            raise typer.BadParameter(f"--class-weight {text}: {weight!r} is no number.") from None
    return found
