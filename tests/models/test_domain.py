"""Declared domains: rows are put into them, noise takes their shape, files and exports keep it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privet import (
    ZCDP,
    Box,
    Categorical,
    Domain,
    Label,
    LinearSVC,
    LogisticRegression,
    Numeric,
    OneHot,
    Schema,
    confidence_intervals,
    fit_table,
    load,
    plan,
)
from privet.domain import domain_from_json
from privet.errors import DataError, DeclarationError
from privet.mechanisms.shaped import outside
from privet.models.released import Released
from privet.randomness import SystemRandomness
from privet.rows import checked_rows, inside
from privet.rows.inside import in_domain
from tests.laws.releases.registry import quiet
from tests.strategies import Array

DOMAIN = Domain((Box(2, 0.5), OneHot(3, 0.4), OneHot(2, 0.3, missing=True)))
BLOCKS = list(DOMAIN.blocks)


def people(n: int = 3000, seed: int = 0) -> tuple[Array, Any]:
    """Rows of the domain and labels that can be learnt."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 7))
    x[:, :2] = rng.uniform(-0.5, 0.5, (n, 2))
    x[np.arange(n), 2 + rng.integers(3, size=n)] = 0.4
    some = np.flatnonzero(rng.random(n) < 0.8)
    x[some, 5 + rng.integers(2, size=len(some))] = 0.3
    return x, (x @ [2.0, -1.0, 3.0, 0.0, -2.0, 1.0, 0.0] + 0.1 * rng.normal(size=n) > 0).astype(int)


# -- rows ------------------------------------------------------------------------------------------


def test_rows_of_the_domain_are_used_as_they_are() -> None:
    x, _ = people()
    assert in_domain(x, DOMAIN, zero_rows=False) is x


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_row_becomes_one_of_the_domain_by_itself(dtype: Any, sparse: bool) -> None:
    rng = np.random.default_rng()
    x = (rng.normal(size=(300, 7)) * 10.0 ** rng.uniform(-3, 3, (300, 1))).astype(dtype)
    found = in_domain(sp.csr_array(x) if sparse else x, DOMAIN, zero_rows=False)
    found = found.toarray() if sparse else found
    assert (np.abs(found[:, :2]) <= 0.5).all()
    for columns, size, least in ((slice(2, 5), 0.4, 1), (slice(5, 7), 0.3, 0)):
        assert set(np.unique(found[:, columns])) <= {0.0, size}
        count = (found[:, columns] == size).sum(axis=1)
        assert ((count <= 1) & (count >= least)).all()
    alone = np.concatenate([in_domain(row[None, :], DOMAIN, zero_rows=False) for row in x])
    np.testing.assert_array_equal(found, alone)
    np.testing.assert_array_equal(in_domain(found, DOMAIN, zero_rows=False), found)


def test_a_row_of_zeros_stays_only_without_a_constant() -> None:
    x = np.zeros((2, 7))
    x[1, 2] = 0.4
    assert not in_domain(x, DOMAIN, zero_rows=True)[0].any()
    rows = checked_rows(x, np.ones(2), norm_bound=DOMAIN.norm, domain=DOMAIN, constant=0.9)
    (block, _), *_ = rows.blocks()
    seen = block.scores(np.eye(8))
    normal = outside(DOMAIN.with_constant(0.9))
    assert np.abs(seen @ normal.T).max() < 1e-15  # in the span, constant included
    assert (seen[:, 2:5].sum(axis=1) == 0.4).all()


def test_no_row_of_a_domain_is_scaled() -> None:
    x, y = people()
    assert checked_rows(x, y, norm_bound=DOMAIN.norm, domain=DOMAIN).clipped == 0
    corner = np.array([[0.5, -0.5, 0.4, 0.0, 0.0, 0.3, 0.0]])
    rows = checked_rows(corner, np.ones(1), norm_bound=DOMAIN.norm, domain=DOMAIN)
    (block, _), *_ = rows.blocks()
    np.testing.assert_array_equal(block.scores(np.eye(7)), corner)


# -- models ----------------------------------------------------------------------------------------


