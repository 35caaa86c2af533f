"""What the promise rests on, what it does not cover, and what NIST asks one to evaluate.

The questions are the parts of the "differential privacy pyramid" of NIST SP 800-226 (Near, Darais,
Lefkovitz and Howarth 2025). Where the answer is not Privet's to give, it says so.
"""

from __future__ import annotations

import privet
from privet.privacy.guarantee import Guarantee
from privet.privacy.statement.facts import Fact, Section
from privet.privacy.statement.making import proofs
from privet.privacy.statement.promise import size

NOT_COVERED = (
    "side channels: time, memory and files used while fitting",
    "what the curator's own terminal and logs showed, warnings about clipped rows for example",
    "failures and refusals that depend on the rows, and whether a release was made at all",
    "the accuracy: model.score and every other number computed from the rows by other means is "
    "not private; privet's evaluate spends a budget for it",
    "steps before the model that learnt from the rows: scaling, selection, a choice among models",
    "what the model teaches about everybody: it can be used to guess about people who were never "
    "in the table",
    "people whose rows are tied together, relatives or copies: a group is protected less than one",
    "the rows themselves where they are stored, and releases not listed here",
)

NOBODY = "the person who ran the fit"
OURS_NOT = "Not Privet's to say."

TRUST = (
    "central: the curator holds the rows in the clear, runs the fit and is trusted not to look or "
    "to keep more than is released; everybody else sees the release only"
)
ONE_RELEASE = (
    "one release, made once: the model may be published, copied and asked as often as anybody "
    "likes without further cost"
)
UNFIT = "one release, made once, that must not be published"
INTERACTIVE = (
    "interactive: the curator answers questions within a budget that was charged in advance; the "
    "rows stay with the curator for as long as questions are answered"
)


def declared(guarantee: Guarantee, by: str | None) -> Section:
    """Public declarations that the proof relies upon, and who made them."""
    who = f"{by}, as named when this statement was written" if by else NOBODY
    return Section(
        "declared",
        "What was declared, and by whom",
        (
            Fact("by", "Declared by", who, value=by),
            Fact(
                "assumptions",
                "Relied upon",
                "public, not checked against the rows, and part of the proof:",
                items=guarantee.assumptions,
                value=list(guarantee.assumptions),
            ),
        ),
    )


def questions(guarantee: Guarantee, *, interactive: bool) -> str:
    """What may be asked of the release, and at what cost."""
    if not guarantee.private:
        return UNFIT
    return INTERACTIVE if interactive else ONE_RELEASE


def trust(guarantee: Guarantee, *, interactive: bool) -> Section:
    """Who must be trusted, and what can be asked."""
    return Section(
        "trust",
        "Who must be trusted",
        (
            Fact("model", "Trust model", TRUST, value="central"),
            Fact(
                "queries",
                "Questions",
                questions(guarantee, interactive=interactive),
                value="interactive" if interactive else "one release",
            ),
            Fact(
                "software",
                "Software",
                f"that Privet {privet.__version__}, Python and its libraries do what their texts "
                "say; the proofs are by hand, the tests try to refute them and cannot confirm them",
                value=privet.__version__,
            ),
            Fact(
                "origin",
                "Origin",
                "this statement was written from public records alone, the released model's and a "
                "ledger's: no row was read for it",
            ),
        ),
    )


def not_covered() -> Section:
    """What nobody is promised."""
    return Section(
        "not_covered",
        "Not covered",
        (
            Fact(
                "items",
                "Not covered",
                "by this promise, whatever its number:",
                items=NOT_COVERED,
                value=list(NOT_COVERED),
            ),
        ),
    )


def evaluation(guarantee: Guarantee, left: str, *, interactive: bool) -> Section:
    """The parts of NIST's pyramid from the top down, each with its answer."""
    amount = size(guarantee.budget) if guarantee.private else "none: see the alarm above"
    proof = ", ".join(proofs(guarantee.event)) or "only in the work cited"
    model = "interactive" if interactive else "one release, made once"
    answers = (
        ("parameters", "Privacy parameters", f"{amount}."),
        ("unit", "Unit of privacy", f"{guarantee.unit}; {guarantee.compared}."),
        (
            "composition",
            "Other releases",
            f"{left} Releases without differential privacy from the same rows are bounded by "
            "nothing.",
        ),
        (
            "algorithms",
            "Algorithms, correctness",
            f"{guarantee.mechanism}; proof: {proof}. The package's audits search for "
            "counterexamples, and faults planted for them show what they can find.",
        ),
        (
            "utility",
            "Utility",
            "Not part of this statement. An accuracy measured on the rows without a budget is not "
            "private.",
        ),
        (
            "bias",
            "Bias",
            f"{OURS_NOT} Noise and regularisation weigh most on small groups; measure rates by "
            "declared groups, with a budget, before the model decides about people.",
        ),
        ("queries", "Query model", f"{model}; see 'Who must be trusted'."),
        ("trust", "Trust model", "central; see 'Who must be trusted'."),
        (
            "side_channels",
            "Side channels",
            f"Time and memory are not covered. Arithmetic: {guarantee.numerics}.",
        ),
        ("security", "Security", f"{OURS_NOT} A breach of the stored rows voids every promise."),
        (
            "access",
            "Access control",
            f"{OURS_NOT} Whoever may read the rows or write the ledger is outside of the proof.",
        ),
        (
            "collection",
            "Data collection exposure",
            f"{OURS_NOT} How the rows were gathered, and who saw them on the way, is not known "
            "here.",
        ),
    )
    return Section(
        "nist_sp_800_226",
        "What NIST SP 800-226 asks one to evaluate",
        tuple(Fact(key, name, text) for key, name, text in answers),
    )
