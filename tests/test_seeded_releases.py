"""With a seed every release publishes what it published before, to one step of the grid."""

from __future__ import annotations

import pytest

from tests.laws.releases import RELEASES
from tests.reference.seeded_releases import kept, numbers, worst


def test_every_release_has_reference_numbers() -> None:
    told = "python -m tests.reference.seeded_releases adds the numbers of new releases"
    assert set(kept()) == set(RELEASES), told


@pytest.mark.parametrize("name", RELEASES)
def test_a_seeded_release_is_what_it_was(name: str) -> None:
    found, expected = numbers(name), kept()[name]
    assert set(found) == set(expected)
    apart = {key: worst(found[key], expected[key]) for key in expected}
    assert {key: steps for key, steps in apart.items() if steps > 1.0} == {}


def test_a_step_is_seen() -> None:
    """The comparison refuses two parts in a million, and another shape."""
    assert worst([1.0, 2.0], [1.0, 2.0 + 4.1e-6]) > 2.0
    assert worst([1.0], [1.0, 1.0]) > 1.0
