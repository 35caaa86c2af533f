"""The old address of ``privet.statement``; it will be removed."""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import privet.statement as room  # a room above, opened when called

    if name not in room.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"privet.privacy.statement has moved: import {name} from privet.statement.",
        FutureWarning,
        stacklevel=2,
    )
    return getattr(room, name)
