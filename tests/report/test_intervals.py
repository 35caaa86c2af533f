"""The intervals' section of the report."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from privet import ZCDP, LogisticRegression, confidence_intervals
from privet.errors import DataError
from privet.report import render
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
