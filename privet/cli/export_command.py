"""``privet export``: a released model for registries, platforms and other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from privet.cli.options import Force, Json, command, open_ledger, required
from privet.cli.printing import as_json, facts, free_place, put, say, working

if TYPE_CHECKING:
    from privet.handover.handed_model import HandedModel

Target = Literal["registry", "card", "onnx", "mlflow", "sklearn"]
ENDINGS = {
    "registry": ".registry.yaml",
    "card": ".card.md",
    "onnx": ".onnx",
    "mlflow": ".mlflow",
    "sklearn": ".joblib",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    where = "--curator 'Ward 7' --region Bavaria --use 'Planning of beds'"
    command(app, export, f"privet export model.privet --to registry {where}")


def export(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    to: Annotated[Target | None, typer.Option(help="In which form.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File or folder to write; without it, beside the model.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Also say what all releases cost together.")
    ] = None,
    curator: Annotated[
        list[str] | None, typer.Option(help="For registry: whose data it is; may be repeated.")
    ] = None,
    region: Annotated[str, typer.Option(help="For registry: where the people live.")] = "",
    sector: Annotated[
        str, typer.Option(help="For registry: Healthcare, Finance, Government, ...")
    ] = "",
    use: Annotated[str, typer.Option(help="For registry: what the model is for.")] = "",
    author: Annotated[
        list[str] | None, typer.Option(help="For registry: who wrote the entry.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a released model in a form that others read. Costs no privacy.

    registry: YAML for the public registry of deployments. card: a model card. onnx and sklearn: the
    linear rule on encoded rows. mlflow: a folder that takes raw columns. Each carries the statement
    and the digest of the model file, and predictions are compared before anything is written.
    """
    from privet.handover.handed_model import HandedModel

    form = required(to, "--to")
    place = model.with_name(f"{model.stem}{ENDINGS[form]}") if out is None else out
    if form != "mlflow":
        free_place(place, force=force, apart=(model,))
    released = HandedModel(model, None if ledger is None else open_ledger(ledger))
    missing: list[str] = []
    with working(f"Writing {place.name}"):
        if form == "registry":
            from privet.handover.registry_entry import Publisher, as_yaml, registry_entry
            from privet.handover.registry_fields import gaps

            by = Publisher(curator or (), region, sector, use, author or ())
            guarantee = released.last.guarantee_
            entry = registry_entry(released.facts, guarantee, released.name, by)
            missing = gaps(entry)
            put(place, as_yaml(entry), force=force)
        else:
            _write(form, released, place, force=force)
    if json:
        as_json({"file": str(place), "sha256_of_model": released.digest, "open": missing})
        return
    facts([("Written", str(place)), ("Of model", released.digest)])
    if missing:
        say(f"Note: still to be filled in: {', '.join(missing)}.", err=True)


def _write(form: str, released: HandedModel, place: Path, *, force: bool) -> None:
    from privet.handover.mlflow_model import write_mlflow
    from privet.handover.model_card import model_card
    from privet.handover.onnx_model import write_onnx
    from privet.handover.plain_model import write_plain

    if form == "card":
        put(place, model_card(released), force=force)
    elif form == "onnx":
        write_onnx(released, place, replace=force)
    elif form == "mlflow":
        write_mlflow(released, place, replace=force)
    else:
        write_plain(released, place, replace=force)
