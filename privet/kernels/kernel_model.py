"""What kernel models share: a public feature map in front of the linear mechanisms.

    columns -> standardized by released moments (if asked) -> times public weights -> features

The features are random ones of a stationary kernel, or spanned by public points. Either way they
are made from declarations alone, so the linear theorems hold for them word for word.

How much regularization kernel features want under Gaussian noise: as little as is proven.

The default rule of the linear models grows with the number of columns, since there each further
column brings its own noise. Features of a kernel do not: isotropic noise on them is one Gaussian
process with the kernel's covariance, however many features stand for it. What costs accuracy
here is bias, and the floor of the proof, ``Lam_0 = c R^2/(n k_0)``, falls with ``n eps`` as the
noise does. So

    Lam = max(Lam_0, c R^2/n)

raised while the noise that pays for the minimizer's last digits would move a row's score by more
than a tenth. All of it is public. Pure noise grows with the number of features, and output
perturbation has no floor: both keep the rule of the linear models.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray

from privet._types import Array
from privet.errors import DeclarationError
from privet.features.fourier import DeclaredFrequencies
from privet.features.kernel import Kernel
from privet.features.landmarks import DeclaredLandmarks
from privet.features.named import declared_kernel, declared_weights
from privet.features.objects import SuppliedKernel
from privet.losses.loss import JACOBIAN_SHARE
from privet.mechanisms import Mechanism
from privet.mechanisms.gap import reserve
from privet.mechanisms.regularization import regularization_floor
from privet.mechanisms.trainer import Design
from privet.models.linear_model import PrivateLinearModel
from privet.models.planned import Planned
from privet.privacy.budget import as_budget
from privet.rows.mapped import FeatureMap

# The frequencies of a seeded model must not repeat the bits of its noise.
OTHER_STREAM = 1 << 40


class KernelModel(PrivateLinearModel):
    """A linear model of public kernel features."""

    map_arrays: ClassVar[tuple[str, ...]] = (DeclaredFrequencies.array, DeclaredLandmarks.array)

    kernel: str | Kernel
    gamma: float | Literal["auto"]
    nu: float
    n_frequencies: int | Literal["auto"]
    orthogonal: bool | Literal["auto"]
    public_points: Any
    column_weights: Any

    frequencies_: Array
    whitener_: Array

    def _declare_kernel(
        self,
        kernel: str | Kernel,
        gamma: float | Literal["auto"],
        nu: float,
        n_frequencies: int | Literal["auto"],
        orthogonal: bool | Literal["auto"],
        public_points: Any,
        features: FeatureMap | None,
        column_weights: Any,
    ) -> None:
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
    def _objects(self) -> bool:
        """Whether rows are objects that only the kernel, or the user's own map, understands."""
        return self.features is not None or (
            isinstance(self.kernel, Kernel) and self.kernel.objects
        )

    def _declared(self, d: int) -> DeclaredFrequencies | DeclaredLandmarks:
        """What the features of ``d`` columns are made of, where ``features`` is not a ready map."""
        weights = declared_weights(self.column_weights, d)
        kernel = declared_kernel(self.kernel, self.gamma, self.nu, d, weights)
        if self.public_points is not None:
            return DeclaredLandmarks(kernel, d, weights, self.public_points)
        seed = None if self.insecure_seed is None else self.insecure_seed + OTHER_STREAM
        budget, count, orthogonal = as_budget(self.budget), self.n_frequencies, self.orthogonal
        return DeclaredFrequencies(kernel, d, weights, count, orthogonal, budget, seed)

    def _check_features(self, d: int) -> None:
        """Refuse declarations that contradict each other, or that no map can be made of."""
        own = self.public_points is not None or self.column_weights is not None
        if self.features is not None and own:
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
        else:
            self._declared(d).check()

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
        gaussian = self.mechanism == "objective" and plan.minimizer[1].main.kind == "gaussian"
        if self.regularization != "auto" or not gaussian:
            return plan
        mechanism, design = least_regularized(*plan.minimizer)
        event = plan.stages.event(design.event, n)
        return replace(plan, mechanism=mechanism, design=design, event=event)

    def _bound(self) -> float:
        if self.features is not None:
            return float(self.features.norm)
        # a named kernel is stationary, so its bound is 1
        return math.sqrt(self.kernel.bound) if isinstance(self.kernel, Kernel) else 1.0

    def _columns(self, n: int, d: int) -> int:
        if self.features is not None:
            return super()._columns(n, d)
        return self._declared(d).columns(n) + bool(self.fit_intercept)

    # -- features ------------------------------------------------------------------------------

    @property
    def maps_rows(self) -> bool:
        """True: features are those of a kernel."""
        return True

    def _public_arrays(self, n: int, d: int) -> dict[str, Array]:
        """The frequencies, or the map that the public points span: made once, without a row."""
        if self.features is not None:
            return {}
        declared = self._declared(d)
        return {declared.array: declared.made(n, self._released_columns(d))}

    def _feature_map(self, d: int) -> FeatureMap:
        if self.features is not None:
            return self.features
        declared = self._declared(d)
        return declared.map(getattr(self, declared.array), self._released_columns(d))

    def _released_columns(self, d: int) -> FeatureMap | None:
        return None if self._objects else self._standardizer(d)

    def _width(self) -> int:
        if self.features is not None:
            return super()._width()
        declared = self._declared(int(self.n_features_in_))
        return declared.width(getattr(self, declared.array))

    def _refuse_unsound(self, data: Any) -> None:
        super()._refuse_unsound(data)
        # what the kernel cannot compare; what a user's own code says about one object is found
        # after the charge, since it could be a test for that object
        own = self.features is not None or isinstance(self.kernel, SuppliedKernel)
        if self._objects and self.standardize is None and not own:
            self._declared(0).kernel.diagonal(data)

    # -- telling and files ---------------------------------------------------------------------

    def _told_features(self) -> list[str]:
        if self.features is not None:
            return super()._told_features()
        declared = self._declared(int(self.n_features_in_))
        told = [] if self.column_weights is None else ["the column weights"]
        if isinstance(declared.kernel, SuppliedKernel):
            bound = f"K(x, x) held to {declared.kernel.bound:g}"
            told.append(f"the kernel, a supplied kernel with {bound}")
            told.append(
                "that the supplied kernel is positive semidefinite and a function of two objects "
                "alone, as asserted by the user"
            )
        else:
            told.append(f"the kernel, {declared.kernel}")
        return [*told, declared.told(self._width())]

    @property
    def released_arrays(self) -> tuple[str, ...]:
        """Names of the arrays that a model file keeps beside ``coef_`` and ``intercept_``."""
        kind = DeclaredFrequencies if self.public_points is None else DeclaredLandmarks
        own = kind.array if self.features is None else ""
        unused = set(self.map_arrays) - {own}
        return tuple(name for name in super().released_arrays if name not in unused)

    def is_consistent(self) -> bool:
        """Whether the arrays of a model file fit its classes and columns.

        Returns
        -------
        bool
        """
        if self.features is None:
            declared = self._declared(int(self.n_features_in_))
            if not declared.fits(getattr(self, declared.array)):
                return False
        return super().is_consistent()


# -- regularization ------------------------------------------------------------------------------

# Scores are compared with 1; the noise of the gap may move them by this.
VISIBLE = 0.1


def least_regularized(mechanism: Mechanism, design: Design) -> tuple[Mechanism, Design]:
    """``mechanism`` at the least regularization that is proven and whose gap does not show."""
    n, m, bound = design.n, design.m, mechanism.norm_bound
    q = reserve(mechanism.budget).main.objective_floor(mechanism.loss, JACOBIAN_SHARE)
    floor = regularization_floor(bound, n, q)
    lam = max(floor, design.risk.row_curvature / n)
    while lam < design.risk.regularization:
        least = replace(mechanism, regularization=lam, noise="gaussian")
        found = least.design(n, m)
        if _gap_in_scores(found) <= VISIBLE:
            return least, found
        lam *= 1.25
    return mechanism, design


def _gap_in_scores(design: Design) -> float:
    """What the gap's noise does to a row's scores, in root mean square; public."""
    if design.gap is None:
        return 0.0
    return design.gap.expected_norm * design.risk.norm_bound / math.sqrt(design.parameters)
