"""``privet statement`` and ``privet report``: what a released model promises."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from privet.cli.options import Force, Json, command
from privet.cli.show import as_json, clean, facts, free_place, working

Model = Annotated[Path, typer.Argument(help="A model file.")]


def register(app: typer.Typer) -> None:
    """Add both commands."""
    command(app, statement, "privet statement model.privet")
    command(app, report, "privet report model.privet --out report.html")


def statement(
    model: Model,
    out: Annotated[Path | None, typer.Option(help="Text file; without it, the screen.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Print the privacy statement of a released model, for signing."""
    if out is not None:
        free_place(out, force=force)
    text = as_text(model, json=json)
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text + "\n", encoding="utf-8")
        facts([("Statement", str(out))])


def as_text(path: Path, *, json: bool = False) -> str:
    """The statement of a model file."""
    from privet.privacy.statement import statement as tell
    from privet.store import load

    model = load(path)
    text = tell(model.guarantee_, model=type(model).__name__, ledger=model.dataset)
    if not json:
        return clean(text)
    import json as writer

    found = {
        "model": type(model).__name__,
        "file": str(path),
        "sha256": digest(path),
        "ledger_dataset": model.dataset,
        "guarantee": model.guarantee_.to_json(),
        "private": model.guarantee_.private,
        "text": text,
    }
    return writer.dumps(found, indent=2, allow_nan=False)


def report(
    model: Model,
    out: Annotated[
        Path | None, typer.Option(help="HTML file; without it, beside the model.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page about a released model, with pictures, for people who did not train it.

    One file without outside parts, for the screen, a phone or paper. It is written from the
    released model alone and costs no privacy.
    """
    target = model.with_suffix(".html") if out is None else out
    free_place(target, force=force)
    write_report(model, target)
    if json:
        as_json({"report": str(target), "sha256_of_model": digest(model)})
    else:
        facts([("Report", str(target))])


def write_report(model: Path, target: Path) -> None:
    """The page of a model file."""
    from privet.report import write
    from privet.store import load

    fitted = load(model)
    with working("Drawing"):
        write(fitted, target, name=model.name, digest=digest(model))


def digest(path: Path) -> str:
    """SHA-256 of a file, to say which one is meant."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
