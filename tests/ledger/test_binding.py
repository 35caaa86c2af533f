"""A release and its entry name each other: forged claims, weights, receipts and promises fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import ZCDP, Ledger, LogisticRegression, PureDP
from privet._files import canonical
from privet._untrusted import SEAL, sealed
from privet.answers import NonInteractiveClassifier, SemiInteractiveClassifier, records
from privet.cli.verify_commands import released_file
from privet.datasets import census_schema, census_table
from privet.errors import LedgerError
from privet.evaluation import evaluate
from privet.inference import confidence_intervals, fit_with_intervals, load_intervals
from privet.kernels import KernelLogisticRegression
from privet.ledger.binding import BindingFinding
from privet.models import LargeMarginGaussian, fit_table
from privet.models.digest import model_digest
from privet.privacy.curves import PureCurve
from privet.privacy.guarantee import Receipt, guarantee_from_json
from privet.schema import Person
from privet.store import load
from privet.tuning import PartitionSearch, RandomStoppingSearch


def table(n: int = 400) -> tuple[Any, Any]:
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(n, 3))
    return x, (x[:, 0] > 0).astype(int)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.open("people", ZCDP(50.0))
    return made


@pytest.fixture
def model(ledger: Ledger) -> LogisticRegression:
    return LogisticRegression(0.5, ledger=ledger, dataset="people").fit(*table())


def verdicts(ledger: Ledger, released: Any) -> dict[str, bool | None]:
    found: list[BindingFinding] = ledger.findings(released.guarantee, released.digest)
    return {each.check: each.holds for each in found}


def resealed(record: dict[str, Any]) -> str:
    """A forger knows how to seal a file, too."""
    return sealed({name: value for name, value in record.items() if name != SEAL})


ALL = {"receipt": True, "claim": True, "persons": True, "numbers": True}


def test_a_model_and_its_entry_name_each_other(
    ledger: Ledger, model: LogisticRegression, tmp_path: Path
) -> None:
    entry = ledger.entries()[-1]
    assert entry.body["released"] == [model_digest(model)]
    model.save(tmp_path / "m.privet")
    assert verdicts(ledger, released_file(tmp_path / "m.privet")) == ALL
    ledger.verify_release(model.guarantee_, model_digest(load(tmp_path / "m.privet")))


def lowered(model: Any, ledger: Ledger) -> None:
    """The claim in the file is smaller than what was paid."""
    event = replace(model.guarantee_.event, claim=PureDP(0.01))
    model.guarantee_ = replace(model.guarantee_, event=event)


def fewer_curves(model: Any, ledger: Ledger) -> None:
    """The same claim, other curves."""
    event = replace(model.guarantee_.event, curves=(PureCurve(0.4),))
    model.guarantee_ = replace(model.guarantee_, event=event)


def noiseless(model: Any, ledger: Ledger) -> None:
    """The weights without their noise, under a receipt that was paid."""
    x, y = table()
    from sklearn.linear_model import LogisticRegression as Exact

    found = Exact().fit(x, y)
    model.coef_, model.intercept_ = found.coef_, found.intercept_


def one_bit(model: Any, ledger: Ledger) -> None:
    model.coef_ = np.nextafter(model.coef_, np.inf)


def unpaid(model: Any, ledger: Ledger) -> None:
    """Another draw of the same fit, not paid for, with the receipt of the first."""
    again = LogisticRegression(0.5).fit(*table())
    model.coef_, model.intercept_ = again.coef_, again.intercept_


def swapped_classes(model: Any, ledger: Ledger) -> None:
    model.classes_ = model.classes_[::-1].copy()


def opened(model: Any, ledger: Ledger) -> None:
    """The hash of an ``open`` entry in place of a settlement's."""
    entry = ledger.entries()[0]
    receipt = Receipt(entry.dataset, entry.sequence, entry.hash)
    model.guarantee_ = replace(model.guarantee_, receipt=receipt)


def reserved(model: Any, ledger: Ledger) -> None:
    entry = ledger.entries()[1]
    receipt = Receipt(entry.dataset, entry.sequence, entry.hash)
    model.guarantee_ = replace(model.guarantee_, receipt=receipt)


def anothers(model: Any, ledger: Ledger) -> None:
    """The receipt of another release of the very same event."""
    other = LogisticRegression(0.5, ledger=ledger, dataset="people").fit(*table())
    model.guarantee_ = replace(model.guarantee_, receipt=other.guarantee_.receipt)


def without(model: Any, ledger: Ledger) -> None:
    model.guarantee_ = replace(model.guarantee_, receipt=None)


