"""The old address of ``privet.ledger``; it will be removed."""

from privet._moved import old_names

NAMES = ("Entry", "Ledger", "Part", "Receipt", "Terms")

__getattr__ = old_names(__name__, {name: f"privet.ledger.{name}" for name in NAMES})
