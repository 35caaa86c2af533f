"""``privet intervals``: confidence intervals for the coefficients of a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privet._files import write_through
from privet.cli.config import Config
from privet.cli.kept import paying
from privet.cli.options import (
    Delta,
    Epsilon,
    Force,
    Json,
    Rho,
    budget_from,
    charged_to,
    command,
    required,
)
from privet.cli.predict import schema_of
from privet.cli.reading import Decimal, Encoding, LookFirst, Reading, Separator, Yes
from privet.cli.show import as_json, clean, facts, free_place, is_screen, working

EXAMPLE = "privet intervals model.privet people.csv --epsilon 1 --out intervals.json"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, intervals, EXAMPLE)


def intervals(
    model: Annotated[Path | None, typer.Argument(help="A model that privet train wrote.")] = None,
    data: Annotated[Path | None, typer.Argument(help="The table it was trained on.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    level: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    joint: Annotated[
        bool, typer.Option("--joint", help="Intervals that hold all at once (Sidak).")
    ] = False,
    schema: Annotated[
        Path | None, typer.Option(help="Schema, for a model file that holds none.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Charge this ledger: a file, or sqlite:///file.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set's name in the ledger.")] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    look: LookFirst = None,
    yes: Yes = False,
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write, for privet report --intervals.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Forest plot to write: PNG, SVG or PDF.")
    ] = None,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Confidence intervals for the coefficients of a private model, paid for on top of the fit.

    The table must be the one that the model was trained on: only its number of rows is compared.
    The budget is for the unit that the model's own guarantee names. The intervals are for the
    minimiser of the regularised population risk.
    """
    from privet.inference.display import drawable

    budget = budget_from(epsilon, delta, rho)
    if dataset is not None and ledger is None:
        raise typer.BadParameter("--dataset goes with --ledger.")
    if is_screen(out):
        out, json = None, True
    if plot is not None:
        free_place(plot, force=force)
        drawable(plot)
    options: dict[str, Any] = {"budget": budget, "level": level}
    options |= charged_to(ledger, dataset)
    how = (schema, Reading(separator, encoding, decimal, look, yes))
    with paying(out, ledger, force=force) as paid:
        found = computed(required(model, "MODEL"), required(data, "DATA"), how, options)
        shown = found.together("sidak") if joint else found
        paid.keep("intervals", shown.file_text())
        paid.deliver()
        if plot is not None:
            write_through(plot, shown.plot, replace=force, mode=0o644)
        if json:
            as_json(shown.to_json())
        else:
            typer.echo(clean(shown.summary()))
            facts([("Written", str(place)) for place in (out, plot) if place is not None])


def computed(
    path: Path, data: Path, how: tuple[Path | None, Reading], options: dict[str, Any]
) -> Any:
    """The intervals of a model file on its table; ``how`` is what the flags say of reading it."""
    from privet.inference import confidence_intervals
    from privet.models.tables import with_schema
    from privet.store import load

    model = load(path)
    schema, reading = how
    declared = reading.schema(schema_of(model, schema), data)
    reading.look_first(declared, data)
    model = with_schema(model, declared)  # with what the flags say of the file
    with working(f"Reading and encoding {data.name}, releasing two matrices"):
        return confidence_intervals(model, data, **options)
