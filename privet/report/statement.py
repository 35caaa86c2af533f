"""The privacy statement as a page: the same facts as its text and its card, for signing."""

from __future__ import annotations

from privet.privacy.statement import Facts
from privet.report.templates import rendered


def as_page(facts: Facts) -> str:
    """One file without outside parts, for a screen, a phone or paper."""
    return rendered("statement.html", facts=facts)
