"""Whatever Privet writes today is accepted, and every number of it is decided or named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from privet import (
    GDP,
    ZCDP,
    ApproxDP,
    Box,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    evaluate,
    fit_table,
)
from privet.certificate.recompute import recompute
from privet.certificate.verdicts import Number
from privet.kernels import (
    InteractivePredictor,
    KernelSVC,
    Linear,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
    Spectrum,
)
from privet.privacy import Budget
from privet.schema import Label, Numeric, Person, Schema
from privet.tuning import PartitionSearch, PublicSearch
from tests.certificate.released import (
    WRITTEN,
    Opened,
    failed,
    files,
    save_and_recompute,
)
from tests.laws.releases.registry import people, quiet

#: What no file can prove: the ridge is a choice, the determinant alone is told for information, a
#: center behind a map is in the map's units, and the bounds of a user's loss are its author's word.
OPEN = {"regularization", "Jacobian term", "length of the center"}
OPEN |= {"rows"}  # of counts whose noise is too large to compare with them: no price depends on it
OPEN |= {"gap of the fit"}  # in a file of intervals: its tolerance is in the model's own file
OPEN |= {f"{name} of the loss" for name in ("gradient bound", "curvature bound", "rank")}


def undecided(numbers: list[Number]) -> set[str]:
    return {each.name for each in numbers if each.holds is None}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_is_accepted(name: str) -> None:
    for path in files(name):
        found = recompute(path)
        assert failed(found) == []
        assert undecided(found) <= OPEN
        assert sum(each.holds is True for each in found) >= 5


@pytest.mark.parametrize("mu", [0.5, 20.0])
@pytest.mark.parametrize("name", ["parts", "public", "sparse", "points"])
def test_choices_and_comparisons_keep_a_gaussian_budget(
    name: str, mu: float, tmp_path: Path
) -> None:
    """They are no Gaussian mechanisms: what they spend is the pure epsilon within mu."""
    x, y = people()
    budget, path = GDP(mu), tmp_path / "f"
    base, candidates = LogisticRegression(classes=[0, 1]), [{"regularization": 0.1}] * 2
    common = {"kernel": Linear(1.0), "regularization": 0.5}
    with quiet():
        if name == "parts":
            found = PartitionSearch(base, candidates, budget=budget).fit(x, y).best_estimator_
        elif name == "public":
            search = PublicSearch(base, candidates, budget=budget, validation=(x[:9], y[:9]))
            found = search.fit(x, y).best_estimator_
        elif name == "sparse":
            made = InteractivePredictor(budget, mechanism="sparse_vector", queries=9, **common)
            found = made.fit(x, y).transcript_
        else:
            found = NonInteractiveClassifier(budget, **common).fit(x, y)
    numbers = save_and_recompute(found, path)
    assert failed(numbers) == []
    assert undecided(numbers) <= OPEN


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(GDP(30.0), noise="laplace"),
        LogisticRegression(GDP(40.0), mechanism="output", noise="laplace"),
        LogisticRegression(ApproxDP(20.0, 1e-12), noise="gaussian"),
        LogisticRegression(ApproxDP(700.0, 1e-9), noise="gaussian"),
        LogisticRegression(ApproxDP(5.0, 1e-6), noise="gaussian"),
        LogisticRegression(ApproxDP(1000.0, 1e-3), standardize="private", column_bounds=(-1, 1)),
    ],
    ids=lambda model: f"{model.budget} {model.noise}",
)
def test_large_budgets_are_decided(model: LogisticRegression, tmp_path: Path) -> None:
    """A loss whose odds are near one, and a curvature that matters beside the noise."""
    x, y = people()
    with quiet():
        numbers = save_and_recompute(model.fit(x[:30], y[:30]), tmp_path / "m")
    assert failed(numbers) == []
    assert undecided(numbers) <= OPEN


def test_a_domain_of_many_columns_is_decided(tmp_path: Path) -> None:
    """Its norm is rounded up, by more the more columns there are."""
    x, y = np.zeros((20, 5_000)), np.arange(20) % 2
    with quiet():
        model = LogisticRegression(ZCDP(0.5), domain=Box(5_000, 5_000**-0.5)).fit(x, y)
        numbers = save_and_recompute(model, tmp_path / "m")
    assert failed(numbers) == []
    assert undecided(numbers) <= OPEN


@pytest.mark.parametrize("calibration", ["exact", "wang2018", "chaudhuri2011"])
@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
def test_every_calibration_is_accepted(model: type, calibration: str, tmp_path: Path) -> None:
    x, y = people()
    with quiet():
        made = model(PureDP(2.0), calibration=calibration, norm_bound=3.0).fit(x, y)
    assert failed(save_and_recompute(made, tmp_path / "m")) == []


@pytest.mark.parametrize(
    "name", ["logistic objective pure", "ball pure", "sparse zcdp", "svc gradient"]
)
def test_a_file_without_constants_is_undecided_where_they_are_needed(
    name: str, tmp_path: Path
) -> None:
    """Older files have none: what needs them is said to be open, and is not accepted."""
    opened = Opened(files(name)[0])
    found = recompute(opened.changed(tmp_path / "old", ("guarantee", "constants"), {}))
    assert failed(found) == []
    assert any(each.undecided for each in found)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("guarantee", "event", "mechanism"), "of tomorrow"),
        (("guarantee", "event", "noise"), "of tomorrow"),
        (("guarantee", "event", "curves", 0, "kind"), "of tomorrow"),
        (("guarantee", "event", "claim", "kind"), "of tomorrow"),
        (("parameters", "calibration"), "of tomorrow"),
        (("parameters", "domain"), {"blocks": []}),
        (("model",), "ModelOfTomorrow"),
    ],
)
def test_an_unknown_law_is_never_accepted(
    place: tuple[str, ...], value: str, tmp_path: Path
) -> None:
    opened = Opened(files("logistic objective pure")[0])
    found = recompute(opened.changed(tmp_path / "new", place, value))
    open_ones = [each for each in found if each.verdict == "undecided"]
    assert failed(found) or any("not known here" in each.why for each in open_ones)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5)], ids=str)
def test_the_evaluation_of_a_regression_is_decided(budget: Budget, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.7, 0.7, (2_000, 2))
    y = 5.0 + 12.0 * x[:, 0]
    with quiet():
        model = LinearRegression(ZCDP(2.0), target_bounds=(-20.0, 30.0)).fit(x, y)
        paid = evaluate(model, x[:1_500], y[:1_500], budget=budget)
    path = tmp_path / "e"
    path.write_text(paid.dumps())
    assert failed(recompute(path)) == []
    assert undecided(recompute(path)) == set()
    opened = Opened(path)
    for name, factor in (("sensitivity", 0.99), ("scale", 0.9), ("m", 2)):
        place = ("guarantee", "event", name)
        changed = opened.changed(tmp_path / "c", place, opened.at(place) * factor)
        assert failed(recompute(changed)) != [], name


def test_releases_of_texts_are_decided(tmp_path: Path) -> None:
    """They have no columns."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(200)]
    labels, kernel = [int("aba" in word) for word in words], Spectrum(3)
    public = {"kernel": kernel, "public_points": words[:6]}
    with quiet():
        asked = InteractivePredictor(ZCDP(1.0), kernel=kernel).fit(words, labels)
        asked.decision_function(words[:4])
        released = [
            KernelSVC(PureDP(2.0), **public).fit(words, labels),
            SemiInteractiveClassifier(PureDP(2.0), **public).fit(words, labels),
            asked.transcript_,
        ]
    for place, each in enumerate(released):
        numbers = save_and_recompute(each, tmp_path / f"{place}")
        assert failed(numbers) == []
        assert undecided(numbers) <= OPEN


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("budget", [PureDP(300.0), ZCDP(100.0), GDP(12.0)], ids=str)
def test_intervals_of_persons_tell_what_they_themselves_cost(
    budget: Budget, most: int, tmp_path: Path
) -> None:
    """In the table's units; their model had cost less, and its sentence is not theirs."""
    rng = np.random.default_rng(0)
    table = {
        "who": [str(i // most) for i in range(400)],
        "age": rng.uniform(0.0, 100.0, 400).tolist(),
        "ill": rng.integers(0, 2, 400).tolist(),
    }
    schema = Schema({"age": Numeric(0, 100)}, Label("ill", [0, 1]), Person("who", most))
    with quiet():
        base = LogisticRegression(ZCDP(20.0), regularization=0.1, standardize=None)
        model = fit_table(base, schema, table)
        numbers = save_and_recompute(
            confidence_intervals(model, table, budget=budget), tmp_path / "i"
        )
    assert failed(numbers) == []
    assert undecided(numbers) <= OPEN
    assert most == 1 or any(each.name == "amount in words" for each in numbers)
