"""With a seed every release publishes what it published before, to one step of the grid."""

from __future__ import annotations

import pytest

from tests.laws.listed import names_the_same
from tests.laws.releases import RELEASES
from tests.reference import seeded_releases
from tests.reference.seeded_releases import kept, numbers, worst


def test_every_release_has_reference_numbers() -> None:
    told = "the kept numbers: python -m tests.reference.seeded_releases adds them"
    names_the_same(kept(), RELEASES, told)


def test_only_new_numbers_and_those_that_are_named_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers of other releases stay as they are kept, to the last digit."""
    first, second, new, *_ = RELEASES
    monkeypatch.setattr(seeded_releases, "numbers", lambda name: {"computed": name})
    monkeypatch.setattr(seeded_releases, "kept", lambda: {first: {}, second: {}, "gone": {}})
    found = seeded_releases.renewed([second])
    assert list(found) == list(RELEASES)
    assert (found[first], found[second], found[new]) == (
        {},
        {"computed": second},
        {"computed": new},
    )


@pytest.mark.parametrize("name", RELEASES)
def test_a_seeded_release_is_what_it_was(name: str) -> None:
    found, expected = numbers(name), kept()[name]
    assert set(found) == set(expected)
    apart = {key: worst(found[key], expected[key]) for key in expected}
    moved = {key: steps for key, steps in apart.items() if steps > 1.0}
    told = "if that is wanted: python -m tests.reference.seeded_releases, then the release's name"
    assert not moved, f"{moved} steps from the kept numbers; {told}"


def test_a_step_is_seen() -> None:
    """The comparison refuses two parts in a million, and another shape."""
    assert worst([1.0, 2.0], [1.0, 2.0 + 4.1e-6]) > 2.0
    assert worst([1.0], [1.0, 1.0]) > 1.0
