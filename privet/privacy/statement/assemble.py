"""A guarantee to the facts of its statement."""

from __future__ import annotations

from privet.privacy.guarantee import Guarantee
from privet.privacy.statement.account import Account, alarms, composition, left
from privet.privacy.statement.facts import Fact, Facts, Section
from privet.privacy.statement.limits import (
    declared,
    evaluation,
    not_covered,
    questions,
    trust,
)
from privet.privacy.statement.making import File, making
from privet.privacy.statement.promise import (
    exceptions,
    in_words,
    kind,
    meaning,
    numbers,
    promise,
    size,
    whom,
)
from privet.privacy.statement.several import in_short
from privet.privacy.statement.trained import Trained, date

NOTHING = "Nothing is promised to anybody."


def statement_facts(
    guarantee: Guarantee,
    *,
    model: str,
    ledger: str | None = None,
    account: Account | None = None,
    file: File | None = None,
    declared_by: str | None = None,
    interactive: bool = False,
    trained: Trained | None = None,
) -> Facts:
    """Every fact of the statement on one released model.

    ``ledger`` names the data set's account, ``account`` is what a ledger says of it now, ``file``
    says which model file it is, ``declared_by`` who answers for the declarations, ``trained`` what
    the model predicts from what.
    """
    dataset = guarantee.receipt.dataset if guarantee.receipt is not None else ledger
    if account is not None and dataset is None:
        dataset = account.dataset
    rest = left(account, guarantee, dataset)
    counted = 1 if account is None else account.terms.group
    sections = [
        _summary(guarantee, _what(guarantee, model, trained, interactive=interactive), rest),
        promise(guarantee, counted),
        *([meaning(guarantee)] if guarantee.private else []),
        making(guarantee, model, file, trained),
        composition(account, guarantee, dataset),
        declared(guarantee, declared_by),
        trust(guarantee, interactive=interactive),
        not_covered(),
        evaluation(guarantee, rest, interactive=interactive),
    ]
    return Facts(
        model=model,
        private=guarantee.private,
        headline=numbers(guarantee.budget) if guarantee.private else "NOT PRIVATE",
        kind=f"{kind(guarantee.budget)} of {guarantee.unit}" if guarantee.private else NOTHING,
        alarms=(*_void(guarantee), *alarms(account, guarantee)),
        sections=tuple(sections),
        record=guarantee.to_json(),
    )


def _void(guarantee: Guarantee) -> list[str]:
    if guarantee.private:
        return []
    why = guarantee.event.why_not_private or "the release voids its own promise"
    return [
        f"NOT PRIVATE: {why}. {NOTHING} This release must not be published and this statement "
        "must not be signed; the rest describes the intention."
    ]


def _what(guarantee: Guarantee, model: str, trained: Trained | None, *, interactive: bool) -> str:
    about = "" if trained is None else f" that {trained.what()}; made"
    return (
        f"A {model}{about} {date(guarantee)} from {guarantee.event.n:,} rows, by "
        f"{guarantee.mechanism}; {questions(guarantee, interactive=interactive)}."
    )


def _summary(guarantee: Guarantee, what: str, rest: str) -> Section:
    """The five questions of a privacy officer."""
    return Section(
        "summary",
        "In short",
        (
            Fact("who", "Who", _who(guarantee)),
            Fact("what", "What", what),
            Fact("how_much", "How much", _how_much(guarantee)),
            Fact("how_certain", "How certain", _how_certain(guarantee)),
            Fact("what_is_left", "What is left", rest),
        ),
    )


def _who(guarantee: Guarantee) -> str:
    if not guarantee.private:
        return "Nobody is protected."
    return (
        f"Protected is {guarantee.unit}. {in_short(guarantee)} Compared are {guarantee.compared}."
    )


def _how_much(guarantee: Guarantee) -> str:
    if not guarantee.private:
        return NOTHING
    return f"{size(guarantee.budget)}. {in_words(guarantee.budget, whom(guarantee))}"


def _how_certain(guarantee: Guarantee) -> str:
    if not guarantee.private:
        return f"Not at all: {guarantee.event.why_not_private or 'the promise is void'}."
    return (
        f"Proved: {guarantee.theorem}. {exceptions(guarantee.budget)}. The proof rests on what was "
        f"declared. Numerics: {guarantee.numerics}."
    )
