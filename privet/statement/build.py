"""A guarantee to the facts of its statement."""

from __future__ import annotations

from privet.privacy.guarantee import Guarantee
from privet.statement.facts import Facts, Section, fact, say, section
from privet.statement.other_releases import AccountTold, alarms, composition, left
from privet.statement.promise import (
    exceptions,
    in_short,
    in_words,
    kind,
    meaning,
    numbers,
    promise,
    size,
    whom,
)
from privet.statement.provenance import (
    File,
    Trained,
    declared,
    evaluation,
    making,
    not_covered,
    questions,
    trust,
)
from privet.statement.second_computation import Recomputed, convictions, verification


def statement_facts(
    guarantee: Guarantee,
    *,
    model: str,
    ledger: str | None = None,
    account: AccountTold | None = None,
    file: File | None = None,
    declared_by: str | None = None,
    interactive: bool = False,
    trained: Trained | None = None,
    recomputed: Recomputed | None = None,
) -> Facts:
    """Every fact of the statement on one released model.

    Parameters
    ----------
    guarantee : Guarantee
        Of the release.
    model : str
        What kind of model it is.
    ledger : str, default None
        Names the data set's account.
    account : AccountTold, default None
        What a ledger says of it now.
    file : File, default None
        Which model file it is.
    declared_by : str, default None
        Who answers for the declarations.
    interactive : bool, default False
        Whether the release answers questions.
    trained : Trained, default None
        What the model predicts from what.
    recomputed : sequence of RecomputedNumber, default None
        The promise's numbers, computed a second time from the model file.

    Returns
    -------
    Facts
        For the writers.
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
        verification(recomputed),
        trust(guarantee, interactive=interactive),
        not_covered(),
        evaluation(guarantee, rest, interactive=interactive),
    ]
    return Facts(
        model=model,
        title=say("title", model=model),
        private=guarantee.private,
        headline=numbers(guarantee.budget) if guarantee.private else say("headline.none"),
        kind=_kind(guarantee),
        alarms=(*_void(guarantee), *convictions(recomputed), *alarms(account, guarantee)),
        sections=tuple(sections),
        record=guarantee.to_json(),
    )


def _kind(guarantee: Guarantee) -> str:
    if not guarantee.private:
        return say("headline.nothing")
    return say("headline.kind", kind=kind(guarantee.budget), unit=guarantee.unit)


def _void(guarantee: Guarantee) -> list[str]:
    if guarantee.private:
        return []
    why = guarantee.event.why_not_private or say("alarm.void_why")
    return [say("alarm.void", why=why)]


def _what(guarantee: Guarantee, model: str, trained: Trained | None, *, interactive: bool) -> str:
    here, day = "summary.what", guarantee.released
    return say(
        f"{here}.text",
        article="An" if model[:1] in "AEIOU" else "A",
        model=model,
        about="" if trained is None else say(f"{here}.about", predicts=trained.what()),
        date=say(f"{here}.date", day=day) if day else say(f"{here}.no_date"),
        rows=f"{guarantee.event.n:,}",
        mechanism=guarantee.mechanism,
        questions=questions(guarantee, interactive=interactive),
    )


def _summary(guarantee: Guarantee, what: str, rest: str) -> Section:
    """The five questions of a privacy officer."""
    budget = guarantee.budget
    variant = "text" if guarantee.private else "void"
    return section(
        "summary",
        (
            fact(
                "summary.who",
                variant,
                unit=guarantee.unit,
                several=in_short(guarantee),
                compared=guarantee.compared,
            ),
            fact("summary.what", "filled", what=what),
            fact(
                "summary.how_much",
                variant,
                size=size(budget),
                words=in_words(budget, whom(guarantee)),
            ),
            fact(
                "summary.how_certain",
                variant,
                theorem=guarantee.theorem,
                exceptions=exceptions(budget),
                numerics=guarantee.numerics,
                why=guarantee.event.why_not_private or say("summary.how_certain.void_why"),
            ),
            fact("summary.what_is_left", left=rest),
        ),
    )
