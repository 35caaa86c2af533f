"""The value: numbers, names, other questions, files, tables and pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import (
    ZCDP,
    LinearSVC,
    LogisticRegression,
    Numeric,
    PureDP,
    Schema,
    confidence_intervals,
)
from privet.datasets import census_schema, census_table
from privet.errors import DataError, DeclarationError
from privet.inference import Intervals, load_intervals
from privet.inference.files import _matrix
from privet.inference.interval_display import ABOUT
from privet.inference.interval_latex import latex_table
from privet.noise.cone_noise import half_vector
from tests.inference.tables import fitted, table

BIG = ZCDP(5.0)


@pytest.fixture(scope="module")
def both() -> tuple[Any, Intervals]:
    model, x, y = fitted(norm_bound=2.0)
    return model, confidence_intervals(model, x, y, budget=BIG)


@pytest.fixture(scope="module")
def three() -> tuple[Any, Intervals]:
    x, y = table(classes=3)
    model = LogisticRegression(ZCDP(0.5), classes=[0, 1, 2]).fit(x, y)
    return model, confidence_intervals(model, x, y, budget=BIG)


def test_estimates_are_the_released_numbers(both: Any, three: Any) -> None:
    model, found = both
    np.testing.assert_allclose(found.estimate[:-1], model.coef_[0], rtol=1e-12)
    assert found.estimate[-1] == pytest.approx(model.intercept_[0], rel=1e-12)
    assert found.names == ("column 1", "column 2", "column 3", "(intercept)")
    model, found = three
    shown = found.estimate.reshape(3, 4)
    np.testing.assert_allclose(shown[:, :3], model.coef_, atol=1e-12)
    np.testing.assert_allclose(shown[:, 3], model.intercept_, atol=1e-12)
    assert found.names[4] == "column 1 → 1"


def test_ends_errors_and_p_values_hang_together(both: Any) -> None:
    found = both[1]
    np.testing.assert_allclose(found.upper - found.lower, 2.0 * found.half_width)
    # nearly normal: plausible matrices differ a little
    np.testing.assert_allclose(found.half_width, 1.959964 * found.std_error, rtol=0.05)
    np.testing.assert_allclose(found.at(0.6826894921).half_width, found.std_error, rtol=1e-6)
    np.testing.assert_allclose(found.z, found.estimate / found.std_error)
    outside = (found.lower > 0.0) | (found.upper < 0.0)
    np.testing.assert_array_equal(outside, found.p_value < 0.05)
    # a p value of exactly one minus the level puts an end at zero
    level = 1.0 - float(found.p_value[2])
    if 0.5 <= level < 1.0:
        ends = found.at(level)
        assert min(abs(ends.lower[2]), abs(ends.upper[2])) < 1e-6


def test_pure_noise_has_its_own_law() -> None:
    model, x, y = fitted(budget=PureDP(1.0))
    found = confidence_intervals(model, x, y, budget=PureDP(50.0))
    ratio = found.at(0.999).half_width / found.std_error
    assert (ratio > 3.29).all()  # heavier than the normal's


def test_joint_intervals_are_wider(both: Any) -> None:
    found = both[1]
    assert found.each_level == 0.95
    for method, each in (("bonferroni", 1.0 - 0.05 / 4), ("sidak", 0.95**0.25)):
        wide = found.together(method)
        assert wide.each_level == pytest.approx(each)
        assert (wide.half_width > found.half_width).all()
    sidak, bonferroni = found.together("sidak"), found.together()
    assert (sidak.half_width < bonferroni.half_width).all()
    with pytest.raises(DeclarationError, match="sidak"):
        found.together("scheffe")


def test_contrasts(both: Any) -> None:
    found = both[1]
    one = found.contrast({"column 1": 1.0, "column 2": -1.0}, "difference")
    assert one.names == ("difference",)
    assert one.estimate[0] == pytest.approx(found.estimate[0] - found.estimate[1])
    same = found.contrast(np.eye(4))
    np.testing.assert_allclose(same.half_width, found.half_width)
    # correlated numbers: not the sum of the variances
    assert one.std_error[0] != pytest.approx(np.hypot(*found.std_error[:2]), rel=1e-3)
    for bad in ({"column 9": 1.0}, [1.0, 2.0], [1.0, np.nan, 0.0, 0.0]):
        with pytest.raises(DeclarationError):
            found.contrast(bad)


def test_decision_values(both: Any, three: Any) -> None:
    points = np.array([[0.1, -0.2, 0.3], [9.0, 0.0, 0.0]])  # the second is clipped
    for model, found in (both, three):
        at = found.decision(points)
        scores = np.atleast_2d(model.decision_function(points).T).reshape(-1)
        np.testing.assert_allclose(at.estimate, scores, atol=1e-10)
        assert (at.std_error > 0.0).all()
    with pytest.raises(DataError, match="3 columns"):
        both[1].decision([[1.0]])


@pytest.mark.parametrize("level", [0.3, 1.0, "a", True, float("nan"), 1.0 - 1e-12])
def test_levels_are_checked(both: Any, level: Any) -> None:
    with pytest.raises(DeclarationError, match="level"):
        both[1].at(level)


def test_a_file_keeps_everything(three: Any, tmp_path: Path) -> None:
    found = three[1].together("sidak")
    found.save(tmp_path / "i.json")
    back = load_intervals(tmp_path / "i.json")
    np.testing.assert_allclose(back.lower, found.lower, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        back.decision(np.zeros((1, 3))).std_error, found.decision(np.zeros((1, 3))).std_error
    )
    assert back.guarantee == found.guarantee
    assert back.names == found.names
    assert back.joint == "sidak"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"theta": [1.0]},
        {"theta": "x"},
        {"level": 2.0},
        {"joint": "magic"},
        {"construction": "unknown"},
        {"matrices": {}},
    ],
    ids=str,
)
def test_a_broken_file_is_refused(both: Any, tmp_path: Path, change: dict[str, Any]) -> None:
    place = tmp_path / "i.json"
    both[1].save(place)
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    with pytest.raises((DataError, DeclarationError)):
        load_intervals(place)
    place.write_text("{")
    with pytest.raises(DataError):
        load_intervals(place)


def test_matrices_come_back_to_the_last_bit() -> None:
    """By them the entry of a ledger names a release: one bit off, and an honest file is refused."""
    rng, side = np.random.default_rng(), 600
    upper = np.triu(rng.normal(size=(side, side)) * 2.0 ** rng.integers(-40, 20, (side, side)))
    half = half_vector(upper + np.triu(upper, 1).T)
    assert np.array_equal(half_vector(_matrix(half, side)), half)
    two_off = np.array([1.0, 0.0440396168882706, 1.0])
    assert np.array_equal(half_vector(_matrix(two_off, 2)), two_off)


def test_tables_and_pictures(both: Any, tmp_path: Path) -> None:
    found = both[1]
    text = str(found)
    assert "(intercept)" in text
    assert "[2.5 %" in text
    assert ABOUT.split(":")[0] in " ".join(text.split())
    assert "rho = 5" in text
    assert max(map(len, text.splitlines())) <= 100
    frame = found.to_frame()
    assert list(frame.columns)[:3] == ["name", "estimate", "std_error"]
    assert found.to_frame("pyarrow").num_rows == len(found) == 4
    assert found._repr_html_().count("<tr>") == 5
    found.plot(tmp_path / "forest.png")
    assert (tmp_path / "forest.png").stat().st_size > 5000
    assert found.clearest()[-1] == 3  # the intercept is last
    assert len(found.plot().axes) == 1


def test_names_of_columns_are_escaped() -> None:
    import pandas as pd

    x, y = table(n=3000)
    frame = pd.DataFrame(x, columns=["<b>", "$x$", "c" * 80])
    model = LinearSVC(ZCDP(0.5)).fit(frame, y)
    found = confidence_intervals(model, frame, y, budget=BIG)
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert "…" in str(found)
    found.plot()


@pytest.fixture(scope="module")
def census() -> tuple[Any, Any, Intervals]:
    import pyarrow as pa

    schema = census_schema()
    raw = census_table(6000)
    x, y = schema.encode(pa.table({name: pa.array(v.tolist()) for name, v in raw.items()}))
    model = LogisticRegression(ZCDP(5.0), classes=list(schema.label.classes)).fit(x, y)
    model.schema_ = schema.to_toml()
    return schema, model, confidence_intervals(model, x, y, budget=ZCDP(500.0))


def plain_of(found: Intervals) -> Intervals:
    """The same intervals, of plain coefficients."""
    return replace(found, named=found.layout.coefficients())


def test_a_schema_gives_the_tables_own_units(census: Any) -> None:
    schema, model, found = census
    told = schema.explain(model.coef_, model.intercept_)
    values = {effect.name.replace("=", ": "): effect.change for effect in told}
    # told for the class that the schema names last, as the coefficients are
    assert str(model.classes_[1]) == str(schema.label.classes[-1])
    assert found.named.target == f"log-odds of {schema.label.classes[-1]}"
    for name, estimate in zip(found.names, found.estimate, strict=True):
        assert estimate == pytest.approx(values[name], rel=1e-9)
    units = dict(zip(found.names, found.units, strict=True))
    assert any(unit for unit in units.values())
    assert "(baseline)" in found.names
    assert "unit" in found.columns()
    again = plain_of(found).in_units(schema)
    np.testing.assert_array_equal(again.lower, found.lower)
    with pytest.raises(DeclarationError, match="columns"):
        found.in_units(Schema({"one": Numeric(0, 1)}, schema.label))
    # a picture's stretch: every column's number at the same multiple of its coefficient
    plain = plain_of(found)
    drawn = np.array(found.named.stretch[:-1]) * found.half_width[:-1]
    np.testing.assert_allclose(drawn, schema.factor * plain.half_width[:-1], rtol=1e-9)
    found.plot()


# -- as a regression table -------------------------------------------------------------------------


def test_the_table_is_the_same_in_text_html_and_latex(both: Any) -> None:
    """Every number that one of them shows, and what a reader must know."""
    found = both[1]
    text, page, latex = str(found), found.to_html(), found.to_latex()
    assert found._repr_html_() == page
    for shown in (text, page, latex):
        for word in ("estimate", "std error", "4,000 rows", "regularization", "rho = "):
            assert word in shown, word
    for _, *numbers in found._cells():
        for number in numbers:
            assert number in text
            assert f">{number}<" in page
            assert f" {number.replace('-', '$-$', 1)} " in latex
    assert latex.count(r"\\") == len(found) + 1
    assert latex.count("{") == latex.count("}")


def test_latex_takes_any_name(both: Any) -> None:
    found = both[1]
    named = replace(found.named, names=(r"a_b & 5 % {$x^2$} \ #≥", *found.named.names[1:]))
    line = replace(found, named=named).to_latex().splitlines()[6]
    assert line.startswith(r"a\_b \& 5 \% \{\$x\textasciicircum{}2\$\} \textbackslash{} \#$\geq$ &")
    assert line.count("&") - line.count(r"\&") == 6


@pytest.mark.parametrize("name", ["[a]", "*a"])
def test_latex_takes_no_name_for_an_argument(both: Any, name: str) -> None:
    """A line's end looks for a star and a bracket behind it, whatever is between."""
    named = replace(both[1].named, names=(name, *both[1].named.names[1:]))
    assert replace(both[1], named=named).to_latex().splitlines()[6].startswith("{}" + name)


