"""What a model sees of rows, as a value that can be sent to whoever reads them.

It holds neither budget nor noise. What a statement says of a fit whose rows were read in parts.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

from privet._types import Codes, Targets
from privet.losses import Loss
from privet.mechanisms.gap import rounding_of
from privet.mechanisms.trainer import Design, VectorDesign
from privet.rows import Rows
from privet.rows.streamed import StreamedTable

#: What a model knows that whoever reads rows is not to know.
SECRET = ("budget", "ledger", "dataset", "insecure_seed")


@dataclass(frozen=True)
class ModelView:
    """Rows with their targets as a model sees them."""

    model: Any
    bounded: Callable[[Any, Targets], Rows]
    loss: Loss
    classes: int
    takes_packed: bool = False

    @classmethod
    def of(cls, model: Any, d: int, loss: Loss, classes: int) -> ModelView:
        """The view of a copy that knows nothing of the release to come."""
        blind = copy(model)
        for name in SECRET:
            setattr(blind, name, None)
        bounded = model._bounded(d)
        owner = getattr(bounded, "__self__", None)
        return cls(blind, bounded, loss, classes, getattr(owner, "takes_packed", False))

    def __call__(self, x: Any, codes: Codes) -> Rows:
        """Bounded rows with what the loss is given for each."""
        return self.bounded(x, self.model._targets(x, codes, self.loss, self.classes))


def told_engine(x: Any, design: VectorDesign) -> tuple[str, ...]:
    """What a guarantee relies on where the rows were read in parts; all of it is public.

    How many passes there were is not said: it depends on the rows.
    """
    if not isinstance(x, StreamedTable):
        return ()
    told = (
        f"the sums over the {len(x):,} rows, which were read by {x.source.engine.name}: every "
        "pass over the table or a part of it counted the rows and compared a keyed digest of their "
        "cells, in their order, with the first pass, which misses a change with a probability "
        "below 2^-64"
    )
    if isinstance(design, Design):
        told += (
            f"; the gradient was certified to norm {design.tolerance:.3g}, computed with rounding "
            f"errors of at most {rounding_of(design):.1e}"
        )
    return (told,)
