"""``privet ledger``: what looks after a ledger: copies, formats, roles, a new home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.cli.ledger_commands import Place
from privet.cli.options import Json, command, ledger_url, open_ledger
from privet.cli.printing import as_json, facts, say

if TYPE_CHECKING:
    from privet.ledger import Ledger


def migrate(place: Place, json: Json = False) -> None:
    """Bring a ledger of an earlier format up to date, after verifying it.

    Its entries and their hashes stay.
    """
    from privet.ledger.store import FORMAT

    ledger = open_ledger(place)
    found = ledger.migrate()
    if json:
        as_json({"ledger": ledger.place, "from": found, "to": FORMAT, "head": ledger.head()})
    elif found == FORMAT:
        facts([("Unchanged", f"{ledger.place} is up to date ({FORMAT})")])
    else:
        facts([("Migrated", f"{ledger.place} from {found} to {FORMAT}"), ("Head", ledger.head())])


def export(place: Place) -> None:
    """Print every entry as a line of JSON."""
    for line in open_ledger(place).export():
        say(line)


def roles(
    place: Place,
    prefix: Annotated[str, typer.Option(help="What the names of the roles begin with.")] = "privet",
    apply: Annotated[bool, typer.Option("--apply", help="Run the statements.")] = False,
) -> None:
    """Show the SQL for the roles of owner, analyst and auditor on a server.

    An analyst charges, and settles what the same login has reserved; an auditor reads and verifies;
    the owner opens accounts. Read the statements, then run them with --apply as somebody who may
    create roles, or hand them to whoever runs the server. Run them again after an upgrade.
    """
    from privet.errors import MissingExtra

    try:
        from privet.ledger.postgres_roles import create_roles, roles_sql
    except ImportError as error:
        raise MissingExtra("Roles on PostgreSQL need psycopg: install privet[postgres].") from error
    made = (create_roles if apply else roles_sql)(ledger_url(place), prefix)
    for statement in made:
        say(f"{statement.strip().rstrip(';')};")
    if apply:
        say(
            f"Done. Next: CREATE ROLE alice LOGIN PASSWORD '...' IN ROLE {prefix}_analyst;",
            err=True,
        )


def adopt(
    place: Place,
    head: Annotated[
        str | None, typer.Option(help="A head kept elsewhere, which must be in the ledger.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why, in a few words, for the ledger.")] = "",
    lost: Annotated[
        list[Path] | None,
        typer.Option(help="A released file whose charge is not in the ledger: charged again."),
    ] = None,
    excused: Annotated[
        list[int] | None,
        typer.Option("--except", help="A charge that counts as it stands, priced or not."),
    ] = None,
    json: Json = False,
) -> None:
    """Go on with a copy of a ledger: a restored backup, a moved file, a promoted replica.

    It may lack the newest charges, and the original may still be charged: see that it is not, give
    a head that was kept, and name with --lost every file that was released since. The ledger is
    verified, gets a new identity in an entry that tells of it, and is charged from here on.
    """
    ledger = open_ledger(place)
    identity = ledger.adopt(reason, head, excused=excused or ())
    again = [str(each) for each in lost or () if _charged_again(ledger, each)]
    if json:
        told = {"ledger": ledger.place, "identity": identity, "head": ledger.head()}
        as_json({**told, "charged_again": again})
    else:
        facts([("Adopted", ledger.place), ("Identity", identity), ("Head", ledger.head())])
        facts([("Charged", f"{each}, whose entry is not in this ledger") for each in again])


def _charged_again(ledger: Ledger, file: Path) -> bool:
    """Charge what a released file had paid for, unless its entry is there."""
    from privet.cli.verify_commands import released_file

    released = released_file(file)
    receipt = released.guarantee.receipt
    if receipt is None or ledger.knows(receipt):
        return False
    number = ledger.reserve(receipt.dataset, released.guarantee.event, key=f"lost {receipt.head}")
    named = [] if released.digest is None else [released.digest]
    ledger.settle(number, named, released.guarantee.persons)
    return True


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, export, "privet ledger export budget.db > entries.jsonl")
    command(app, migrate, "privet ledger migrate budget.db")
    command(
        app,
        adopt,
        "privet ledger adopt budget.db --head 3f2a... --reason 'restored from the backup of May'",
    )
    command(app, roles, "privet ledger roles postgresql://owner@host/database --apply")
