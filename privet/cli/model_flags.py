"""Flags that say what is fitted: which model, where its noise goes, how rows are prepared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from privet._model_names import NUMBERS, model_class

#: Models of numbers whose loss has a knee.
KNEES = ("linear", "huber", "kernel-huber")


@dataclass(frozen=True)
class NoiseFlags:
    """Where the noise goes, and how much the fit is regularized."""

    mechanism: Annotated[
        Literal["objective", "output", "gradient", "means", "statistics"] | None,
        typer.Option(
            help="Noise in the objective, on the minimizer (less accurate), on the clipped "
            "gradients of a descent (linear models; with --delta, --rho or --mu), in the "
            "sums of each class (model logistic, more than two classes, without --delta), or in "
            "the second moments (model linear); default: the model's own choice."
        ),
    ] = None
    noise: Annotated[
        Literal["auto", "laplace", "gaussian", "domain"],
        typer.Option(
            help="Law of the noise: laplace is spherical, domain has the shape of what the schema "
            "declares; auto takes the smallest one that the budget allows."
        ),
    ] = "auto"
    regularization: Annotated[
        float | None,
        typer.Option(help="Lam of the mean objective; without it, a public rule chooses."),
    ] = None

    def options(self) -> dict[str, Any]:
        """As parameters of a model."""
        lam = "auto" if self.regularization is None else self.regularization
        named = {} if self.mechanism is None else {"mechanism": self.mechanism}
        return {**named, "noise": self.noise, "regularization": lam}


@dataclass(frozen=True)
class ModelFlags:
    """Which model is fitted."""

    model: Annotated[
        Literal[
            "logistic",
            "svm",
            "gaussian",
            "kernel-logistic",
            "kernel-svm",
            "linear",
            "huber",
            "poisson",
            "kernel-huber",
        ]
        | None,
        typer.Option(
            help="What to fit: a linear model, an ellipsoid for each class, a kernel machine, or, "
            "where the label is a number, a linear, robust, Poisson or kernel regression (privet "
            "train). Default: logistic, and privet train lets numbers bend where the noise allows "
            "it."
        ),
    ] = None
    gamma: Annotated[
        float | None,
        typer.Option(help="Width of a kernel machine's Gaussian kernel; default: a public rule."),
    ] = None
    frequencies: Annotated[
        int | None,
        typer.Option(help="Random frequencies of a kernel machine; each makes two features."),
    ] = None
    loss: Annotated[
        Literal["logistic", "huber", "smooth_hinge", "least_squares"] | None,
        typer.Option(
            help="Of a linear model; all but logistic mean --model svm: a hinge with a rounded "
            "knee, a smoother one, or least squares of two labels as -1 and 1."
        ),
    ] = None
    knee: Annotated[
        float | None,
        typer.Option(
            help="Residuals beyond this, in the label's units, have a linear loss (models linear, "
            "huber and kernel-huber); default: a quarter of the label's interval."
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        typer.Option(help="A public weight, label=weight; may be repeated. The others weigh 1."),
    ] = None
    standardize: Annotated[
        Literal["none", "private", "unit", "whiten"] | None,
        typer.Option(
            help="How encoded columns are prepared; part of the budget pays for private and "
            "whiten. Linear models choose by themselves; none keeps coefficients that intervals "
            "can be about."
        ),
    ] = None
    center: Annotated[
        Path | None,
        typer.Option(
            help="A released model file whose coefficients the regularization pulls to instead of "
            "zero, last year's for example (models logistic and svm). It costs nothing."
        ),
    ] = None
    norm_bound: Annotated[
        float | None,
        typer.Option(help="Rows are clipped to this Euclidean norm. Encoded rows are within 1."),
    ] = None

    @property
    def kind(self) -> str:
        """The model that is named, or the default one."""
        return self.model or ("logistic" if self.loss in (None, "logistic") else "svm")

    @property
    def is_default(self) -> bool:
        """Whether what to fit is left to the program."""
        return self.model is None and self.loss is None

    def unfitted(self, classes: Sequence[Any] | None, **more: Any) -> Any:
        """The model, not yet fitted; ``classes`` are the schema's labels, None without a schema."""
        return model_class(self.kind)(**self._given(classes), **more)

    def _released(self, path: Path) -> Any:
        """The released model that the flag names."""
        from privet.store import load

        if self.kind not in ("logistic", "svm"):
            raise typer.BadParameter("--center goes with --model logistic or svm only.")
        return load(path)

    def _given(self, classes: Sequence[Any] | None) -> dict[str, Any]:
        """The parameters that were given; one that this model does not have is wrong usage."""
        kernel = self.kind.startswith("kernel-")
        if self.kind in NUMBERS and self.class_weight:
            raise typer.BadParameter("--class-weight is for classes; a number has none.")
        if not kernel and (self.gamma is not None or self.frequencies is not None):
            raise typer.BadParameter("--gamma and --frequencies go with --model kernel-... only.")
        if self.knee is not None and self.kind not in KNEES:
            raise typer.BadParameter(f"--knee goes with --model {', '.join(KNEES)} only.")
        fitting = "logistic" if self.loss == "logistic" else "svm"
        if self.loss is not None and self.kind != fitting:
            raise typer.BadParameter(f"--loss {self.loss} goes with --model {fitting} only.")
        if kernel and self.norm_bound is not None:
            raise typer.BadParameter(
                "a kernel's features have a norm of their own: leave out --norm-bound."
            )
        if classes is None and (self.class_weight or self.standardize):
            raise typer.BadParameter(
                "--class-weight and --standardize need --schema, which names the labels and bounds "
                "the columns."
            )
        given = {
            "gamma": self.gamma,
            "n_frequencies": self.frequencies,
            "norm_bound": self.norm_bound,
            "knee": self.knee,
            "loss": None if self.loss == "logistic" else self.loss,
            "standardize": self.standardize,
            "center": None if self.center is None else self._released(self.center),
            "class_weight": weights(self.class_weight, classes or ())
            if self.class_weight
            else None,
        }
        found = {name: value for name, value in given.items() if value is not None}
        return found | ({"standardize": None} if self.standardize == "none" else {})


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
            raise typer.BadParameter(
                f"--class-weight {text}: {weight!r} is not a number."
            ) from None
    return found
