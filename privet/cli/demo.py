"""``privet demo``: every step on synthetic people, with the command for each."""

from __future__ import annotations

import csv
import math
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.options import BudgetFlags, Force, command
from privet.cli.printing import free_place, put, say, table, working
from privet.errors import DeclarationError

if TYPE_CHECKING:
    from privet._types import Array, Flags
    from privet.schema import Schema


FRESH = 10_000
PICTURE = "price-of-privacy.png"
FILES = {
    "people.csv": "the synthetic table",
    "schema.toml": "what is public about it: bounds, categories, classes",
    "model.privet": "the released model: coefficients, schema, guarantee",
    "statement.txt": "the promise, for signing",
    "report.html": "the promise with pictures: open it in a browser",
    "new-people.csv": "people who were not in the table",
    "predictions.csv": "what the model says about them",
    PICTURE: "accuracy against epsilon",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, demo, "privet demo --out demo-output")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("demo-output"),
    rows: Annotated[int, typer.Option(min=200, help="People in the table.")] = 50_000,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of the release.")] = 1.0,
    study: Annotated[
        bool, typer.Option(help="Repeat releases at other budgets and draw a picture.")
    ] = True,
    force: Force = False,
) -> None:
    """Walk through every step: schema, model, statement, predictions, report.

    The people are made up, so the demo may show what a real release must not: how good the model
    is on people whose answers are known.
    """
    budget = BudgetFlags(epsilon).budget()
    out.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in FILES if study or not name.endswith(".png")]
    there = [name for name in wanted if (out / name).exists()]
    if there and not force:
        raise DeclarationError(
            f"The folder {str(out)!r} already holds {there[0]}. Name another folder with --out, or "
            "add --force to replace the demo's files."
        )
    for name in wanted:
        free_place(out / name, force=force)
    start = time.perf_counter()
    schema, truth = _make(out, rows, force=force)
    _release(out, schema, budget, force=force)
    guesses = _predict(out, force=force)
    picture = out / PICTURE if study else None
    _judge(out, schema, (truth, guesses), budget, picture, force=force)
    _end(out, wanted, time.perf_counter() - start)


def _say(step: str, command: str = "") -> None:
    typer.secho(f"\n{step}", bold=True)
    if command:
        typer.secho(f"$ {command}\n", fg=typer.colors.CYAN)


def _make(out: Path, rows: int, *, force: bool) -> tuple[Schema, Any]:
    """Write the tables and the schema; keeps the fresh people's true labels."""
    from privet.cli.schema_and_plan import show_schema
    from privet.datasets import census_schema, census_table

    schema = census_schema()
    _say("1. A table, and what is public about it", f"privet schema check {out / 'schema.toml'}")
    with working("Generating people"):
        both = census_table(rows + FRESH, seed=0)
        people = {name: values[:rows] for name, values in both.items()}
        fresh = {name: values[rows:] for name, values in both.items()}
        truth = fresh.pop(schema.label.name)
        put(out / "people.csv", partial(write_table, people), force=force)
        put(out / "new-people.csv", partial(write_table, fresh), force=force)
        put(out / "schema.toml", schema.to_toml(), force=force)
    show_schema(schema)
    say(
        f"\n{rows:,} synthetic people are in {out / 'people.csv'}. The schema names the\n"
        "bounds and categories of each column, so that nothing is measured on the rows.\n"
        "The question: does a person earn over 50k?"
    )
    return schema, truth


def _release(out: Path, schema: Schema, budget: Any, *, force: bool) -> None:
    from privet.cli.statement_commands import as_text, page_of
    from privet.cli.train import fit, show_released
    from privet.models import LogisticRegression

    people, model = out / "people.csv", out / "model.privet"
    _say(
        "2. A private model",
        f"privet train {people} --schema {out / 'schema.toml'} --epsilon {budget.epsilon:g} "
        f"--out {model}",
    )
    start = time.perf_counter()
    fitted = fit(LogisticRegression(budget), schema, people)
    fitted.save(model, overwrite=force)
    show_released(fitted, model, time.perf_counter() - start, json=False)
    _say("3. What was promised", f"privet statement {model}")
    text = as_text(model)
    put(out / "statement.txt", text + "\n", force=force)
    say(text)
    _say("4. The same with pictures", f"privet report {model} --out {out / 'report.html'}")
    put(out / "report.html", page_of(model), force=force)
    say(f"Open {out / 'report.html'} in a browser.")


def _predict(out: Path, *, force: bool) -> Any:
    from privet.cli.predict_command import predictions, write
    from privet.cli.reading import FileFlags

    model, fresh, target = out / "model.privet", out / "new-people.csv", out / "predictions.csv"
    _say("5. Predictions for new people", f"privet predict {model} {fresh} --out {target}")
    found = predictions(model, fresh, None, FileFlags(), probabilities=False)
    write(found, target, force=force)
    say(f"{len(found['prediction']):,} people in {target}. Predicting costs no privacy.")
    return found["prediction"]


