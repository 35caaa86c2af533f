"""Some of all single changes of all files, others each time: each is convicted or harmless.

``python -m reproduce.forgeries`` makes every change of every file.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.certificate.harmless import why_harmless
from tests.certificate.mutants import Mutant, accepted, changed, mutants, parsed, places
from tests.certificate.released import WRITTEN, files

#: Changes of one file that are tried each time; there are about four hundred of each.
TRIED = 12


def changes(name: str, tried: int | None, rng: random.Random) -> list[Mutant]:
    """Changes of the files of a release, with values of another one; all of them for None."""
    donor = [parsed(path.read_bytes()) for path in files(rng.choice(WRITTEN))]
    found: list[Mutant] = []
    for path in files(name):
        found += mutants(parsed(path.read_bytes()), donor)
    return found if tried is None else rng.sample(found, tried)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_accepted_is_harmless(name: str) -> None:
    rng = random.Random()
    for mutant in changes(name, TRIED, rng):
        if accepted(mutant.file):
            assert why_harmless(mutant), (mutant.where, mutant.how, mutant.place)


def test_a_change_that_matters_is_not_harmless() -> None:
    """The list of harmless changes does not cover those that a file must be convicted of."""
    honest = parsed(files("logistic standardized zcdp")[0].read_bytes())
    grave = [
        mutant
        for mutant in mutants(honest, [])
        if mutant.how in ("a part less", "one part", "array left out", "added key", "added array")
        or (mutant.where.endswith(("epsilon", "rho", "scale", "group")) and mutant.how == "halved")
    ]
    assert len(grave) > 20
    assert not any(map(why_harmless, grave))


#: Numbers beyond any use, at both ends of what a double holds.
HOSTILE = (10**307, -(10**306), 2**63, 1e308, -1e308, 1e200, 5e-324, 0)


def is_answered(name: str, place: tuple[Any, ...], value: float) -> None:
    """An answer or a refusal; every other exception fails the test."""
    accepted(changed(parsed(files(name)[-1].read_bytes()), place, value))


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("key", ["m", "n", "scale", "sensitivity", "regularization"])
@pytest.mark.parametrize("name", ["logistic objective gaussian zcdp", "svc output pure"])
def test_a_number_beyond_use_in_an_event_is_answered(name: str, key: str, value: float) -> None:
    is_answered(name, (0, "guarantee", "event", key), value)


@pytest.mark.parametrize("name", WRITTEN)
def test_numbers_beyond_use_are_answered(name: str) -> None:
    dice = random.Random()
    lines = parsed(files(name)[-1].read_bytes()).lines
    numbers = [place for place, value in places(lines) if type(value) in (int, float)]
    for place in dice.sample(numbers, min(4, len(numbers))):
        is_answered(name, place, dice.choice(HOSTILE))
