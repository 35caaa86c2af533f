"""The statement: one set of facts, in three formats, that promise what the theorem promises."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet import ZCDP, ApproxDP, Ledger, LogisticRegression, PureDP
from privet.errors import DeclarationError
from privet.privacy.kinds import event_from_json
from privet.statement import (
    NOT_COVERED,
    account,
    as_json,
    as_text,
    card,
    in_words,
    statement,
    statement_facts,
)
from privet.statement import (
    facts as statement_values,
)
from privet.statement.facts import at_least, at_most
from privet.statement.promise import rarely
from privet.statement.writers import as_page
from tests.models.tables import two_classes
from tests.privacy.statements import (
    FILE,
    KINDS,
    VOID,
    event,
    facts,
    guarantee,
    ledger_with_two,
    renamed,
)


def spaceless(text: str) -> str:
    return "".join(text.split())


def leaves(value: Any) -> Iterator[str]:
    """Every text in a JSON document."""
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield str(value)


def seen(page: str) -> str:
    """What a reader sees of a page."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", " ", body))


# -- none says what the others do not ------------------------------------------------------------


@pytest.mark.parametrize("live", [False, True], ids=["frozen", "live"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_fact_is_in_all_three_formats(kind: str, live: bool, tmp_path: Path) -> None:
    found = KINDS[kind]()
    told = account(ledger_with_two(tmp_path), "people", found) if live else None
    whole = facts(kind, account=told, declared_by="A. Person")
    text, page = spaceless(as_text(whole)), spaceless(seen(as_page(whole)))
    values = set(leaves(json.loads(as_json(whole))))
    words = [word for section in whole.sections for fact in section.facts for word in fact.words()]
    titles = [section.title for section in whole.sections]
    assert len(words) > 80
    for word in (whole.headline, whole.kind, whole.title, *whole.alarms, *words):
        assert spaceless(word) in text
        assert spaceless(word) in page
        assert word in values
    told = json.loads(as_json(whole))
    for section in whole.sections:
        for fact in section.facts:
            field = {k: v for k, v in told[section.key][fact.key].items() if k != "value"}
            assert sorted(leaves(field)) == sorted([*fact.words(), *([""] * (not fact.text))])
    for title in titles:
        assert spaceless(title) in text
        assert spaceless(title) in page


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_else_is_in_the_formats(kind: str) -> None:
    """What is left of text and page once the facts are taken out is furniture."""
    whole = facts(kind)
    words = [word for section in whole.sections for fact in section.facts for word in fact.words()]
    known = [whole.title, whole.headline, whole.kind, *whole.alarms, *words]
    known += [section.title for section in whole.sections]
    for shown in (as_text(whole), seen(as_page(whole))):
        rest = spaceless(shown)
        for word in sorted(known, key=len, reverse=True):
            rest = rest.replace(spaceless(word), "")
        for sign in (
            "Ihavereadwhatispromised,whatwasdeclared,whatisnotcoveredandwhatisnot"
            "thesoftware'stosay,andagreetotherelease.",
            "Privacyofficer",
            "Curator,whoanswersforthe",
            "declarations",
            "placeanddate",
            "Notforsigning.",
            "Signature",
            "signature",
            "name",
            "sign",
        ):
            rest = rest.replace(sign, "")
        assert len(rest.strip("-!: ")) <= 0, rest
    fields = {section.key for section in whole.sections}
    told = card(whole)
    extra = {"format", "version", "title", "model", "private", "headline", "kind", "alarms"}
    assert set(told) == fields | extra | {"guarantee"}
    for section in whole.sections:
        assert set(told[section.key]) == {fact.key for fact in section.facts}
        assert len({fact.key for fact in section.facts}) == len(section.facts)


def test_the_exact_record_says_no_more_than_the_facts() -> None:
    """Every number of the guarantee's record is among the facts, if rounded for people."""
    for kind in ("pure", "zcdp", "approx", "person", "receipt"):
        whole, found = facts(kind), KINDS[kind]()
        told = card(whole)
        record = told.pop("guarantee")
        assert record == found.to_json()
        values = set(leaves(told))
        what = found.event
        for each in (what.scale, what.sensitivity, what.n, *what.counted().values()):
            assert str(each) in values
        for each in (what.mechanism, what.noise, what.theorem, found.unit, str(what.version)):
            assert each in values
        for curve in what.curves:
            for name, number in curve.to_json().items():
                if name != "kind":  # ten digits for people; the record itself has all of them
                    shown = f"{number:.10g}" if isinstance(number, float) else str(number)
                    assert f"{name} = {shown}" in whole["making"]["curves"].text


def test_the_card_s_fields_stay() -> None:
    """Programs read these; a change of meaning needs a new version."""
    told = card(facts("approx"))
    assert (told["format"], told["version"]) == ("privet-deployment-card", 1)
    assert told["promise"]["guarantee"]["value"] == {
        "kind": "approx",
        "epsilon": 1.0,
        "delta": 1e-6,
    }
    assert told["promise"]["unit"]["value"] == {"rows": 1}
    assert told["trust"]["model"]["value"] == "central"
    assert told["making"]["sha256"]["text"] == "cd" * 32
    assert told["making"]["mechanism"]["value"]["name"] == "output"
    assert told["meaning"]["beliefs"]["value"]["except_for"] == pytest.approx(1e-5)
    assert told["declared"]["assumptions"]["value"] == list(KINDS["approx"]().assumptions)
    assert told["composition"]["scope"]["value"] == {"dataset": None}


# -- a void promise is shouted -------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_private_is_shouted_first_in_every_format(kind: str) -> None:
    whole = facts(kind)
    text, page, told = as_text(whole), as_page(whole), card(whole)
    if kind not in VOID:
        assert told["private"] is True
        assert whole.alarms == ()
        assert "NOT PRIVATE" not in text + page + as_json(whole)
        assert "Privacy officer" in page
        return
    assert told["private"] is False
    assert told["promise"]["guarantee"]["text"] == "none"
    assert "NOT PRIVATE" in told["alarms"][0]
    assert KINDS[kind]().event.why_not_private in told["alarms"][0]
    assert text.index("NOT PRIVATE") < text.index("In short")
    assert page.index("NOT PRIVATE") < page.index("In short")
    assert 'class="alarm" role="alert"' in page
    assert "Privacy officer" not in page
    assert "Not for signing" in page
    for shown in (text, page, as_json(whole)):
        assert "odds" not in shown
        assert "may be published" not in shown
        assert "Nothing is promised to anybody" in " ".join(shown.split())


# -- the numbers ---------------------------------------------------------------------------------


def test_bounds_are_never_rounded_the_wrong_way() -> None:
    assert at_most(0.1 + 0.2) == "0.3"
    assert at_most(2.7111) == "2.72"
    assert at_least(2.7199) == "2.71"
    assert at_least(0.3) == "0.3"
    numbers = np.random.default_rng().lognormal(0.0, 8.0, 2_000)
    for number in numbers.tolist():
        assert float(at_most(number)) >= number * (1 - 1e-11)
        assert float(at_most(number)) <= number * 1.01 + 1e-300
        assert float(at_least(number)) <= number * (1 + 1e-11)


def test_odds_and_tables_of_a_pure_budget() -> None:
    told = card(facts("pure"))["meaning"]
    assert "factor of at most 1.65" in told["words"]["text"]
    assert told["even_odds"]["value"] == pytest.approx(math.exp(0.5) / (1 + math.exp(0.5)))
    rows = {row["before"]: row["after"] for row in told["beliefs"]["value"]["rows"]}
    odds = rows[0.1] / (1 - rows[0.1]) / (0.1 / 0.9)
    assert odds == pytest.approx(math.exp(0.5))
    hits = {r["false_positives"]: r["true_positives"] for r in told["detection"]["value"]["rows"]}
    assert hits[0.01] == pytest.approx(0.01 * math.exp(0.5))
    assert told["beliefs"]["table"]["rows"][2] == ["10 %", "15.5 %"]


def test_a_concentrated_budget_is_converted() -> None:
    told = card(facts("zcdp"))
    converted = told["promise"]["converted"]["value"]
    assert converted["delta"] == 1e-6
    # between the exact profile of a Gaussian and Bun and Steinke's conversion
    simple = 0.2 + 2 * math.sqrt(0.2 * math.log(1e6))
    assert 0.7 * simple < converted["epsilon"] < simple
    assert "0.633 in units of their standard deviation" in told["meaning"]["words"]["text"]
    assert "1 in 1,000,000 releases" in told["summary"]["how_certain"]["text"]


def test_a_large_delta_is_named() -> None:
    small = statement_facts(guarantee(event(ApproxDP(1.0, 1e-7), "output")), model="M")
    large = statement_facts(guarantee(event(ApproxDP(1.0, 1e-3), "output")), model="M")
    assert "within" in small["promise"]["delta"].text
    assert "above" in large["promise"]["delta"].text
    assert "is 1 " not in small["promise"]["delta"].text


def test_in_words_speaks_of_the_person() -> None:
    assert "a given person" in facts("person")["summary"]["how_much"].text
    assert "a given record" in facts("pure")["summary"]["how_much"].text
    for fact in facts("person")["meaning"].facts:
        assert "a given person" in fact.text
    assert facts("person")["promise"]["row"].text.startswith("epsilon = 0.5")
    assert facts("person")["promise"]["guarantee"].text.startswith("epsilon = 1.5")
    assert "factor of at most 2.72" in in_words(PureDP(1.0))
    assert "Except with probability 1e-6" in in_words(ApproxDP(1.0, 1e-6))
    assert "normal laws" in in_words(ZCDP(0.5))


def test_proofs_named_are_there() -> None:
    root = Path(privet.__file__).parents[1]
    for kind in KINDS:
        found = card(facts(kind))["making"]["proof"]["value"]
        assert found, kind
        for place in found:
            assert (root / place).is_file()
    pure, gaussian = (card(facts(k))["making"]["proof"]["value"] for k in ("pure", "zcdp"))
    assert pure == ["privet/mechanisms/objective.proof.md", "privet/mechanisms/gap.proof.md"]
    assert "privet/mechanisms/gaussian_objective.proof.md" in gaussian
    strange = renamed("pure").event.to_json() | {"mechanism": "../../../etc/passwd"}
    with pytest.raises(DeclarationError, match="unknown mechanism"):
        event_from_json(strange)


def test_a_composite_names_its_parts() -> None:
    whole = facts("composite")
    table = whole["making"]["parts"].table
    assert table is not None
    assert [row[0] for row in table.rows] == [p.mechanism for p in KINDS["composite"]().event.parts]
    assert len(card(whole)["making"]["proof"]["value"]) == 3


# -- what it must not leave out ------------------------------------------------------------------


def test_what_is_not_covered_is_named() -> None:
    told = " ".join(NOT_COVERED)
    for word in ("time", "terminal", "refusals", "model.score", "scaling", "relatives"):
        assert word in told


def test_every_heading_of_nist_s_pyramid_has_an_answer() -> None:
    section = facts("pure")["nist_sp_800_226"]
    wanted = "parameters unit algorithms utility bias queries trust side_channels security access"
    assert {*wanted.split(), "collection", "composition"} == {fact.key for fact in section.facts}
    assert all(fact.text for fact in section.facts)
    for key in ("bias", "security", "access", "collection"):
        assert section[key].text.startswith("Not Privet's to say.")
    assert "audits" in section["algorithms"].text


def test_who_declared_and_who_may_ask() -> None:
    assert facts("pure")["declared"]["assumptions"].items == KINDS["pure"]().assumptions
    assert facts("pure")["declared"]["by"].text == "the person who ran the fit"
    assert facts("pure", declared_by="A. Person")["declared"]["by"].text.startswith("A. Person")
    assert facts("pure")["trust"]["queries"].value == "one release"
    open_ended = facts("pure", interactive=True)
    assert open_ended["trust"]["queries"].value == "interactive"
    assert "without further cost" not in as_text(open_ended)


# -- strangers -----------------------------------------------------------------------------------

EVIL = "<script>alert(1)</script>\x1b[2J\x07\nGuarantee    epsilon = 0.01\u202e{{ 7*7 }}\"'&"


@pytest.mark.parametrize("field", ["unit", "numerics", "neighbors"])
def test_words_from_a_file_cannot_forge_a_line_or_a_tag(field: str) -> None:
    found = renamed("pure", **{field: EVIL})
    text = statement(found, model=EVIL, ledger=EVIL)
    page = statement(found, model=EVIL, ledger=EVIL, format="html", declared_by=EVIL)
    assert not set("\x1b\x07\u202e") & set(text + page)
    assert not any(line.startswith("Guarantee    epsilon = 0.01") for line in text.splitlines())
    assert "<script" not in page
    assert "{{ 7*7 }}" in page
    assert "&lt;script&gt;" in page
    json.loads(statement(found, model=EVIL, ledger=EVIL, format="json"))


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(DeclarationError, match="text, json, html"):
        statement(KINDS["pure"](), model="M", format="pdf")
    assert statement(KINDS["pure"](), model="M") == statement(
        KINDS["pure"](), model="M", format="text"
    )


@pytest.mark.parametrize("budget", [1.0, ZCDP(0.5)], ids=str)
def test_canaries_in_the_rows_are_in_no_statement(budget: Any, tmp_path: Path) -> None:
    x, y = two_classes()
    canary = 0.123456789123
    x[5] = [canary, -canary, canary]
    ledger = Ledger("sqlite:///" + str(tmp_path / "b.db"))
    ledger.open("people", ApproxDP(20.0, 1e-6))
    model = LogisticRegression(budget, ledger=ledger, dataset="people").fit(x, y)
    live = account(ledger, "people", model.guarantee_)
    for name in ("text", "json", "html"):
        told = statement(
            model.guarantee_, model="M", ledger="people", format=name, account=live, file=FILE
        )
        assert "12345678" not in told
        assert "people" in told


# -- the documentation ---------------------------------------------------------------------------


def test_the_page_of_documentation_names_every_value_of_the_card(tmp_path: Path) -> None:
    page = (Path(privet.__file__).parents[1] / "docs" / "statement.md").read_text()
    ledger = ledger_with_two(tmp_path)
    for kind in KINDS:
        live = account(ledger, "people", KINDS[kind]())
        for section in facts(kind, account=live).sections:
            assert f"`{section.key}`" in page
            for fact in section.facts:
                if fact.value is not None:
                    assert f"`{section.key}.{fact.key}`" in page or f"`.{fact.key}`" in page


def test_the_example_of_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(privet.__file__).parents[1] / "docs" / "statement.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
    names: dict[str, Any] = {}
    exec(code, names)
    assert "Privacy statement for LogisticRegression" in capsys.readouterr().out
    assert names["card"]["promise"]["guarantee"]["value"] == {"kind": "pure", "epsilon": 1.0}


# -- the words -----------------------------------------------------------------------------------


def marked(words: Any) -> Any:
    """The wording file as a translator would hand it back: every sentence is another one."""
    if isinstance(words, dict):
        return {key: marked(value) for key, value in words.items()}
    return [marked(value) for value in words] if isinstance(words, list) else f"~{words}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_is_in_the_wording_file(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Translated, no word of the old language is left but names and numbers from records."""
    translated = marked(statement_values.words())
    monkeypatch.setattr(statement_values, "words", lambda: translated)
    whole = facts(kind)
    told = [whole.title, whole.kind, *whole.alarms, *(section.title for section in whole.sections)]
    told += [text for s in whole.sections for f in s.facts for text in (f.name, f.text)]
    assert all(text.startswith("~") for text in told)
    assert all(item.startswith("~") for item in whole["not_covered"]["items"].items)


@pytest.mark.parametrize("kind", KINDS)
def test_the_statement_is_plain_english(kind: str) -> None:
    text = " ".join(as_text(facts(kind)).split())
    assert not re.search(
        r"\b(he|his|him)\b|Protected is|Compared are|[Bb]ut for|Nobody knows", text
    )
    if kind not in VOID:
        assert f"What is protected: {KINDS[kind]().unit}." in text
        assert re.search(r"Unknown: no ledger was kept|The ledger of 'people' says", text)


def test_odds_that_fall_are_stated_too() -> None:
    told = facts("approx")["summary"]["how_certain"].text
    assert "In at most 1 in 100,000 releases, the odds may rise or fall by more than" in told
    assert "whether or not the record was in the table" in told


@pytest.mark.parametrize("rare", [1e-6, 3e-5, 0.0099, 0.02, 0.6])
def test_a_share_of_releases_is_never_understated(rare: float) -> None:
    told = rarely(rare)
    one_in = re.search(r"1 in ([\d,]+)", told)
    if one_in is not None:
        assert 1.0 / int(one_in[1].replace(",", "")) >= rare * (1 - 1e-9)
    else:
        assert float(re.search(r"([\d.]+) %", told)[1]) / 100.0 >= rare  # type: ignore[index]


def test_the_old_address_leads_to_the_new_one() -> None:
    import privet.privacy.statement as old

    with pytest.warns(FutureWarning, match=r"privet\.statement"):
        assert old.statement_facts is statement_facts
    with pytest.raises(AttributeError):
        old.nothing_of_the_kind  # noqa: B018
