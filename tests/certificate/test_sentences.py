"""What a file says in words: it names all that the promise relies on, and promises nothing more."""

from __future__ import annotations

import array
import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import ApproxDP, LogisticRegression, PureDP, fit_table
from privet.privacy import Budget
from privet.schema import Label, Numeric, Person, Schema
from privet.tuning import RandomStoppingSearch
from tests.certificate.mutants import Parsed, accepted, changed, parsed
from tests.certificate.test_forged import finer, opened
from tests.laws.releases.registry import people, quiet

PROMISE = (0, "guarantee")
ASSUMPTIONS = (*PROMISE, "assumptions")


def without(file: Parsed, words: str) -> Parsed:
    """The same file without the sentence that has these words."""
    told = file.lines[0]["guarantee"]["assumptions"]
    kept = [each for each in told if words not in each]
    assert len(kept) < len(told)
    return changed(file, ASSUMPTIONS, kept)


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("own output weighted", "weights of the ridge"),
        ("own output weighted", "its author's word"),
        ("kernel svc points", "the kernel"),
        ("stopping pure", "candidates"),
        ("public pure", "validation rows"),
        ("stopping public", "validation rows"),
        ("evaluate groups", "the set of groups"),
        ("evaluate pure", "the released model"),
        ("intervals zcdp", "trained on"),
    ],
)
def test_what_the_promise_relies_on_is_named(release: str, words: str) -> None:
    assert not accepted(without(opened(release), words))


def test_validation_rows_are_public_only_where_the_file_says_so() -> None:
    """With none held back the fit has all rows, which only public validation rows allow."""
    forged = opened("stopping pure")
    event, constants = (forged.lines[0]["guarantee"][name] for name in ("event", "constants"))
    event["m"], constants["fit"]["n"] = 0, event["n"]
    constants["gap_scale"] *= 1.001
    assert not accepted(finer(forged, 1))


def test_a_search_names_its_public_validation_rows() -> None:
    x, y = people()
    base, choices = LogisticRegression(classes=[0, 1]), [{"regularization": 0.1}] * 2
    told = []
    for held in ("auto", (x[:9], y[:9])):
        search = RandomStoppingSearch(base, choices, budget=PureDP(2.0), validation=held)
        with quiet():
            told.append(" ".join(search.fit(x, y).guarantee_.assumptions))
    assert ["validation rows" in each for each in told] == [False, True]


@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("assumptions", ["for everybody the guarantee is epsilon = 0.001"]),
        ("assumptions", ["\u03b5 = 0.001 after amplification"]),
        ("numerics", "; the noise is ten times larger than stated"),
        ("released", ", at epsilon 0.001"),
    ],
)
def test_no_sentence_promises_more_than_the_claim(place: str, more: Any) -> None:
    file = opened("logistic objective pure")
    value = file.lines[0]["guarantee"][place] + more
    assert not accepted(changed(file, (*PROMISE, place), value))


def test_bounds_of_a_users_loss_are_those_of_its_sentence() -> None:
    file = opened("own output weighted")
    told = [
        each.replace("gradients of at most 1,", "gradients of at most 0.001,")
        for each in file.lines[0]["guarantee"]["assumptions"]
    ]
    assert not accepted(changed(file, ASSUMPTIONS, told))


def drafted(mark: Any, tmp_path: Path, budget: Budget) -> Parsed:
    """A model of persons, whose ages were declared by looking at them, or not."""
    rng = np.random.default_rng(0)
    table = {
        "who": [str(i // 2) for i in range(400)],
        "age": rng.uniform(0.0, 100.0, 400).tolist(),
        "ill": rng.integers(0, 2, 400).tolist(),
    }
    columns = {"age": Numeric(0, 100, from_data=mark)}
    schema = Schema(columns, Label("ill", [0, 1]), Person("who", 2))
    with quiet():
        fit_table(LogisticRegression(budget), schema, table).save(tmp_path / "m")
    return parsed((tmp_path / "m").read_bytes())


def test_bounds_that_were_read_from_the_data_are_told(tmp_path: Path) -> None:
    honest = drafted("confirmed", tmp_path, ApproxDP(2.0, 1e-6))
    assert accepted(honest)
    assert not accepted(without(honest, "read from the data"))
    assert not accepted(without(honest, "whose row it is"))
    unread = copy.deepcopy(honest)
    unread.lines[0]["schema"] = honest.lines[0]["schema"].replace('"confirmed"', "true")
    assert not accepted(unread)


def test_a_persons_delta_in_words_is_what_the_claim_is_worth(tmp_path: Path) -> None:
    honest = drafted(False, tmp_path, ApproxDP(2.0, 1e-6))
    assert accepted(honest)
    told = honest.lines[0]["guarantee"]["assumptions"]
    assert any("delta = 1e-06" in each for each in told)
    forged = [each.replace("delta = 1e-06", "delta = 1e-09") for each in told]
    assert not accepted(changed(honest, ASSUMPTIONS, forged))


@pytest.mark.parametrize(
    "release", ["logistic objective classes", "gaussian huber", "svc whitened"]
)
def test_scores_of_classes_have_no_numbers_that_were_not_drawn(release: str) -> None:
    """As many rows of coefficients as classes, and one less that noise was added to."""
    honest = opened(release)
    numbers = array.array("d", honest.body)
    numbers[0] += 0.5
    assert not accepted(Parsed(honest.lines, numbers.tobytes(), True))
