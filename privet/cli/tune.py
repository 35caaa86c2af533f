"""``privet tune``: choose among declared candidates and release the best, under one budget."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from privet.cli.kept import paying
from privet.cli.models import (
    ClassWeight,
    Frequencies,
    Gamma,
    Model,
    NormBound,
    Standardize,
    model_options,
    unfitted,
)
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
from privet.cli.reading import Decimal, Encoding, LookFirst, Reading, Separator, Yes
from privet.cli.show import free_place, working
from privet.cli.train import confirmed_schema, delivered, tell_released
from privet.errors import DeclarationError

EXAMPLE = (
    "privet tune people.csv --schema schema.toml --candidates candidates.toml --epsilon 1 "
    "--out model.privet"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, tune, EXAMPLE)


def tune(
    data: Annotated[Path | None, typer.Argument(help="CSV or Parquet file.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Declared columns and label, TOML.")] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(help="TOML: a list of tables named candidate, each with parameters."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Model = "logistic",
    gamma: Gamma = None,
    frequencies: Frequencies = None,
    class_weight: ClassWeight = None,
    standardize: Standardize = None,
    norm_bound: NormBound = None,
    search: Annotated[
        Literal["stopping", "partition"],
        typer.Option(help="Random stopping, or disjoint parts of the rows."),
    ] = "stopping",
    public: Annotated[
        Path | None,
        typer.Option(help="Public rows to validate on, which cost nothing; same columns."),
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
    out: Annotated[Path | None, typer.Option(help="The model file to write.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Choose among declared candidates privately and write the best model.

    The budget is spent once, for all the fits and the choice. The candidates must have been written
    down before anybody looked at the rows. Where only the regularisation is in question, the
    default rule of `privet train` costs nothing and is usually better.
    """
    from privet.models import fit_table

    budget = budget_from(epsilon, delta, rho)
    if (ledger is None) != (dataset is None):
        raise typer.BadParameter("--ledger and --dataset go together.")
    data, out = required(data, "DATA"), required(out, "--out")
    free_place(out, force=force)
    reading = Reading(separator, encoding, decimal, look, yes)
    declared = reading.schema(confirmed_schema(required(schema, "--schema")), data)
    options: dict[str, Any] = {"budget": budget, **charged_to(ledger, dataset)}
    if public is not None:
        options["validation"] = public
    listed = read_candidates(required(candidates, "--candidates"))
    given = model_options(
        model,
        declared,
        gamma=gamma,
        frequencies=frequencies,
        class_weight=class_weight,
        standardize=standardize,
        norm_bound=norm_bound,
    )
    chosen = _search(search, public is not None)(unfitted(model, **given), listed, **options)
    reading.look_first(declared, data)
    searching = f"Reading and encoding {data.name}, searching {len(listed)} candidates"
    with paying(out, ledger, force=force) as paid:
        with working(searching, timed=False):
            found = fit_table(chosen, declared, data)
        best = found.best_estimator_
        delivered(best, paid)
    if not json:
        typer.echo(f"Chosen: {found.best_params_}")
    # How long it took, and how much memory, would tell how many runs random stopping made.
    tell_released(best, out, None, json=json)


def _search(name: str, public: bool) -> Any:
    from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch

    if name == "partition":
        return PublicSearch if public else PartitionSearch
    return RandomStoppingSearch


def read_candidates(path: Path) -> list[dict[str, Any]]:
    """The list of a TOML file."""
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8")).get("candidate")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{path.name} is not a TOML file: {error}.") from error
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise DeclarationError(
            f"{path.name} must hold a table [[candidate]] for each candidate, for example\n"
            "[[candidate]]\nregularization = 0.01"
        )
    return listed
