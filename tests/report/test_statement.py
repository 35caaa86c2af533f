"""The statement as a page: whole, self-contained, escaped, and for signing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from privet.statement import File, statement_facts
from privet.statement.writers import as_page, write_page
from tests.privacy.statements import KINDS, VOID, renamed
from tests.report.test_page import read


def page(kind: str) -> str:
    file = File("m.privet", "ab" * 32)
    return as_page(statement_facts(KINDS[kind](), model="LogisticRegression", file=file))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_guarantee_has_a_whole_page(kind: str) -> None:
    text = page(kind)
    reader = read(text)
    assert len(set(reader.identifiers)) == len(reader.identifiers)
    assert reader.targets == []
    assert text.lstrip().startswith("<!doctype html>")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<link|<img|<iframe", text)
    assert not re.search(r"\b(nan|NaN|inf|None|undefined)\b", text)
    assert 'name="viewport"' in text
    assert "@media print" in text
    assert text == page(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_place_to_sign_where_something_is_promised(kind: str) -> None:
    text = page(kind)
    signed = text[text.index("<h2>Signature</h2>") :]
    if kind in VOID:
        assert "Not for signing" in signed
        assert "NOT PRIVATE" in signed
        assert "place and date" not in signed
    else:
        assert signed.count("place and date") == 2
        assert "Privacy officer" in signed


def test_the_five_questions_come_first() -> None:
    text = page("pure")
    order = [text.index(f"<dt>{name}</dt>") for name in ("Who", "What", "How much", "How certain")]
    assert order == sorted(order)
    assert order[-1] < text.index("<dt>What is left</dt>") < text.index("What is promised")


def test_everything_is_escaped() -> None:
    evil = "<img src=x onerror=alert(1)>{{ 7 * 7 }}&\"'"
    file = File(evil, evil)
    found = renamed("pure", unit=evil, neighbors=evil, numerics=evil)
    text = as_page(statement_facts(found, model=evil, ledger=evil, file=file, declared_by=evil))
    read(text)
    assert "<img" not in text
    assert "{{ 7 * 7 }}" in text


def test_a_page_is_written_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = "<!doctype html>one", "<!doctype html>two"
    write_page(one, tmp_path / "s.html")
    assert (tmp_path / "s.html").stat().st_mode & 0o777 == 0o644

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_page(two, tmp_path / "s.html")
    assert [each.name for each in tmp_path.iterdir()] == ["s.html"]
    assert (tmp_path / "s.html").read_text() == one
