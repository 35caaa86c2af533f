"""A released sum of kernels around public points, with its file."""

from __future__ import annotations

import os
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from privet._files import write_paid
from privet._types import Array
from privet.answers import records
from privet.answers.answering import KernelAnswering
from privet.errors import DataError, DeclarationError
from privet.features.kernel import count
from privet.features.named import kernel_from_json
from privet.privacy import Event
from privet.privacy.budget import budget_from_json
from privet.privacy.guarantee import guarantee_from_json
from privet.privacy.kinds import regularization_of

Model = TypeVar("Model", bound="ReleasedExpansion")
BLOCK_NUMBERS = 1 << 24


class ReleasedExpansion(KernelAnswering):
    """``<w, phi(x)> = sum_j dual_coef_j K(points_j, x)``; everything in it is released."""

    released = ("classes_", "guarantee_", "regularization_", "points_", "dual_coef_")
    #: constructor parameters that a file keeps beside kernel, budget and classes
    kept: ClassVar[tuple[str, ...]] = ()

    points_: Any
    dual_coef_: Array

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, positive for the second class."""
        check_is_fitted(self, "dual_coef_")
        data = self._table(X, reset=False)
        self._refuse_unsound(data)
        kernel = self._kernel(int(self.n_features_in_))
        out = np.empty(count(data))
        step = max(1, BLOCK_NUMBERS // max(len(self.dual_coef_), 1))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            out[part] = kernel(data[part], self.points_) @ self.dual_coef_
        return out

    def _digests(self, event: Event) -> list[str]:
        try:
            points = records.queries_out(self.points_)
        except DeclarationError:  # objects of the user's own: there will be no file to name
            return []
        name, classes = type(self).__name__, records.labels_out(self.classes_)
        return [records.answers_digest(name, classes, points, self.dual_coef_.tolist(), event)]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write points, weights and guarantee: what was released, never a row."""
        check_is_fitted(self, "guarantee_")
        d = int(self.n_features_in_)
        head = {
            "format": records.FORMAT,
            "model": type(self).__name__,
            "kernel": self._kernel(d).to_json(),
            "budget": self._budget.to_json(),
            "columns": d,
            "classes": records.labels_out(self.classes_),
            "parameters": {name: getattr(self, name) for name in self.kept},
            "guarantee": self.guarantee_.to_json(),
        }
        points = records.queries_out(self.points_)
        body = {"points": points, "weights": self.dual_coef_.tolist()}
        write_paid(path, records.text_of([head, body])[0], overwrite=overwrite)

    @classmethod
    def load(cls: type[Model], path: str | os.PathLike[str]) -> Model:
        """Read what ``save`` wrote; refuses anything else."""
        lines, _ = records.read(path)
        with records.understood():
            head, body = lines
            if head["model"] != cls.__name__:
                raise DataError(f"The file does not hold a {cls.__name__}.")
            return cls._built(head, body)

    @classmethod
    def _built(cls: type[Model], head: dict[str, Any], body: dict[str, Any]) -> Model:
        classes, parameters = records.labels_in(head["classes"]), dict(head["parameters"])
        if "method" in parameters:  # the word of earlier files
            parameters["mechanism"] = parameters.pop("method")
        model = cls(
            kernel=kernel_from_json(head["kernel"]),
            budget=budget_from_json(head["budget"]),
            classes=classes.tolist(),
            **{name: parameters[name] for name in cls.kept},
        )
        model.points_ = records.queries_in(body["points"])
        model.dual_coef_ = np.array(body["weights"], dtype=np.float64)
        if len(model.points_) != len(model.dual_coef_) or not np.isfinite(model.dual_coef_).all():
            raise DataError("The file does not have one finite weight for each point.")
        model.classes_, model.n_features_in_ = classes, int(head["columns"])
        model.guarantee_ = guarantee_from_json(head["guarantee"])
        model.regularization_ = regularization_of(model.guarantee_.event)
        return model
