"""``privet train`` and ``privet tune``: from a raw table and a schema to a released model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from privet._untrusted import read_toml
from privet.cli.config import Config
from privet.cli.kept import MODEL, Paid, paying
from privet.cli.model_flags import ModelFlags, NoiseFlags
from privet.cli.options import (
    AccountFlags,
    BudgetFlags,
    EngineFlags,
    Force,
    Json,
    command,
    refuse_missing,
    required,
)
from privet.cli.printing import as_json, facts, free_place, working
from privet.cli.reading import Reading
from privet.errors import DeclarationError, PrivetError

if TYPE_CHECKING:
    from privet.models.classifier import PrivateLinearClassifier
    from privet.models.row_wise import Promised
    from privet.schema import Schema

Model = TypeVar("Model")
Data = Annotated[Path | None, typer.Argument(help="CSV or Parquet file, or a folder of them.")]
SchemaFile = Annotated[Path | None, typer.Option(help="Declared columns and label, TOML.")]
Out = Annotated[Path | None, typer.Option(help="The model file to write.")]


def register(app: typer.Typer) -> None:
    """Add both commands."""
    where = "--schema schema.toml --epsilon 1 --out model.privet"
    command(app, train, f"privet train people.csv {where}")
    command(app, tune, f"privet tune people.csv --candidates candidates.toml {where}")


def train(
    *,
    data: Data = None,
    schema: SchemaFile = None,
    budget: BudgetFlags,
    model: ModelFlags,
    noise: NoiseFlags,
    account: AccountFlags,
    reading: Reading,
    engine: EngineFlags,
    out: Out = None,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Fit a private classifier or regression on a raw table and write the released model.

    Every column is encoded by its declaration in the schema; columns that the schema does not name
    are not read. The budget is spent once, and from a ledger if one is given. On a terminal you see
    first how well the cells fit the schema, and are asked where too many do not; this look is for
    you alone, and no guarantee covers it or what you decide because of it.

    A folder is read in parts, in every pass anew, and never held; so is a file with --engine. On a
    terminal you then see the passes, the rows per second and the gradient norm still to go.

    Without --model you get a logistic model whose numbers bend at three or six places where rows
    and budget allow it (two classes); the file then holds the schema with these knots. With --model
    logistic every number is a straight line.

    Kernel machines expect columns of about unit variance: add --standardize private, or --gamma.
    With many features they need --delta or --rho: a pure epsilon is noisy there.
    """
    refuse_missing(**{"DATA": data, "--schema": schema, "--out": out})
    options = {"budget": budget.budget(), **account.options(), **noise.options()}
    data, out = required(data, "DATA"), required(out, "--out")
    free_place(out, force=force, apart=(data, schema))
    table = engine.table(data)
    declared = reading.schema(confirmed_schema(required(schema, "--schema")), table)
    unfitted = model.unfitted(declared.classes or (), **options)
    knots: Literal["auto"] | None = "auto" if model.is_default else None
    reading.look_first(declared, table, lambda rows: hopeless(unfitted, declared, rows, knots))
    start = time.perf_counter()
    with paying(out, account.ledger, force=force) as paid:
        fitted = fit(unfitted, declared, table, knots=knots)
        deliver(fitted, paid)
    bent = getattr(fitted, "schema_", "") != declared.to_toml()
    show_released(fitted, out, time.perf_counter() - start, json=json, bent=bent)


