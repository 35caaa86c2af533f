"""What a promise relies on and must therefore name, and what its sentences must not promise.

A theorem starts from declarations. What is public by assertion only, and whose word a bound is, is
told among the assumptions of a file: a reader who does not find it there would think it proved. No
sentence has a budget of its own but the one that says what the claim is worth to a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.promised_unit import SHOWN, WORTH, declared_schema
from privet.certificate.search_numbers import is_search
from privet.certificate.verdicts import Number, Undecided, agreed, left_open

#: Points that a release shows, or places its features by.
POINTS = "public points, declared public"
#: Declared parameters that are public by assertion only, and words of the sentence that says so.
ASSERTED = {
    "center": "the center of the regularization",
    "public_rows": "the public rows for whitening",
    "public_points": POINTS,
    "class_weight": "the class weights",
    "centers": "the centers of the components",
    "column_bounds": "declared column_bounds",
    "column_weights": "the column weights",
    "features": "the feature map .* made without the rows",
}
#: What every promise relies on: the table's size, its labels, and how long a row can be.
RELIED = (
    "the number of rows",
    "the coding of the two classes|the set of classes|the target's interval",
)
LENGTH = r"Euclidean norm|declared domain|random features of norm|K\(x, x\)|features of norm"
OWN_LOSS = re.compile(
    r"is code of the user's: that it is convex, with gradients of at most ([0-9.e+-]+), "
    r"curvature of at most ([0-9.e+-]+) and rank of at most (\d+), is its author's word"
)
#: A budget in words, by name or by its Greek letter.
_PROMISE = re.compile(
    r"(?i)\b(epsilon|eps|rho|mu|delta)\b\s*(=|:|<|>|is\b|of\b|at most|below|\d)"
    r"|[\u03b4\u03b5\u03bc\u03c1]"
)
#: Clauses on numerics; their grids are compared elsewhere.
_NUMERICS = re.compile(
    r"(private (standardization|whitening|centers): )?"
    r"(exact discrete (Gaussian|Laplace) on|idealized numerics: floating-point [A-Za-z ,]+?)"
    r"( the grid)?( 2\^-?\d+( of the sensitivity)?)?"
    r"|(released values|answers) on the grid 2\^-?\d+( \(Gaussian ones: exact discrete noise\))?"
    r"|conditional on convergence of the minimizer"
)
#: The mark of a declaration that was read from the data, and that somebody took over.
CONFIRMED = "confirmed"
NO_DATE = "0000-00-00"  # older files have none
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def named_numbers(facts: FileFacts) -> Iterator[Number]:
    """Whether everything that the promise relies on is named, and nothing more is promised."""
    words = "; ".join(map(str, facts.guarantee["assumptions"]))
    missing = [said for said in _needed(facts) if not re.search(said, words)]
    if missing:
        told = "the list of what the promise relies on is not one that is known here"
        yield left_open("total", "assumptions", told)
    yield from _own_loss(facts, words)
    if not _are_known(facts, words):
        told = (
            "a sentence that is not known here, or one with a budget: only the claim is a promise"
        )
        yield left_open("total", "sentences", told)


def _are_known(facts: FileFacts, words: str) -> bool:
    """Clauses of a closed list, a date, and no word of a budget."""
    promise, events = facts.guarantee, (facts.event, *facts.event.get("parts", ()))
    texts = [WORTH.sub("", words), *(str(event["theorem"]) for event in events)]
    clauses = str(promise["numerics"]).split(";")
    return (
        all(_NUMERICS.fullmatch(clause.strip()) for clause in clauses)
        and bool(_DATE.fullmatch(str(promise.get("released") or NO_DATE)))
        and not any(map(_PROMISE.search, texts))
    )


def _needed(facts: FileFacts) -> Iterator[str]:
    p, event = facts.parameters, facts.event
    yield from (said for key, said in ASSERTED.items() if p.get(key) is not None)
    yield from RELIED
    if p.get("kernel") is not None and p.get("features") is None:
        yield "the kernel"
    if facts.kind == "evaluation":
        yield "the released model itself"
        if facts.header["on_training_rows"]:
            yield "the values are on training rows"
        if "groups" in facts.header["counts"]:
            yield "the set of groups"
    else:
        yield LENGTH
    if (p.get("regularizer") or {}).get("weights") is not None:
        yield "weights of the ridge"
    if "frequencies_" in facts.header.get("arrays", {}):
        yield "drawn without looking at the rows"
    if facts.kind == "answers":
        yield from _answered(facts)
    if facts.kind == "intervals":
        yield "the released model itself"
        if (facts.constants.get("loss") or {}).get("weights") is not None:
            yield ASSERTED["class_weight"]
        yield "that the rows are those the model was trained on"
    if facts.kind == "model":
        schema = declared_schema(facts)
        if "person" in schema:
            yield "says whose row it is"
        if CONFIRMED in _marks(schema):
            yield "which were read from the data and taken over by a person"
    if is_search(event):
        yield r"the list of \d+ candidates"
        public = event["mechanism"] == "search with public validation"
        if public or (event["mechanism"] == "random stopping search" and event["m"] == 0):
            yield "the validation rows, which nothing protects"


def _answered(facts: FileFacts) -> Iterator[str]:
    """Points that answers show were there before the rows: declared, or from numbers alone."""
    model = facts.header["model"]
    if model == "SemiInteractiveClassifier":
        yield POINTS
    elif model == "NonInteractiveClassifier" and facts.header["kernel"]["name"] != "linear":
        yield f"{POINTS}|a net of declared spacing"


def _marks(schema: Record) -> list[object]:
    """What the columns and the label say of where their declarations come from."""
    columns = schema.get("columns", {})
    declared = [*columns.values(), schema.get("label", {}), schema.get("target", {})]
    marks = [each.get("from_data", False) for each in declared]
    if any(mark not in (False, CONFIRMED) for mark in marks):
        raise Undecided("the schema has declarations that were read from the data")
    return marks


def _own_loss(facts: FileFacts, words: str) -> Iterator[Number]:
    """The bounds of a user's loss, as the sentence tells them."""
    if facts.header.get("model") != "PrivateERM":
        return
    loss, read = facts.parameters["loss"], OWN_LOSS.search(words)
    if read is None:
        yield left_open("total", "word of the author", "the file does not say whose word it is")
        return
    meant = [float(loss[name]) for name in ("gradient_bound", "curvature_bound", "rank")]
    right = all(
        abs(float(told) - number) <= SHOWN * number
        for told, number in zip(read.groups(), meant, strict=True)
    )
    told = "must be the declared bounds of gradient, curvature and rank"
    yield agreed("total", "word of the author", right, told)
