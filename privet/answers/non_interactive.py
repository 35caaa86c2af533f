"""Non-interactive learning: no query and no public point is known when the model is released.

Each round draws privately a point at which the model so far is most wrong, and corrects it there
(Jain and Thakurta 2013, Algorithm 3). Linear kernel: points of the whole ball, drawn exactly.
Others: a declared net, which must be fine enough to matter and small enough to score, so only in
low dimension. Elsewhere use ``KernelSVC``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np

from privet._checks import is_number
from privet._types import Array
from privet.answers.answering import budget_first, failure_share
from privet.answers.dual import kernel_minimum
from privet.answers.expansion import ReleasedExpansion
from privet.errors import DeclarationError
from privet.features.kernel import Kernel, count
from privet.features.named import declared_kernel
from privet.features.numeric import Linear
from privet.grid import grid_exponent, round_to_grid
from privet.ledger import Ledger
from privet.mechanisms.distinguishing import (
    Distinguishing,
    DistinguishingDesign,
    Space,
)
from privet.models.inputs import table_shape
from privet.privacy import Budget, Event
from privet.randomness import Randomness, source

#: Points that a net may have: each is scored in every round.
LARGEST_NET = 100_000


class NonInteractiveClassifier(ReleasedExpansion):
    """A kernel classifier made of privately drawn points and noisy answers at them.

    Parameters
    ----------
    budget : float (pure epsilon), PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost.
    kernel : "auto", Kernel, "gaussian", "laplacian" or "matern", default "auto"
        "auto" is ``Linear()``, rows clipped to norm 1, without a net, and "gaussian" with one.
    net : table, list of objects, float or None, default None
        Public points to draw from, at most 100,000; a number is the spacing of a grid in the ball
        of radius ``net_radius``. The linear kernel draws from its whole ball and takes none.
    net_radius : float, default 1.0
        Of the grid.
    rounds : int or "auto", default "auto"
        "auto" makes the error bound smallest.
    failure_probability : float, default 0.05
        Of the error bound; it also decides which corrections are left out as noise.
    regularization, loss, h, classes, ledger, dataset, insecure_seed :
        As in ``InteractivePredictor``.

    Attributes
    ----------
    points_, dual_coef_ : drawn points and weights, released
    guarantee_, classes_, regularization_ : as in ``InteractivePredictor``

    Examples
    --------
    >>> import numpy as np
    >>> from privet import ZCDP
    >>> from privet.kernels import Linear, NonInteractiveClassifier
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> model = NonInteractiveClassifier(ZCDP(20.0), kernel=Linear(3.0)).fit(X, X[:, 0] > 0)
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]])
    array([ True, False])
    """

    kept: ClassVar[tuple[str, ...]] = ("regularization", "loss", "h", "failure_probability")

    @budget_first("kernel", "budget")
    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        kernel: str | Kernel = "auto",
        net: Any = None,
        net_radius: float = 1.0,
        rounds: int | Literal["auto"] = "auto",
        failure_probability: float = 0.05,
        regularization: float | Literal["auto"] = "auto",
        loss: Literal["logistic", "huber", "smooth_hinge"] = "logistic",
        h: float = 1.0,
        classes: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.budget = budget
        self.kernel = kernel
        self.net = net
        self.net_radius = net_radius
        self.rounds = rounds
        self.failure_probability = failure_probability
        self.regularization = regularization
        self.loss = loss
        self.h = h
        self.classes = classes
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _kernel(self, d: int) -> Kernel:
        if self.kernel != "auto":
            return super()._kernel(d)
        return Linear() if self.net is None else declared_kernel("gaussian", "auto", 1.5, d, None)

    def _points(self, d: int) -> Any:
        """The declared net; None for the linear kernel, which draws from the whole ball."""
        if isinstance(self._kernel(d), Linear):
            if self.net is not None:
                raise DeclarationError("The linear kernel draws from the whole ball: drop net=.")
            return None
        if self.net is None:
            raise DeclarationError(
                "net= must be given: public points to draw from, or the spacing of a grid in the "
                "ball of radius net_radius. In more than a few columns no net is fine enough; use "
                "KernelSVC there."
            )
        if is_number(self.net):
            points: Any = ball_net(d, float(self.net_radius), float(self.net))
        else:
            points = self._declared_points("net", self.net, d)
        if not 1 <= count(points) <= LARGEST_NET:
            raise DeclarationError(
                f"The net has {count(points)} points; from 1 to {LARGEST_NET} can be scored."
            )
        return points

    def _told(self, d: int) -> list[str]:
        points, told = self._points(d), super()._told(d)
        if points is None:
            return told
        kind = "a net of declared spacing with {} points"
        if not is_number(self.net):
            kind = "a net of {} public points, declared public by the user"
        return [*told, kind.format(count(points))]

    def design(self, n: int, d: int) -> DistinguishingDesign:
        """What a fit draws, from declarations alone.

        Parameters
        ----------
        n, d : int
            Rows and columns of the table.

        Returns
        -------
        DistinguishingDesign
        """
        points = self._points(d)
        return Distinguishing(
            **self._declared(d),
            space=Space(d, 0 if points is None else count(points)),
            rounds=self.rounds,
            failure_probability=failure_share(self.failure_probability),
        ).design(n)

    def _event(self, n: int, d: int) -> Event:
        return self.design(n, d).event

    def _constants(self, n: int, d: int) -> dict[str, Any]:
        return self.design(n, d).constants

    # -- fitting -------------------------------------------------------------------------------

    def _run(self, data: Any, targets: Array) -> str:
        n, d = table_shape(data)
        kernel, design = self._kernel(d), self.design(n, d)
        risk, tolerance = design.minimizer.risk, design.minimizer.tolerance
        minimum = kernel_minimum(risk, kernel, data, targets, tolerance)
        randomness = source(self.insecure_seed)
        if isinstance(kernel, Linear):
            exact = kernel.explicit(minimum.points).T @ minimum.coefficients
            # drawn points carry the minimizer in their last bits; a public grid does not. Weights
            # have the units of answers over rows, and so has their grid
            noise = design.numeric.coordinate_sd / kernel.norm_bound
            grid = grid_exponent(noise, design.minimizer.norm)
            weights = round_to_grid(linear_rounds(design, exact, randomness), grid)
            length = float(np.linalg.norm(weights))
            # one point of the kernel's ball with one weight says the same
            scale = length / kernel.norm_bound if length > 0.0 else 1.0
            self.points_, self.dual_coef_ = weights[None, :] / scale, np.array([scale])
        else:
            points = self._points(d)
            chosen, weights = net_rounds(design, kernel, points, minimum(points), randomness)
            self.points_ = points[chosen] if not self._objects else [points[i] for i in chosen]
            self.dual_coef_ = weights
        return design.numerics


def linear_rounds(design: DistinguishingDesign, exact: Array, randomness: Randomness) -> Array:
    """The weights after all rounds; ``exact`` is the curator's minimizer."""
    weights = np.zeros_like(exact)
    for _ in range(design.rounds):
        z = design.point(weights - exact, randomness)
        answer = design.release(float(exact @ z), randomness)
        error = answer - float(weights @ z)
        if abs(error) > design.slack and float(z @ z) > 0.0:
            weights = weights + error / float(z @ z) * z
    return weights


