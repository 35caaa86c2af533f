"""How rows are prepared where it is left to Privet: a public rule of declarations and budget.

    as they are    |b| in the span of the domain, over the length that rows have if numbers are
                   uniform between their bounds
    "unit"         |b| for rows at full length
    "whiten"       the same over ``GAIN``, where the matrix would be more than its noise

The least of the three is taken; rows as they are count ``CLIPPING`` times where the others would be
fitted by gradient descent. ``|b|`` is the size of the fit's own noise under each of them, from
its design: pure noise has the shape of the domain for rows as they are, which full length would
bend. Gaussian noise that is large beside what all rows can pull goes onto clipped gradients
(``mechanism="auto"``): a clip costs less than the largest gradient, and there is no floor of the
regularization; where noise is small the exact minimum is better. With more than two classes and
pure noise that is large beside what all rows can pull, sums of each class are released instead
(``mechanism="means"``), whose noise is smaller. Measured in ``reproduce/rivals.md``.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from sklearn.base import clone

from privet.domain import Domain, OneHot, Part
from privet.mechanisms.means import ClassMeans
from privet.mechanisms.shaped import size_in_span
from privet.models.featured import FULL_LENGTH, Standardize
from privet.models.inputs import declared_classes
from privet.models.whiten import worth_whitening
from privet.privacy.budget import Budget, as_budget

#: What whitening is worth: about as much as noise smaller by this factor.
GAIN = 1.5
#: What clipped gradients are worth to gradient descent: about as much as noise smaller by this.
CLIPPING = 1.25
#: Noise over rows from which on gradient descent is better than objective perturbation: with two
#: classes, and with more.
LARGE_NOISE = (0.005, 0.02)
#: Pure noise over rows from which on class means are better than objective perturbation, with more
#: than two classes: where there are numbers, and with categories alone.
NOISE_FOR_MEANS = (0.05, 0.0125)
#: The mean square of a number that is uniform between -1 and 1, and of its two shares of a size.
UNIFORM, SHARED = 1.0 / 3.0, 2.0 / 3.0


def typical_length(domain: Domain) -> float:
    """Root mean square norm over the largest, with numbers uniform between their bounds."""
    largest = math.fsum(block.squared_norm for block in domain.blocks)
    typical = math.fsum(block.squared_norm * _typical(block) for block in domain.blocks)
    return math.sqrt(typical / largest)


def _typical(block: Part) -> float:
    """Mean square over the largest."""
    if isinstance(block, OneHot):
        return SHARED if block.between else 1.0
    return UNIFORM


class Preparable(Protocol):
    """What the rule asks of a model; the models themselves import this file."""

    budget: Budget | float
    classes: Any
    mechanism: str
    noise: str
    regularization: float | str
    calibration: str | None
    class_weight: Any
    mechanisms: tuple[str, ...]
    maps_rows: bool
    standardize: Standardize | None
    fit_intercept: bool
    center: Any
    public_rows: Any

    def _domain(self) -> Domain | None: ...


def preparation_for(model: Preparable, n: int, d: int) -> Standardize | None:
    """The preparation with the least noise for what a row then pulls; from declarations."""
    if model._domain() is None and not as_budget(model.budget).allows_gaussian:
        return None  # spherical noise, and nothing known of the rows' length
    found = effects_of_noise(model, n, d)
    if None in found and model.mechanism == "auto" and _descends(model, found["unit"], n):
        found[None] *= CLIPPING
    return min(found, key=lambda way: found[way])


def effects_of_noise(model: Preparable, n: int, d: int) -> dict[Standardize | None, float]:
    """For each preparation, the size of the noise for rows of length one."""
    domain, budget = model._domain(), as_budget(model.budget)
    unit = _noise(model, "unit", n, d)
    found: dict[Standardize | None, float] = {"unit": unit}
    if domain is not None:
        found[None] = _noise(model, None, n, d) / typical_length(domain)
    if worth_whitening(budget, n, d + bool(model.fit_intercept)):
        found["whiten"] = unit / GAIN
    return found


def mechanism_for(model: Preparable, n: int, d: int) -> str:
    """Where the noise goes, for rows that are prepared as ``model.standardize`` says."""
    if model.standardize not in FULL_LENGTH:
        return "objective"
    return "gradient" if _descends(model, _noise(model, "unit", n, d), n) else "objective"


def _descends(model: Preparable, noise: float, n: int) -> bool:
    """Whether gradient descent is for noise of this size, if it is left open."""
    known = model.center is not None or model.public_rows is not None
    left_open = model.noise == "auto" and model.regularization == "auto" and not known
    limit = LARGE_NOISE[len(declared_classes(model.classes)) > 2]
    return left_open and as_budget(model.budget).allows_gaussian and noise > limit * n


def takes_means(model: Preparable, n: int, d: int) -> bool:
    """Whether sums by class are released: pure noise, many classes, and all of it left open."""
    if model.mechanism != "auto":
        return model.mechanism == ClassMeans.name
    domain = model._domain() if ClassMeans.name in model.mechanisms else None
    if domain is None or model.maps_rows or as_budget(model.budget).kind != "pure":
        return False
    left_open = model.noise == "auto" and model.regularization == "auto"
    given = (model.calibration, model.class_weight, model.center, model.public_rows)
    if not left_open or any(each is not None for each in given):
        return False
    if len(declared_classes(model.classes)) < 3:
        return False
    categories = all(isinstance(block, OneHot) for block in domain.blocks)
    least = min(effects_of_noise(model, n, d).values())
    return least > NOISE_FOR_MEANS[categories] * n


def means_options(model: Preparable, n: int, d: int) -> dict[str, Any]:
    """Class means of rows as they are or at full length, whichever leaves less noise."""
    unit = {"mechanism": ClassMeans.name, "standardize": "unit", "domain": None}
    plain = {"mechanism": ClassMeans.name, "standardize": None}
    domain = model._domain()
    if domain is None or not (domain.has_constant or model.fit_intercept):
        return unit
    longer = _noise_of_means(model, unit, n, d) * typical_length(domain)
    return unit if longer < _noise_of_means(model, plain, n, d) else plain


def _noise_of_means(model: Preparable, options: dict[str, Any], n: int, d: int) -> float:
    """Its size for rows that are prepared in one way."""
    planned = clone(model).set_params(**options).planned(n, d, declared_classes(model.classes))
    return size_in_span(planned.design.noise, planned.mechanism.domain)


def _noise(model: Preparable, way: Standardize | None, n: int, d: int) -> float:
    """The size of the noise of a fit to rows that are prepared in one way."""
    options: dict[str, Any] = {"standardize": way} | ({} if way is None else {"domain": None})
    if model.mechanism == "gradient":  # it has noise in many steps; compare as for one
        options["mechanism"] = "objective"
    planned = clone(model).set_params(**options).planned(n, d, declared_classes(model.classes))
    return size_in_span(planned.design.main, planned.mechanism.domain)
