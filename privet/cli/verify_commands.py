"""``privet verify``: is a released file what it says? Each check by itself, with its verdict.

A check is a function of the file that yields findings; ``CHECKS`` is the list of them. What needs a
flag (``--ledger``, ``--key``) is not checked without it. Then every number of the promise is
computed a second time, by ``privet.certificate``, which shares no code with what computed it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet._untrusted import parsed_json, read_once, read_whole
from privet.cli.options import Json, command, open_ledger
from privet.cli.printing import as_json, facts, table

if TYPE_CHECKING:
    from privet.certificate.verdicts import Number
    from privet.ledger.binding import BindingFinding
    from privet.privacy.guarantee import Guarantee

EXAMPLE = "privet verify model.privet --ledger budget.db --key curator.key.pub"
LARGEST = 1 << 30
VERDICTS = {True: "holds", False: "FAILS", None: "unknown"}


@dataclass(frozen=True)
class ReleasedFile:
    """What a file of released numbers claims, and the digest of the numbers."""

    kind: str
    guarantee: Guarantee
    digest: str | None  # None where the entry of a ledger names no numbers of such a file


def released_file(path: Path) -> ReleasedFile:
    """Read a model, intervals, an evaluation or answers; anything else is refused in words."""
    from privet.errors import DataError
    from privet.models.model_file import MAGIC

    text = read_whole(path, LARGEST)
    if text.startswith(MAGIC):
        return _model(path)
    try:
        record = parsed_json(text)
    except ValueError:
        return _answers(path)
    kinds = {
        "privet-intervals-1": _intervals,
        "privet-intervals-2": _intervals,
        "privet-evaluation": _evaluation,
    }
    found = str(record.get("format")) if isinstance(record, dict) else ""
    if found not in kinds:
        raise DataError(f"{path.name} is not a file of released numbers that this Privet reads.")
    return kinds[found](path)


def _model(path: Path) -> ReleasedFile:
    from privet.models.digest import model_digest
    from privet.models.row_wise import last_of
    from privet.store import load

    model = last_of(load(path))
    return ReleasedFile("model", model.guarantee_, model_digest(model))


def _intervals(path: Path) -> ReleasedFile:
    from privet.inference.files import intervals_digest, load_intervals

    found = load_intervals(path)
    return ReleasedFile("intervals", found.guarantee, intervals_digest(found))


def _evaluation(path: Path) -> ReleasedFile:
    from privet.evaluation.evaluation_files import evaluation_from_json, read_evaluation

    found = evaluation_from_json(read_evaluation(path))
    return ReleasedFile("evaluation", found.guarantee, found.digest())


def _answers(path: Path) -> ReleasedFile:
    from privet.answers.records import answers_digest, read, understood
    from privet.privacy.guarantee import guarantee_from_json

    lines, _ = read(path)
    with understood():
        guarantee = guarantee_from_json(lines[0]["guarantee"])
        digest = None
        if "classes" in lines[0]:  # an expansion; a transcript's answers come after its entry
            head, body = lines
            told = body["points"], body["weights"]
            digest = answers_digest(str(head["model"]), head["classes"], *told, guarantee.event)
    return ReleasedFile("answers", guarantee, digest)


# -- the command ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What is checked, and against what."""

    file: Path
    released: ReleasedFile
    ledger: str | None
    key: Path | None
    signature: Path | None


def _promise(asked: Asked) -> Iterator[BindingFinding]:
    """The file is whole (it was read), and promises something."""
    from privet.ledger.binding import BindingFinding

    promise = asked.released.guarantee
    yield BindingFinding("file", True, f"the file is complete and readable ({asked.released.kind})")
    yield BindingFinding("promise", promise.private, str(promise))


def _paid(asked: Asked) -> Iterator[BindingFinding]:
    """The ledger is whole, and its entry and the file name each other."""
    from privet.errors import LedgerError
    from privet.ledger.binding import BindingFinding

    if asked.ledger is None:
        return
    ledger = open_ledger(asked.ledger)
    try:
        ledger.verify()
        yield BindingFinding("ledger", True, "every entry's hash and running total was recomputed")
    except LedgerError as error:
        yield BindingFinding("ledger", False, str(error))
        return
    yield from ledger.findings(asked.released.guarantee, asked.released.digest)


def _signed(asked: Asked) -> Iterator[BindingFinding]:
    """The curator's key has signed these very bytes."""
    from privet.cli.sign import signature_finding

    if asked.key is not None:
        yield signature_finding(asked.file, asked.key, asked.signature)


#: Every check, in the order in which they are told.
CHECKS: tuple[Callable[[Asked], Iterator[BindingFinding]], ...] = (_promise, _paid, _signed)


def verify(
    file: Annotated[Path, typer.Argument(help="A model, intervals, an evaluation or answers.")],
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that was charged: its entry must match the file.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The curator's public key: the file must be signed with it.")
    ] = None,
    signature: Annotated[
        Path | None, typer.Option(help="The signature file (default: FILE.sig).")
    ] = None,
    recompute: Annotated[bool, typer.Option(help="Recompute every number of the promise.")] = True,
    json: Json = False,
) -> None:
    """Check a released file: recompute its promise, and check payment and signature on request.

    Every number of the promise is computed a second time from the public facts in the file, in
    ball arithmetic (needs the extra "verify"). Each check reports whether it holds, fails or cannot
    be decided. The exit code is 0 only if every number holds or is a choice that the others
    fit: 1 if a check fails, or if a number cannot be decided from the file.
    """
    with read_once(file, LARGEST):  # by all checks: else each might be shown another file
        asked = Asked(file, released_file(file), ledger, key, signature)
        found = [finding for check in CHECKS for finding in check(asked)]
        numbers = _recomputed(file) if recompute else []
    if json:
        plain = [{**each._asdict(), "verdict": VERDICTS[each.holds]} for each in found]
        as_json([*plain, *(_number(each) for each in numbers)])
    else:
        facts([(each.check.capitalize(), f"{VERDICTS[each.holds]}: {each.told}") for each in found])
        _show(numbers)
    fails = False in [each.holds for each in found] + [each.holds for each in numbers]
    if fails or any(each.undecided for each in numbers):
        raise typer.Exit(1)


# -- the second computation ----------------------------------------------------------------------


def _recomputed(file: Path) -> list[Number]:
    from privet.certificate.recompute import recompute

    return recompute(file)


def _number(number: Number) -> dict[str, Any]:
    """A number for programs: claim, certified enclosure, verdict."""
    check = f"{number.release}: {number.name}"
    return {"check": check, **number.to_json(), "told": number.told()}


def _show(numbers: list[Number]) -> None:
    """One line for each number; reasons where it does not hold or cannot be known."""
    if not numbers:
        return
    typer.echo()
    heads = ("Release", "Number", "Claimed", "Certified", "Verdict")
    table(heads, [each.cells() for each in numbers], ("Claimed",))
    typer.echo()
    for each in numbers:
        if not each.holds:
            name = f"{each.release}, {each.name}"
            facts([(f"{name}:", each.why)], width=len(name) + 1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, verify, EXAMPLE)
