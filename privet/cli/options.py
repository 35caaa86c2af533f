"""Flags that several commands share, and how a budget is read from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from privet.privacy.budget import Budget

Epsilon = Annotated[
    float | None, typer.Option(help="Privacy budget: odds change by at most e^epsilon.")
]
Delta = Annotated[float | None, typer.Option(help="With --epsilon: the delta of (epsilon, delta).")]
Rho = Annotated[float | None, typer.Option(help="Zero-concentrated budget, in place of --epsilon.")]
Mechanism = Annotated[
    Literal["objective", "output"],
    typer.Option(help="Noise in the objective (more accurate) or on the minimiser."),
]
Noise = Annotated[
    Literal["auto", "laplace", "gaussian"],
    typer.Option(help="Law of the noise; auto takes the smaller one that the budget allows."),
]
Regularization = Annotated[
    float | None,
    typer.Option(help="Lam of the mean objective; without it, a public rule chooses."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is already there.")]


class Once(TyperCommand):
    """A command of which a flag that takes one value is refused when it is given twice.

    Otherwise the last one would win without a word: ``--group a --group b``.
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
    app.command(name, cls=Once, help=words, epilog=f"Example: {example}")(function)


def budget_from(epsilon: float | None, delta: float | None, rho: float | None) -> Budget:
    """The budget that the flags name; none, two or an impossible one is wrong usage."""
    from privet.errors import DeclarationError
    from privet.privacy.budget import ZCDP, ApproxDP, PureDP

    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("give either --epsilon (with or without --delta) or --rho.")
    try:
        if rho is not None:
            if delta is not None:
                raise typer.BadParameter("--delta goes with --epsilon, not with --rho.")
            return ZCDP(rho)
        assert epsilon is not None
        return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)
    except DeclarationError as error:
        raise typer.BadParameter(str(error)) from None


def ledger_url(text: str) -> str:
    """A ledger's URL; a bare path is a file."""
    return text if "://" in text else f"sqlite:///{text}"


def charged_to(ledger: str | None, dataset: str | None) -> dict[str, Any]:
    """What a release is told of the account to charge; nothing without a ledger."""
    if ledger is None:
        return {}
    from privet.ledger import Ledger

    return {"ledger": Ledger(ledger_url(ledger)), "dataset": dataset}


def required(value: Any, name: str) -> Any:
    """``value``, or wrong usage: it is in neither the flags nor the configuration."""
    if value is None:
        raise typer.BadParameter(f"{name} is missing.")
    return value
