"""Old addresses of public names: they work for one version more and say where to go."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def old_names(module: str, moved: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that leads from its old names to their new homes.

    ``moved`` maps each old name to a full new address, which is opened when it is asked for: a room
    never loads the rooms above it.
    """

    def find(name: str) -> Any:
        if name not in moved:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = moved[name].rpartition(".")
        warnings.warn(
            f"{module}.{name} goes in the next version: it is now {moved[name]}.",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(import_module(home), new)

    return find
