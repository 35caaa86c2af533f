"""The text that a privacy officer signs, written from the guarantee alone."""

from __future__ import annotations

import math
import textwrap

from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.guarantee import Guarantee

WIDTH = 88

NOT_COVERED = (
    "Not covered: time and memory used while fitting, what the curator's own terminal showed, "
    "warnings and errors during fitting, any number computed from the rows by other means (an "
    "accuracy on the training table, for example), steps before the model that learnt from the "
    "rows, and releases not listed here."
)


def in_words(budget: Budget) -> str:
    """What the budget means for one person, in odds."""
    if isinstance(budget, PureDP):
        return (
            f"Whatever an attacker knows and sees, the odds that a given record was in the table "
            f"change by a factor of at most {math.exp(min(budget.epsilon, 700.0)):.3g}."
        )
    if isinstance(budget, ApproxDP):
        return (
            f"Except in cases of total probability {budget.delta:g}, the odds that a given record "
            f"was in the table change by a factor of at most "
            f"{math.exp(min(budget.epsilon, 700.0)):.3g}."
        )
    if isinstance(budget, ZCDP):
        return (
            "At every order, the Renyi divergence between what two neighbouring tables release is "
            "at most that between two normal laws whose means are "
            f"{math.sqrt(2.0 * budget.rho):.3g} standard deviations apart."
        )
    return str(budget)


def statement(guarantee: Guarantee, *, model: str, ledger: str | None = None) -> str:
    """The statement in plain text."""
    event = guarantee.event
    composition = (
        f"This release is recorded in the ledger under the data set '{ledger}'; what all releases "
        "from it cost together is the ledger's to say."
        if ledger
        else "This covers one fit. Other releases from the same rows add to it; no ledger was kept."
    )
    lines = [
        f"Privacy statement for {model}",
        "",
        f"Guarantee    {guarantee.budget if guarantee.private else 'none'}",
        f"Unit         {guarantee.unit}",
        *([f"For one row  {event.claim}"] if guarantee.group > 1 else []),
        f"Neighbours   {guarantee.neighbours}",
        f"Rows         {event.n} (public)",
        f"Mechanism    {guarantee.mechanism}, scale {event.scale:.6g}, "
        f"regularization {event.regularization:.6g}",
        f"Theorem      {guarantee.theorem}",
        f"Numerics     {guarantee.numerics}",
        f"Randomness   {'the operating system' if guarantee.private else 'see below'}",
        "",
        _whom(guarantee) if guarantee.private else "Nothing is promised to anybody.",
        "",
        composition,
        "",
        "Declared by the user and relied upon:",
        *(f"- {assumption}" for assumption in guarantee.assumptions),
        "",
        NOT_COVERED,
    ]
    if not guarantee.private:
        lines[1:1] = [
            "",
            f"NOT PRIVATE: {event.why_not_private}. The rest describes the intention.",
        ]
    return "\n".join(_wrapped(line) for line in lines)


def _whom(guarantee: Guarantee) -> str:
    words = in_words(guarantee.budget)
    return words if guarantee.group == 1 else words.replace("a given record", "a given person")


def _wrapped(line: str) -> str:
    indent = (
        " " * 13 if line[:1].isupper() and line[:13].endswith("  ") else "  " * (line[:1] == "-")
    )
    return textwrap.fill(line, WIDTH, subsequent_indent=indent) if line else ""
