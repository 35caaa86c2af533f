"""The only rooms where sensitivity meets noise: one theorem per file."""

from privet.mechanisms.counts import Histogram
from privet.mechanisms.distinguishing import Distinguishing
from privet.mechanisms.function import FunctionRelease
from privet.mechanisms.gradient import GradientDescent
from privet.mechanisms.matrix import SecondMoments
from privet.mechanisms.matrix_beside import MomentsBesideFit
from privet.mechanisms.means import ClassMeans
from privet.mechanisms.moments import PrivateMean
from privet.mechanisms.objective import ObjectivePerturbation
from privet.mechanisms.output import OutputPerturbation
from privet.mechanisms.projection import Projection
from privet.mechanisms.release import Draw, Release, ReleaseDesign
from privet.mechanisms.search import DisjointParts, PublicChoice, RandomStopping
from privet.mechanisms.selection import Selection
from privet.mechanisms.sparse_vector import SparseVector
from privet.mechanisms.statistics import RidgeStatistics
from privet.mechanisms.trainer import Design, Mechanism, Trainer

#: Every private minimizer by its name.
MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism for mechanism in (OutputPerturbation, ObjectivePerturbation)
}

#: Whatever fits a linear model: the minimizers, and gradient descent, which minimizes nothing.
TRAINERS: dict[str, type[Trainer]] = {**MECHANISMS, GradientDescent.name: GradientDescent}

#: Every release by the mechanism that its events name; the laws are tested on all of these.
_RELEASES: tuple[type[Release], ...] = (
    OutputPerturbation,
    ObjectivePerturbation,
    GradientDescent,
    RidgeStatistics,
    ClassMeans,
    Histogram,
    PrivateMean,
    Selection,
    SecondMoments,
    MomentsBesideFit,
    FunctionRelease,
    SparseVector,
    Projection,
    Distinguishing,
    DisjointParts,
    RandomStopping,
    PublicChoice,
)
RELEASES: dict[str, type[Release]] = {release.name: release for release in _RELEASES}

__all__ = [
    "MECHANISMS",
    "RELEASES",
    "TRAINERS",
    "ClassMeans",
    "Design",
    "Draw",
    "GradientDescent",
    "Mechanism",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Release",
    "ReleaseDesign",
    "RidgeStatistics",
    "Trainer",
]
