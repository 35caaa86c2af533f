"""Names and sentences of the product are spelled in American English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.laws.test_imports import ROOT

#: Words that end alike in both countries.
SAME = re.compile(
    r".*(?:wis|nois|rais|promis|pris|guis|cis|vis)|(?:un|re)?(?:aris|lis|premis|pois|ris|advertis|mis)"
)
ISE = re.compile(r"(?P<stem>[a-z]+is)(?:e|ed|es|er|ers|ing|ation|ations|able)(?![a-z])", re.I)
OTHER = re.compile(
    r"analys(?:e|ed|ing|er)(?![a-z])|(?:behavi|col|fav|flav|hon|hum|lab|neighb|rum|vig)our"
    r"|(?<![a-z])(?:re)?cent(?:re|red|ring)s?(?![a-z])|(?:cancel|label|model|signal|travel)l(?:ed|ing)"
    r"|(?<![a-z])(?:learnt|spelt|misspelt|towards|grey|judgement|artefacts?|licence|whilst)(?![a-z])"
    r"|catalogue|programme(?![a-z])",
    re.I,
)

#: Old spellings that live for one version more, and one that files have always had.
KEPT = {
    "minimise.py": {"minimise", "minimiser"},
    "risk.py": {"RegularisedRisk", "Regularised"},
    "planning/gaussian.py": {"generalisation"},
    "privacy/guarantee.py": {"neighbour"},
    "certificate/file_facts.py": {"neighbour"},
}

FILES = sorted(
    path for path in ROOT.rglob("*") if path.suffix in {".py", ".md", ".toml", ".html", ".css"}
)


def british(text: str) -> set[str]:
    """What a reader in the United States would spell otherwise."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_|\d", " ", text)
    found = {match.group() for match in OTHER.finditer(words)}
    for match in ISE.finditer(words):
        if not SAME.fullmatch(match["stem"].lower()):
            found.add(match.group())
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_words_are_spelled_as_in_america(path: Path) -> None:
    here = path.relative_to(ROOT)
    kept = KEPT.get(str(here), set())
    assert not british(str(here)) - kept, f"the name {here}"
    assert not british(path.read_text()) - kept, f"spelled the British way in {here}"


def test_old_spellings_are_still_there() -> None:
    """An exception that nothing needs any more is struck off the list."""
    for name, words in KEPT.items():
        assert british((ROOT / name).read_text()) <= words
        assert british((ROOT / name).read_text()), f"{name} has no old spelling left"


@pytest.mark.parametrize(
    "text",
    ["RegularisedRisk", "minimise_many", "standardisation", "neighbours", "centre", "colour_map"],
)
def test_british_words_are_seen(text: str) -> None:
    assert british(text)


@pytest.mark.parametrize(
    "text", ["noise", "Otherwise", "raised", "promises", "row_wise", "precise", "arising", "four"]
)
def test_words_that_both_share_pass(text: str) -> None:
    assert not british(text)