def net_rounds(
    design: DistinguishingDesign, kernel: Kernel, points: Any, exact: Array, randomness: Randomness
) -> tuple[list[int], Array]:
    """Drawn points and their weights; ``exact`` are the curator's predictions on the net."""
    chosen, weights = list[int](), list[float]()
    guesses = np.zeros_like(exact)
    for _ in range(design.rounds):
        scores = np.abs(guesses - exact)
        i = design.choose(scores, randomness)
        answer = design.release(float(exact[i]), randomness)
        error, z = answer - float(guesses[i]), points[i : i + 1]
        square = float(kernel.diagonal(z)[0])
        if abs(error) > design.slack and square > 0.0:
            chosen.append(i)
            weights.append(error / square)
            guesses = guesses + weights[-1] * kernel(points, z)[:, 0]
    if not chosen:  # nothing was worth a correction: the zero function, on one public point
        return [0], np.zeros(1)
    return chosen, np.array(weights)


def ball_net(d: int, radius: float, spacing: float) -> Array:
    """A grid of that ``spacing`` in the ball, refused where it would be too large to score."""
    if not (0.0 < spacing < math.inf and 0.0 < radius < math.inf) or d < 1:
        raise DeclarationError("A net needs columns, a positive spacing and a positive net_radius.")
    steps = math.floor(radius / spacing)
    if d * math.log(2 * steps + 1) > math.log(100.0 * LARGEST_NET):
        raise DeclarationError(
            f"A grid of spacing {spacing:g} in {d} columns has about {2 * steps + 1}^{d} points; "
            f"at most {LARGEST_NET} can be scored. Use a coarser one, fewer columns or KernelSVC."
        )
    axis = spacing * np.arange(-steps, steps + 1)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return np.asarray(grid[np.linalg.norm(grid, axis=1) <= radius * (1.0 + 1e-12)])