def tune(
    *,
    data: Data = None,
    schema: SchemaFile = None,
    candidates: Annotated[
        Path | None,
        typer.Option(help="TOML: a list of tables named candidate, each with parameters."),
    ] = None,
    budget: BudgetFlags,
    model: ModelFlags,
    search: Annotated[
        Literal["stopping", "partition"],
        typer.Option(help="Random stopping, or disjoint parts of the rows."),
    ] = "stopping",
    public: Annotated[
        Path | None,
        typer.Option(help="Public rows to validate on, which cost nothing; same columns."),
    ] = None,
    account: AccountFlags,
    reading: Reading,
    engine: EngineFlags,
    out: Out = None,
    force: Force = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Choose among declared candidates privately and write the best model.

    The budget is spent once, for all the fits and the choice. The candidates must have been written
    down before anybody looked at the rows. Where only the regularization is in question, the
    default rule of `privet train` costs nothing and is usually better.
    """
    refuse_missing(**{"DATA": data, "--schema": schema, "--candidates": candidates, "--out": out})
    options = {"budget": budget.budget(), **account.options()}
    if public is not None:
        options["validation"] = public
    data, out = required(data, "DATA"), required(out, "--out")
    free_place(out, force=force, apart=(data, schema, candidates, public))
    table = engine.table(data)
    declared = reading.schema(confirmed_schema(required(schema, "--schema")), table)
    listed = read_candidates(required(candidates, "--candidates"))
    unfitted = model.unfitted(declared.classes or ())
    chosen = _search(search, public is not None)(unfitted, listed, **options)
    reading.look_first(declared, table)
    with paying(out, account.ledger, force=force) as paid:
        # how long it takes, and how much memory, would tell how many runs random stopping made
        found = fit(chosen, declared, table, f"searching {len(listed)} candidates", timed=False)
        deliver(found.best_estimator_, paid)
    if not json:
        chosen_ones = (f"{name} = {value}" for name, value in found.best_params_.items())
        facts([("Chosen", ", ".join(chosen_ones))])
    show_released(found.best_estimator_, out, None, json=json)


def confirmed_schema(path: Path) -> Schema:
    """The schema, refused while a declaration still waits for a person."""
    from privet.models.raw_tables import refuse_unconfirmed
    from privet.schema import Schema

    declared = Schema.from_toml(path)
    refuse_unconfirmed(declared)
    return declared


def hopeless(unfitted: Any, declared: Schema, rows: int, knots: Literal["auto"] | None) -> str:
    """A warning where ``privet plan`` would call the fit hopeless; nothing where it has no plan."""
    from privet.cli.schema_and_plan import plan_of_fit

    try:
        found, unplanned = plan_of_fit(unfitted, declared, rows, knots)
    except PrivetError:
        return ""  # the fit itself says what is wrong
    if unplanned or found.verdict != "hopeless":
        return ""
    return (
        f"with {rows:,} row{'s' * (rows != 1)} and this budget the noise hides nearly all that "
        "could be learned; privet plan calls this fit hopeless."
    )


def fit(
    unfitted: Model,
    schema: Schema,
    data: Any,
    what: str = "fitting",
    *,
    timed: bool = True,
    knots: Literal["auto"] | None = None,
) -> Model:
    """The model or search, fitted to a file or a table that is read in parts."""
    from privet.models import fit_table
    from privet.rows.threads import watched

    with working(f"Reading and encoding {data.name}, {what}", timed=timed) as tell:
        if not timed:  # passes would tell how many runs there were
            return fit_table(unfitted, schema, data)
        with watched(tell):
            return fit_table(unfitted, schema, data, knots=knots)


def deliver(fitted: Promised, paid: Paid) -> None:
    """A released model on disk, then at its place."""
    from privet.models.model_file import content

    paid.keep(MODEL, content(fitted))
    paid.deliver()


def _search(name: str, public: bool) -> Any:
    from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch

    if name == "partition":
        return PublicSearch if public else PartitionSearch
    return RandomStoppingSearch


def read_candidates(path: Path) -> list[dict[str, Any]]:
    """The list of a TOML file."""
    listed = read_toml(path).get("candidate")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise DeclarationError(
            f"{path.name} must hold a table [[candidate]] for each candidate, for example\n"
            "[[candidate]]\nregularization = 0.01"
        )
    return listed


#: What the linear models do to encoded columns by themselves, and how to have it otherwise.
PREPARED = {
    "unit": "rows at norm 1, for accuracy; --standardize none where you want intervals",
    "whiten": "rows at norm 1 and whitened, for accuracy; --standardize none where you want "
    "intervals",
}

BENT = "bend at public knots, for accuracy (age@55 is a column); --model logistic keeps lines"
MEANS = "from noisy sums of each class, for accuracy; --standardize none where you want intervals"


def show_released(
    model: PrivateLinearClassifier,
    out: Path,
    seconds: float | None,
    *,
    json: bool,
    bent: bool = False,
) -> None:
    """What was released, where, and what to do next; None leaves out time and memory."""
    guarantee, memory = model.guarantee_, peak_memory()
    if json:
        used = {"seconds": seconds and round(seconds, 3), "peak_memory_bytes": memory}
        as_json(
            {
                "model": str(out),
                "guarantee": guarantee.to_json(),
                "classes": model.classes_.tolist(),
                "columns": int(model.n_features_in_),
                "regularization": model.regularization_,
                "standardize": model.standardize,
                **({} if seconds is None else used),
            }
        )
        return
    kind, d = type(model).__name__, model.n_features_in_
    columns = f"{d} encoded column{'' if d == 1 else 's'}"
    lines = [
        ("Released", f"{out}: {kind} on {columns}"),
        ("Guarantee", guarantee.short),
        ("Theorem", guarantee.theorem.partition(" (")[0]),  # its authors are in the statement
    ]
    if model.standardize in ("unit", "whiten"):
        lines.append(("Columns", PREPARED[model.standardize]))
    if bent:
        lines.append(("Numbers", BENT))
    if model.mechanism == "means":
        lines.append(("Scores", MEANS))
    if seconds is not None:
        most = "" if memory is None else f", at most {memory / 2**20:,.0f} MB of memory"
        lines.append(("Time", f"{seconds:.1f} s{most}"))
    facts([*lines, ("Next", f"privet statement {out}"), ("", f"privet report {out}")])


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes, where the system tells."""
    try:
        import resource
        import sys
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)
