"""Private rows are not handed to a model that publishes what it is asked."""

from __future__ import annotations

from typing import Any

from privet.errors import DeclarationError


def refuse_published(model: Any) -> None:
    """Refuse a model whose queries become public, before it sees a row.

    An interactive predictor writes every query into its transcript. Its answers also depend on the
    queries before them, so a table of counts would have no sensitivity of one.
    """
    if getattr(model, "publishes_queries", False):
        raise DeclarationError(
            f"{type(model).__name__} writes every query into its public transcript, so rows that "
            "are private must not be asked. Measure it on public rows with predict, or train a "
            "model that is released as a whole (KernelSVC, SemiInteractiveClassifier)."
        )
