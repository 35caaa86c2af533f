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
    app(prog_name="privet")
