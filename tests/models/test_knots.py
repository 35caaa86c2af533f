"""Numbers that bend by themselves: which rule says so, and what is released then."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from privet import (
    ApproxDP,
    Categorical,
    Label,
    LinearSVC,
    LogisticRegression,
    Numeric,
    PureDP,
    Schema,
    fit_table,
    load,
)
from privet.certificate.recompute import recompute
from privet.models.knots import LIMITS, with_knots
from privet.models.preparation import effects_of_noise
from privet.models.raw_tables import for_schema
from tests.laws.releases.registry import quiet

COLUMNS = {"age": Numeric(0, 100), "ward": Categorical(("a", "b"))}
SCHEMA = Schema(COLUMNS, Label("ill", (0, 1)))


def chosen(model: Any, n: int, schema: Schema = SCHEMA) -> int | None:
    """Knots of the number, by the rule."""
    found = with_knots(schema, "auto", n, partial(for_schema, model)).columns["age"]
    assert isinstance(found, Numeric)
    return found.knots


def table(n: int) -> dict[str, Any]:
    """Those in the middle of their life are ill: no straight line tells them apart."""
    rng = np.random.default_rng(5)
    age = rng.uniform(0, 100, n)
    return {
        "age": age,
        "ward": rng.choice(["a", "b"], n),
        "ill": (np.abs(age - 50.0) < 25.0).astype(int),
    }


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("budget", [PureDP(0.5), ApproxDP(0.5, 1e-6)], ids=str)
def test_knots_come_with_rows_and_only_while_noise_is_small(model: Any, budget: Any) -> None:
    found = [chosen(model(budget), n) for n in (100, 1_000, 3_000, 10_000, 1_000_000)]
    assert found[0] is None
    assert found[-1] == 6
    order = [0 if knots is None else knots for knots in found]
    assert order == sorted(order)


def test_the_limits_are_of_the_noise_beside_the_rows() -> None:
    made = partial(for_schema, LogisticRegression(1.0))
    for knots, limit in LIMITS.items():
        bent = SCHEMA.with_knots(knots)
        n = next(
            n
            for n in map(math.floor, np.geomspace(10, 1e6, 400))
            if min(effects_of_noise(made(bent), n, bent.width).values()) <= limit * n
        )
        assert (chosen(LogisticRegression(1.0), n) or 0) >= knots
        assert (chosen(LogisticRegression(1.0), int(n / 1.2)) or 0) < knots


def test_what_is_declared_or_named_is_kept() -> None:
    plenty = 10**6
    assert chosen(LogisticRegression(1.0), plenty) == 6
    for option in (
        {"standardize": None},
        {"mechanism": "objective"},
        {"noise": "laplace"},
        {"regularization": 0.01},
    ):
        assert chosen(LogisticRegression(1.0, **option), plenty) is None
    own = Schema({**COLUMNS, "age": Numeric(0, 100, knots=4)}, SCHEMA.label)
    assert chosen(LogisticRegression(1.0), plenty, own) == 4
    many = Schema(COLUMNS, Label("ill", (0, 1, 2)))
    assert chosen(LogisticRegression(1.0), plenty, many) is None
    assert with_knots(SCHEMA, None, plenty, partial(for_schema, LogisticRegression(1.0))) is SCHEMA
    declared = with_knots(SCHEMA, 5, 10, partial(for_schema, LogisticRegression(1.0)))
    assert declared == SCHEMA.with_knots(5)


def test_a_schema_takes_over_the_knots_of_another() -> None:
    """As one that is given to judge a model: it says whose rows they are, and nothing of knots."""
    bent = SCHEMA.with_knots(3)
    assert SCHEMA.bent_like(bent) == bent
    assert bent.bent_like(SCHEMA.with_knots(6)) == bent  # what is declared stays
    assert SCHEMA.bent_like(SCHEMA) == SCHEMA.bent_like(None) == SCHEMA


def test_a_model_with_knots_carries_them(tmp_path: Any) -> None:
    rows = table(6_000)
    features = {name: rows[name] for name in ("age", "ward")}
    with quiet():
        straight, bent = (
            fit_table(LogisticRegression(2.0), SCHEMA, rows, knots=knots)  # type: ignore[arg-type]
            for knots in (None, "auto")
        )
    assert (straight.n_features_in_, bent.n_features_in_) == (4, 9)
    assert Schema.from_text(bent.schema_) == SCHEMA.with_knots(6)
    assert (straight.predict(features) != rows["ill"]).mean() > 0.3
    assert (bent.predict(features) != rows["ill"]).mean() < 0.15
    bent.save(tmp_path / "bent")
    numbers = {each.name: each.holds for each in recompute(tmp_path / "bent")}
    told_only = {"regularization", "Jacobian term"}  # no file proves these (tests/certificate)
    assert {holds for name, holds in numbers.items() if name not in told_only} == {True}
    again = load(tmp_path / "bent")
    np.testing.assert_array_equal(
        again.decision_function(features), bent.decision_function(features)
    )
