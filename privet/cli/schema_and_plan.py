"""Before anything is spent: ``privet schema`` declares a table, ``privet plan`` looks ahead."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privet._model_names import NUMBERS
from privet.cli.config import Config
from privet.cli.model_flags import ModelFlags, NoiseFlags
from privet.cli.options import (
    BudgetFlags,
    Force,
    Json,
    command,
    required,
)
from privet.cli.printing import as_json, facts, free_place, is_screen, put, say, table, working
from privet.cli.reading import FileFlags, looked, open_noting_separator
from privet.errors import DataError, DeclarationError

if TYPE_CHECKING:
    from privet.schema import Column, Schema


app = typer.Typer(
    help="Declare what is public about a table: bounds, categories, classes.",
    epilog="Example: privet schema draft people.csv --label income --out schema.toml",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def draft(
    *,
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file, or a folder of them.")],
    label: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    from_data: Annotated[
        bool, typer.Option("--from-data", help="Propose bounds from the rows, each marked.")
    ] = False,
    file: FileFlags,
    out: Annotated[Path | None, typer.Option(help="TOML file; without it, the screen.")] = None,
    force: Force = False,
) -> None:
    """Write a first schema, with a question mark for everything that a person must name.

    With --from-data, bounds and categories are proposed from the rows and marked; they tell about
    these rows, and privet train refuses them until a person has replaced or confirmed each.
    """
    from privet.schema import draft as first

    if is_screen(out):
        out = None
    if out is not None:
        free_place(out, force=force)
    written = file.format()
    opened = open_noting_separator(data, written)
    with working(f"Reading {data.name}"):
        text = first(opened, label=label, from_data=from_data, file=written)
    if out is None:
        say(text)
        return
    put(out, text, force=force)
    facts(
        [
            ("Draft", str(out)),
            ("Next", "answer what it asks, then:"),
            ("", f"privet schema check {out} {data} --look"),
        ]
    )


def check(
    *,
    schema: Annotated[Path, typer.Argument(help="TOML file.")],
    data: Annotated[
        Path | None, typer.Argument(help="A table that must have the declared columns.")
    ] = None,
    look: Annotated[
        bool,
        typer.Option(
            "--look", help="Compare the cells too and show counts, for your eyes only, on stderr."
        ),
    ] = False,
    file: FileFlags,
    json: Json = False,
) -> None:
    """Read a schema, show what it declares, and refuse what train would refuse.

    Of the table, only the names of its columns are read. With --look the cells are compared with
    the schema: the counts are exact, no guarantee covers them, and they are for you alone.
    """
    from privet.models.raw_tables import refuse_unconfirmed
    from privet.schema import Schema

    if look and data is None:
        raise typer.BadParameter("--look needs a table.")
    declared = Schema.from_toml(schema)
    if data is not None:
        declared = file.schema(declared, data)
    if json:
        as_json(_as_dict(declared))
    else:
        show_schema(declared)
    exceeding = looked(declared, data).exceeding if look and data is not None else ()
    refuse_unconfirmed(declared)
    if exceeding:
        raise DataError(
            "The table does not fit its schema well enough: see the look above. Correct the "
            "table or the schema, or declare under [look] which share of cells and labels may miss."
        )
    if not json:
        say("\nEvery declaration is confirmed: privet train accepts this schema.")
        if not look:
            say("The cells were not compared with it: --look compares them, for your eyes only.")


def _as_dict(declared: Schema) -> dict[str, Any]:
    return {
        "label": {"name": declared.label.name, **_label_facts(declared)},
        "person": None
        if declared.person is None
        else {"column": declared.person.column, "most_rows": declared.person.most_rows},
        "rows": declared.rows,
        "columns": list(declared.columns),
        "encoded_columns": list(declared.feature_names),
        "unconfirmed": list(declared.unconfirmed),
    }


def _label_facts(declared: Schema) -> dict[str, Any]:
    if declared.classes is not None:
        return {"classes": list(declared.classes)}
    return dict(zip(("low", "high"), declared.target_bounds or (), strict=False))


def _label_words(declared: Schema) -> str:
    if declared.classes is not None:
        words = ", ".join(str(value) for value in declared.classes)
        return words + (" (the positive class)" if len(declared.classes) == 2 else "")
    return " to ".join(f"{end:g}" for end in declared.target_bounds or ())


def show_schema(declared: Schema) -> None:
    """What a schema declares, as a table on standard output."""
    rows = [
        (name, _words(column) + (" (from the data)" if column.from_data else ""), str(column.width))
        for name, column in declared.columns.items()
    ]
    table(("column", "declared", "encoded"), rows, numbers=("encoded",))
    classes = _label_words(declared)
    lines = [
        ("Label", f"{declared.label.name}: {classes}"),
        ("Encoded", f"{declared.width} columns, rows {declared.rows}"),
    ]
    if declared.person is not None:
        most = declared.person.most_rows
        rows_each = "one row" if most == 1 else f"{most} rows"
        lines.append(("Person", f"{declared.person.column}, at most {rows_each} each"))
    facts(lines, width=9)


def _words(column: Column) -> str:
    from privet.schema import Categorical, Numeric

    if isinstance(column, Numeric):
        scale = ", logarithmic" if column.log else ""
        return f"{column.low:g} to {column.high:g}{scale}"
    if not isinstance(column, Categorical):
        raise DeclarationError(f"A column is numeric or categorical, not {type(column).__name__}.")
    few = ", ".join(str(value) for value in column.categories[:4])
    more = len(column.categories) - 4
    return few + (f" and {more} more" if more > 0 else "") + (" or other" if column.other else "")


command(app, draft, "privet schema draft people.csv --label income --out schema.toml")
command(app, check, "privet schema check schema.toml people.csv --look")


# -- a plan --------------------------------------------------------------------------------------


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, plan, "privet plan --rows 50000 --columns 60 --epsilon 1 --picture plan.png")


def plan(
    *,
    rows: Annotated[int | None, typer.Option(help="Rows of the table.")] = None,
    columns: Annotated[int | None, typer.Option(help="Encoded columns.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Take columns and classes from this schema.")
    ] = None,
    budget: BudgetFlags,
    model: ModelFlags,
    classes: Annotated[int, typer.Option(help="Number of classes, without --schema.")] = 2,
    noise: NoiseFlags,
    kernel: Annotated[
        float | None,
        typer.Option(help="Also the features and rows of a kernel model within this excess."),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(help="Of a regression: also rows and budget at which noise adds this much."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw noise and risk against the rows (png, svg, pdf).")
    ] = None,
    over: Annotated[
        Literal["n", "d", "epsilon", "rho", "mu", "regularization"],
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
    _check_number(model, schema, (model.loss, kernel, picture), error)
    size = (required(rows, "--rows"), columns, classes)
    found, group = _planned(model, size, schema, options)
    if picture is not None:
        put(picture, lambda name: found.plot(name, over=over), force=force)
    sizes = None if kernel is None else found.kernel_needed(kernel)
    needed = {} if error is None else _needed(found, error)
    if json:
        kernels = {} if sizes is None else {"kernel": asdict(sizes)}
        as_json(_finite(found.to_dict() | kernels | needed))
        return
    if group > 1:
        from privet.statement import in_words

        asked = budget.budget()
        say(
            f"For a person with at most {group} rows the guarantee is {asked}. {in_words(asked)}\n"
            "What follows is about the fit, and there budget and attacker are those of one row.\n"
        )
    say(str(found))
    for name, value in needed.items():
        say(
            f"{name.replace('_', ' ').capitalize()}: {'none is enough' if value is None else value}"
        )
    if sizes is not None:
        say(f"\nKernel model\n{sizes}")
    if picture is not None:
        say(f"\nPicture: {picture}")


def _check_number(
    model: ModelFlags, schema: Path | None, others: tuple[Any, ...], error: float | None
) -> None:
    """A regression is planned for a schema, which has the target's bounds."""
    if model.kind not in NUMBERS:
        if error is not None:
            raise typer.BadParameter("--error is for regressions: --model linear, huber, poisson.")
        return
    if schema is None:
        raise typer.BadParameter("a regression is planned with --schema, which bounds its target.")
    if any(flag is not None for flag in others):
        raise typer.BadParameter("--loss, --kernel and --picture are for classifiers.")


