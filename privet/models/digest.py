"""The digest by which a ledger's entry names a released model."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet._files import digest
from privet.privacy.guarantee import released_digest

KIND = "model"
ARRAYS = ("coef_", "intercept_")


def model_digest(model: Any) -> str:
    """Of the class's name, the classes, the claim and every released array, to the last bit.

    It is the same for the model after its fit and for the model that its file gives back.
    """
    arrays = {}
    for name in (*ARRAYS, *model.released_arrays):
        array = np.ascontiguousarray(getattr(model, name), dtype="<f8")
        arrays[name] = [list(array.shape), digest(array.tobytes())]
    classes = [str(label) for label in model.classes_.tolist()]
    numbers = {"model": type(model).__name__, "classes": classes, "arrays": arrays}
    return released_digest(KIND, model.guarantee_.event, numbers)
