"""How a fitted model shows itself: its promise under scikit-learn's diagram, and its statement."""

from __future__ import annotations

import html
from typing import Any, ClassVar, Literal, Protocol

from numpy.typing import NDArray
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from privet.errors import DeclarationError
from privet.privacy.guarantee import Guarantee
from privet.schema import Schema
from privet.statement import statement
from privet.statement.provenance import Trained


class Displayed:
    """Text and HTML of an estimator with ``guarantee_``, and its statement."""

    interactive: ClassVar[bool] = False  # whether rows are kept to answer from
    predicts_numbers: ClassVar[bool] = False  # whether ``classes_`` are the ends of an interval
    guarantee_: Guarantee
    classes_: NDArray[Any]
    n_features_in_: int
    dataset: str | None

    def statement(self, format: Literal["text", "json", "html"] = "text") -> str:
        """The privacy statement of the fitted model.

        Parameters
        ----------
        format : "text", "json" or "html", default "text"
            Text, a JSON card, or a page to sign.

        Returns
        -------
        str
        """
        check_is_fitted(self, "guarantee_")
        return statement(
            self.guarantee_,
            model=type(self).__name__,
            ledger=self.dataset,
            format=format,
            trained=trained(self),
            interactive=self.interactive,
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        guarantee = self.__dict__.get("guarantee_")
        return text if guarantee is None else f"{text}\nreleased with {guarantee.short}"

    def _repr_html_(self) -> str:
        """scikit-learn's diagram with the guarantee under it, for notebooks."""
        diagram = estimator_html_repr(self)
        guarantee = self.__dict__.get("guarantee_")
        if guarantee is None:
            return str(diagram)
        facts = {
            "Guarantee": str(guarantee),
            "Theorem": guarantee.theorem,
            "Neighbors": guarantee.compared,
            "Numerics": guarantee.numerics,
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in facts.items()
        )
        return f"{diagram}<table>{cells}</table>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class FittedClassifier(Protocol):
    """A fitted model of any kind, as far as a statement names it."""

    classes_: NDArray[Any]
    n_features_in_: int


def trained(model: FittedClassifier) -> Trained:
    """Label and columns of a fitted model: its schema's, or named by its table, or nameless."""
    bounds = bool(getattr(model, "predicts_numbers", False))
    ends = [f"{end:g}" for end in model.classes_] if bounds else model.classes_
    classes = tuple(str(label) for label in ends)
    features = int(model.n_features_in_)
    text = getattr(model, "schema_", None)
    if text is not None:
        schema = Schema.from_text(text)
        names = tuple(schema.columns)
        return Trained(features, classes, names, schema.label.name, schema=True, bounds=bounds)
    names = getattr(model, "feature_names_in_", ())
    return Trained(features, classes, tuple(str(name) for name in names), bounds=bounds)


def refuse_published(model: object) -> None:
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
