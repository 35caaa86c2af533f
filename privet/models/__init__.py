"""Private models with scikit-learn's contract."""

from privet.models.classifier import PrivateLinearClassifier
from privet.models.fit import Fit, Planned
from privet.models.gaussian import LargeMarginGaussian
from privet.models.linear import LinearSVC, LogisticRegression
from privet.models.released import Released
from privet.models.tables import fit_table

#: Every model by its name: what files may name and what the laws run over.
MODELS: dict[str, type[PrivateLinearClassifier]] = {
    model.__name__: model for model in (LogisticRegression, LinearSVC, LargeMarginGaussian)
}

__all__ = [
    "MODELS",
    "Fit",
    "LargeMarginGaussian",
    "LinearSVC",
    "LogisticRegression",
    "Planned",
    "PrivateLinearClassifier",
    "Released",
    "fit_table",
]
