"""The command line: parse, call, show. Every command is a page of thin code around the library.

Command modules import the library inside their functions, so that help, completion and wrong usage
answer at once. Exit codes: 0 done, 1 refused with a reason, 2 wrong usage.
"""

import os
import sys


def main() -> None:
    """Run ``privet``."""
    _open_closed_streams()
    # processes that are started from here, by Dask for example, look for no module in this folder
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        from privet.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print("The command line needs typer and rich: pip install 'privet[cli]'.", file=sys.stderr)
        sys.exit(1)
    # a terminal without a sign for a letter shows its number, and no command ends for it
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="privet")


def _open_closed_streams() -> None:
    """A standard stream that whoever started this has closed is the null device from here on.

    Else the next file that is opened gets its number, and complaints of a library are written into
    that file.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # the lowest free number: those before are taken
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  until the end
