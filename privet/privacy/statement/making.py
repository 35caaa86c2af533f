"""What was released and how: mechanism, noise, theorem, proof, numerics, randomness, parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from privet.privacy.curves import Curve
from privet.privacy.event import Event
from privet.privacy.guarantee import Guarantee
from privet.privacy.statement.facts import Fact, Section, Table
from privet.privacy.statement.trained import Trained
from privet.privacy.statement.trained import facts as trained_facts

PACKAGE = Path(__file__).parents[2]
PROOF = ".proof.md"
ARITHMETIC = (
    "(Exact: the noise is drawn on the grid itself. Idealised: the proof speaks of real numbers, "
    "the computer rounds.)"
)


@dataclass(frozen=True)
class File:
    """Which model file a statement is about."""

    name: str
    sha256: str


def _model(event: Event, model: str) -> Fact:
    """The model; a search among several knows no one number of columns."""
    if event.regularization == 0.0:
        return Fact("model", "Model", model)
    return Fact(
        "model",
        "Model",
        f"{model} on {event.m} columns of features, a constant one included if there is an "
        "intercept (public)",
        value={"columns": event.m},
    )


def making(
    guarantee: Guarantee, model: str, file: File | None, trained: Trained | None = None
) -> Section:
    """The release and its proof."""
    event = guarantee.event
    facts = [_model(event, model), *trained_facts(trained, guarantee)]
    if file is not None:
        facts += [Fact("file", "File", file.name), Fact("sha256", "SHA-256", file.sha256)]
    facts += [
        Fact(
            "mechanism",
            "Mechanism",
            f"{guarantee.mechanism}, scale {event.scale:.6g}"
            + (f", regularization {event.regularization:.6g}" if event.regularization else ""),
            value={
                "name": event.mechanism,
                "noise": event.noise,
                "scale": event.scale,
                "regularization": event.regularization,
                "version": event.version,
            },
        ),
        Fact(
            "sensitivity",
            "Sensitivity",
            f"{event.sensitivity:.6g}, from the declarations{_paid(event)}",
            value={"sensitivity": event.sensitivity, "share": event.share},
        ),
        Fact("curves", "Accounting", "; ".join(map(_curve, event.curves))),
        *_parts(event),
        Fact("theorem", "Theorem", guarantee.theorem),
        Fact("proof", "Proof", _proof_text(event), value=proofs(event)),
        Fact("numerics", "Numerics", f"{guarantee.numerics}. {ARITHMETIC}"),
        Fact("randomness", "Randomness", _randomness(guarantee)),
    ]
    return Section("making", "How it was made", tuple(facts))


def _paid(event: Event) -> str:
    if event.share >= 1.0:
        return ""
    return (
        f"; {100.0 * event.share:.4g} % of the budget pays for the main noise, the rest for the "
        "computed minimum not being exact"
    )


def _curve(curve: Curve) -> str:
    numbers = (f"{name} = {v}" for name, v in curve.to_json().items() if name != "kind")
    return f"{curve.kind} curve ({', '.join(numbers)})"


def _parts(event: Event) -> Iterator[Fact]:
    if not event.parts:
        return
    rows = tuple(
        (part.mechanism, part.noise, f"{part.scale:.6g}", str(part.claim)) for part in event.parts
    )
    yield Fact(
        "parts",
        "Parts",
        f"{len(rows)} releases made together under one budget, charged once",
        table=Table(("mechanism", "noise", "scale", "claim"), rows),
        value=[part.to_json() for part in event.parts],
    )


def proofs(event: Event) -> list[str]:
    """The proofs in the package that cover this event, by the names of its mechanism and noise."""
    known = {path.name.removesuffix(PROOF): path for path in sorted(PACKAGE.rglob(f"*{PROOF}"))}
    wanted: dict[str, None] = {}
    for part in event.parts or (event,):
        names = (f"{part.noise}_{part.mechanism}", part.mechanism)
        wanted |= dict.fromkeys([name for name in names if name in known][:1])
        if part.share < 1.0:
            wanted["gap"] = None
    return [f"privet/{known[name].relative_to(PACKAGE)}" for name in wanted if name in known]


def _proof_text(event: Event) -> str:
    found = proofs(event)
    return f"in the package: {', '.join(found)}" if found else "only in the work cited"


def _randomness(guarantee: Guarantee) -> str:
    if guarantee.private:
        return "the operating system's source, drawn anew for this release; no seed, no state kept"
    return f"not to be relied on: {guarantee.event.why_not_private}"
