"""A public center of the ridge: what is known about the coefficients before a row is read.

``center=`` is an earlier release, a model fitted to public rows, or a pair of coefficients and
offsets. The ridge then pulls to it instead of to zero: ``(Lam/2)|theta - c|^2``. No proof changes,
since that is a public linear term beside ``(Lam/2)|theta|^2`` (``objective.proof.md``). A center in
the right direction leaves less to be learned from the private rows. A wrong one is a start from the
wrong place: before any noise the mean loss is at most ``(Lam/2)|theta* - c|^2`` above the best
``theta*``, where it was ``(Lam/2)|theta*|^2``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privet._types import Array
from privet.errors import DeclarationError
from privet.losses.multiclass import sum_zero_basis


def declared_center(center: Any, classes: Any) -> tuple[Array, Array]:
    """Coefficients (rows, columns) and offsets (rows,) of a model or of a pair.

    A model with the same classes in another order is brought into the order in which ``classes``
    declares them, ascending where it declares none. A pair is taken to be in that order.
    """
    guarantee = getattr(center, "guarantee_", None)
    if guarantee is not None and not guarantee.private:
        raise DeclarationError(
            "center is a model that is not private, so what is made with it would not be either. "
            "Give a private release, or coefficients that come from public rows."
        )
    rule = getattr(center, "linear_rule", None)  # Privet's own; others have the columns' weights
    try:
        if rule is not None:
            pair = rule()
        elif hasattr(center, "coef_"):
            pair = center.coef_, center.intercept_
        else:
            pair = center
        coef, offsets = (np.asarray(part, dtype=np.float64) for part in pair)
    except (TypeError, ValueError, AttributeError) as error:
        raise DeclarationError(
            "center must be a fitted linear model, or a pair of coefficients and offsets as "
            "(coef_, intercept_) of one."
        ) from error
    coef = np.atleast_2d(coef)
    offsets = np.broadcast_to(offsets, len(coef)) if offsets.ndim == 0 else offsets
    if coef.ndim != 2 or offsets.shape != (len(coef),):
        raise DeclarationError(
            "center must have one offset for each row of its coefficients, got "
            f"{offsets.size} for {len(coef)}."
        )
    if not (np.isfinite(coef).all() and np.isfinite(offsets).all()):
        raise DeclarationError("center must hold finite numbers.")
    theirs = np.asarray(getattr(center, "classes_", ())).tolist()
    ascending = classes is None or isinstance(classes, str)
    places = _places(theirs, sorted(theirs) if ascending else list(classes))
    if len(coef) == 1 and places == [1, 0]:  # one score: it was about the other class
        return -coef, -offsets
    if len(coef) == len(places):
        return coef[places], offsets[places]
    return coef, offsets


def _places(theirs: list[Any], ours: list[Any]) -> list[int]:
    """Where each of our classes is among theirs; nothing where they are other classes."""
    same = len(theirs) == len(ours) and all(label in theirs for label in ours)
    return [theirs.index(label) for label in ours] if same else []


def plain_center(center: Any, classes: Any) -> list[Any] | None:
    """As nested lists, for files."""
    return None if center is None else [part.tolist() for part in declared_center(center, classes)]


def center_vector(
    pair: tuple[Array, Array], columns: int, classes: int, constant: float | None
) -> Array:
    """A center's coefficients and offsets as one vector of parameters.

    ``constant`` is the column behind the intercept, None where the model has none.
    """
    coef, offsets = pair
    wanted = 1 if classes == 2 else classes
    if coef.shape != (wanted, columns):
        raise DeclarationError(
            f"center has coefficients of shape {coef.shape}, but the model's have "
            f"({wanted}, {columns})."
        )
    if constant is not None:
        coef = np.concatenate([coef, offsets[:, None] / constant], axis=1)
    elif offsets.any():
        raise DeclarationError(
            "center has offsets, but the model has no intercept: leave them at zero, or use "
            "fit_intercept=True."
        )
    if classes > 2:  # a constant added to all scores changes nothing: it is left out
        coef = sum_zero_basis(classes).T @ coef
    return np.asarray(coef.ravel())