def test_the_noise_takes_the_shape_and_is_smaller() -> None:
    x, y = people()
    for kind in (LogisticRegression, LinearSVC):
        model = kind(1.0, domain=BLOCKS, insecure_seed=1).fit(x, y)
        assert model.guarantee_.event.noise == "hull"
        sphere = kind(1.0, domain=BLOCKS, noise="laplace").planned(*x.shape).design
        shaped = model.revisit(x, y).design
        assert shaped.main.expected_norm < 0.8 * sphere.main.expected_norm
        assert sphere.event.noise == "laplace"
    by_name = {
        noise: LogisticRegression(1.0, domain=BLOCKS, noise=noise)
        .planned(*x.shape)
        .design.main.kind
        for noise in ("domain", "product", "sphere", "auto")
    }
    assert by_name == {"domain": "hull", "product": "product", "sphere": "laplace", "auto": "hull"}


def test_without_a_domain_two_classes_are_as_before() -> None:
    assert LogisticRegression(1.0).planned(1000, 5).design.main.kind == "laplace"
    with pytest.raises(DeclarationError, match="Declare domain="):
        LogisticRegression(1.0, noise="domain").planned(1000, 5)
    with pytest.raises(DeclarationError, match="Declare domain="):
        LogisticRegression(1.0, noise="hull", domain=Box(5), fit_intercept=False).planned(1000, 5)
    with pytest.raises(DeclarationError, match="objective perturbation"):
        LogisticRegression(1.0, noise="domain", domain=Box(5), mechanism="output").planned(1000, 5)


@pytest.mark.parametrize(
    "declared",
    [
        {"domain": Box(4)},
        {"domain": "box"},
        {"domain": [Box(2), 3]},
        {"domain": Box(5), "norm_bound": 2.0},
        {"domain": Box(5), "standardize": "private", "column_bounds": (-1.0, 1.0)},
    ],
)
def test_wrong_declarations_are_refused_before_a_row_is_read(declared: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        LogisticRegression(1.0, **declared).planned(1000, 5)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Box(0),
        lambda: Box(1, -1.0),
        lambda: OneHot(2, 0.0),
        lambda: OneHot(2, 1.0, missing=1),
        lambda: Domain(()),
    ],
)
def test_malformed_blocks_are_refused(bad: Any) -> None:
    with pytest.raises(DeclarationError):
        bad()


def test_predictions_put_rows_into_the_domain_too(tmp_path: Path) -> None:
    x, y = people()
    model = LogisticRegression(2.0, domain=BLOCKS, insecure_seed=3).fit(x, y)
    wild = np.random.default_rng(1).normal(size=(50, 7))
    tame = in_domain(wild, DOMAIN, zero_rows=False)
    np.testing.assert_array_equal(model.decision_function(wild), model.decision_function(tame))
    sparse = model.decision_function(sp.csr_array(wild))
    np.testing.assert_allclose(sparse, model.decision_function(wild))
    exported = model.to_sklearn()
    np.testing.assert_allclose(exported.decision_function(wild), model.decision_function(wild))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.domain == DOMAIN
    np.testing.assert_array_equal(again.decision_function(wild), model.decision_function(wild))
    assert again.guarantee_ == model.guarantee_
    assert Released.of(again).design == Released.of(model).design


def test_the_statement_says_the_law_in_words() -> None:
    x, y = people()
    model = LogisticRegression(1.0, domain=BLOCKS, insecure_seed=1).fit(x, y)
    told = " ".join(str(model.statement()).split())
    assert "noise in the shape of the declared domain" in told
    assert "domain_noise.proof.md" in told
    assert "put into the declared domain" in told


def test_more_classes_take_matrix_noise_and_say_so() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.4, 0.4, (500, 4)), rng.integers(4, size=500)
    with quiet():
        model = LogisticRegression(1.0, classes=[0, 1, 2, 3], insecure_seed=1).fit(x, y)
    assert model.guarantee_.event.noise == "matrix laplace"
    assert "matrix_noise.proof.md" in str(model.statement())


def test_gaussian_noise_is_taken_where_it_is_smaller() -> None:
    many = Domain((Box(200, 0.05),))
    kinds = {
        LogisticRegression(budget, domain=many).planned(10**5, 200).design.main.kind
        for budget in (ZCDP(0.5), 1.0)
    }
    assert kinds == {"gaussian", "grouped"}  # the constant has noise of its own


