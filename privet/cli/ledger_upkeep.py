"""``privet ledger``: what looks after a ledger: copies, formats, roles, a new home."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet._files import refuse_ledgers_place
from privet._untrusted import read_whole
from privet.cli.ledger_commands import LARGEST, Place
from privet.cli.options import Json, command, ledger_url, open_ledger
from privet.cli.printing import as_json, facts, say
from privet.errors import DeclarationError

# ``privet ledger head``: the newest entry's hash, for somebody outside to keep.

#: How long a witness may take to answer, in seconds.
PATIENCE = 30.0


def head(
    place: Place,
    append: Annotated[
        Path | None, typer.Option(help="Add the line to this file, on somebody else's disk.")
    ] = None,
    post: Annotated[
        str | None, typer.Option(metavar="URL", help="Send the line to this address.")
    ] = None,
) -> None:
    """Print the newest head as a line, for a witness to keep: a file, an address, a sheet of paper.

    It tells the ledger's identity, the number of the entry and its hash, nothing of what was
    released. privet ledger verify --witness FILE compares all kept lines with the ledger.
    """
    line = open_ledger(place).witness_line()
    if append is not None:
        _append(append, line)
    if post is not None:
        _post(post, line)
    typer.echo(line)


def _append(file: Path, line: str) -> None:
    """One more line, on disk when this returns; only to a file that holds such lines already."""
    from privet.ledger.witness import read_witness

    refuse_ledgers_place(file)
    before = read_whole(file, LARGEST) if file.exists() else b""
    read_witness(before.decode(errors="replace").splitlines())
    if before and not before.endswith(b"\n"):
        line = f"\n{line}"  # the last one was copied there by hand
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        if os.write(handle, raw := f"{line}\n".encode()) < len(raw):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(handle)
    finally:
        os.close(handle)


def _post(url: str, line: str) -> None:
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    if not url.startswith(("https://", "http://")):
        raise DeclarationError("--post takes an address that begins with https:// or http://.")
    asked = Request(url, f"{line}\n".encode(), {"Content-Type": "application/json"}, method="POST")
    try:
        with urlopen(asked, timeout=PATIENCE):
            pass
    except (URLError, OSError, ValueError) as error:
        raise DeclarationError(
            f"The witness did not take the head ({type(error).__name__}). Nothing is lost: the "
            "ledger is as it was. Try again, or keep the line by --append."
        ) from error


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
        raise MissingExtra(
            "Roles on PostgreSQL need psycopg: pip install 'privet[postgres]'."
        ) from error
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
    command(app, head, "privet ledger head budget.db --append /mnt/witness/heads.jsonl")
