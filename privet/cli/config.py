"""Flags from a file: ``privet train --config run.toml``.

The file's keys are the names of the flags and arguments. A flag on the command line wins. Paths in
the file are relative to the file, so that a folder with data, schema and run can be moved.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

#: keys whose values are files
PATHS = ("data", "schema", "out", "picture")
#: commands whose model is a file; elsewhere it is a kind of model
OF_FILES = ("predict", "evaluate")


def _load(ctx: Any, path: Path | None) -> Path | None:
    if path is None or ctx.resilient_parsing:
        return path
    known = {str(parameter.name) for parameter in ctx.command.params}
    for name, value in _read(path).items():
        if name not in known or name in ("config", "help"):
            names = ", ".join(sorted(known - {"config", "help"}))
            raise typer.BadParameter(f"{path.name} has an unknown key {name!r}; known are {names}.")
        many = any(each.name == name and each.multiple for each in ctx.command.params)
        if isinstance(value, dict) or (isinstance(value, list) and not many):
            raise typer.BadParameter(f"{name} in {path.name} must be a single value.")
        values = value if isinstance(value, list) else [value]
        placed = [_placed(path.parent, str(ctx.command.name), name, each) for each in values]
        ctx.default_map = {**(ctx.default_map or {}), name: placed if many else placed[0]}
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path.name} is not TOML: {error}.") from None
    except OSError as error:
        raise typer.BadParameter(f"{path.name} cannot be read: {error.strerror}.") from None
    return {name.replace("-", "_"): value for name, value in found.items()}


def _placed(folder: Path, command: str, name: str, value: Any) -> Any:
    """Paths seen from the configuration's folder; everything else as on the command line."""
    if str(value) == "-":  # standard output
        return "-"
    is_path = name in PATHS or (name == "model" and command in OF_FILES)
    if is_path or (name == "ledger" and "://" not in str(value)):
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
