"""The curve of which only a rho is known: never less than what it stands for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privet.errors import DeclarationError
from privet.privacy.curves import (
    ConcentratedCurve,
    GaussianCurve,
    renyi_epsilon,
    tight_epsilon,
)
from privet.privacy.kinds import curve_from_json


def test_it_covers_the_exponential_mechanism() -> None:
    """Exact Renyi divergences of two laws whose log-ratio has range eps, at many orders."""
    eps, rng = 1.5, np.random.default_rng(0)
    curve = ConcentratedCurve(eps**2 / 8.0, eps)
    for _ in range(200):
        scores = rng.normal(size=5)
        other = scores + rng.uniform(-1.0, 1.0, size=5)
        p, q = (np.exp(eps * s / 2.0) / np.exp(eps * s / 2.0).sum() for s in (scores, other))
        for order in (1.01, 1.5, 2.0, 8.0, 100.0):
            renyi = math.log(float((p**order * q ** (1.0 - order)).sum())) / (order - 1.0)
            assert renyi <= curve.renyi(order) * (1.0 + 1e-9) + 1e-12


def test_without_a_pure_epsilon_it_promises_no_gaussian_profile() -> None:
    curve = ConcentratedCurve(0.5)
    assert curve.pure == math.inf
    assert curve.zcdp == 0.5
    assert curve.epsilon(1e-6) == renyi_epsilon([curve], 1e-6)
    assert curve.epsilon(1e-6) > GaussianCurve(0.5).epsilon(1e-6)
    assert tight_epsilon([curve], 1e-6) == math.inf


def test_it_is_written_and_read() -> None:
    for curve in (ConcentratedCurve(0.3), ConcentratedCurve(0.3, 2.0)):
        assert curve_from_json(curve.to_json()) == curve
    with pytest.raises(DeclarationError):
        ConcentratedCurve(math.nan)