def test_plans_and_intervals_follow_the_noise() -> None:
    x, y = people(20_000)
    model = LogisticRegression(8.0, domain=BLOCKS, fit_intercept=False, insecure_seed=3).fit(x, y)
    found = plan(model, n=20_000, d=7)
    noise = found.release_noise
    assert 0.0 < noise.least < noise.mean < noise.high
    with quiet():
        intervals = confidence_intervals(model, x, y, budget=8.0)
    assert np.isfinite(np.asarray(intervals.lower)).all()
    main = Released.of(model).design.main
    spread = main.relative_variance(np.eye(7)) * main.coordinate_sd**2
    sample = main.sample(SystemRandomness(), 40_000)
    np.testing.assert_allclose(sample.var(axis=0), spread, rtol=0.15)


# -- schemas ---------------------------------------------------------------------------------------


def schema(other: bool = True, rows: str = "scaled") -> Schema:
    return Schema(
        {"age": Numeric(0, 100), "ward": Categorical(("a", "b", "c"), other=other)},
        Label("ill", (0, 1)),
        rows=rows,  # type: ignore[arg-type]
    )


def table(n: int = 2000) -> dict[str, list[Any]]:
    rng = np.random.default_rng(2)
    age, ward = rng.uniform(-20, 120, n), rng.choice(["a", "b", "c", "d", None], n)
    ill = np.where(rng.random(n) < 0.1, 7, (age > 50).astype(int))  # some have no declared label
    return {"age": age.tolist(), "ward": ward.tolist(), "ill": ill.tolist()}


@pytest.mark.parametrize("other", [False, True])
def test_a_schema_has_a_domain_and_every_encoded_row_is_in_it(other: bool) -> None:
    declared = schema(other)
    found = declared.domain
    assert found is not None
    assert found.columns == declared.width
    assert found.has_constant == declared.has_constant
    assert found.norm <= 1.0
    for dtype in (np.float64, np.float32):
        x = declared.encode(table(), dtype=dtype).x
        inside = in_domain(x, found, zero_rows=True)
        assert inside is x or dtype == np.float32
        np.testing.assert_allclose(inside, x, rtol=1e-6)
    assert schema(rows="unit").domain is None


@pytest.mark.parametrize("other", [False, True])
def test_fit_table_uses_the_domain_by_itself(other: bool, tmp_path: Path) -> None:
    with quiet():
        model = fit_table(LogisticRegression(1.0, insecure_seed=1), schema(other), table())
        unit = fit_table(LogisticRegression(1.0, insecure_seed=1), schema(rows="unit"), table())
    assert model.guarantee_.event.noise in ("hull", "product")
    assert model.domain == schema(other).domain
    assert unit.guarantee_.event.noise == "laplace"
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    rows = {name: values[:20] for name, values in table().items() if name != "ill"}
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


def test_rows_that_do_not_count_are_in_the_span() -> None:
    """Unlabeled rows become zeros: in the hull only because no constant is appended to them."""
    declared = schema()
    x = declared.encode(table()).x
    assert (~x.any(axis=1)).any()
    model = LogisticRegression(1.0).set_params(
        **LogisticRegression(1.0).schema_parameters(declared)
    )
    assert model.fit_intercept is False
    rows = model._view(declared.width).rows(x, np.ones(len(x)))
    seen = np.concatenate([block.scores(np.eye(rows.m)) for block, _ in rows.blocks()])
    np.testing.assert_array_equal(seen, x)


