"""Files that leave out one hypothesis of the theorem that they claim: none is accepted.

The arithmetic of each file is right. What is missing is what the arithmetic starts from: a run that
is pure, shares in the calculus of the whole, rows that a map's norm is about, points that are
public.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from privet import (
    GDP,
    ZCDP,
    ApproxDP,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    evaluate,
)
from privet.certificate.balls import precision
from privet.certificate.rounding import lost
from privet.certificate.verdicts import Undecided
from privet.features import PublicNystroem
from privet.kernels import Linear, NonInteractiveClassifier, Polynomial
from privet.privacy import Budget
from tests.certificate.mutants import Parsed, accepted, changed, parsed
from tests.certificate.test_forged import finer, opened
from tests.certificate.test_sentences import ASSUMPTIONS, drafted, without
from tests.laws.releases.registry import people, public_points, quiet


def saved(made: Any, path: Path) -> Parsed:
    """A release of the registry's rows, as ``verify`` reads it."""
    made.save(path)
    return parsed(path.read_bytes())


@pytest.mark.parametrize("release", ["public pure", "stopping pure"])
def test_runs_with_a_delta_do_not_add_up_to_a_pure_epsilon(release: str, tmp_path: Path) -> None:
    """The chosen fit keeps its epsilon but for one table in a hundred."""
    search = opened(release).lines[0]
    promise, (x, y) = search["guarantee"], people()
    rows = promise["constants"]["fit"]["n"]
    budget = ApproxDP(search["parameters"]["budget"]["epsilon"], 0.01)
    with quiet():
        fit = LogisticRegression(budget, classes=[0, 1], noise="gaussian", regularization=0.1)
        forged = saved(fit.fit(x[:rows], y[:rows]), tmp_path / "m")
    assert accepted(forged)
    told = forged.lines[0]["guarantee"]
    told["constants"] = {**promise["constants"], **told["constants"], "fit": told["event"]}
    told["event"] = promise["event"]
    told["assumptions"] = list(dict.fromkeys((*promise["assumptions"], *told["assumptions"])))
    assert not accepted(forged)


def test_shares_of_a_rho_are_no_gaussian_mechanism() -> None:
    """Whose profile is below that of a rho, and which alone has a mu."""
    event = opened("public zcdp").lines[0]["guarantee"]["event"]
    rho = event["curves"][0]["rho"]
    curve = {"kind": "gaussian", "rho": rho, "slack": 0.0}
    claim = {"kind": "gdp", "mu": (2.0 * rho) ** 0.5 * (1.0 + 1e-12)}
    forged = {**event, "curves": [curve], "claim": claim}
    assert not accepted(changed(opened("public zcdp"), (0, "guarantee", "event"), forged))


@pytest.mark.parametrize("budget", [ZCDP(1.0), GDP(1.0)], ids=str)
def test_what_a_person_is_told_is_in_the_calculus_of_the_claim(
    budget: Budget, tmp_path: Path
) -> None:
    honest = drafted(False, tmp_path, budget)
    assert accepted(honest)
    told = honest.lines[0]["guarantee"]["assumptions"]
    (name,) = {"rho", "mu"} & set(budget.to_json())
    forged = [each.replace(f"guarantee is {name} =", "guarantee is epsilon =") for each in told]
    assert forged != told
    assert not accepted(changed(honest, ASSUMPTIONS, forged))


@pytest.mark.parametrize("count", ["the label of the third row is 1", None, True])
def test_a_single_count_is_a_number(count: Any) -> None:
    x, y = people()
    with quiet():
        model = LogisticRegression(PureDP(2.0), classes=[0, 1]).fit(x[:300], y[:300])
        found = evaluate(model, x[300:], y[300:], budget=PureDP(1.0), measures=["accuracy"])
    honest = parsed(found.dumps().encode())
    assert accepted(honest)
    assert not accepted(changed(honest, (0, "counts", "correct"), [count]))


def mapped(kernel: Any, path: Path) -> Parsed:
    """A model of a public map's features."""
    x, y = people()
    features = PublicNystroem(kernel, public_points()).fit(x)
    with quiet():
        made = LogisticRegression(PureDP(2.0), classes=[0, 1], features=features).fit(x, y)
    return saved(made, path)


