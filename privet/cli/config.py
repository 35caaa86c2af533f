"""Flags from a file: ``privet train --config run.toml``.

The file's keys are the names of the flags and arguments. A flag on the command line wins. Paths in
the file are relative to the file, so that a folder with data, schema and run can be moved.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from privet._untrusted import read_toml
from privet.errors import PrivetError


def _load(ctx: Any, path: Path | None) -> Path | None:
    if path is None or ctx.resilient_parsing:
        return path
    known = {str(parameter.name): parameter for parameter in ctx.command.params}
    files = _files(ctx.command.callback)
    for name, value in _read(path).items():
        if name not in known or name in ("config", "help"):
            names = ", ".join(sorted(set(known) - {"config", "help"}))
            raise typer.BadParameter(f"{path.name} has an unknown key {name!r}; known are {names}.")
        many = bool(getattr(known[name], "multiple", False))
        if isinstance(value, dict) or (isinstance(value, list) and not many):
            raise typer.BadParameter(f"{name} in {path.name} must be a single value.")
        values = value if isinstance(value, list) else [value]
        placed = [_placed(path.parent, each, is_file=name in files) for each in values]
        ctx.default_map = {**(ctx.default_map or {}), name: placed if many else placed[0]}
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        found = read_toml(path)
    except PrivetError as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        raise typer.BadParameter(f"{path.name} cannot be read: {error.strerror}.") from None
    return {name.replace("-", "_"): value for name, value in found.items()}


def _files(function: Callable[..., None]) -> set[str]:
    """The parameters that name files: those of type ``Path``, and the ledger, which may be one."""
    parameters = inspect.signature(function).parameters.values()
    kinds = {each.name: get_args(each.annotation)[0] for each in parameters}
    return {"ledger", *(name for name, kind in kinds.items() if Path in (kind, *get_args(kind)))}


def _placed(folder: Path, value: Any, *, is_file: bool) -> Any:
    """Paths seen from the configuration's folder; everything else as on the command line."""
    if str(value) == "-":  # standard output
        return "-"
    if is_file and "://" not in str(value):
        return str(folder / str(value))
    # text, as it would come from the command line; booleans stay, or "false" would be true
    return value if isinstance(value, bool) else str(value)


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_load,
        is_eager=True,
        help="TOML file with any of the other flags; paths in it are relative to it.",
    ),
]
