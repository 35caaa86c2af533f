"""To whom a file promises something: a row, or a person with several rows.

    rows      one row of the table; two tables differ in one row           group 1
    persons   whoever the schema's ``[person]`` tells apart, with at most    group most_rows
              ``most_rows`` rows that count (``privet/schema/persons.proof.md``)

The claim of an event is for one row. What it is worth to a person follows from ``group``, so group,
unit and neighbors are compared with the schema, and with each other where a file has no schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from privet._untrusted import parsed_toml
from privet.certificate.balls import ball
from privet.certificate.file_facts import NEIGHBORS, FileFacts, Record
from privet.certificate.verdicts import Number, Undecided, agreed, at_least, at_most, fact

TRAINED = "one row of the training table"
EVALUATED = "one row of the evaluated table"
ONE_ROW = "tables of the same public size that differ in one row (replace one)"
_PERSON = re.compile(
    r"one person \(told apart by (.+), at most (?:one row counts|(\d+) rows count)\)", re.DOTALL
)
WORTH = re.compile(
    r"for a person with all of them the guarantee is (\w+) = ([0-9.e+-]+)"
    r"(?:, delta = ([0-9.e+-]+))?"
)
#: Reading more would take longer than a fit.
LONGEST_SCHEMA = 1 << 20
#: Sentences show six digits.
SHOWN = 1e-5


def unit_numbers(facts: FileFacts) -> Iterator[Number]:
    """Group, unit and neighbors against the schema, and the claim for a person with all rows."""
    promise, size = facts.guarantee, facts.guarantee["group"]
    unit, neighbors = str(promise["unit"]), str(promise[NEIGHBORS])
    person = _declared(facts, unit)
    expected, wanted, compared = 1, _row(facts), ONE_ROW
    if person is not None:
        expected = person["most_rows"]
        wanted, compared = _sentences(person["column"], expected)
    elif not unit.startswith("one row of the "):
        raise Undecided(f"the unit {unit!r} is not known here")
    whole = type(size) is int and size >= 1
    told = "rows that one protected unit can contribute"
    if facts.kind == "model" and person is not None:
        told = f"{told}, as the schema's [person] says"
    yield fact("total", "rows per protected unit", size, whole and size == expected, told)
    told = "unit and neighbors must be those of the declared rows or persons"
    yield agreed("total", "unit", unit == wanted and neighbors == compared, told)
    if whole and size > 1:
        yield from _worth(facts, size)


def _row(facts: FileFacts) -> str:
    if facts.kind == "evaluation" and not facts.header["on_training_rows"]:
        return EVALUATED
    return TRAINED


def _declared(facts: FileFacts, unit: str) -> Record | None:
    """Who is a person: by the schema of a model, by the sentence of a file that keeps none."""
    if facts.kind == "model":
        found: Record | None = declared_schema(facts).get("person")
        return found
    read = _PERSON.fullmatch(unit)
    if read is None:
        return None
    return {"column": read[1], "most_rows": 1 if read[2] is None else int(read[2])}


def declared_schema(facts: FileFacts) -> Record:
    """The schema that a model's file keeps, in one of two places; empty where it keeps none."""
    kept, inner = facts.header.get("schema"), (facts.header.get("steps") or {}).get("schema")
    if kept is not None and inner is not None:
        raise Undecided("the file has two schemas")
    kept = inner if kept is None else kept
    return {} if kept is None else _parsed(kept)


@lru_cache(maxsize=1)
def _parsed(schema: str) -> Record:
    """Once for all who ask."""
    if len(schema) > LONGEST_SCHEMA:
        raise Undecided("the schema is longer than any that a release has")
    return parsed_toml(schema)


def _sentences(column: str, most: int) -> tuple[str, str]:
    """Unit and neighbors of persons."""
    rows = "one row counts" if most == 1 else f"{most} rows count"
    neighbors = (
        "tables of the same public size that differ in the rows of one person, each replaced in "
        f"its place: in either table all of these rows share one value of {column} that no other "
        f"row has, or all have none; at most {rows}, and rows without a value never do"
    )
    return f"one person (told apart by {column}, at most {rows})", neighbors


def _worth(facts: FileFacts, size: int) -> Iterator[Number]:
    """What the claim is worth to a person with ``size`` rows, also where it is told in words."""
    claim = facts.event["claim"]
    told = f"for a person with {size} rows, computed from the claim for one row"
    amount = claim.get("epsilon", claim.get("mu"))
    cost = size**2 * ball(claim["rho"]) if amount is None else size * ball(amount)
    yield at_most("total", "amount for a person", float(cost.mid()), cost, told)
    costs = [cost]
    if "delta" in claim:
        e = ball(claim["epsilon"])
        delta = ball(claim["delta"]) * (size * e).expm1() / e.expm1()
        yield at_most("total", "delta for a person", float(delta.mid()), delta, told)
        costs.append(delta)
    told = "what the list of assumptions tells a person must be what the claim is worth"
    for calculus, *words in WORTH.findall(" ".join(map(str, facts.guarantee["assumptions"]))):
        told_in = "must be in the calculus of the claim: a rho is no epsilon"
        yield agreed("total", "amount in words", calculus in claim, told_in)
        for number, least in zip(words, costs, strict=False):
            least = least * (1 - ball(SHOWN))
            yield at_least("total", "amount in words", float(number or 0.0), least, told)
