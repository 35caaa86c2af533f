"""All commands in one application, and how it reports errors."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from privet._version import __version__
from privet.cli import (
    audit_commands,
    demo,
    doctor,
    export_command,
    ledger_commands,
    ledger_upkeep,
    model_commands,
    predict_command,
    recover,
    schema_and_plan,
    serve_commands,
    sign,
    statement_commands,
    train,
    verify_commands,
)
from privet.cli.printing import clean, say
from privet.errors import PrivetError, PrivetWarning

DEBUG = "PRIVET_DEBUG"
#: of a complaint: it may quote a name from a file
LONGEST = 2_000


def complain(message: str, error: BaseException | None = None) -> None:
    """One or two sentences on standard error, and what was spent, released or kept."""
    typer.secho("privet: ", err=True, nl=False, fg=typer.colors.RED, bold=True)
    told = message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
    say("\n".join([told, *([] if error is None else _notes(error))]), err=True)


def _notes(error: BaseException) -> list[str]:
    """Privet's own notes; whoever added one has loaded the module that reads them."""
    charging = sys.modules.get("privet.ledger.charge")
    return [] if charging is None else list(charging.notes(error))


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Privet's own warnings as a sentence; those of other packages may quote values: dropped."""
    if issubclass(category, PrivetWarning):
        say(f"Note: {message}", err=True)


class App(TyperGroup):
    """Turns every refusal into a sentence and exit code 1, without a traceback.

    An error that is not Privet's own may quote a value from a row, so only its kind is shown.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        if os.environ.get(DEBUG):
            return super().invoke(ctx)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", PrivetWarning)
                warnings.showwarning = _note
                return super().invoke(ctx)
        except PrivetError as error:
            complain(str(error), error)
        except BrokenPipeError as error:
            # the reader has gone; nothing may be written at exit either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if _notes(error):
                complain("The program that was reading the output has ended.", error)
        except KeyboardInterrupt as error:
            complain("Stopped.", error)
            raise typer.Exit(130) from None
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            complain(f"{error.strerror or type(error).__name__}{where}.", error)
        except MemoryError as error:
            complain("There is not enough memory for this table.", error)
        except Exception as error:
            if _is_usage(error):
                _clean_usage(error)
                raise
            complain(
                f"An unexpected {type(error).__name__} inside Privet; please report it. Its text "
                f"may quote rows and is not shown; {DEBUG}=1 shows everything.",
                error,
            )
        raise typer.Exit(1)


def _is_usage(error: Exception) -> bool:
    """Typer's own: wrong usage, exits and aborts, which it shows and turns into codes itself."""
    modules = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    return bool(modules & {"typer", "click"})


def _clean_usage(error: Exception) -> None:
    """What Typer will show may quote a name from a file, and the name of its own exception."""
    told = getattr(error, "message", None)
    if isinstance(told, str):
        error.message = clean(told[:LONGEST]).replace("Value error, ", "")  # type: ignore[attr-defined]


app = typer.Typer(
    cls=App,
    help="Differentially private classifiers and regressions whose epsilon is a theorem.",
    epilog="Start with: privet demo",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"privet {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Differentially private classifiers and regressions whose epsilon is a theorem."""


for part in (
    demo,
    train,
    predict_command,
    model_commands,
    recover,
    schema_and_plan,
    statement_commands,
    doctor,
    verify_commands,
    audit_commands,
    sign,
    serve_commands,
    export_command,
):
    part.register(app)
app.add_typer(schema_and_plan.app, name="schema")
ledger_upkeep.register(ledger_commands.app)
app.add_typer(ledger_commands.app, name="ledger")
