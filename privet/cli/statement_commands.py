"""``privet statement`` and ``privet report``: what a released model promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet._files import file_digest
from privet.cli.options import Force, Json, command, open_ledger
from privet.cli.printing import as_json, facts, free_place, is_screen, put, say, working

if TYPE_CHECKING:
    from privet.statement import Facts

#: How the name of a page ends, and of what a statement as text is not.
PAGES = (".html", ".htm")
NOT_TEXT = (".pdf", ".docx", ".doc", ".odt", ".rtf", ".png", ".svg")
Model = Annotated[Path, typer.Argument(help="A model file.")]


def register(app: typer.Typer) -> None:
    """Add both commands."""
    command(
        app, statement, "privet statement model.privet --ledger budget.db --html statement.html"
    )
    command(app, report, "privet report model.privet --out report.html")


def statement(
    model: Model,
    ledger: Annotated[
        str | None,
        typer.Option(help="Also say what all releases cost together, from this ledger."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The data set's name in the ledger, if the model has none.")
    ] = None,
    declared_by: Annotated[
        str | None, typer.Option(help="Who answers for the declarations.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Text file, or a page if it ends in .html; without it, the screen."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page for signing to this file.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show what a released model promises, for signing: as text, as JSON or as a page.

    All three are written from the same facts, which are public; no row is read. The model file
    keeps where the ledger stood when the model was released; with --ledger the statement also says
    what has been spent since and what is left.
    """
    if is_screen(out):
        out = None  # which is the screen
    if out is not None and out.suffix.lower() in PAGES and html is None and not json:
        out, html = None, out  # what the name asks for
    if html is not None:
        refuse_unless_page("--html", html)
    if out is not None and out.suffix.lower() in NOT_TEXT:
        raise typer.BadParameter(
            f"a statement is text or a page, not {out.suffix}: end --out in .txt or .html. A "
            "browser prints a page as PDF."
        )
    for place, other in ((out, html), (html, out)):
        if place is not None:
            free_place(place, force=force, apart=(model, other))
    found = facts_of(model, ledger=ledger, dataset=dataset, declared_by=declared_by)
    _write_statement(found, out=out, html=html, json=json, force=force)


def refuse_unless_page(option: str, place: Path) -> None:
    """Refuse to write a page under a name that other programs would open as something else."""
    if place.suffix.lower() not in PAGES:
        raise typer.BadParameter(
            f"this writes an HTML page: end {option} in .html. A browser prints it as PDF."
        )


def _write_statement(
    found: Facts, *, out: Path | None, html: Path | None, json: bool, force: bool
) -> None:
    from privet.statement import as_json as as_card
    from privet.statement import as_text as as_words

    text = as_card(found) if json else as_words(found)
    if html is not None:
        from privet.statement.writers import as_page

        put(html, as_page(found), force=force)
    if out is not None:
        put(out, text + "\n", force=force)
    elif html is None or json:
        say(text)
    if not json:
        written = [place for place in (out, html) if place is not None]
        facts([("Statement", str(place)) for place in written])


def facts_of(
    path: Path,
    *,
    ledger: str | None = None,
    dataset: str | None = None,
    declared_by: str | None = None,
) -> Facts:
    """The facts of a model file's statement, with the ledger's where one is given."""
    from privet.handover.handed_model import recomputed_numbers
    from privet.models.model_display import trained
    from privet.models.row_wise import last_of
    from privet.statement import File, account, statement_facts
    from privet.store import load

    if dataset is not None and ledger is None:
        raise typer.BadParameter("--dataset goes with --ledger.")
    model = last_of(load(path))
    receipt = model.guarantee_.receipt
    name = dataset or (model.dataset if receipt is None else receipt.dataset)
    live = None
    if ledger is not None:
        if not name:
            raise typer.BadParameter("the model names no data set: add --dataset.")
        live = account(open_ledger(ledger), name, model.guarantee_)
    return statement_facts(
        model.guarantee_,
        model=type(model).__name__,
        ledger=model.dataset,
        account=live,
        file=File(path.name, file_digest(path)),
        declared_by=declared_by,
        trained=trained(model),
        recomputed=recomputed_numbers(path),
    )


def as_text(path: Path) -> str:
    """The statement of a model file."""
    from privet.statement import as_text as as_words

    return as_words(facts_of(path))


def report(
    model: Model,
    out: Annotated[
        Path | None, typer.Option(help="HTML file; without it, beside the model.")
    ] = None,
    intervals: Annotated[
        Path | None, typer.Option(help="Intervals that privet intervals wrote for this model.")
    ] = None,
    evaluation: Annotated[
        Path | None, typer.Option(help="What privet evaluate --out wrote for this model.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page about a released model, with pictures, for people who did not train it.

    One file without outside parts, for the screen, a phone or paper. It is written from the
    released model, and its released intervals and evaluation where they are given, and costs no
    privacy.
    """
    target = model.with_suffix(".html") if out is None else out
    refuse_unless_page("--out", target)
    free_place(target, force=force, apart=(model, intervals, evaluation))
    put(target, page_of(model, intervals, evaluation), force=force)
    if json:
        as_json({"report": str(target), "sha256_of_model": file_digest(model)})
    else:
        facts([("Report", str(target))])


def page_of(model: Path, intervals: Path | None = None, evaluation: Path | None = None) -> str:
    """The report of a model file."""
    from privet.cli.model_commands import load_evaluation
    from privet.handover.handed_model import recomputed_numbers
    from privet.inference import load_intervals
    from privet.report import render
    from privet.store import load

    fitted = load(model)
    released = None if intervals is None else load_intervals(intervals)
    measured = None if evaluation is None else load_evaluation(evaluation, model)
    with working("Drawing"):
        return render(
            fitted,
            name=model.name,
            digest=file_digest(model),
            intervals=released,
            evaluation=measured,
            recomputed=recomputed_numbers(model),
        )