def test_latex_stays_on_its_page() -> None:
    """Long names are cut, and broken into lines; more lines than a page has make more tables."""
    names = [f"{'a_very_long_name' * 4}_{i}" for i in range(50)]
    found = latex_table(["estimate"], [(name, "-1") for name in names], ["of 5 %"])
    assert found.count(r"\begin{table}") == found.count(r"\end{table}") == 3  # 20 names of 2 lines
    assert found.count(r"\caption{of 5 \%}") == 1
    assert found.count(r"\addtocounter{table}{-1}") == found.count("(continued)") == 2
    lines = [line for line in found.splitlines() if "hangindent" in line]
    assert len(lines) == 50
    for i, line in enumerate(lines):
        plain = line.replace(r"\allowbreak{}", "").split("em ")[1]
        assert plain.endswith(rf"\_{i} & $-$1 \\")
        assert len(plain.replace("\\", "")) < 60
    assert r"\allowbreak{}" in lines[0]


def test_joint_intervals_have_no_single_tails(both: Any) -> None:
    """What they are about is told, and the heads are no percentages of one interval's tails."""
    for shown in (str(both[1].together()), both[1].together().to_latex()):
        assert "[lower" in shown
        assert "2.5" not in shown.split("rows, regularization")[0].split("estimate")[1][:60]
        assert "changes of the log-odds of" in " ".join(shown.split())
        assert "all at once" in " ".join(shown.split())


def test_decision_values_are_no_changes(both: Any, tmp_path: Path) -> None:
    shown = both[1].decision(np.zeros((1, both[1].layout.inputs)))
    shown.save(tmp_path / "points.json")
    for found in (shown, load_intervals(tmp_path / "points.json")):
        told = " ".join(str(found).split())
        assert "intervals for the log-odds of" in told
        assert "at each point" in told
        assert "changes of" not in told


def test_numbers_that_noise_decides_are_named() -> None:
    model, x, y = fitted()
    clear = confidence_intervals(model, x, y, budget=ZCDP(10.0))
    assert not any(clear.doubtful)
    assert "within its own noise" not in str(clear)
    about, weighing = clear.uncertainty, clear.uncertainty.released.weighing
    noisy = replace(
        about.released, weighing=replace(weighing, sensitivity=300.0 * weighing.sensitivity)
    )
    hidden = replace(clear, uncertainty=replace(about, released=noisy))
    assert any(hidden.doubtful)
    assert "within its own noise" in str(hidden)
    assert (hidden.half_width > 1.5 * clear.half_width).all()
