"""The page: headline, facts, pictures and what is not covered, in one HTML file."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import privet
from privet.errors import DataError, MissingExtra
from privet.planning.odds import attacker_accuracy
from privet.privacy import Budget
from privet.privacy.statement import NOT_COVERED, in_words
from privet.report.attack import odds_epsilon, posterior
from privet.report.pictures import PICTURES, Picture, band_words
from privet.report.released import Released
from privet.schema import Schema

TABLE_ROWS = 25


@dataclass(frozen=True)
class Tile:
    """One number of the headline with the words under it."""

    number: str
    words: str


def render(model: Any, *, name: str = "", digest: str = "") -> str:
    """The report of a released model as a page that needs nothing else.

    ``name`` and ``digest`` say which file it is about.
    """
    released = Released(model, _schema(model))
    guarantee = model.guarantee_
    return str(
        _template().render(
            title=f"Privacy report: {name or type(model).__name__}",
            private=guarantee.private,
            why_not=guarantee.event.why_not_private,
            headline=str(released.promise).removesuffix(" (zero-concentrated)"),
            kind=f"{_kind(released.promise)} differential privacy of {guarantee.unit}",
            in_words=in_words(released.promise).replace("a given record", released.whom),
            tiles=_tiles(released),
            facts=_facts(released, name, digest),
            pictures=pictures(released),
            coefficients=released.coefficients[:TABLE_ROWS],
            in_units=released.in_table_units,
            score=released.score_name,
            band=band_words(released),
            composition=_composition(model),
            assumptions=guarantee.assumptions,
            not_covered=NOT_COVERED.removeprefix("Not covered: "),
            schema=getattr(model, "schema_", ""),
            version=privet.__version__,
        )
    )


def pictures(released: Released) -> dict[str, Picture]:
    """Every picture by its name."""
    return {name: draw(released) for name, draw in PICTURES.items()}


def write(model: Any, path: str | os.PathLike[str], *, name: str = "", digest: str = "") -> None:
    """Render into a file, all or nothing."""
    text = render(model, name=name, digest=digest)
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # a report is for others to read; the temporary file was not
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtra("Reports need Jinja2, the extra 'cli'.") from error
    source = files("privet.report").joinpath("template.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(source)


def _schema(model: Any) -> Schema | None:
    text = getattr(model, "schema_", None)
    if text is None:
        return None
    schema = Schema.from_toml(text)
    if schema.width != model.coef_.shape[1]:
        raise DataError("The schema in the model file does not fit its coefficients.")
    return schema


def _tiles(released: Released) -> list[Tile]:
    promise, n = released.promise, released.model.guarantee_.event.n
    epsilon, delta = odds_epsilon(promise)
    after = float(posterior(epsilon, np.array([0.01]))[0])
    rare = f", except in cases of total probability {delta:g}" if delta else ""
    return [
        Tile(
            f"≤ {100 * attacker_accuracy(promise):.3g} %",
            f"of an attacker's guesses about {released.whom} are right, from even odds",
        ),
        Tile(f"≤ {_percent(after)}", f"is what a suspicion of 1 % can become{rare}"),
        Tile(f"{n:,}", "rows in the training table (public)"),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "over 99 %"


def _facts(released: Released, name: str, digest: str) -> list[tuple[str, str]]:
    model, guarantee = released.model, released.model.guarantee_
    event = guarantee.event
    found = [
        *_protects(released),
        ("Neighbours", guarantee.neighbours),
        ("Model", f"{type(model).__name__}, classes {', '.join(map(str, model.classes_))}"),
        ("Table", f"{event.n:,} rows, {model.coef_.shape[1]:,} encoded columns (public)"),
        ("Mechanism", f"{guarantee.mechanism}, scale {event.scale:.6g}"),
        ("Regularisation", f"{event.regularization:.6g}"),
        ("Theorem", guarantee.theorem),
        ("Numerics", guarantee.numerics),
        (
            "Randomness",
            "the operating system's source" if guarantee.private else event.why_not_private,
        ),
    ]
    if name:
        found.append(("File", name))
    if digest:
        found.append(("SHA-256", digest))
    return found


def _protects(released: Released) -> list[tuple[str, str]]:
    guarantee = released.model.guarantee_
    each = [("Guarantee", _budget(guarantee.budget)), ("It protects", guarantee.unit)]
    row = [("For one row", _budget(guarantee.event.claim))]
    return each + row if guarantee.group > 1 else each


def _kind(budget: Budget) -> str:
    names = {"pure": "pure", "zcdp": "zero-concentrated", "approx": "approximate"}
    return names[budget.kind]


def _budget(budget: Budget) -> str:
    numbers = str(budget).removesuffix(" (zero-concentrated)")
    return f"{numbers}, {_kind(budget)} differential privacy"


def _composition(model: Any) -> str:
    if model.dataset:
        return (
            f"This release is recorded in the ledger under the data set '{model.dataset}'; what "
            "all releases from it cost together is the ledger's to say."
        )
    return "This covers one fit. Other releases from the same rows add to it; no ledger was kept."