@pytest.mark.parametrize("between", [False, True])
def test_the_quick_look_changes_nothing(monkeypatch: pytest.MonkeyPatch, between: bool) -> None:
    """Rows that are sound, near to it, or far from it: as without the quick look, bit by bit."""
    rng = np.random.default_rng()
    size = 0.3
    blocks = (
        Box(1, size),
        OneHot(4, size, between=between),
        Box(2, size),
        OneHot(3, size, missing=True),
        Box(1, 1.0),
    )
    domain = Domain(blocks)
    spoils = [0.0, -0.0, size, -size, 2 * size, size / 2, 5e-324, 1e-310, np.nextafter(size, 1)]
    tables = []
    for _ in range(60):
        x = np.zeros((5, 11))
        x[:, [0, 5, 6, 10]] = rng.uniform(-size, size, (5, 4))
        x[np.arange(5), 1 + rng.integers(0, 4, 5)] = size
        x[np.arange(4), 7 + rng.integers(0, 3, 4)] = size
        x[rng.integers(5)] *= rng.integers(2)
        for _ in range(int(rng.integers(3))):
            x[rng.integers(5), rng.integers(11)] = rng.choice(spoils)
        tables.append(x)
    quick = [in_domain(x, domain, zero_rows=zero) for x in tables for zero in (False, True)]
    monkeypatch.setattr(inside, "_is_inside", lambda *_: False)
    slow = [in_domain(x, domain, zero_rows=zero) for x in tables for zero in (False, True)]
    for one, other in zip(quick, slow, strict=True):
        assert one.tobytes() == other.tobytes()
    assert len({one.tobytes() for one in slow}) > 50
    monkeypatch.undo()
    for spoil in (np.nan, np.inf, -np.inf):
        for column in range(11):
            x = tables[0].copy()
            x[2, column] = spoil
            with pytest.raises(DataError, match="NaN or infinity"):
                in_domain(x, domain, zero_rows=True)


# -- numbers with knots: rows between categories ---------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_columns_share_a_size_exactly(dtype: Any) -> None:
    """As real numbers, which noise in the rows' span relies on; whatever the row was before."""
    size = float(np.float32(0.3))
    domain = Domain((OneHot(5, size, between=True), OneHot(2, size)))
    rng = np.random.default_rng()
    x = (rng.normal(size=(300, 7)) * 10.0 ** rng.uniform(-3, 3, (300, 1))).astype(dtype)
    found = in_domain(x, domain, zero_rows=False)
    for row in found[:, :5]:
        held = np.flatnonzero(row)
        assert sum(map(Fraction, row.tolist())) == Fraction(size)
        assert (row >= 0.0).all()
        assert len(held) == 1 or held[1] - held[0] == len(held) - 1 == 1
    alone = np.concatenate([in_domain(row[None, :], domain, zero_rows=False) for row in x])
    np.testing.assert_array_equal(found, alone)
    assert in_domain(found, domain, zero_rows=False) is found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_a_schema_with_knots_are_in_its_domain(dtype: Any) -> None:
    """And would not be, if both shares were rounded by themselves."""
    declared = Schema(
        {"age": Numeric(0, 100, knots=5), "ward": Categorical(("a", "b"))}, Label("ill", (0, 1))
    )
    x = declared.encode(table(), dtype=dtype).x
    assert declared.domain is not None
    seen = in_domain(x, declared.domain, zero_rows=True)
    assert seen is x or dtype == np.float32  # which has no number of just this size
    np.testing.assert_allclose(seen, x, atol=1e-6)
    size = Fraction(float(seen.max()))
    assert all(sum(map(Fraction, row.tolist())) in (0, size) for row in seen[:, :5])
    size = Fraction(float(x.max()))
    assert all(sum(map(Fraction, row.tolist())) in (0, size) for row in x[:, :5])
    share = np.random.default_rng(1).random(500).astype(dtype)
    naive = [dtype(size) * s for s in share], [dtype(size) * (dtype(1) - s) for s in share]
    assert any(Fraction(float(a)) + Fraction(float(b)) != size for a, b in zip(*naive, strict=True))


def test_noise_for_rows_between_categories_is_that_of_the_categories() -> None:
    straight = (Box(1, 0.5), OneHot(3, 0.4))
    for shape in (OneHot(3, 0.4), OneHot(3, 0.4, between=True)):
        domain = Domain((*straight, shape))
        model = LogisticRegression(1.0, domain=domain, fit_intercept=False)
        law = model.planned(1000, domain.columns, (0, 1)).design.main
        assert (law.kind, law.scale) == ("hull", pytest.approx(2.0 / 0.99, rel=0.02))
        assert domain_from_json(domain.to_json()) == domain
    with pytest.raises(DeclarationError, match="drop missing"):
        OneHot(3, missing=True, between=True)
