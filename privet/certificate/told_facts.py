"""What the sentences of a promise are about: when each is called for, and the numbers it repeats.

A condition is true where a sentence must be there, false where it must not, and None where a file
does not say: intervals keep no declarations of their fit, answers and evaluations no schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privet.certificate.declared_rows import FULL_LENGTH, kernel_bound, map_norm
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.promised_unit import declared_schema
from privet.certificate.search_numbers import is_search
from privet.certificate.verdicts import Undecided

Due = Callable[[FileFacts], bool | None]
Meant = float | str | None  # None: nothing in the file to compare with
#: The mark of a declaration that was read from the data, and that somebody took over.
CONFIRMED = "confirmed"
PUBLIC_SEARCH = "search with public validation"


def of_kind(kind: str, test: Due = lambda facts: True) -> Due:
    """Of files of this kind alone."""
    return lambda facts: facts.kind == kind and test(facts)


def of_fit(test: Due) -> Due:
    """Of a fit, and perhaps of intervals for it: their file does not keep its declarations."""
    return lambda facts: test(facts) if facts.kind == "model" else maybe(facts)


def maybe(facts: FileFacts) -> bool | None:
    """Perhaps of intervals; of nothing else."""
    return None if facts.kind == "intervals" else False


def declares(name: str) -> Due:
    """Where a parameter is declared."""
    return of_fit(lambda facts: facts.parameters.get(name) is not None)


def declares_as(name: str, way: object) -> Due:
    """Where a parameter is declared in this way."""
    return of_fit(lambda facts: facts.parameters.get(name) == way)


def of_schema(test: Callable[[Record], bool]) -> Due:
    """Of the schema that a model keeps; answers keep none."""

    def due(facts: FileFacts) -> bool | None:
        if facts.kind == "evaluation":
            return False
        return test(declared_schema(facts)) if facts.kind == "model" else None

    return due


def norm_told(facts: FileFacts) -> tuple[Meant, ...]:
    """The rows' bound: a model's parameter, or the bound of intervals."""
    return (facts.parameters.get("norm_bound", facts.header.get("geometry", {}).get("bound")),)


def full_norm(facts: FileFacts) -> tuple[Meant, ...]:
    """The bound that rows had before they were brought to norm 1."""
    return (facts.parameters.get("norm_bound"),)


def is_plain(facts: FileFacts) -> bool:
    """Whether rows are clipped as they are."""
    p = facts.parameters
    mapped = any(p.get(name) is not None for name in ("domain", "features", "kernel"))
    return not mapped and p.get("standardize") not in FULL_LENGTH


def width(facts: FileFacts) -> Meant:
    """Features of the released scores."""
    return float(facts.header["arrays"]["coef_"][1]) if facts.kind == "model" else None


def map_numbers(facts: FileFacts) -> tuple[Meant, ...]:
    """Features and norm of a declared map."""
    if facts.kind != "model":
        return None, *norm_told(facts)
    return width(facts), float(map_norm(facts.parameters["features"]).mid())


def domain_numbers(facts: FileFacts) -> tuple[Meant, ...]:
    """Columns and blocks of a declared domain."""
    if facts.kind != "model":
        return None, None
    blocks = facts.parameters["domain"]["blocks"]
    return sum(int(block["width"]) for block in blocks), len(blocks)


def has_own_map(facts: FileFacts) -> bool:
    """A kernel's own features: no map was declared."""
    p = facts.parameters
    return p.get("kernel") is not None and p.get("features") is None


def kernel_name(facts: FileFacts) -> Meant:
    """As its class is called."""
    kernel: Any = facts.header.get("kernel", facts.parameters.get("kernel"))
    if kernel is None:
        return None
    return str(kernel if isinstance(kernel, str) else kernel["name"]).capitalize()


def kernel_size(facts: FileFacts, *, root: bool) -> Meant:
    """The bound of the kernel, or its root."""
    kernel: Any = facts.header.get("kernel", facts.parameters.get("kernel"))
    if kernel is None:
        return None
    square = kernel_bound(kernel)
    return float((square.sqrt() if root else square).mid())


def point_count(facts: FileFacts) -> Meant:
    """Public points: declared, or those that answers are expanded in."""
    declared = facts.parameters.get("public_points")
    if declared is None and facts.kind == "answers":
        declared = next((line["points"] for line in facts.lines if "points" in line), None)
    return None if declared is None else len(declared)


def target(facts: FileFacts) -> tuple[Meant, ...]:
    """The interval's ends."""
    low, high = facts.parameters.get("target_bounds", (None, None))
    return low, high


