"""Semi-interactive learning: public points show where predictions will be asked for.

    span           train in the span of the public points' features, with noise in the objective
    kernel_noise   minimize over all functions, release the projection on that span
    tddl           minimize over all functions, release the predictions on the points one by one
                   (Jain and Thakurta 2013, Algorithm 2), then least squares

The first never leaves the span, so the curvature of the data damps its noise, and it needs no n x n
matrix. All three release weights on the public points and nothing else.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg

from privet._types import Array
from privet.answers.answering import budget_first
from privet.answers.dual import kernel_minimum
from privet.answers.expansion import ReleasedExpansion
from privet.bisection import largest
from privet.errors import DeclarationError
from privet.features.kernel import Kernel, count
from privet.features.landmarks import LandmarkMap, whitener
from privet.ledger import Ledger
from privet.mechanisms.objective import ObjectivePerturbation
from privet.mechanisms.projection import (
    Projection,
    ProjectionDesign,
    coordinate_stretch,
    prediction_stretch,
)
from privet.models.inputs import table_shape
from privet.privacy import Budget, Event
from privet.randomness import source
from privet.rows.mapped import MappedRows

MECHANISMS = ("span", "kernel_noise", "tddl")


class SemiInteractiveClassifier(ReleasedExpansion):
    """A kernel classifier in the span of public points.

    Parameters
    ----------
    budget : float (pure epsilon), PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost.
    public_points : table or list of objects
        Unlabeled, public, like the rows that will be classified. They are released with the model.
        There is no default: what is public only the user can say.
    kernel : Kernel, "gaussian", "laplacian" or "matern", default "gaussian"
        A name takes its width from the number of columns.
    mechanism : "span", "kernel_noise" or "tddl", default "span"
        Where the noise goes: into the objective in the span of the points (the most accurate), onto
        the minimizer's projection on that span, or onto its predictions at the points.
    regularization, loss, h, classes, ledger, dataset, insecure_seed :
        As in ``InteractivePredictor``.

    Attributes
    ----------
    points_, dual_coef_ : the public points and their released weights
    guarantee_, classes_, regularization_ : as in ``InteractivePredictor``

    Examples
    --------
    >>> import numpy as np
    >>> from privet import ZCDP
    >>> from privet.kernels import SemiInteractiveClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, public = rng.normal(size=(2000, 2)), rng.normal(size=(40, 2))
    >>> model = SemiInteractiveClassifier(ZCDP(5.0), public_points=public).fit(X, X[:, 0] > 0)
    >>> model.predict([[1.5, 0.0], [-1.5, 0.0]])
    array([ True, False])
    """

    kept: ClassVar[tuple[str, ...]] = ("mechanism", "regularization", "loss", "h")

    @budget_first("public_points", method="mechanism")
    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        public_points: Any = None,
        kernel: str | Kernel = "gaussian",
        mechanism: Literal["span", "kernel_noise", "tddl"] = "span",
        regularization: float | Literal["auto"] = "auto",
        loss: Literal["logistic", "huber", "smooth_hinge"] = "logistic",
        h: float = 1.0,
        classes: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.budget = budget
        self.public_points = public_points
        self.kernel = kernel
        self.mechanism = mechanism
        self.regularization = regularization
        self.loss = loss
        self.h = h
        self.classes = classes
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _points(self, d: int) -> Any:
        if self.public_points is None or count(self.public_points) == 0:
            raise DeclarationError("public_points must hold at least one public point.")
        return self._declared_points("public_points", self.public_points, d)

    def _objective(self, d: int) -> ObjectivePerturbation:
        return ObjectivePerturbation(**self._declared(d))

    def _design(self, n: int, d: int) -> ProjectionDesign:
        kernel, points = self._kernel(d), self._points(d)
        basis = span(kernel, points)[0]
        stretch, size = coordinate_stretch(basis), basis.shape[1]
        if self.mechanism == "tddl":
            top = float(scipy.linalg.eigvalsh(kernel(points, points))[-1]) * (1.0 + 1e-9)
            size = count(points)
            stretch = prediction_stretch(math.sqrt(kernel.bound), size, top)
        of: Literal["predictions", "coordinates"] = (
            "predictions" if self.mechanism == "tddl" else "coordinates"
        )
        return Projection(**self._declared(d), size=size, of=of, stretch=stretch).design(n)

    def _event(self, n: int, d: int) -> Event:
        if self.mechanism not in MECHANISMS:
            names = ", ".join(repr(name) for name in MECHANISMS)
            raise DeclarationError(f"mechanism must be one of {names}, got {self.mechanism!r}.")
        if self.mechanism == "span":
            return self._objective(d).event(n, count(self._points(d)))
        return self._design(n, d).event

    def _constants(self, n: int, d: int) -> dict[str, Any]:
        if self.mechanism != "span":
            return {}
        return self._objective(d).design(n, count(self._points(d))).constants

    def _told(self, d: int) -> list[str]:
        points = count(self._points(d))
        return [*super()._told(d), f"{points} public points, declared public by the user"]

    # -- fitting -------------------------------------------------------------------------------

    def _run(self, data: Any, targets: Array) -> str:
        n, d = table_shape(data)
        kernel, points = self._kernel(d), self._points(d)
        self.points_ = points
        if self.mechanism == "span":
            basis = whitener(kernel, points)
            rows = MappedRows(data, targets, LandmarkMap(kernel, points, basis))
            release = self._objective(d).run(rows)
            self.dual_coef_ = basis @ release.value
            return release.numerics
        design, minimizer = self._design(n, d), self._design(n, d).minimizer
        minimum = kernel_minimum(minimizer.risk, kernel, data, targets, minimizer.tolerance)
        basis, values = span(kernel, points)
        predictions, randomness = minimum(points), source(self.insecure_seed)
        if self.mechanism == "tddl":
            noisy = basis.T @ design.perturb(predictions, randomness)
            radius = minimizer.norm
        else:
            noisy = design.perturb(basis.T @ predictions, randomness)
            radius = min(minimizer.norm, likely_norm(noisy, design.noise.coordinate_sd))
        self.dual_coef_ = basis @ shortest_fit(values, noisy, radius)
        return design.numerics


def span(kernel: Kernel, points: Any) -> tuple[Array, Array]:
    """A basis ``W`` of the span of the points' features, and ``K_ZZ``'s eigenvalues there; public.

    ``W'K_ZZ W`` is the identity up to rounding; it is scaled so as not to be longer than that, so
    coordinates ``W'<w, phi(Z)>`` are never longer than ``w``.
    """
    basis = whitener(kernel, points)
    basis = basis[:, np.abs(basis).max(axis=0) > 0.0]
    gram = kernel(points, points)
    inner = basis.T @ gram @ basis
    longest = float(scipy.linalg.eigvalsh((inner + inner.T) / 2.0)[-1])
    values = 1.0 / np.square(basis).sum(axis=0)
    return basis / math.sqrt(max(longest, 1.0) * (1.0 + 1e-9)), values


def shortest_fit(values: Array, noisy: Array, radius: float) -> Array:
    """Least squares on the points' predictions among weights of norm at most ``radius``.

    ``u_k = noisy_k value_k/(value_k + mu)`` with the smallest ``mu >= 0`` that is short enough.
    """

    def fit(mu: float) -> Array:
        return np.asarray(noisy * values / (values + mu))

    if float(np.linalg.norm(fit(0.0))) <= radius:
        return fit(0.0)
    mu = largest(lambda m: float(np.linalg.norm(fit(m))) > radius, float(values[0]))
    return fit(mu * (1.0 + 1e-9))


def likely_norm(noisy: Array, sd: float) -> float:
    """How long the coordinates were before their noise, from the noisy ones: post-processing."""
    square = float(noisy @ noisy) - len(noisy) * sd**2
    return math.sqrt(max(square, 0.0)) + sd
