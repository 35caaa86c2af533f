"""How a fitted model shows itself: its promise under scikit-learn's own text and diagram."""

from __future__ import annotations

import html
from typing import Any, ClassVar, Literal

from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from privet.models.trained import trained
from privet.statement import statement


class Shown:
    """Text and HTML of an estimator with ``guarantee_``, and its statement."""

    interactive: ClassVar[bool] = False  # whether rows are kept to answer from

    def statement(self, format: Literal["text", "json", "html"] = "text") -> str:
        """The privacy statement of the fitted model: text, a JSON card, or a page to sign."""
        check_is_fitted(self, "guarantee_")
        model: Any = self
        return statement(
            model.guarantee_,
            model=type(self).__name__,
            ledger=model.dataset,
            format=format,
            trained=trained(self),
            interactive=self.interactive,
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        guarantee = self.__dict__.get("guarantee_")
        return text if guarantee is None else f"{text}\nreleased with {guarantee}"

    def _repr_html_(self) -> str:
        """scikit-learn's diagram with the guarantee under it, for notebooks."""
        diagram = estimator_html_repr(self)
        guarantee = self.__dict__.get("guarantee_")
        if guarantee is None:
            return str(diagram)
        facts = {
            "Guarantee": str(guarantee),
            "Theorem": guarantee.theorem,
            "Neighbours": guarantee.compared,
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
