"""Files whose facts contradict each other, with noise that fits the kinder one: none is accepted.

A bound is proved for a loss, a noise and rows that belong together. Each file here states two of
them that do not, in places that are far from each other, and has the noise of the smaller bound.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import ZCDP, LinearSVC, LogisticRegression, PoissonRegressor, confidence_intervals
from privet.certificate.balls import ball, precision
from privet.certificate.loss_bounds import RowLoss
from privet.certificate.pair_bounds import joint_bound
from tests.certificate.mutants import Parsed, accepted, changed, parsed
from tests.certificate.test_forged import opened
from tests.laws.releases.registry import quiet

EVENT = (0, "guarantee", "event")


def intervals(model: Any, target: Any, tmp_path: Path) -> Parsed:
    """Intervals of a model with two columns, as ``verify`` reads them."""
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (900, 2))
    path = tmp_path / "i"
    with quiet():
        y = target(x)
        confidence_intervals(model.fit(x, y), x, y, budget=ZCDP(50.0)).save(path)
    return parsed(path.read_bytes())


@pytest.mark.parametrize(
    ("model", "name"), [(LogisticRegression, "logistic"), (LinearSVC, "huber")]
)
def test_a_loss_of_two_classes_is_not_that_of_three(model: Any, name: str, tmp_path: Path) -> None:
    """The matrices of three classes, in the smaller unit of a loss that has one score."""
    made = model(ZCDP(5.0), classes=[0, 1, 2], regularization=0.1)
    honest = intervals(made, lambda x: np.digitize(x[:, 0], [-0.2, 0.2]), tmp_path)
    assert accepted(honest)
    header = honest.lines[0]
    R, n = header["guarantee"]["constants"]["norm_bound"], header["n"]
    with precision():
        reach = ball(R * math.hypot(*header["theta"]))
        bound = joint_bound(RowLoss(name), ball(header["matrices"]["eta"]), reach)
        unit = math.sqrt(2.0) * R**2 * float(bound.mid()) / n
    assert unit < 0.9 * header["matrices"]["sensitivity"]
    forged = changed(honest, (0, "matrices", "sensitivity"), unit * 1.000001)
    loss = {"name": name, "n_classes": 3}
    assert not accepted(changed(forged, (0, "guarantee", "constants", "loss"), loss))


def test_intervals_of_a_poisson_regression_are_accepted(tmp_path: Path) -> None:
    made = PoissonRegressor(ZCDP(5.0), target_bounds=(0, 2), regularization=0.1)
    honest = intervals(made, lambda x: 1.0 * (x[:, 0] > 0.0), tmp_path)
    assert accepted(honest)
    loss = {"name": "poisson_rate", "middle": 0.01}
    assert not accepted(changed(honest, (0, "guarantee", "constants", "loss"), loss))


def test_counts_of_a_poisson_regression_begin_at_zero() -> None:
    """Its slopes are at most one for targets between zero and the largest, and for no others."""
    made = changed(opened("poisson objective pure"), (0, "parameters", "target_bounds"), [-9, 1])
    made = changed(made, (0, "classes", "values"), [-9, 1])
    words = [
        each.replace("from 0", "from -9") for each in made.lines[0]["guarantee"]["assumptions"]
    ]
    assert not accepted(changed(made, (0, "guarantee", "assumptions"), words))


def test_noise_of_classes_is_not_for_a_loss_of_the_users(tmp_path: Path) -> None:
    """The gauge of a class's gradient is bounded for losses of classes: here it can be 50."""
    file = opened("own scores pure")
    event, parameters = file.lines[0]["guarantee"]["event"], file.lines[0]["parameters"]
    blocks = [{"kind": "box", "width": file.lines[0]["n_features"], "size": 0.5}]
    loss = {**parameters["loss"], "gradient_bound": 50.0}
    square = 0.25 * blocks[0]["width"] * (1.0 + parameters["constant"] ** 2)
    q = square / (event["n"] * event["regularization"])
    determinant = loss["rank"] * math.log1p(loss["curvature_bound"] * q)
    scale = 1.000001 * 4.0 / (event["curves"][0]["loss"] - determinant)
    noise = {"noise": "class product", "sensitivity": 4.0, "scale": scale}
    made = changed(file, EVENT, {**event, **noise})
    for name, value in (("domain", {"blocks": blocks}), ("loss", loss)):
        made = changed(made, (0, "parameters", name), value)
    promise = made.lines[0]["guarantee"]
    promise["numerics"] = re.sub(r"2\^-\d+", "2^-24", promise["numerics"])
    promise["constants"]["gap_scale"] = 1.482e-6
    rows = "each row's 3 columns, put into the declared domain of 1 blocks (numbers within bounds)"
    promise["assumptions"] = [rows if "Euclid" in e else e for e in promise["assumptions"]]
    assert not accepted(made)


@pytest.mark.parametrize("release", ["logistic standardized zcdp", "logistic unit"])
def test_a_domain_is_about_columns_as_they_are(release: str) -> None:
    """Scaled rows are not in it, so that its norm is not theirs."""
    file = opened(release)
    width = file.lines[0]["n_features"]
    size = file.lines[0]["parameters"]["norm_bound"] / math.sqrt(width)
    domain = {"blocks": [{"kind": "box", "width": width, "size": size}]}
    assert not accepted(changed(file, (0, "parameters", "domain"), domain))
