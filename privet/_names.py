"""Names that people write: none that moves a cursor, and no two that look the same.

Columns, classes and accounts are told apart by their text. What a reader cannot tell apart must not
be two things: an account whose name differs in an invisible sign would be a second budget for the
same people. And a sign that turns the line round or clears the screen must not be in a name at all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

#: Categories of Unicode that are no part of a name: controls, ends of lines, halves of characters.
_NO_TEXT = ("Cc", "Zl", "Zp", "Cs")
#: Signs that change the direction in which a line is read.
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: Letters of other scripts that are drawn like Latin ones (Unicode's list of confusables, TR 39);
#: of the small Greek ones only the one that nobody uses as a symbol beside its Latin twin.
_TWINS = str.maketrans(
    "аеорсухіјѕһԁԛԝѵАВЕКМНОРСТУХІЈЅԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",
    "aeopcyxijshdqwvABEKMHOPCTYXIJSGABEZHIKMNOPTYXo",
)


def is_safe(text: str) -> bool:
    """Whether a text can be shown on one line as it is: no controls, nothing that turns a line."""
    if text.isascii() and text.isprintable():
        return True
    return not any(c in _TURNS or unicodedata.category(c) in _NO_TEXT for c in text)


def looks(text: str, *, case: bool = False) -> set[str]:
    """What a reader sees of a text, twice: compatible signs made one, and twins of Latin letters.

    Two texts are taken for one another where the sets have something in common. Upper and lower
    case count only with ``case``.
    """
    plain = _visible(text)
    if text.isascii():
        return {plain if case else plain.lower()}
    twins = _visible(plain.translate(_TWINS))
    return {plain, twins} if case else {_visible(each.casefold()) for each in (plain, twins)}


def _visible(text: str) -> str:
    if text.isascii():
        return " ".join(text.split())
    folded = unicodedata.normalize("NFKC", text)
    return " ".join("".join(c for c in folded if unicodedata.category(c) != "Cf").split())


def alike(names: Iterable[str], *, case: bool = False) -> tuple[str, str] | None:
    """The first two of different names that look the same."""
    seen: dict[str, str] = {}
    for name in names:
        for look in looks(name, case=case):
            other = seen.setdefault(look, name)
            if other != name:
                return other, name
    return None
