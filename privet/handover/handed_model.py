"""A model file as the exports take it: the model, its schema, its statement and its digest."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from privet._files import file_digest, printable
from privet.errors import DataError, DeclarationError, MissingExtra
from privet.ledger import Ledger
from privet.models.model_display import trained
from privet.models.raw_tables import after_schema, carried
from privet.models.row_wise import last_of
from privet.schema import Schema
from privet.statement import Facts, File, RecomputedNumber, account, as_text, statement_facts
from privet.store import load


def recomputed_numbers(path: Path) -> list[RecomputedNumber] | None:
    """Every number of a file computed a second time.

    None without the extra that this needs, and for a file that the second computation cannot read.
    """
    try:
        from privet.certificate.recompute import recompute

        return [RecomputedNumber(*each.cells()) for each in recompute(path)]
    except (DataError, MissingExtra):
        return None


class HandedModel:
    """A model file, opened."""

    def __init__(self, path: Path, ledger: Ledger | None = None) -> None:
        self.path, self.digest, self.ledger = path, file_digest(path), ledger
        self.model: Any = load(path)
        self.last: Any = last_of(self.model)

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return printable(self.path.stem)

    @property
    def is_regression(self) -> bool:
        """Whether it predicts a number."""
        return bool(getattr(self.last, "predicts_numbers", False))

    @property
    def stepped(self) -> bool:
        """Whether other steps come between the schema and the model."""
        return isinstance(self.model, Pipeline) and after_schema(self.model) is not self.last

    @cached_property
    def schema(self) -> Schema:
        """What the model carries; refused where it carries none."""
        found = carried(self.model)
        if found is None:
            raise DeclarationError(
                f"{self.path.name} holds no schema, so nobody could say what a row is. Train it "
                "through a schema (privet train, fit_table)."
            )
        return found

    @cached_property
    def facts(self) -> Facts:
        """The statement's, with what the ledger says where one is given."""
        guarantee = self.last.guarantee_
        receipt = guarantee.receipt
        live = None
        if self.ledger is not None:
            if receipt is None:
                raise DeclarationError("The model was charged to no ledger.")
            live = account(self.ledger, receipt.dataset, guarantee)
        return statement_facts(
            guarantee,
            model=type(self.last).__name__,
            ledger=self.last.dataset,
            account=live,
            file=File(printable(self.path.name), self.digest),
            trained=trained(self.last),
            recomputed=recomputed_numbers(self.path),
        )

    @property
    def statement(self) -> str:
        """As text."""
        return as_text(self.facts)
