"""The old address of ``Budget.for_group`` and ``Budget.per_row``; it will be removed."""

from __future__ import annotations

import warnings

from privet.privacy.budget import Budget


def for_group(budget: Budget, size: int) -> Budget:
    """``budget.for_group(size)``."""
    _moved("for_group")
    return budget.for_group(size)


def per_row(budget: Budget, size: int) -> Budget:
    """``budget.per_row(size)``."""
    _moved("per_row")
    return budget.per_row(size)


def _moved(name: str) -> None:
    warnings.warn(
        f"privet.privacy.group.{name}(budget, size) is now budget.{name}(size).",
        FutureWarning,
        stacklevel=3,
    )