def test_products_are_of_columns_within_the_norm(tmp_path: Path) -> None:
    """Rows at full length, or those of a map of norm 27, have longer products than is paid for."""
    honest = opened("gaussian pure")
    longer = mapped(Polynomial(norm_bound=3.0, gamma=1.0, coef0=0.0, degree=3), tmp_path / "m")
    assert accepted(longer)
    features = longer.lines[0]["parameters"]["features"]
    assert not accepted(changed(honest, (0, "parameters", "standardize"), "unit"))
    assert not accepted(changed(honest, (0, "parameters", "features"), features))


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("semi span pure", "public points"),
        ("semi tddl pure", "public points"),
        ("net zcdp", "public points"),
        ("kernel svc", "without looking at the rows"),
    ],
)
def test_points_that_a_file_shows_are_said_to_be_public(release: str, words: str) -> None:
    honest = opened(release)
    more = ["each row's features, clipped to Euclidean norm 1"]
    forged = without(honest, words)
    told = forged.lines[0]["guarantee"]["assumptions"] + more * (release == "kernel svc")
    assert not accepted(changed(forged, ASSUMPTIONS, told))


def test_a_map_is_said_to_be_made_without_the_rows(tmp_path: Path) -> None:
    forged = without(mapped(Linear(1.0), tmp_path / "m"), "the feature map")
    forged.lines[0]["guarantee"]["assumptions"].append(
        "each row's features, clipped to Euclidean norm 1"
    )
    assert not accepted(forged)


def test_a_net_of_declared_spacing_is_told_as_one(tmp_path: Path) -> None:
    x, y = people()
    common: dict[str, Any] = {"regularization": 0.01, "rounds": 3}
    with quiet():
        made = NonInteractiveClassifier(PureDP(400.0), net=0.8, kernel="gaussian", **common)
        honest = saved(made.fit(x, y), tmp_path / "m")
    assert accepted(honest)
    assert "a net of declared spacing" in " ".join(honest.lines[0]["guarantee"]["assumptions"])
    assert not accepted(without(copy.deepcopy(honest), "spacing"))


@pytest.mark.parametrize("words", ["the released model", "the class weights"])
def test_intervals_rely_on_a_model_that_was_paid_for(words: str, tmp_path: Path) -> None:
    """Their estimates are its coefficients, which their own claim does not cover."""
    x, y = people(2, 2000)
    model = LogisticRegression(ZCDP(5.0), classes=[0, 1], class_weight={0: 1.0, 1: 2.0})
    with quiet():
        found = confidence_intervals(model.fit(x, y), x, y, budget=ZCDP(50.0))
    honest = saved(found, tmp_path / "i")
    assert accepted(honest)
    assert not accepted(without(honest, words))


@pytest.mark.parametrize(
    "release",
    ["function zcdp", "sparse pure", "semi tddl pure", "semi kernel_noise zcdp", "net zcdp"],
)
@pytest.mark.parametrize("bits", [1, 40])
def test_the_grid_of_answers_is_that_of_their_noise(release: str, bits: int) -> None:
    """A finer one would leave the last bits of a floating-point sample as they are."""
    assert not accepted(finer(opened(release), bits))


@pytest.mark.parametrize("release", ["function zcdp", "sparse zcdp"])
def test_answers_lie_on_their_grid(release: str) -> None:
    forged = opened(release)
    lines = [line for line in forged.lines[1:] if "answers" in line]
    for line in lines:
        line["answers"] = [each + 2.0**-40 for each in line["answers"]]
    assert any(any(line["marked"]) for line in lines) or release.startswith("function")
    assert not accepted(forged)


@pytest.mark.parametrize("terms", [2**53, 2**53 + 1, 10**20])
def test_rounding_earns_nothing(terms: int) -> None:
    """Beyond as many terms its bound would be below zero, and would lower a sensitivity."""
    with precision(), pytest.raises(Undecided):
        lost(terms)