def _judge(
    out: Path,
    schema: Schema,
    answers: tuple[Any, Any],
    budget: Any,
    picture: Path | None,
    *,
    force: bool,
) -> None:
    """Accuracies on the fresh people, and the picture."""
    import numpy as np

    truth, guesses = answers
    _say("6. How good it is (allowed here: the people are synthetic)")
    over = (schema.classes or ())[1]
    encoded = schema.encode(out / "people.csv")
    fresh = schema.encode_features(out / "new-people.csv")
    train = Split(encoded.x, encoded.y == over)
    test = Split(fresh, np.asarray(truth == over))
    majority = float(max(test.y.mean(), 1 - test.y.mean()))
    plain = without_privacy(train, test)
    lines = [
        ("always the larger class", majority, "nothing"),
        ("the released model", float((guesses == truth).mean()), _odds(budget.epsilon)),
    ]
    if picture is not None:
        curves = _study(train, test)
        drawn = partial(draw, curves, majority, plain, len(train.x))
        put(picture, drawn, force=force)
        lines += _others(curves)
    lines.append(("scikit-learn, not private", plain, "everything"))
    shown = [(name, f"{100 * accuracy:.1f} %", price) for name, accuracy, price in lines]
    table(("model", "right", "what it gives away"), shown, ("right",))
    say(f"\nMeasured on the {len(truth):,} new people.")


def _study(train: Split, test: Split) -> dict[str, Array]:
    draws = 10
    with working(f"Repeating releases, {draws} at each of {len(EPSILONS)} budgets"):
        return accuracies(train, test, draws)


def _others(curves: dict[str, Array]) -> list[tuple[str, float, str]]:
    means = curves["logistic"].mean(axis=1)
    return [
        (f"the same at epsilon = {EPSILONS[i]:g}", float(means[i]), _odds(EPSILONS[i]))
        for i in (1, 3, 5)
    ]


def _odds(epsilon: float) -> str:
    return f"odds change by {math.exp(epsilon):.3g} at most"


def _end(out: Path, wanted: list[str], seconds: float) -> None:
    _say(f"Files in {out}")
    for name in wanted:
        say(f"  {name:<22}{FILES[name]}")
    say(f"\nDone in {seconds:.0f} s. Look at {out / 'report.html'} first.")


def write_table(columns: dict[str, Any], path: str | Path) -> None:
    """CSV with empty cells where something is missing."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        cells = [[_cell(value) for value in values.tolist()] for values in columns.values()]
        writer.writerows(zip(*cells, strict=True))


def _cell(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else f"{value:g}"


# -- a study: how good private models are, release after release ---------------------------------
#
# Only synthetic data allows this. Each point repeats a release many times and measures it on fresh
# rows; on a real table every one of these releases would have to be paid for.

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
COLORS = ("#1b6ca8", "#c8553d", "#7a7a7a")


@dataclass(frozen=True)
class Split:
    """Encoded rows and whether each is in the second class."""

    x: Array
    y: Flags


def without_privacy(train: Split, test: Split) -> float:
    """Accuracy of scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression

    plain = LogisticRegression(C=10.0, max_iter=1000).fit(train.x, train.y)
    return float(plain.score(test.x, test.y))


def accuracies(train: Split, test: Split, draws: int) -> dict[str, Array]:
    """Accuracy of ``draws`` releases at each epsilon: name -> (epsilons, draws)."""
    import numpy as np

    from privet.losses import HuberHinge, Logistic
    from privet.mechanisms import ObjectivePerturbation, OutputPerturbation
    from privet.privacy import PureDP
    from privet.rows import checked_rows

    recipes: dict[str, tuple[Any, Any]] = {
        "logistic": (ObjectivePerturbation, Logistic()),
        "Huber SVM": (ObjectivePerturbation, HuberHinge()),
        "logistic, noise on the output": (OutputPerturbation, Logistic()),
    }
    found = {}
    for name, (mechanism, loss) in recipes.items():
        targets = loss.targets(train.y.astype(np.int_))
        rows = checked_rows(train.x, targets, norm_bound=1.0)
        points = []
        for epsilon in EPSILONS:
            scores = test.x @ mechanism(loss, PureDP(epsilon)).sample(rows, draws).T
            points.append(((scores > 0) == test.y[:, None]).mean(axis=0))
        found[name] = np.array(points)
    return found


def draw(curves: dict[str, Array], majority: float, plain: float, rows: int, path: str) -> None:
    """Accuracy against epsilon, with the spread of the releases."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for color, (name, found) in zip(COLORS, curves.items(), strict=True):
        low, middle, high = np.quantile(found, [0.1, 0.5, 0.9], axis=1)
        axes.fill_between(EPSILONS, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(EPSILONS, middle, marker="o", markersize=4, color=color, label=name)
    for level, word, style in ((plain, "not private", "-"), (majority, "larger class", ":")):
        axes.axhline(level, color="black", linewidth=1, linestyle=style)
        axes.annotate(word, (EPSILONS[0], level), (0, 4), textcoords="offset points")
    axes.set(xscale="log", xlabel="epsilon (smaller protects more)", ylabel="accuracy, fresh rows")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.08))
    draws = next(iter(curves.values())).shape[1]
    axes.set_title(f"The price of privacy: {rows:,} rows, {draws} releases a point", loc="left")
    figure.savefig(path)
