"""The old address of ``privet.statement``; it will be removed."""

from privet._moved import old_names

NAMES = """
NOT_COVERED Account Fact Facts File Section Table Trained account as_json as_page as_text card
in_words statement statement_facts
"""

__getattr__ = old_names(__name__, {name: f"privet.statement.{name}" for name in NAMES.split()})
