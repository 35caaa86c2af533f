"""Unit rows and private whitening: one event, one map of a row, a linear class boundary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privet import (
    ZCDP,
    ApproxDP,
    Box,
    Categorical,
    Label,
    LargeMarginGaussian,
    LinearSVC,
    LogisticRegression,
    Numeric,
    PureDP,
    Schema,
    fit_table,
    fit_with_intervals,
    load,
)
from privet.errors import DeclarationError
from privet.kernels import KernelSVC
from privet.mechanisms.moments import PrivateMean, second_moments
from privet.models import preparation
from privet.models.whiten import (
    CONSTANT,
    SphereRows,
    eigenvalue_floor,
    whitener,
    worth_whitening,
)
from privet.noise.cone_noise import half_vector, symmetric
from privet.privacy.compose import Composition
from privet.rows import checked_rows
from tests.strategies import Array

ROOT = ZCDP(0.5)
KINDS = [LogisticRegression, LinearSVC]
WAYS = ["unit", "whiten"]


def people(n: int = 4000, classes: int = 2) -> tuple[Array, Any]:
    """Short rows whose columns lean on each other; the label follows a direction of little length.

    Rows have a tenth to a half of the norm that they may have.
    """
    rng = np.random.default_rng(classes)
    common = rng.normal(size=(n, 1))
    x = 0.1 * common + 0.02 * rng.normal(size=(n, 3))
    scores = x @ rng.normal(size=(3, classes)) if classes > 2 else None
    return x, (x[:, 0] > x[:, 1]).astype(int) if scores is None else scores.argmax(axis=1)


@pytest.mark.parametrize("budget", [ROOT, ApproxDP(1.0, 1e-6)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_one_event_covers_matrix_and_fit(kind: Any, budget: Any) -> None:
    x, y = people()
    model = kind(budget, standardize="whiten").fit(x, y)
    event = model.guarantee_.event
    assert model.guarantee_.budget == budget
    assert model.guarantee_.private
    assert [part.mechanism for part in event.parts] == ["objective", "moments"]
    assert budget.keeps(Composition(event.parts))
    assert "private whitening" in event.mechanism
    assert model.whitening_.shape == (4, 4)


def test_unit_rows_need_no_release() -> None:
    x, y = people()
    model = LogisticRegression(PureDP(1.0), standardize="unit").fit(x, y)
    assert model.guarantee_.event.parts == ()
    assert not hasattr(model, "whitening_")
    assert any("brought to norm 1" in told for told in model.guarantee_.assumptions)


def test_it_learns_what_short_and_leaning_rows_hide() -> None:
    """Seen: .994 to .998 with whitening, .61 to .94 without (12 fits each)."""
    x, y = people(20_000)
    small = ZCDP(0.002)
    assert LogisticRegression(small, standardize="whiten").fit(x, y).score(x, y) > 0.97
    plain = [LogisticRegression(small).fit(x, y).score(x, y) for _ in range(10)]
    assert np.mean(plain) < 0.95


@given(
    arrays(np.float64, (3, 4), elements=st.floats(-1e300, 1e300)),
    st.sampled_from([1e-50, 1.0, 1e50]),
    st.booleans(),
)
def test_every_row_is_on_the_sphere_and_in_its_own_direction(
    x: Array, bound: float, constant: bool
) -> None:
    rows = SphereRows(4, bound, constant)(x)
    norms = np.linalg.norm(rows, axis=1)
    zero = ~(rows != 0.0).any(axis=1)
    assert np.all(zero | (np.abs(norms - 1.0) < 1e-12))
    assert not constant or not zero.any()
    for i, row in enumerate(x):  # each by itself
        assert np.array_equal(SphereRows(4, bound, constant)(row[None, :])[0], rows[i])
        same = np.sign(rows[i, :4]) == np.sign(row)
        assert np.all(same | (rows[i, :4] == 0.0))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_decisions_are_linear_in_the_columns(way: Any, classes: int, intercept: bool) -> None:
    x, y = people(classes=classes)
    labels = list(range(classes))
    model = LogisticRegression(
        ROOT, standardize=way, classes=labels, fit_intercept=intercept, norm_bound=2.0
    ).fit(x, y)
    weights, offsets = model.linear_rule()
    plain = x @ weights.T + offsets
    found = (plain[:, 0] > 0).astype(int) if classes == 2 else plain.argmax(axis=1)
    assert np.array_equal(model.predict(x), found)
    scores = model.decision_function(x).reshape(plain.shape)
    factors = scores / plain
    assert (factors > 0).all()
    assert np.allclose(factors, factors[:, :1])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_exports_and_sparse_rows_agree(way: Any, kind: Any, tmp_path: Path) -> None:
    x, y = people(800)
    model = kind(ROOT, standardize=way).fit(sp.csr_array(x), y)
    model.save(tmp_path / "m.privet")
    loaded = load(tmp_path / "m.privet")
    scores = model.decision_function(x)
    assert np.allclose(loaded.decision_function(sp.csr_array(x)), scores, rtol=1e-12)
    assert np.allclose(model.to_sklearn().decision_function(x), scores, rtol=1e-9)


def test_neighbors_matrices_stay_within_the_sensitivity() -> None:
    """Orthogonal unit rows attain it; random and rounded ones stay below."""
    rng, n = np.random.default_rng(), 50
    query = second_moments(4)
    worst = 0.0
    for one, other in [np.eye(4)[:2], *rng.normal(size=(200, 2, 4))]:
        table = rng.normal(size=(n, 4))
        means = []
        for row in (one, other):
            table[0] = row
            rows = checked_rows(table, np.zeros(n), norm_bound=1.0)
            (total,) = rows.sum(lambda block, y: (block.gram(np.ones(len(y))),))
            means.append(half_vector(total / n))
        worst = max(worst, float(np.linalg.norm(means[0] - means[1])))
    assert 0.999 * query.diameter / n < worst <= query.sensitivity(n)
    assert query.dimension == len(half_vector(np.eye(4)))


def test_the_floor_is_above_the_noise() -> None:
    """The noise's largest eigenvalue passes the floor with probability below 1e-9."""
    side, n = 30, 1000
    design = PrivateMean(second_moments(side), ROOT).design(n)
    rng = np.random.default_rng()
    noise = rng.normal(size=(20, side * (side + 1) // 2)) * design.noise.coordinate_sd
    sizes = np.abs(np.linalg.eigvalsh(symmetric(noise, side))).max(axis=1)
    floor = eigenvalue_floor(design, side)
    assert sizes.max() < floor
    assert sizes.min() > 0.35 * floor  # and not far above it


def test_the_matrix_makes_directions_alike() -> None:
    rng = np.random.default_rng()
    rows = SphereRows(3, 1.0, False)(rng.normal(size=(5000, 3)) * [1.0, 0.3, 0.1])
    moments = rows.T @ rows / len(rows)
    w = whitener(moments, 1e-9)
    spread = np.linalg.eigvalsh(w @ moments @ w)
    assert spread.max() / spread.min() == pytest.approx(1.0, abs=1e-6)
    floored = whitener(np.diag([1.0, -0.5]), 0.1)
    assert np.isfinite(floored).all()
    assert (np.linalg.eigvalsh(floored) > 0).all()


def test_the_rule_reads_declarations() -> None:
    assert worth_whitening(ApproxDP(1.0, 1e-6), 40_000, 50)
    assert not worth_whitening(ApproxDP(0.1, 1e-6), 1_000, 50)
    assert not worth_whitening(PureDP(100.0), 10**6, 3)


def test_refusals() -> None:
    x, y = people(100)
    with pytest.raises(DeclarationError, match="Gaussian noise"):
        LogisticRegression(1.0, standardize="whiten").fit(x, y)
    for kind in (KernelSVC, LargeMarginGaussian):
        for way in WAYS:
            with pytest.raises(DeclarationError, match="models of the columns"):
                kind(ROOT, standardize=way).fit(x, y)
    with pytest.raises(DeclarationError, match="no intervals"):
        fit_with_intervals(LogisticRegression(standardize="unit"), x, y, budget=ROOT)
    private = LogisticRegression(ROOT, standardize="private", column_bounds=(-1.0, 1.0)).fit(x, y)
    with pytest.raises(DeclarationError, match="not linear"):
        private.linear_rule()
    assert CONSTANT == 0.2


@pytest.mark.parametrize(
    ("budget", "rows", "categories", "expected"),
    [
        (ApproxDP(1.0, 1e-6), 4000, 0, "whiten"),
        (ApproxDP(0.01, 1e-6), 60, 0, "unit"),
        (1.0, 4000, 0, "unit"),
        (1.0, 4000, 3, None),
        (ApproxDP(1.0, 1e-6), 60, 3, None),
    ],
    ids=str,
)
def test_a_table_with_a_schema_chooses_by_the_public_rule(
    budget: Any, rows: int, categories: int, expected: Any
) -> None:
    """Categories keep the noise of their domain; arrays are left as they are."""
    x, y = people(rows)
    table: dict[str, Any] = {f"c{i}": column for i, column in enumerate(x.T)} | {"y": y}
    columns: dict[str, Any] = {f"c{i}": Numeric(-1.0, 1.0) for i in range(3)}
    for i in range(categories):
        table[f"k{i}"] = (np.arange(rows) + i) % 8
        columns[f"k{i}"] = Categorical(tuple(range(8)))
    schema = Schema(columns, Label("y", [0, 1]))
    model = LogisticRegression(budget)
    fitted = fit_table(model, schema, table)
    assert fitted.standardize == expected
    # a budget of almost nothing for few rows: the noise goes onto clipped gradients
    assert fitted.mechanism == ("gradient" if rows == 60 and not categories else "objective")
    assert model.standardize == "auto"
    arrays = model.fit(x, y)
    assert arrays.coef_.shape == (1, 3)
    left = LogisticRegression(budget, standardize=None)
    assert fit_table(left, schema, table).standardize is None


@pytest.mark.parametrize(
    ("budget", "mechanism", "noise", "expected"),
    [
        (ApproxDP(0.1, 1e-6), "auto", 0.06, "unit"),
        (ApproxDP(0.1, 1e-6), "auto", 0.001, None),  # the exact minimum: nothing is clipped
        (ApproxDP(0.1, 1e-6), "objective", 0.06, None),
        (PureDP(0.1), "auto", 0.06, None),
    ],
    ids=str,
)
def test_rows_as_they_are_must_be_better_than_clipped_gradients(
    budget: Any, mechanism: Any, noise: float, expected: Any, monkeypatch: Any
) -> None:
    found = {"unit": noise * 1000, None: 0.9 * noise * 1000}
    monkeypatch.setattr(preparation, "effects_of_noise", lambda *_: dict(found))
    model = LogisticRegression(budget, classes=[0, 1], mechanism=mechanism, domain=Box(3, 0.5))
    assert preparation.preparation_for(model, 1000, 3) == expected
