"""The ledger has a room of its own, ``privet.ledger``; this is the old door to it."""

from __future__ import annotations

import warnings
from typing import Any

_MOVED = ("Entry", "Ledger", "Part", "Receipt", "Terms")


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from privet import ledger

    warnings.warn(
        f"privet.privacy.ledger.{name} is now privet.ledger.{name}.", FutureWarning, stacklevel=2
    )
    return getattr(ledger, name)