def _needed(found: Any, error: float) -> dict[str, Any]:
    """Rows, and the budget's amount, at which noise adds at most ``error``."""
    amount = found.budget_needed(error)
    return {
        "rows_needed": found.rows_needed(error),
        f"{found.declared.budget.amount_name}_needed": None if amount is None else round(amount, 6),
    }


#: Plans are of minima: the error of a descent and of class means is not that of one.
UNPLANNED = {"gradient": "private gradient descent", "means": "noisy class means"}
INSTEAD = (
    "privet train would take {taken} here, of which there is no plan. What follows is for "
    "--mechanism objective, which is less accurate with this much noise.\n"
)


def _planned(
    model: ModelFlags,
    size: tuple[int, int | None, int],
    schema: Path | None,
    options: dict[str, Any],
) -> tuple[Any, int]:
    """The plan, and how many rows a person may have: from the flags, or as ``train`` would fit."""
    from privet.planning import plan as make
    from privet.schema import Schema

    rows, columns, classes = size
    if (columns is None) == (schema is None):
        raise typer.BadParameter("give either --columns or --schema.")
    if schema is None:
        width = required(columns, "--columns")
        return make(model.unfitted(None, **options), n=rows, d=width, classes=classes), 1
    declared = Schema.from_toml(schema)
    unfitted = model.unfitted(declared.classes or (), **options)
    found, taken = plan_of_fit(unfitted, declared, rows, "auto" if model.is_default else None)
    if options.get("mechanism") is None and taken is not None:
        typer.echo(INSTEAD.format(taken=taken), err=True)
    return found, declared.group_size


def plan_of_fit(
    unfitted: Any, declared: Schema, rows: int, knots: Literal["auto"] | None
) -> tuple[Any, str | None]:
    """The plan of what ``train`` would fit, and what it takes by itself of which there is none."""
    from privet.models.knots import with_knots
    from privet.models.raw_tables import for_schema, prepared_for
    from privet.planning import plan as make

    asked = getattr(unfitted, "mechanism", None)
    made = partial(for_schema, unfitted)
    declared = with_knots(declared, knots, rows, made)
    ready = prepared_for(made(declared), rows, declared.width)
    taken = UNPLANNED.get(getattr(ready, "mechanism", ""))
    if asked in UNPLANNED:
        taken = None  # asked for by name: refused
    elif taken is not None:
        ready.set_params(mechanism="objective")
    return make(ready, n=rows, d=declared.width), taken


def _finite(value: Any) -> Any:
    """JSON has no infinity: null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and abs(value) == float("inf") else value
