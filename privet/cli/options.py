"""Flags that several commands share, in groups, and how a command is made from them.

A group is a frozen dataclass whose fields are flags. A command takes it as one parameter, and
``command`` shows each of its fields as a flag of its own:

    def open_(place: Place, *, budget: BudgetFlags, json: Json = False) -> None: ...
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from privet.ledger import Ledger
    from privet.privacy.budget import Budget

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is already there.")]


# -- commands ------------------------------------------------------------------------------------


class Once(TyperCommand):
    """A command that refuses a flag that takes one value when it is given twice.

    Otherwise the last one would win silently: ``--group a --group b``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        given = [each for each in order if each.param_type_name == "option" and not each.multiple]
        for each in given:
            if given.count(each) > 1 and not ctx.resilient_parsing:
                ctx.fail(f"{each.opts[0]} was given twice; it takes one value.")
        return super().parse_args(ctx, args)


def command(app: typer.Typer, function: Callable[..., None], example: str) -> None:
    """Add a command whose help is the function's docstring, reflowed, and ends with an example."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    words = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    name = function.__name__.strip("_")
    app.command(name, cls=Once, help=words, epilog=f"Example: {example}")(ungrouped(function))


def ungrouped(function: Callable[..., None]) -> Callable[..., None]:
    """The function with a parameter for each flag of its groups."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {
        name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)
    }
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        kind = groups.get(parameter.name)
        if kind is None:
            flags = [(parameter.name, parameter.default, hints[parameter.name])]
        else:
            kinds = get_type_hints(kind, include_extras=True)
            flags = [(each.name, each.default, kinds[each.name]) for each in _fields(kind)]
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )
            for name, default, hint in flags
        ]

    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in _fields(kind)})
        function(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _fields(kind: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)


Given = TypeVar("Given")


def required(value: Given | None, name: str) -> Given:
    """``value``, or wrong usage: it is in neither the flags nor the configuration."""
    if value is None:
        raise typer.BadParameter(f"{name} is missing.")
    return value


# -- what is spent, and where it is charged ------------------------------------------------------


@dataclass(frozen=True)
class BudgetFlags:
    """A privacy budget."""

    epsilon: Annotated[
        float | None, typer.Option(help="Privacy budget: odds change by at most e^epsilon.")
    ] = None
    delta: Annotated[
        float | None, typer.Option(help="With --epsilon: the delta of (epsilon, delta).")
    ] = None
    rho: Annotated[
        float | None, typer.Option(help="Zero-concentrated budget, in place of --epsilon.")
    ] = None
    mu: Annotated[float | None, typer.Option(help="Gaussian budget, in place of --epsilon.")] = None

    def budget(self) -> Budget:
        """The budget that the flags name; none, two or an impossible one is wrong usage."""
        from privet.errors import DeclarationError
        from privet.privacy.budget import GDP, ZCDP, ApproxDP, PureDP

        if sum(number is not None for number in (self.epsilon, self.rho, self.mu)) != 1:
            raise typer.BadParameter(
                "give either --epsilon (with or without --delta), --rho or --mu."
            )
        if self.epsilon is None and self.delta is not None:
            raise typer.BadParameter("--delta goes with --epsilon, not with --rho or --mu.")
        try:
            if self.rho is not None:
                return ZCDP(self.rho)
            if self.mu is not None:
                return GDP(self.mu)
            epsilon = required(self.epsilon, "--epsilon")
            return PureDP(epsilon) if self.delta is None else ApproxDP(epsilon, self.delta)
        except DeclarationError as error:
            raise typer.BadParameter(str(error)) from None


@dataclass(frozen=True)
class AccountFlags:
    """The account that a release is charged to."""

    ledger: Annotated[
        str | None, typer.Option(help="Charge this ledger: a file, or sqlite:///file.")
    ] = None
    dataset: Annotated[str | None, typer.Option(help="The data set's name in the ledger.")] = None

    def options(self, *, named_by_model: bool = False) -> dict[str, Any]:
        """The account as parameters of a release; none without a ledger.

        ``named_by_model``: without --dataset, the model file says under which name it was charged.
        """
        if self.ledger is None and self.dataset is not None:
            raise typer.BadParameter("--dataset goes with --ledger.")
        if self.ledger is None:
            return {}
        if self.dataset is None and not named_by_model:
            raise typer.BadParameter(
                "--ledger goes with --dataset: name the account, for example --dataset people."
            )
        return {"ledger": open_ledger(self.ledger), "dataset": self.dataset}


def ledger_url(text: str) -> str:
    """A ledger's URL; a bare path is a file."""
    return text if "://" in text else f"sqlite:///{text}"


def open_ledger(text: str) -> Ledger:
    """The ledger that a flag or argument names."""
    from privet.ledger import Ledger

    return Ledger(ledger_url(text))


# -- who reads the table -------------------------------------------------------------------------


@dataclass(frozen=True)
class EngineFlags:
    """Who reads a table, and whether it is held in memory."""

    engine: Annotated[
        Literal["memory", "threads", "dask", "spark"] | None,
        typer.Option(
            help="Who reads the table: memory holds it; threads read it in parts, as they do a "
            "folder; dask and spark are clusters. Results agree."
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Of a Dask or Spark cluster: tcp://host:8786, spark://host:7077; without "
            "it one is started here."
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(help="Threads, or workers started here; default: one per core.")
    ] = None

    def table(self, data: Path) -> Any:
        """The path, or the table with who reads it."""
        if self.engine in (None, "memory") and (self.scheduler or self.workers):
            raise typer.BadParameter("--scheduler and --workers go with --engine.")
        if self.engine is None or (self.engine == "memory" and not data.is_dir()):
            return data
        if self.engine == "memory":
            raise typer.BadParameter("a folder is read in parts: leave out --engine memory.")
        from privet.rows.door import stream

        return stream(data, engine=self.engine, scheduler=self.scheduler, workers=self.workers)


# -- what is fitted ------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoiseFlags:
    """Where the noise goes, and how much the fit is regularized."""

    mechanism: Annotated[
        Literal["objective", "output", "gradient", "statistics"] | None,
        typer.Option(
            help="Noise in the objective, on the minimizer (less accurate), on the clipped "
            "gradients of a descent (models logistic and svm; with --delta, --rho or --mu), or in "
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


MODELS = {
    "logistic": ("privet.models", "LogisticRegression"),
    "svm": ("privet.models", "LinearSVC"),
    "gaussian": ("privet.models", "LargeMarginGaussian"),
    "kernel-logistic": ("privet.kernels", "KernelLogisticRegression"),
    "kernel-svm": ("privet.kernels", "KernelSVC"),
    "linear": ("privet.models", "LinearRegression"),
    "huber": ("privet.models", "HuberRegressor"),
    "poisson": ("privet.models", "PoissonRegressor"),
}

#: Models of a label that is a number.
NUMBERS = ("linear", "huber", "poisson")


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
        ],
        typer.Option(
            help="What to fit: a linear model, an ellipsoid for each class, a kernel machine, or, "
            "where the label is a number, a linear, robust or Poisson regression (privet train)."
        ),
    ] = "logistic"
    gamma: Annotated[
        float | None,
        typer.Option(help="Width of a kernel machine's Gaussian kernel; default: a public rule."),
    ] = None
    frequencies: Annotated[
        int | None,
        typer.Option(help="Random frequencies of a kernel machine; each makes two features."),
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

    def unfitted(self, classes: Sequence[Any] | None, **more: Any) -> Any:
        """The model, not yet fitted; ``classes`` are the schema's labels, None without a schema."""
        home, name = MODELS[self.model]
        return getattr(import_module(home), name)(**self._given(classes), **more)

    def refuse_numbers(self, name: str) -> None:
        """The command is for classifiers."""
        if self.model in NUMBERS:
            raise typer.BadParameter(
                f"privet {name} is for classifiers, and {self.model} is a regression; see "
                "docs/regression.md."
            )

    def _released(self, path: Path) -> Any:
        """The released model that the flag names."""
        from privet.store import load

        if self.model not in ("logistic", "svm"):
            raise typer.BadParameter("--center goes with --model logistic or svm only.")
        return load(path)

    def _given(self, classes: Sequence[Any] | None) -> dict[str, Any]:
        """The parameters that were given; one that this model does not have is wrong usage."""
        kernel = self.model.startswith("kernel-")
        if self.model in NUMBERS and self.class_weight:
            raise typer.BadParameter("--class-weight is for classes; a number has none.")
        if not kernel and (self.gamma is not None or self.frequencies is not None):
            raise typer.BadParameter("--gamma and --frequencies go with --model kernel-... only.")
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
