"""``privet plan``: what a fit will be like, before anything is read or spent."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privet.cli.config import Config
from privet.cli.options import (
    BudgetFlags,
    Force,
    Json,
    ModelFlags,
    NoiseFlags,
    command,
    required,
)
from privet.cli.output import as_json, free_place

if TYPE_CHECKING:
    from privet.planning import Plan

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
    model: ModelFlags,
    loss: Annotated[
        Literal["logistic", "huber", "smooth_hinge"] | None,
        typer.Option(help="Of a linear model; huber and smooth_hinge mean --model svm."),
    ] = None,
    classes: Annotated[int, typer.Option(help="Number of classes, without --schema.")] = 2,
    noise: NoiseFlags,
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

    Nothing is read and nothing is spent, so try as many plans as you like. The flags mean what they
    mean to privet train; with --schema the plan is for exactly that fit.
    """
    options = {"budget": budget.budget(), **noise.options()}
    if picture is not None:
        free_place(picture, force=force)
    model, more = _with_loss(model, loss)
    size = (required(rows, "--rows"), columns, classes)
    found, group = _planned(model, size, schema, options | more)
    if picture is not None:
        found.plot(picture, over=over)
    sizes = None if kernel is None else found.kernel_needed(kernel)
    if json:
        as_json(_finite(found.to_dict() | ({} if sizes is None else {"kernel": asdict(sizes)})))
        return
    if group > 1:
        from privet.statement import in_words

        asked = budget.budget()
        typer.echo(
            f"For a person with at most {group} rows the guarantee is {asked}. {in_words(asked)}\n"
            "What follows is about the fit, and there budget and attacker are those of one row.\n"
        )
    typer.echo(str(found))
    if sizes is not None:
        typer.echo(f"\nKernel model\n{sizes}")
    if picture is not None:
        typer.echo(f"\nPicture: {picture}")


def _with_loss(model: ModelFlags, loss: str | None) -> tuple[ModelFlags, dict[str, Any]]:
    """The model that has this loss, and its parameter."""
    if loss is None:
        return model, {}
    fitting = ("logistic",) if loss == "logistic" else ("logistic", "svm")
    if model.model not in fitting:
        raise typer.BadParameter(f"--loss {loss} does not go with --model {model.model}.")
    return (model, {}) if loss == "logistic" else (replace(model, model="svm"), {"loss": loss})


def _planned(
    model: ModelFlags,
    size: tuple[int, int | None, int],
    schema: Path | None,
    options: dict[str, Any],
) -> tuple[Plan, int]:
    """The plan, and how many rows a person may have: from the flags, or as ``train`` would fit."""
    from privet.models.tables import for_schema
    from privet.planning import plan as make
    from privet.schema import Schema

    rows, columns, classes = size
    if (columns is None) == (schema is None):
        raise typer.BadParameter("give either --columns or --schema.")
    if schema is None:
        assert columns is not None
        return make(model.unfitted(None, **options), n=rows, d=columns, classes=classes), 1
    declared = Schema.from_toml(schema)
    unfitted = for_schema(model.unfitted(declared.label.classes, **options), declared)
    return make(unfitted, n=rows, d=declared.width), declared.group_size


def _finite(value: Any) -> Any:
    """JSON has no infinity: null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and abs(value) == float("inf") else value
