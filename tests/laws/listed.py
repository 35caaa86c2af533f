"""Lists that must name what a registry has: a law that fails says which file to edit."""

from __future__ import annotations

from collections.abc import Collection


def names_all(listed: Collection[str], registered: Collection[str], where: str) -> None:
    """``listed``, which is in the file ``where``, leaves nothing out of the registry."""
    missing = sorted(set(registered) - set(listed))
    assert not missing, f"enter {missing} into {where}"


def names_the_same(listed: Collection[str], registered: Collection[str], where: str) -> None:
    """Neither leaves anything out."""
    names_all(listed, registered, where)
    gone = sorted(set(listed) - set(registered))
    assert not gone, f"take {gone} out of {where}, or enter it into its registry"
