"""``privet ledger head``: the newest entry's hash, for somebody outside to keep."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Annotated

import typer

from privet._files import refuse_ledgers_place
from privet._untrusted import read_whole
from privet.cli.ledger_commands import LARGEST, Place
from privet.cli.options import command, open_ledger
from privet.errors import DeclarationError

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


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, head, "privet ledger head budget.db --append /mnt/witness/heads.jsonl")
