"""``privet plan``: what a fit will be like, before anything is read or spent."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privet.cli.config import Config
from privet.cli.options import (
    BudgetFlags,
    Force,
    Json,
    NoiseFlags,
    command,
    required,
)
from privet.cli.output import as_json, free_place

if TYPE_CHECKING:
    from privet.planning import Plan
    from privet.privacy.budget import Budget

EXAMPLE = "privet plan --rows 50000 --columns 60 --epsilon 1 --picture plan.png"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, plan, EXAMPLE)


def plan(
    *,
    rows: Annotated[int | None, typer.Option(help="Rows of the table.")] = None,
    columns: Annotated[int | None, typer.Option(help="Encoded columns.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Take columns and classes from this schema.")
    ] = None,
    budget: BudgetFlags,
    loss: Annotated[
        Literal["logistic", "huber", "smooth_hinge"], typer.Option(help="What is minimised.")
    ] = "logistic",
    classes: Annotated[int, typer.Option(help="Number of classes.")] = 2,
    noise: NoiseFlags,
    norm_bound: Annotated[float, typer.Option(help="Declared bound on the rows' norms.")] = 1.0,
    kernel: Annotated[
        float | None,
        typer.Option(help="Also the features and rows of a kernel model within this excess."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw noise and risk against the rows (png, svg, pdf).")
    ] = None,
    over: Annotated[
        Literal["n", "d", "epsilon", "rho", "regularization"],
        typer.Option(help="What the picture varies."),
    ] = "n",
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Say from public numbers alone how much noise, risk and accuracy to expect.

    Nothing is read and nothing is spent, so try as many plans as you like.
    """
    whole = budget.budget()
    if picture is not None:
        free_place(picture, force=force)
    options = {"loss": loss, "norm_bound": norm_bound, "n": required(rows, "--rows")}
    found, group = _planned(whole, columns, classes, schema, options | noise.options())
    if picture is not None:
        found.plot(picture, over=over)
    sizes = None if kernel is None else found.kernel_needed(kernel)
    if json:
        more = {} if sizes is None else {"kernel": asdict(sizes)}
        as_json(_finite(found.to_dict() | more))
        return
    typer.echo(str(found))
    if sizes is not None:
        typer.echo(f"\nKernel model\n{sizes}")
    if group > 1:
        typer.echo(f"\nFor a person with {group} rows the guarantee is {whole}.")
    if picture is not None:
        typer.echo(f"\nPicture: {picture}")


def _planned(
    budget: Budget,
    columns: int | None,
    classes: int,
    schema: Path | None,
    options: dict[str, Any],
) -> tuple[Plan, int]:
    """The plan, and how many rows a person may have."""
    from privet.planning import plan as make

    size, group = _size(columns, classes, schema)
    return make(budget=budget.per_row(group), **size, **options), group


def _size(columns: int | None, classes: int, schema: Path | None) -> tuple[dict[str, Any], int]:
    """Columns, classes, intercept, and rows of a person: from the flags, or as ``train`` does."""
    if (columns is None) == (schema is None):
        raise typer.BadParameter("give either --columns or --schema.")
    if schema is None:
        assert columns is not None
        return {"d": columns, "classes": classes}, 1
    from privet.schema import Schema

    declared = Schema.from_toml(schema)
    size = {"d": declared.width, "classes": len(declared.label.classes)}
    return {**size, "fit_intercept": not declared.has_constant}, declared.group_size


def _finite(value: Any) -> Any:
    """JSON has no infinity: null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and abs(value) == float("inf") else value
