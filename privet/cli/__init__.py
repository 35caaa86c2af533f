"""The command line: parse, call, show. Every command is a page of thin code around the library.

Command modules import the library inside their functions, so that help, completion and wrong usage
answer at once. Exit codes: 0 done, 1 refused with a reason, 2 wrong usage.
"""

import sys


def main() -> None:
    """Run ``privet``."""
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
