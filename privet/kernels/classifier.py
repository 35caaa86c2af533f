"""What the kernel classifiers share: a public feature map in front of the linear mechanisms.

    columns -> standardised by released moments (if asked) -> times public weights -> features

The features are random ones of a stationary kernel, or spanned by public points. Either way they
are made from declarations alone, so the linear theorems hold for them word for word.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privet._checks import positive_whole
from privet._types import Array
from privet.errors import DeclarationError
from privet.features.fourier import (
    FourierMap,
    default_frequencies,
    draw_frequencies,
    spherical,
    with_frequencies,
)
from privet.features.kernel import Kernel, count
from privet.features.landmarks import LandmarkMap, whitener
from privet.features.maps import weighted
from privet.features.named import declared_kernel, declared_weights
from privet.features.objects import SuppliedKernel
from privet.kernels.regularization import least_regularized
from privet.models.classifier import PrivateLinearClassifier
from privet.models.fit import Planned
from privet.privacy.budget import Budget, as_budget
from privet.randomness import source
from privet.rows.mapped import FeatureMap

# The frequencies of a seeded model must not repeat the bits of its noise.
OTHER_STREAM = 1 << 40


class KernelClassifier(PrivateLinearClassifier):
    """A linear classifier of public kernel features."""

    map_arrays: ClassVar[tuple[str, ...]] = ("frequencies_", "whitener_")

    frequencies_: Array
    whitener_: Array

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        kernel: str | Kernel = "gaussian",
        gamma: float | Literal["auto"] = "auto",
        nu: float = 1.5,
        n_frequencies: int | Literal["auto"] = "auto",
        orthogonal: bool | Literal["auto"] = "auto",
        public_points: Any = None,
        features: FeatureMap | None = None,
        column_weights: Any = None,
        mechanism: str = "objective",
        noise: Literal["auto", "laplace", "gaussian"] = "auto",
        calibration: str | None = None,
        regularization: float | Literal["auto"] = "auto",
        fit_intercept: bool = False,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        standardize: Literal["private"] | None = None,
        column_bounds: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        # not super(): the linear model of the same loss comes next and has other parameters
        PrivateLinearClassifier.__init__(
            self,
            budget,
            mechanism=mechanism,
            noise=noise,
            calibration=calibration,
            regularization=regularization,
            classes=classes,
            class_weight=class_weight,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.gamma = gamma
        self.nu = nu
        self.n_frequencies = n_frequencies
        self.orthogonal = orthogonal
        self.public_points = public_points
        self.features = features
        self.column_weights = column_weights

    # -- declarations --------------------------------------------------------------------------

    @property
    def _landmarks(self) -> bool:
        return self.public_points is not None

    @property
    def _objects(self) -> bool:
        """Whether rows are objects that only the kernel, or the user's own map, understands."""
        return self.features is not None or (
            isinstance(self.kernel, Kernel) and self.kernel.objects
        )

    def _check_features(self, d: int) -> None:
        """Refuse declarations that contradict each other, or that no map can be made of."""
        if self.features is not None and (self._landmarks or self.column_weights is not None):
            raise DeclarationError(
                "features= is a ready map: public_points and column_weights belong in it."
            )
        if self._objects and (self.standardize is not None or self.column_weights is not None):
            raise DeclarationError(
                "standardize and column_weights are for columns of numbers, which these rows or "
                "this ready map do not have."
            )
        if self.features is not None:
            self._check_map(d)
        elif self._landmarks:
            self._width()  # refuses an empty list
            points = self._public_table(d)
            if self._objects:
                self._kernel(d).diagonal(points)  # refuses what it cannot compare
        else:
            kernel = self._kernel(d)
            with_frequencies(kernel, orthogonal=self._orthogonal(kernel))

    def _kernel(self, d: int) -> Kernel:
        weights = declared_weights(self.column_weights, d)
        return declared_kernel(self.kernel, self.gamma, self.nu, d, weights)

    def _frequencies(self, n: int) -> int:
        """How many random frequencies: declared, or by the public rule."""
        if self.n_frequencies == "auto":
            return default_frequencies(n, as_budget(self.budget))
        return positive_whole("n_frequencies", self.n_frequencies)

    def _orthogonal(self, kernel: Kernel) -> bool:
        return spherical(kernel) if self.orthogonal == "auto" else bool(self.orthogonal)

    def planned(self, n: int, d: int, classes: NDArray[Any] | int = 2) -> Planned:
        """What a fit would do and cost; how many frequencies are drawn is part of the design.

        Parameters
        ----------
        n, d : int
            Rows and columns of the table.
        classes : array or int, default 2
            The classes in their order, or their number.

        Returns
        -------
        Planned
        """
        self._check_features(d)
        plan = super().planned(n, d, classes)
        gaussian = self.mechanism == "objective" and plan.design.main.kind == "gaussian"
        if self.regularization != "auto" or not gaussian:
            return plan
        mechanism, design = least_regularized(plan.mechanism, plan.design)
        event = plan.stages.event(design.event, n)
        return replace(plan, mechanism=mechanism, design=design, event=event)

    def _public_arrays(self, n: int, d: int) -> dict[str, Array]:
        """The frequencies, or the map that the public points span: made without a row."""
        if self.features is not None:
            return {}
        kernel = self._kernel(d)
        if self._landmarks:
            weights = declared_weights(self.column_weights, d)
            return {"whitener_": whitener(kernel, weighted(self._points(d), weights))}
        seed = None if self.insecure_seed is None else self.insecure_seed + OTHER_STREAM
        drawn = draw_frequencies(
            kernel,
            self._frequencies(n),
            d,
            orthogonal=self._orthogonal(kernel),
            randomness=source(seed),
        )
        return {"frequencies_": drawn}

    def _bound(self) -> float:
        if self.features is not None:
            return float(self.features.norm)
        # a named kernel is stationary, so its bound is 1
        return math.sqrt(self.kernel.bound) if isinstance(self.kernel, Kernel) else 1.0

    def _width(self) -> int:
        if self.features is not None:
            return int(self.features.columns)
        if not self._landmarks:
            return 2 * len(self.frequencies_)
        if count(self.public_points) == 0:
            raise DeclarationError("public_points must hold at least one public point.")
        return count(self.public_points)

    def _columns(self, n: int, d: int) -> int:
        if self.features is None and not self._landmarks:
            return 2 * self._frequencies(n) + bool(self.fit_intercept)
        return self._width() + bool(self.fit_intercept)

    # -- features ------------------------------------------------------------------------------

    @property
    def maps_rows(self) -> bool:
        """True: features are those of a kernel."""
        return True

    def _feature_map(self, d: int) -> FeatureMap:
        if self.features is not None:
            return self.features
        weights = declared_weights(self.column_weights, d)
        if not self._landmarks:
            return FourierMap(self.frequencies_, weights)
        return LandmarkMap(self._kernel(d), self._points(d), self.whitener_, weights)

    def _points(self, d: int) -> Any:
        """The public points as the kernel compares them: numbers as the rows are standardized."""
        points = self._public_table(d)
        standardizer = None if self._objects else self._standardizer(d)
        return points if standardizer is None else standardizer(points)

    def _public_table(self, d: int) -> Any:
        """The public points as declared: objects, or a table of ``d`` columns."""
        if self._objects:
            return list(self.public_points)
        points = np.asarray(self.public_points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != d or not np.isfinite(points).all():
            raise DeclarationError(f"public_points must be a table of {d} columns of numbers.")
        return points

    def _refuse_unsound(self, data: Any) -> None:
        super()._refuse_unsound(data)
        # what the kernel cannot compare; what a user's own code says about one object is found
        # after the charge, since it could be a test for that object
        own = self.features is not None or isinstance(self.kernel, SuppliedKernel)
        if self._objects and self.standardize is None and not own:
            self._kernel(0).diagonal(data)

    # -- telling -------------------------------------------------------------------------------

    def _told_features(self) -> list[str]:
        if self.features is not None:
            return super()._told_features()
        kernel, width = self._kernel(int(self.n_features_in_)), self._width()
        weights = [] if self.column_weights is None else ["the column weights"]
        about = told_features(kernel, width, self.public_points, self._bound())
        return [*weights, *about]

    # -- model files ---------------------------------------------------------------------------

    @property
    def released_arrays(self) -> tuple[str, ...]:
        """Names of the arrays that a model file keeps beside ``coef_`` and ``intercept_``."""
        own = "whitener_" if self._landmarks else "frequencies_" if self.features is None else ""
        unused = set(self.map_arrays) - {own}
        return tuple(name for name in super().released_arrays if name not in unused)

    def is_consistent(self) -> bool:
        """Whether the arrays of a model file fit its classes and columns."""
        if self.features is None and not self._landmarks:
            fits = self.frequencies_.ndim == 2 and self.frequencies_.shape[1] == self.n_features_in_
        elif self._landmarks:
            self._points(int(self.n_features_in_))  # refuses what is not a table
            fits = self.whitener_.shape == (count(self.public_points), self._width())
        else:
            fits = True
        return fits and super().is_consistent()


def told_features(kernel: Kernel, width: int, public_points: Any, norm: float) -> list[str]:
    """What a statement says about the map and the kernel behind it."""
    supplied = isinstance(kernel, SuppliedKernel)
    named = f"a supplied kernel with K(x, x) held to {kernel.bound:g}" if supplied else str(kernel)
    told = [f"the kernel, {named}"]
    if supplied:
        told.append("that the supplied kernel is positive semidefinite, as asserted by the user")
    if public_points is None:
        told.append(f"{width} random features of norm 1, drawn without looking at the rows")
    else:
        told.append(
            f"{count(public_points)} public points, declared public by the user; {width} features "
            f"of Euclidean norm at most {norm:g}"
        )
    return told
