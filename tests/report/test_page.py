"""The page: complete, self-contained, and made of what was released."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from privet import LogisticRegression
from privet.errors import DeclarationError
from privet.inference import fit_with_intervals
from privet.kernels import KernelLogisticRegression
from privet.report import render, write
from privet.report.pictures import OF_NOISE, PICTURES, coefficients
from privet.report.released_numbers import ReportedModel
from privet.tuning import PartitionSearch
from tests.models.tables import two_classes
from tests.report.models import KINDS, with_schema

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Reader(HTMLParser):
    """Collects identifiers and references, and checks that elements close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.identifiers: list[str] = []
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._attributes(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(attrs)

    def _attributes(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.identifiers.append(str(value))
            if name in ("href", "src", "xlink:href"):
                self.targets.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_has_a_whole_page(kind: str) -> None:
    model = KINDS[kind]()
    page = render(model, name="m.privet", digest="ab" * 32)
    reader = read(page)
    assert len(set(reader.identifiers)) == len(reader.identifiers)
    assert {target.removeprefix("#") for target in reader.targets} <= set(reader.identifiers)
    assert not re.search(r"https?:|//[a-z]|@import|<script|<link|<img", page)
    assert not re.search(r"\b(nan|NaN|inf|None|undefined)\b", re.sub(r"<svg.*?</svg>", "", page))
    assert "nan" not in page.lower().replace("finance", "")
    budget = str(model.guarantee_.budget).removesuffix(" (zero-concentrated)")
    assert f'<p class="guarantee">{budget}</p>' in page
    for fact in (model.guarantee_.neighbors, model.guarantee_.numerics, "ab" * 32):
        assert fact.split(";")[0] in page
    assert page.count("<figure>") == 5


def test_a_seeded_model_is_marked_first() -> None:
    page = render(KINDS["seeded"]())
    assert page.index("Not private:") < page.index("epsilon = 1")


def test_the_page_is_the_same_whenever_it_is_drawn() -> None:
    model = KINDS["pure objective"]()
    page = render(model)
    assert page == render(model)
    assert "Not private:" not in page


def test_a_schema_gives_names_units_and_the_declared_direction() -> None:
    model = with_schema()
    page = render(model)
    read(page)
    assert "change of the log-odds of over 50k" in page
    assert "per unit" in page
    assert "The declared schema" in page
    released = ReportedModel(model, _schema(model))
    values = {one.name: one.value for one in released.coefficients}
    assert model.classes_[1] == "over 50k"  # as declared, not as sorted
    column = released.feature_names.index("hours")
    assert values["hours"] == pytest.approx(model.coef_[0, column] * released.schema.factor)


def _schema(model: Any) -> Any:
    from privet.schema import Schema

    return Schema.from_toml(model.schema_)


@pytest.mark.parametrize("kind", KINDS)
def test_captions_speak_of_at_most_only_where_the_noise_is_not_known(kind: str) -> None:
    model = KINDS[kind]()
    told = coefficients(ReportedModel(model)).caption
    assert ("at most" in told) is (model.mechanism != "output")


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = KINDS["pure objective"]()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        write(model, tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_names_are_escaped() -> None:
    import pandas as pd

    from privet import LogisticRegression
    from tests.models.tables import two_classes

    x, y = two_classes()
    names = ["<b>&\"'", "$a$ \x1b[1m", "名前 " * 20]
    page = render(LogisticRegression(1.0).fit(pd.DataFrame(x, columns=names), y))
    read(page)
    assert "<b>&" not in page
    assert "&lt;b&gt;" in page


def test_a_page_with_more_from_the_same_rows_tells_the_whole_cost() -> None:
    x, y = np.random.default_rng().normal(size=(2000, 2)) / 4, np.arange(2000) % 2
    model, found = fit_with_intervals(LogisticRegression(classes=[0, 1]), x, y, budget=8.0)
    assert "That is the model alone" not in render(model)
    page = render(model, intervals=found)
    assert "the promise to one row of the training table is epsilon = 8." in page


def test_a_model_that_is_not_linear_in_its_features_has_no_page() -> None:
    x = np.array([[-0.5], [0.5]])
    with pytest.raises(DeclarationError, match="no pages about a DecisionTreeClassifier"):
        render(DecisionTreeClassifier().fit(x, [0, 1]))


@pytest.mark.parametrize("name", OF_NOISE)
def test_noise_without_a_known_law_is_not_drawn(name: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.5, 0.5, size=(300, 2))
    search = PartitionSearch(LogisticRegression(), [{"noise": "auto"}, {"noise": "laplace"}], 3.0)
    chosen = search.fit(x, (x[:, 0] > 0).astype(int)).best_estimator_
    with pytest.raises(DeclarationError, match="no known law"):
        PICTURES[name](ReportedModel(chosen))


def test_a_searched_model_has_a_page_without_claims_about_its_noise() -> None:
    x, y = np.random.default_rng().normal(size=(400, 2)) / 4, np.arange(400) % 2
    candidates = [{"mechanism": name} for name in ("objective", "output")]
    search = PartitionSearch(LogisticRegression(classes=[0, 1]), candidates, 4.0)
    page = render(search.fit(x, y).best_estimator_)
    assert render(search) == page
    read(page)
    assert page.count("<figure>") == 3
    assert "chosen by a search" in page
    assert "95 of 100" not in page
    assert "epsilon = 4" in page


@pytest.mark.parametrize("kind", KINDS)
def test_no_coefficient_is_said_to_stand_out(kind: str) -> None:
    """Only paid intervals can tell signal from noise, and the page points to them."""
    page = render(KINDS[kind]())
    assert not re.search("stands? out|significant|lost in", page)
    assert "privet intervals" in page


def test_cells_that_were_not_declared_do_not_lead_the_picture() -> None:
    released = ReportedModel(model := with_schema(), _schema(model))
    rest = [one.rest for one in released.coefficients]
    assert any(rest)
    assert rest == sorted(rest)
    assert all("(other)" in one.name for one in released.coefficients if one.rest)
    assert not any(one.rest for one in released.largest(5))
    assert len(released.largest(5)) == 5
    # the order is the columns' own: sorted by size, the noisiest would come first
    names = [one.name for one in released.coefficients]
    shown = [names.index(one.name) for one in released.largest(20)]
    assert shown == sorted(shown)


def test_a_page_takes_the_place_of_a_page_alone(tmp_path: Path) -> None:
    fitted = KINDS["pure output"]()
    for name, content in (("model.privet", b"PRIVET\x01\n"), ("rows.csv", b"a,b\n1,2\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DeclarationError, match="is no page"):
            write(fitted, tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    for _ in range(2):
        write(fitted, tmp_path / "page.html")


def test_settings_in_the_current_folder_run_no_program() -> None:
    """Matplotlib reads a file of settings there; with this one it would call LaTeX."""
    with mpl.rc_context({"text.usetex": True}):
        assert "</svg>" in render(KINDS["pure output"]())


def test_only_a_model_that_can_have_intervals_points_to_them() -> None:
    """The page of a kernel machine sent its reader to a command that refuses kernel machines."""
    X, y = two_classes()
    for model, able in [
        (LogisticRegression(1.0).fit(X, y), True),
        (KernelLogisticRegression(1.0).fit(X, y), False),
        (LogisticRegression(1.0, standardize="unit").fit(X, y), False),
    ]:
        caption = coefficients(ReportedModel(model)).caption
        assert ("the command privet intervals" in caption) is able
        assert ("there are no intervals for this kind of model" in caption) is not able
