"""``privet train``: from a raw table and a schema to a released model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.config import Config
from privet.cli.kept import MODEL, Paid, paying
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
    Mechanism,
    Noise,
    Regularization,
    Rho,
    budget_from,
    charged_to,
    command,
    required,
)
from privet.cli.reading import Decimal, Encoding, LookFirst, Reading, Separator, Yes
from privet.cli.show import as_json, facts, free_place, working

if TYPE_CHECKING:
    from privet.privacy.budget import Budget
    from privet.schema import Schema

EXAMPLE = (
    "privet train people.csv --schema schema.toml --epsilon 1 --out model.privet, or with "
    "--model kernel-svm --standardize private --delta 1e-6"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, train, EXAMPLE)


def train(
    data: Annotated[Path | None, typer.Argument(help="CSV or Parquet file.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Declared columns and label, TOML.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    model: Model = "logistic",
    gamma: Gamma = None,
    frequencies: Frequencies = None,
    class_weight: ClassWeight = None,
    standardize: Standardize = None,
    norm_bound: NormBound = None,
    mechanism: Mechanism = "objective",
    noise: Noise = "auto",
    regularization: Regularization = None,
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
    config: Config = None,
    json: Json = False,
) -> None:
    """Fit a private classifier on a raw table and write the released model.

    Every column is encoded by its declaration in the schema; columns that the schema does not name
    are not read. The budget is spent once, and from a ledger if one is given. On a terminal you see
    first how well the cells fit the schema, and are asked where too many do not; this look is for
    you alone, and no guarantee covers it or what you decide because of it.

    Kernel machines expect columns of about unit variance: add --standardize private, or --gamma.
    With many features they need --delta or --rho: a pure epsilon is noisy there.
    """
    budget = budget_from(epsilon, delta, rho)
    if (ledger is None) != (dataset is None):
        raise typer.BadParameter("--ledger and --dataset go together.")
    data, out = required(data, "DATA"), required(out, "--out")
    free_place(out, force=force)
    reading = Reading(separator, encoding, decimal, look, yes)
    declared = reading.schema(confirmed_schema(required(schema, "--schema")), data)
    options: dict[str, Any] = {"mechanism": mechanism, "noise": noise}
    options["regularization"] = "auto" if regularization is None else regularization
    options |= model_options(
        model,
        declared,
        gamma=gamma,
        frequencies=frequencies,
        class_weight=class_weight,
        standardize=standardize,
        norm_bound=norm_bound,
    )
    options |= charged_to(ledger, dataset)
    reading.look_first(declared, data)
    start = time.perf_counter()
    with paying(out, ledger, force=force) as paid:
        fitted = fit(data, declared, budget, model, options)
        delivered(fitted, paid)
    tell_released(fitted, out, time.perf_counter() - start, json=json)


def delivered(fitted: Any, paid: Paid) -> None:
    """A released model on disk, then at its place."""
    from privet.store import content

    paid.keep(MODEL, content(fitted))
    paid.deliver()


def confirmed_schema(path: Path) -> Schema:
    """The schema, refused while a declaration still waits for a person."""
    from privet.models.tables import refuse_unconfirmed
    from privet.schema import Schema

    declared = Schema.from_toml(path)
    refuse_unconfirmed(declared)
    return declared


def fit(data: Path, schema: Schema, budget: Budget, model: str, options: dict[str, Any]) -> Any:
    """The model of this kind, fitted to a file."""
    from privet.models import fit_table

    with working(f"Reading and encoding {data.name}, fitting"):
        return fit_table(unfitted(model, budget=budget, **options), schema, data)


def tell_released(model: Any, out: Path, seconds: float | None, *, json: bool) -> None:
    """What was released, where, and what to do next; None says nothing of time and memory."""
    guarantee, memory = model.guarantee_, peak_memory()
    if json:
        used = (
            {} if seconds is None else {"seconds": round(seconds, 3), "peak_memory_bytes": memory}
        )
        as_json(
            {
                "model": str(out),
                "guarantee": guarantee.to_json(),
                "classes": model.classes_.tolist(),
                "columns": int(model.n_features_in_),
                "regularization": model.regularization_,
                **used,
            }
        )
        return
    mega = "" if memory is None else f", at most {memory / 2**20:,.0f} MB of memory"
    facts(
        [
            (
                "Released",
                f"{out}: {type(model).__name__} on {model.n_features_in_} encoded columns",
            ),
            ("Guarantee", str(guarantee)),
            ("Theorem", guarantee.theorem),
            *(() if seconds is None else (("Took", f"{seconds:.1f} s{mega}"),)),
            ("Next", f"privet statement {out}"),
            ("", f"privet report {out}"),
        ]
    )


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes, where the system tells."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)