def for_persons(model: Any, ledger: Ledger) -> None:
    """A promise to rows told as one to persons."""
    model.guarantee_ = replace(model.guarantee_, unit="one person (told apart by id)", group=1)


@pytest.mark.parametrize(
    ("forge", "check"),
    [
        (lowered, "claim"),
        (fewer_curves, "claim"),
        (noiseless, "numbers"),
        (one_bit, "numbers"),
        (unpaid, "numbers"),
        (swapped_classes, "numbers"),
        (opened, "receipt"),
        (reserved, "receipt"),
        (anothers, "numbers"),
        (without, "receipt"),
        (for_persons, "persons"),
    ],
)
def test_a_forged_file_is_refused(
    ledger: Ledger,
    model: LogisticRegression,
    tmp_path: Path,
    forge: Callable[[Any, Ledger], None],
    check: str,
) -> None:
    forge(model, ledger)
    model.save(tmp_path / "m.privet")
    released = released_file(tmp_path / "m.privet")
    ledger.verify()  # the ledger itself is whole
    found = verdicts(ledger, released)
    assert next(name for name, holds in found.items() if holds is False) == check
    with pytest.raises(LedgerError, match="does not go with the ledger"):
        ledger.verify_release(released.guarantee, released.digest)


@pytest.mark.parametrize(
    ("name", "written"), [("scale", "1e400"), ("mechanism", '"mine"'), ("claim", "{}")]
)
def test_a_charge_of_somebodys_own_making_stands_for_no_file(
    ledger: Ledger, model: LogisticRegression, name: str, written: str
) -> None:
    """A server takes such a charge of an analyst; it ended the check in a bare ValueError."""
    first = ledger.entries()[1]
    body = canonical({**first.body, name: "@"}).replace('"@"', written)
    with ledger._writing() as entries:
        newest = entries.newest()
        made = entries.append(newest, "people", "reserve", body=body, totals=first.totals_text)
    digest = model_digest(model)
    receipt = ledger.settle(made.sequence, [digest])
    found = ledger.findings(replace(model.guarantee_, receipt=receipt), digest)
    assert [each.check for each in found if each.holds is False] == ["claim"]
    with pytest.raises(LedgerError, match=f"entry {made.sequence} paid for something that no"):
        ledger.verify_release(replace(model.guarantee_, receipt=receipt), digest)


def test_a_settlement_that_names_nothing_stands_for_no_file(
    ledger: Ledger, model: LogisticRegression
) -> None:
    receipt = ledger.settle(ledger.reserve("people", model.guarantee_.event))
    forged = replace(model.guarantee_, receipt=receipt)
    with pytest.raises(LedgerError, match="names other numbers"):
        ledger.verify_release(forged, model_digest(model))


