"""The design of a released model: every public number of its fit, from its event alone.

A model file keeps declarations and an event. Reports, intervals and audits need the law of the
noise in the coefficients, which is the design that the fit had: the fit's own share of the budget
(not the whole claim, where other releases came with it), its regularisation and its noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from privet.errors import DeclarationError, quietly
from privet.mechanisms import Design, Mechanism
from privet.mechanisms.release import NoiseChoice
from privet.models.labels import class_weights
from privet.noise import NOISES
from privet.privacy.kinds import FitEvent, fit_part


def is_one_fit(model: Any) -> bool:
    """Whether the law of the noise in the coefficients is known.

    The model that a search chose carries the event of the search: its own fit is one of many, and
    which one was best depends on the noise of all of them.
    """
    return fit_part(model.guarantee_.event) is not None


def fit_of(model: Any) -> FitEvent:
    """The event of the fit itself; refused where the model has none of its own."""
    event = model.guarantee_.event
    fit = fit_part(event)
    if fit is None:
        raise DeclarationError(
            f"The noise in the coefficients of a model by {event.mechanism!r} has no known law; it "
            "has one after a single fit by output or objective perturbation."
        )
    return fit


def released_mechanism(model: Any) -> Mechanism:
    """The fit's mechanism, with the budget, regularisation and kind of noise of its event."""
    event = fit_of(model)
    weights = class_weights(model.class_weight, model.classes_)
    mechanism: Mechanism = model._mechanism(len(model.classes_), weights)
    return replace(
        mechanism,
        budget=event.claim,
        regularization=event.regularization,
        noise=cast(NoiseChoice, event.noise),
    )


def released_design(model: Any) -> Design:
    """The design that the release had; noise and event are the event's own."""
    event, mechanism = fit_of(model), released_mechanism(model)
    with quietly():  # the fit has said it
        design = mechanism.design(event.n, event.columns)
    main = NOISES[event.noise](event.scale, design.parameters)
    return replace(design, main=main, event=event)
