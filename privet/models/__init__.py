"""Private models with scikit-learn's contract."""

from privet.models.classifier import PrivateLinearClassifier
from privet.models.column_weights import Ridge
from privet.models.fit import Fit
from privet.models.large_margin import LargeMarginGaussian
from privet.models.linear import LogisticRegression
from privet.models.planned import Planned
from privet.models.private_erm import PrivateERM
from privet.models.raw_tables import fit_table
from privet.models.regression import HuberRegressor, LinearRegression, PoissonRegressor
from privet.models.regressor import PrivateLinearRegressor
from privet.models.released import Released
from privet.models.support_vector import LinearSVC

#: Every model by its name: what files may name and what the laws run over.
MODELS: dict[str, type[PrivateLinearClassifier]] = {
    model.__name__: model for model in (LogisticRegression, LinearSVC, LargeMarginGaussian)
}
#: Every regressor by its name.
REGRESSORS: dict[str, type[PrivateLinearRegressor]] = {
    model.__name__: model for model in (LinearRegression, HuberRegressor, PoissonRegressor)
}

__all__ = [
    "MODELS",
    "REGRESSORS",
    "Fit",
    "HuberRegressor",
    "LargeMarginGaussian",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Planned",
    "PoissonRegressor",
    "PrivateERM",
    "PrivateLinearClassifier",
    "PrivateLinearRegressor",
    "Released",
    "Ridge",
    "fit_table",
]