MODELS: dict[str, Callable[..., Any]] = {
    "gaussian": lambda **a: LargeMarginGaussian(1.0, **a),
    "kernel": lambda **a: KernelLogisticRegression(1.0, **a),
    "standardized": lambda **a: LogisticRegression(
        ZCDP(0.5), standardize="private", column_bounds=(-1.0, 1.0), **a
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_bound(ledger: Ledger, tmp_path: Path, name: str) -> None:
    fitted = MODELS[name](ledger=ledger, dataset="people").fit(*table())
    fitted.save(tmp_path / "m.privet")
    assert verdicts(ledger, released_file(tmp_path / "m.privet")) == ALL


@pytest.mark.parametrize("kind", [PartitionSearch, RandomStoppingSearch])
def test_the_best_model_of_a_search_claims_the_whole_search(
    ledger: Ledger, tmp_path: Path, kind: Any
) -> None:
    candidates = [{"norm_bound": 1.0}, {"norm_bound": 0.5}]
    account = {"ledger": ledger, "dataset": "people"}
    found = kind(LogisticRegression(), candidates, budget=2.0, **account).fit(*table(1200))
    model = found.best_estimator_
    model.save(tmp_path / "m.privet")
    assert verdicts(ledger, released_file(tmp_path / "m.privet")) == ALL
    for part in model.guarantee_.event.parts:  # one part of what was paid is not what it costs
        model.guarantee_ = replace(found.guarantee_, event=part)
        with pytest.raises(LedgerError):
            ledger.verify_release(model.guarantee_, model_digest(model))


def test_intervals_and_their_model_are_bound_to_one_entry(ledger: Ledger, tmp_path: Path) -> None:
    x, y = table(3000)
    base = LogisticRegression(ledger=ledger, dataset="people", regularization=0.1)
    fitted, found = fit_with_intervals(base, x, y, budget=ZCDP(20.0))
    again = confidence_intervals(fitted, x, y, budget=ZCDP(10.0))
    fitted.save(tmp_path / "m.privet")
    found.save(tmp_path / "i.json")
    again.together("sidak").save(tmp_path / "j.json")
    load_intervals(tmp_path / "j.json").save(tmp_path / "k.json")
    for name in ("m.privet", "i.json", "j.json", "k.json"):
        assert verdicts(ledger, released_file(tmp_path / name)) == ALL
    record = json.loads((tmp_path / "i.json").read_text())
    record["matrices"]["covariance"][0] *= 1.0 + 1e-12
    (tmp_path / "i.json").write_text(resealed(record))
    assert verdicts(ledger, released_file(tmp_path / "i.json"))["numbers"] is False


def test_an_evaluation_is_bound(ledger: Ledger, model: LogisticRegression, tmp_path: Path) -> None:
    found = evaluate(
        model, *table(), budget=1.0, training_rows=False, ledger=ledger, dataset="people"
    )
    place = tmp_path / "e.json"
    place.write_text(found.dumps())
    assert verdicts(ledger, released_file(place)) == ALL
    record = json.loads(place.read_text())
    record["measures"][0]["estimate"] = 0.999
    place.write_text(resealed(record))
    assert verdicts(ledger, released_file(place))["numbers"] is False


def test_answers_are_bound(ledger: Ledger, tmp_path: Path) -> None:
    x, y = table()
    account = {"ledger": ledger, "dataset": "people"}
    made = SemiInteractiveClassifier(2.0, public_points=x[:5].round(1), **account).fit(x, y)
    made.save(tmp_path / "a.privet")
    assert verdicts(ledger, released_file(tmp_path / "a.privet")) == ALL
    made.dual_coef_ = made.dual_coef_ + 1e-9
    made.save(tmp_path / "b.privet")
    assert verdicts(ledger, released_file(tmp_path / "b.privet"))["numbers"] is False


def test_drawn_points_and_classes_are_bound(ledger: Ledger, tmp_path: Path) -> None:
    """One point may tell the whole direction of a weight vector."""
    account = {"ledger": ledger, "dataset": "people", "classes": [0, 1]}
    made = NonInteractiveClassifier(ZCDP(20.0), **account).fit(*table(5000))
    place = tmp_path / "a.privet"
    made.save(place)
    assert verdicts(ledger, released_file(place)) == ALL
    (head, body), _ = records.read(place)
    for forged in (
        [head, {**body, "points": (np.array(body["points"]) * -1.0).tolist()}],
        [{**head, "classes": head["classes"][::-1]}, body],
        [{name: value for name, value in head.items() if name != "classes"}, {"state": {}}],
    ):
        records.write(place, forged)
        assert verdicts(ledger, released_file(place))["numbers"] is False


@pytest.mark.parametrize(
    "words",
    [
        {"unit": "one row of the population, that is one household"},
        {"neighbors": "tables that differ in any number of rows"},
        {"group": 2},
    ],
)
def test_a_promise_to_rows_is_told_in_its_own_words(
    ledger: Ledger, model: LogisticRegression, words: dict[str, Any]
) -> None:
    forged = replace(model.guarantee_, **words)
    with pytest.raises(LedgerError, match=r"promises to persons|tells a promise to rows"):
        ledger.verify_release(forged, model_digest(model))


@pytest.mark.parametrize("group", [0, -1, 1.5, "1", True])
def test_a_group_of_no_rows_does_not_lower_a_claim(model: LogisticRegression, group: Any) -> None:
    record = {**model.guarantee_.to_json(), "group": group}
    with pytest.raises(ValueError, match="one row or more"):
        guarantee_from_json(record)


@pytest.mark.parametrize("number", [0, -1, 1 << 63, 10**30])
def test_a_receipt_has_a_number_that_an_entry_can_have(
    model: LogisticRegression, number: int
) -> None:
    record = model.guarantee_.to_json()
    record["receipt"]["sequence"] = number
    with pytest.raises(ValueError, match="number"):
        guarantee_from_json(record)


def test_a_promise_to_persons_cannot_be_told_for_fewer_rows(ledger: Ledger, tmp_path: Path) -> None:
    ledger.open("visits", ZCDP(50.0), group=3)
    rows = census_table(500)
    rows["person"] = [f"p{i // 3}" for i in range(500)]
    schema = replace(census_schema(), person=Person("person", 3))
    model = fit_table(LogisticRegression(2.0, ledger=ledger, dataset="visits"), schema, rows)
    assert ledger.entries()[-1].body["persons"] == 3
    ledger.verify_release(model.guarantee_, model_digest(model))
    forged = replace(model.guarantee_, group=1)
    with pytest.raises(LedgerError, match="up to 3 rows"):
        ledger.verify_release(forged, model_digest(model))
