"""Private models with scikit-learn's contract."""

from privet.models.classifier import PrivateLinearClassifier
from privet.models.fit import Fit, Planned
from privet.models.large_margin import LargeMarginGaussian
from privet.models.linear import LinearSVC, LogisticRegression
from privet.models.raw_tables import fit_table
from privet.models.released import Released

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
