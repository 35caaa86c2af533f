"""Events: frozen, versioned, and the same text for ever."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings

from privet.errors import DeclarationError
from privet.losses import Logistic
from privet.mechanisms import ObjectivePerturbation
from privet.privacy import ApproxDP, Event, PureDP, event_from_json
from privet.privacy.curves import Curve, GaussianCurve, PureCurve
from privet.privacy.jacobian import JacobianCurve
from tests.strategies import curves, event, events

#: Version 1, written once. If a change makes this test fail, it needs a new version, not new text.
GOLDEN = (
    '{"claim":{"delta":1e-06,"epsilon":1.0,"kind":"approx"},'
    '"curves":[{"classes":3,"family":"softmax","k":0.01,"kind":"objective_gaussian","shift":0.2},'
    '{"kind":"pure","loss":0.01},{"kind":"gaussian","rho":0.001,"slack":0.0}],'
    '"m":3,"mechanism":"output","n":100,"noise":"laplace","private":true,"regularization":0.01,'
    '"scale":0.5,"sensitivity":0.25,"share":1.0,"theorem":"a theorem","version":1,'
    '"why_not_private":""}'
)


def golden() -> Event:
    parts = (JacobianCurve("softmax", 3, 0.2, 0.01), PureCurve(0.01), GaussianCurve(0.001))
    return event(ApproxDP(1.0, 1e-6), parts)


def test_the_text_of_version_1_never_changes() -> None:
    assert golden().canonical() == GOLDEN
    assert event_from_json(json.loads(GOLDEN)) == golden()


def test_equal_events_may_have_different_texts() -> None:
    """A text belongs to the object, not to its value: 1 and 1.0 are equal, and kept apart."""
    whole, real = (dataclasses.replace(golden(), scale=scale) for scale in (1, 1.0))
    assert whole == real
    assert (whole.canonical(), real.canonical()) == (
        GOLDEN.replace('"scale":0.5', '"scale":1'),
        GOLDEN.replace('"scale":0.5', '"scale":1.0'),
    )
    assert dataclasses.replace(whole, n=7).canonical().count('"n":7') == 1


@given(curves())
def test_a_curve_is_written_with_all_its_fields(curve: Curve) -> None:
    assert curve.to_json() == {"kind": curve.kind, **dataclasses.asdict(curve)}


def test_the_meaning_of_version_1_never_changes() -> None:
    """Numbers computed by hand from the formulas of the mathematics page."""
    read = event_from_json(json.loads(GOLDEN))
    assert read.zcdp() == pytest.approx(0.02 + (2.1 + 1.0986122887) * 1e-4 + 5e-5 + 0.001)
    assert read.renyi(2.0) == pytest.approx(0.04 + 2e-4 + 0.0000999917 + 0.002, rel=1e-5)
    assert read.pure() == float("inf")
    assert read.epsilon(1e-6) == 1.0


@given(events())
@settings(max_examples=30)
def test_replaying_the_text_gives_the_event(made: Event) -> None:
    again = event_from_json(json.loads(made.canonical()))
    assert again == made
    assert again.canonical() == made.canonical()


@given(events())
@settings(max_examples=20)
def test_the_text_is_canonical(made: Event) -> None:
    record = json.loads(made.canonical())
    shuffled = dict(reversed(record.items()))
    assert event_from_json(shuffled).canonical() == made.canonical()
    text = made.canonical()
    for sentence in filter(None, (made.theorem, made.why_not_private, made.noise)):
        text = text.replace(sentence, "")
    assert " " not in text


def test_an_event_is_frozen_and_can_be_a_key() -> None:
    made = golden()
    for field in dataclasses.fields(Event):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)
    assert len({made, golden()}) == 1


def _changed(**fields: Any) -> dict[str, Any]:
    return {**json.loads(GOLDEN), **fields}


@pytest.mark.parametrize("version", [0, 3, "1", None, True, 1.0])
def test_an_unknown_version_is_refused(version: Any) -> None:
    with pytest.raises(DeclarationError, match="version"):
        event_from_json(_changed(version=version))


@pytest.mark.parametrize("name", sorted(json.loads(GOLDEN)))
def test_a_missing_field_is_refused(name: str) -> None:
    record = json.loads(GOLDEN)
    del record[name]
    with pytest.raises(DeclarationError, match=name):
        event_from_json(record)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(DeclarationError, match="surprise"):
        event_from_json(_changed(surprise=1))


@pytest.mark.parametrize(
    "fields",
    [
        {"claim": {"kind": "hope", "epsilon": 1.0}},
        {"curves": [{"kind": "hope"}]},
        {"curves": [{"kind": "pure", "loss": -0.5}]},
        {"curves": []},
    ],
    ids=repr,
)
def test_an_unknown_kind_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        event_from_json(_changed(**fields))


def test_a_seeded_release_says_so_in_its_event() -> None:
    seeded = ObjectivePerturbation(Logistic(), PureDP(1.0), insecure_seed=1).event(100, 2)
    assert not seeded.private
    assert "seeded" in seeded.why_not_private
    assert event_from_json(json.loads(seeded.canonical())).private is False
