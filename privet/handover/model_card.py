"""A model card: Markdown whose front matter programs read, and whose body is the statement."""

from __future__ import annotations

from typing import Any

from privet._version import __version__
from privet.errors import MissingExtra
from privet.handover.handed_model import HandedModel
from privet.statement.facts import Fact


def model_card(released: HandedModel) -> str:
    """The card of one released model."""
    facts, guarantee, name = released.facts, released.last.guarantee_, released.name
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("A card needs PyYAML: pip install 'privet[cli]'.") from error
    kind = ["differential-privacy", guarantee.budget.kind] if facts.private else []
    front: dict[str, Any] = {
        "library_name": "privet",
        "model_name": name,
        "pipeline_tag": f"tabular-{'regression' if released.is_regression else 'classification'}",
        "tags": [*kind, "tabular"],
        "privacy": {
            "private": facts.private,
            "promise": facts.headline,
            "unit": guarantee.unit,
            "parameters": dict(guarantee.budget.facts()) if facts.private else {},
        },
        "sha256": released.digest,
        "privet": __version__,
    }
    lines = ["---", yaml.safe_dump(front, sort_keys=False).rstrip(), "---", "", f"# {name}", ""]
    lines += [f"> {alarm}\n" for alarm in facts.alarms]
    lines += [f"**{facts.headline}**: {facts.kind}", ""]
    for section in facts.sections:
        lines += [f"## {section.title}", ""]
        for fact in section.facts:
            lines += _told(fact)
    return "\n".join(lines).rstrip() + "\n"


def _told(fact: Fact) -> list[str]:
    lines = [f"**{fact.name}.** {_plain(fact.text)}", ""]
    if fact.items:
        lines += [*(f"- {_plain(item)}" for item in fact.items), ""]
    if fact.table is not None:
        head = fact.table.columns
        rows = [" | ".join(map(_plain, row)) for row in fact.table.rows]
        lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        lines += [*(f"| {row} |" for row in rows), ""]
    return lines


def _plain(text: str) -> str:
    """Names come from files: none of them becomes markup."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return text
