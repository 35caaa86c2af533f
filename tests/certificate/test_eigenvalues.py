"""Largest eigenvalues: enclosed, also where others are equal, and the files that need them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flint import arb

from privet import ZCDP, LogisticRegression, confidence_intervals
from privet.certificate.balls import above, below, precision
from privet.certificate.eigenvalues import (
    is_narrow,
    largest_of_positive,
    largest_singular_value,
)
from privet.certificate.recompute import recompute
from privet.kernels import Gaussian, SemiInteractiveClassifier
from tests.certificate.mutants import accepted, parsed
from tests.laws.releases.registry import people, quiet


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 4), (1, 5), (5, 1)])
def test_singular_values_of_a_matrix_of_any_shape(shape: tuple[int, int]) -> None:
    made = np.random.default_rng(0).normal(size=shape)
    with precision():
        found = largest_singular_value([[arb(entry) for entry in row] for row in made.tolist()])
    assert above(found) - below(found) < 1e-12
    assert float(found.mid()) == pytest.approx(np.linalg.svd(made)[1][0], rel=1e-12)


@pytest.mark.parametrize("far", [1.0, 3.0, 1e4])
def test_positive_matrices_are_enclosed(far: float) -> None:
    """Far apart, a vector that tells may not be found: the enclosure is wide, and not wrong."""
    points = np.random.default_rng(0).uniform(0.0, far, 9)
    made = np.exp(-((points[:, None] - points) ** 2))
    with precision():
        found = largest_of_positive([[arb(entry) for entry in row] for row in made.tolist()])
    exact = np.linalg.eigvalsh(made)[-1]
    assert below(found) <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= above(found)
    assert is_narrow(found) or far > 1.0


@pytest.mark.parametrize("places", [[0.1, 0.1, 0.1, 0.5], [0.0, 1.0, 1.0, 30.0]])
def test_public_points_may_be_alike(places: list[float], tmp_path: Path) -> None:
    points = np.column_stack([places, places, places])
    declared = {"public_points": points, "mechanism": "tddl", "regularization": 0.3}
    with quiet():
        model = SemiInteractiveClassifier(ZCDP(1.0), kernel=Gaussian(1.0), **declared)
        model.fit(*people()).save(tmp_path / "m")
    honest = parsed((tmp_path / "m").read_bytes())
    assert accepted(honest)
    told = [each for each in recompute(tmp_path / "m") if each.name == "sensitivity"]
    assert [each.holds for each in told] == [True]
    for factor in (0.999, 1.02):
        event = honest.lines[0]["guarantee"]["event"]
        before = event["sensitivity"]
        event["sensitivity"] = before * factor
        assert not accepted(honest)
        event["sensitivity"] = before


def test_intervals_of_more_scores_than_columns(tmp_path: Path) -> None:
    """Their weights have singular values that are zero."""
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (900, 2))
    y = np.digitize(x[:, 0], [-0.3, -0.1, 0.1, 0.3])
    with quiet():
        model = LogisticRegression(ZCDP(5.0), classes=list(range(5)), regularization=0.1).fit(x, y)
        confidence_intervals(model, x, y, budget=ZCDP(200.0)).save(tmp_path / "i")
    honest = parsed((tmp_path / "i").read_bytes())
    assert accepted(honest)
    honest.lines[0]["matrices"]["sensitivity"] *= 0.98
    assert not accepted(honest)
