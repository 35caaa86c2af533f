"""Flags that several commands share, in groups, and how a command is made from them.

A group is a frozen dataclass whose fields are flags. A command takes it as one parameter, and
``command`` shows each of its fields as a flag of its own:

    def open_(place: Place, *, budget: BudgetFlags, json: Json = False) -> None: ...
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
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
        alone = ((parameter.name, parameter.default, hints[parameter.name]),)
        flags = alone if kind is None else _flags(kind)
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


@functools.cache  # several commands share a group, and reading its hints takes a millisecond
def _flags(kind: Any) -> tuple[tuple[str, Any, Any], ...]:
    """Name, default and type of each flag of a group."""
    kinds = get_type_hints(kind, include_extras=True)
    return tuple((each.name, each.default, kinds[each.name]) for each in _fields(kind))


def _fields(kind: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)


Given = TypeVar("Given")


def required(value: Given | None, name: str) -> Given:
    """``value``, or wrong usage: it is in neither the flags nor the configuration."""
    if value is None:
        raise typer.BadParameter(f"{name} is missing.")
    return value


def refuse_missing(**given: Any) -> None:
    """Name all that a command cannot do without, at once: values by the words for them."""
    absent = [words for words, value in given.items() if value is None]
    if absent:
        raise typer.BadParameter(
            f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing."
        )


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

    scratch: Annotated[
        Path | None,
        typer.Option(
            help="A folder in which threads may keep encoded rows, which are private, between "
            "passes: several times as fast. The file has no name and is gone at the end."
        ),
    ] = None

    def table(self, data: Path) -> Any:
        """The path, or the table with who reads it."""
        if self.scratch is not None and self.engine not in (None, "threads"):
            raise typer.BadParameter("--scratch goes with --engine threads.")
        if self.engine in (None, "memory") and (self.scheduler or self.workers):
            raise typer.BadParameter("--scheduler and --workers go with --engine.")
        if (self.engine is None and self.scratch is None) or (
            self.engine == "memory" and not data.is_dir()
        ):
            return data
        if self.engine == "memory":
            raise typer.BadParameter("a folder is read in parts: leave out --engine memory.")
        from privet.rows.door import stream

        engine = self.engine or "threads"
        at, workers, scratch = self.scheduler, self.workers, self.scratch
        return stream(data, engine=engine, scheduler=at, workers=workers, scratch=scratch)
