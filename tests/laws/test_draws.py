"""Law 8: the draws are the design's.

A watched source writes down every draw of every release: its kind, scale, dimension and number are
those of the event that was charged, nothing else is drawn, and the numbers of the operating
system's path are those of the seeded one.
"""

from __future__ import annotations

import ast
import itertools
import math
from pathlib import Path

import pytest

import privet
from privet.grid import GRID_BITS
from tests.laws.listed import names_all, names_the_same
from tests.laws.releases import MODULES, RELEASES, Draw
from tests.laws.watched import watching

HOUSE = Path(privet.__file__).parent
every_release = pytest.mark.parametrize("name", RELEASES)
#: Where words are read: sources and laws, and what is not noise (order of rows, number of runs,
#: public features, the seed of a simulation).
READERS = {
    "randomness.py",
    "noise/laws.py",
    "noise/domain_noise.py",
    "noise/grouped_noise.py",
    "noise/hull_points.py",
    "noise/matrix_noise.py",
    "exact_draws.py",
    "inference/plausible.py",  # what may lie behind released matrices: read of no row
    "mechanisms/distinguishing.py",
    "mechanisms/sparse_vector.py",
    "features/fourier.py",
    "mechanisms/search.py",
    "inference/confidence.py",
}


#: What reads words.
READING = ("words", "normals", "gammas", "uniforms", "exponentials")

Facts = tuple[str, int, int, float]  # kind, dimension, number, scale


def facts(draws: list[Draw]) -> list[Facts]:
    """What is compared of a draw."""
    return [(draw.kind, draw.dimension, draw.count, draw.scale) for draw in draws]


def different(found: list[Facts], claimed: list[Facts]) -> list[tuple[Facts | None, Facts | None]]:
    """Draws without a partner, whatever their order; scales agree to nine digits."""
    pairs = itertools.zip_longest(sorted(found), sorted(claimed))
    return [
        (one, two)
        for one, two in pairs
        if one is None or two is None or one[:3] != two[:3] or not same(one[3], two[3])
    ]


def same(one: float, two: float) -> bool:
    """Equal up to the rounding of a budget's shares."""
    return math.isclose(one, two, rel_tol=1e-9)


@every_release
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_draws_are_those_of_the_event(name: str, seed: int) -> None:
    with watching() as record:
        published = RELEASES[name](seed)
    claimed = published.claim(record.words)
    assert different(facts(record.draws), facts(claimed)) == []
    assert record.exact == []
    if published.words is not None:
        assert [word.size for word in record.words] == published.words(record.words)


def on_the_grid(draw: Draw) -> Facts:
    """What exact samplers are asked for: the scale in steps of the grid, and how many numbers."""
    kind, numbers = draw.kind.removeprefix("independent "), draw.dimension * draw.count
    if draw.choice:
        return kind, 1, numbers, draw.scale
    exponent = draw.exponent
    if exponent is None:
        sd = draw.scale * (math.sqrt(2.0) if kind == "laplace" else 1.0)
        exponent = math.floor(math.log2(sd)) - GRID_BITS
    return kind, 1, numbers, math.ldexp(draw.scale, -exponent)


@every_release
def test_the_draws_in_earnest_are_those_of_the_event(name: str) -> None:
    """The same from the operating system's source, where what can be drawn exactly is."""
    with watching() as record:
        published = RELEASES[name](None)
    claimed = published.claim(record.words)
    assert different(facts(record.draws), facts([d for d in claimed if not d.exact])) == []
    exact = [on_the_grid(draw) for draw in claimed if draw.exact]
    assert different([(kind, 1, k, scale) for kind, scale, k in record.exact], exact) == []


def test_every_file_of_mechanisms_is_at_work_in_a_release() -> None:
    """A new mechanism must be entered into the list of releases."""
    files = {path.stem for path in (HOUSE / "mechanisms").glob("*.py")} - {"__init__"}
    names_the_same(MODULES, files, "MODULES, tests/laws/releases/__init__.py")
    names_all(RELEASES, MODULES.values(), "tests/laws/releases, by a run of that name")


def test_words_are_read_by_sources_and_laws_alone() -> None:
    """No file draws noise past the door: whoever reads words is on the list."""
    found = set()
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) and node.args else None
            if isinstance(called, ast.Attribute) and called.attr in READING:
                found.add(path.relative_to(HOUSE).as_posix())
    assert found == READERS
