"""Private models with scikit-learn's contract."""

from privet.models.linear import MODELS, LinearSVC, LogisticRegression

__all__ = ["MODELS", "LinearSVC", "LogisticRegression"]