def classes_known(way: Callable[[Any], bool]) -> Due:
    """How the classes became known: a model's file says it, others do not."""

    def due(facts: FileFacts) -> bool | None:
        if facts.kind == "evaluation":
            return None if not is_of_numbers(facts) else False
        if facts.kind != "model":
            return None
        p = facts.parameters
        return "target_bounds" not in p and way(p.get("classes"))

    return due


def is_of_numbers(facts: FileFacts) -> bool:
    """Whether an evaluation is that of a regression, which has no table but of residuals."""
    return facts.kind == "evaluation" and set(facts.header["counts"]) <= {"residuals"}


def own_loss(facts: FileFacts) -> tuple[Meant, ...]:
    """A user's loss: its name and what its author says of it."""
    if facts.kind != "model":
        return (None,) * 5
    loss = facts.parameters["loss"]
    return (
        repr(loss["name"]),
        *(float(loss[name]) for name in ("gradient_bound", "curvature_bound", "rank")),
        None,
    )


def ridge_weights(facts: FileFacts) -> tuple[Meant, ...]:
    """How many columns have a weight."""
    weights = (facts.parameters.get("regularizer") or {}).get("weights")
    return (None if weights is None else len(weights),)


def weighs_classes(facts: FileFacts) -> bool | None:
    """Whether classes have weights; intervals keep them with their loss."""
    if facts.kind == "intervals":
        return (facts.constants.get("loss") or {}).get("weights") is not None
    return facts.parameters.get("class_weight") is not None


def public_validation(facts: FileFacts) -> bool:
    """Where no row is held back to validate, others must have."""
    event = facts.event
    return is_search(event) and (event["mechanism"] == PUBLIC_SEARCH or event["m"] == 0)


def schema_columns(facts: FileFacts) -> tuple[Meant, ...]:
    """How many columns the schema has."""
    return (len(declared_schema(facts)["columns"]) if facts.kind == "model" else None,)


def confirmed(schema: Record) -> list[str]:
    """Declarations that were read from the data and taken over; others of these are undecided."""
    named = [*schema.get("columns", {}).items()]
    named += [(str(at.get("name")), at) for at in (schema.get("label", {}),)]
    marks = {name: each.get("from_data", False) for name, each in named}
    if any(mark not in (False, CONFIRMED) for mark in marks.values()):
        raise Undecided("the schema has declarations that were read from the data")
    return [name for name, mark in marks.items() if mark == CONFIRMED]


def confirmed_names(facts: FileFacts) -> tuple[Meant, ...]:
    """Their names, in the order of the schema."""
    return (", ".join(confirmed(declared_schema(facts))) if facts.kind == "model" else None,)


def person(facts: FileFacts) -> tuple[Meant, ...]:
    """Whose rows they are, and how many count."""
    if facts.kind != "model":
        return None, None
    person = declared_schema(facts)["person"]
    most = person["most_rows"]
    rows = "one row of a person counts" if most == 1 else f"{most} rows of a person count"
    return repr(person["column"]), rows


def step_names(facts: FileFacts) -> tuple[Meant, ...]:
    """Steps before the model, but for the schema."""
    steps = (facts.header.get("steps") or {}).get("steps", ())
    return (", ".join(str(name) for name, *_ in steps),)


def is_stepped(facts: FileFacts) -> bool | None:
    """A pipeline that is fitted by itself does not tell its model of its steps."""
    return None if (facts.header.get("steps") or {}).get("steps") else False


def streamed(facts: FileFacts) -> tuple[Meant, ...]:
    """Rows, engine, tolerance and rounding of sums over parts."""
    fit = facts.constants.get("fit", facts.event)
    return float(fit["n"]), None, facts.constants.get("tolerance"), None


def may_be_net(facts: FileFacts) -> bool | None:
    """Where points may be drawn from a net."""
    return None if facts.header["model"] == "NonInteractiveClassifier" else False


def on_training(facts: FileFacts) -> bool:
    """Whether the values are of training rows."""
    return bool(facts.header["on_training_rows"])


def answers_of(model: str) -> Due:
    """Answers of this model."""
    return of_kind("answers", lambda facts: facts.header["model"] == model)


def paid_where(facts: FileFacts) -> tuple[Meant, ...]:
    """Intervals that are one release with their fit pay for it (``matrix_beside.proof.md``)."""
    if len(facts.event.get("parts") or ()) < 2:
        return ("were paid for by the fit, and are not again here",)
    gap = "and what pays for the gap to its minimum is in its own file"
    return (f"are paid for here together with the matrices, {gap}",)
