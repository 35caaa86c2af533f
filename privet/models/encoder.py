"""A declared schema as a step of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from privet._types import Array
from privet.errors import DeclarationError
from privet.schema import Schema
from privet.schema.tables import open_table


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encodes tables by a ``Schema``; learns nothing, so that it costs no privacy.

    ``fit`` only checks that the declared columns are there. In a pipeline the label is passed as
    ``y`` and must be complete. The step does not see whose row it is, so that a schema with a
    person is refused; ``fit_table`` handles rows without a label, and persons.

    Parameters
    ----------
    schema : Schema
        Declared columns, bounds and categories.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def _declared(self) -> Schema:
        if not isinstance(self.schema, Schema):
            raise DeclarationError("schema must be a Schema.")
        return self.schema

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the names of the columns.

        Parameters
        ----------
        X : table
            Raw rows; no cell is looked at.
        y : ignored

        Returns
        -------
        self
        """
        declared = self._declared()
        if declared.person is not None:
            raise DeclarationError(
                "The schema says whose row it is, and a step of a pipeline cannot bound the rows "
                "of a person. Use privet.fit_table(model, schema, table)."
            )
        open_table(X, declared.file).require(list(declared.columns))
        return self

    def transform(self, X: Any) -> Array:
        """Rows of the unit ball.

        Parameters
        ----------
        X : table

        Returns
        -------
        array of shape (n, columns)
        """
        return self._declared().encode_features(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str
        """
        return np.array(self._declared().feature_names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags
