"""The intervals' section of the report."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from privet import (
    ZCDP,
    LinearRegression,
    LogisticRegression,
    confidence_intervals,
    fit_with_intervals,
)
from privet.errors import DataError
from privet.report import render
from privet.report.pictures import axes_of
from tests.inference.tables import fitted, table


class Balanced(HTMLParser):
    """Counts tags that are opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in {"meta", "link", "br", "path", "use", "line", "img", "hr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_the_section_is_there_and_whole() -> None:
    model, x, y = fitted()
    found = confidence_intervals(model, x, y, budget=ZCDP(0.1))
    page = render(model, intervals=found)
    assert "Confidence intervals" in page
    assert "rho = 0.1 (zero-concentrated) for each row" in page
    assert f"{found.estimate[0]:.4g}" in page
    assert "http" not in page.split("Confidence intervals")[1].split("</section>")[0]
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert "Confidence intervals" not in render(model)


def test_intervals_of_another_model_are_refused() -> None:
    model, x, y = fitted()
    found = confidence_intervals(model, x, y, budget=ZCDP(0.1))
    other, _, _ = fitted()
    with pytest.raises(DataError, match="another model"):
        render(other, intervals=found)
    three = LogisticRegression(2.0, classes=[0, 1, 2]).fit(*table(classes=3))
    with pytest.raises(DataError, match="another model"):
        render(three, intervals=found)


def test_seeded_intervals_carry_the_alarm() -> None:
    model, x, y = fitted(insecure_seed=1)
    page = render(model, intervals=confidence_intervals(model, x, y, budget=ZCDP(0.1)))
    section = page.split("Confidence intervals")[1]
    assert "Not private" in section


def test_the_label_of_the_plot_is_within_the_page() -> None:
    """A regression's was longer than its axis on a phone, and its end was cut off."""
    generator = np.random.default_rng()
    X = generator.uniform(-0.4, 0.4, size=(2000, 2))
    _, found = fit_with_intervals(
        LinearRegression(target_bounds=(0.0, 60.0), mechanism="objective"),
        X,
        60.0 * (X[:, 0] + 0.5),
        budget=4.0,
    )
    with axes_of(2.0) as (figure, axes):
        found.draw(axes, [0, 1])
        figure.canvas.draw()
        label = axes.xaxis.label.get_window_extent()
        assert "private interval" in " ".join(axes.get_xlabel().split())
        assert 0.0 <= label.x0 <= label.x1 <= figure.bbox.width
