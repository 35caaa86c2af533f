"""What was released and how, what the promise rests on, and what it does not cover.

The last section asks what NIST SP 800-226 (Near, Darais, Lefkovitz and Howarth 2025) has one
evaluate, the parts of its "differential privacy pyramid". Where the answer is not Privet's to give,
it says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet._version import __version__
from privet.privacy.curves import Curve
from privet.privacy.event import Event
from privet.privacy.guarantee import Guarantee
from privet.privacy.kinds import SearchEvent, regularization_of
from privet.statement.facts import Fact, Section, entry, fact, say, section
from privet.statement.promise import size

PACKAGE = Path(__file__).parents[1]
PROOF = ".proof.md"
#: proofs of noise that has a shape of its own, by its name
SHAPED = {
    "product": "domain_noise",
    "hull": "domain_noise",
    "grouped": "domain_noise",
    "class product": "domain_noise",
    "matrix laplace": "matrix_noise",
    "cone laplace": "cone_noise",
}
#: Columns that the summary names; all of them are in the list further down.
MOST_NAMED = 8


@dataclass(frozen=True)
class File:
    """Which model file a statement is about.

    Attributes
    ----------
    name : str
        Its name.
    sha256 : str
        Its digest.
    """

    name: str
    sha256: str


@dataclass(frozen=True)
class Trained:
    """Names from declarations, never from rows. Without a schema a table may have had none.

    Attributes
    ----------
    features : int
        Numbers of a row as the model sees it; 0 where a kernel compares objects.
    classes : tuple of str
        The possible labels.
    columns : tuple of str
        Names of the columns.
    label : str
        Name of the label's column.
    schema : bool
        Whether a schema names them.
    bounds : bool
        Whether ``classes`` are the ends of the interval that a number is in.
    """

    features: int  # numbers of a row as the model sees it; 0 where a kernel compares objects
    classes: tuple[str, ...]
    columns: tuple[str, ...] = ()
    label: str = ""
    schema: bool = False
    bounds: bool = False

    def what(self) -> str:
        """What is predicted from what.

        Returns
        -------
        str
            Part of a sentence.
        """
        if self.bounds:
            low, high = self.classes
            label = say("making.predicts.bounds", low=low, high=high)
        else:
            label = say("making.predicts.classes", count=len(self.classes))
        if self.label:
            label = say("making.predicts.label", label=self.label)
        return say("making.predicts.text", label=label, columns=self._from())

    def _from(self) -> str:
        if not self.columns:
            return self.array()
        names, count = ", ".join(self.columns[:MOST_NAMED]), len(self.columns)
        if count == 1:
            return say("making.predicts.one", names=names)
        rest = count - MOST_NAMED
        more = say("making.predicts.more", count=rest) if rest > 0 else ""
        return say("making.predicts.many", count=count, names=names, more=more)

    def array(self) -> str:
        """How a table without names was given.

        Returns
        -------
        str
            Part of a sentence.
        """
        if not self.features:
            return say("making.predicts.objects")
        if self.features == 1:
            return say("making.predicts.number")
        return say("making.predicts.numbers", count=self.features)


def making(
    guarantee: Guarantee, model: str, file: File | None, trained: Trained | None = None
) -> Section:
    """The release and its proof."""
    return section("making", _facts(guarantee, model, file, trained))


def _facts(
    guarantee: Guarantee, model: str, file: File | None, trained: Trained | None
) -> Iterator[Fact]:
    event, found = guarantee.event, proofs(guarantee.event)
    yield _model(event, model)
    yield from _trained(trained, guarantee.released)
    if file is not None:
        yield fact("making.file", file=file.name)
        yield fact("making.sha256", digest=file.sha256)
    yield _mechanism(guarantee)
    yield fact(
        "making.sensitivity",
        sensitivity=f"{event.sensitivity:.6g}",
        paid=_paid(event),
        value={"sensitivity": event.sensitivity, "share": event.counted()["share"]},
    )
    for_row = say("making.curves.row") if guarantee.group > 1 else ""
    yield fact("making.curves", curves="; ".join(map(_curve, event.curves)) + for_row)
    yield from _parts(event)
    yield fact("making.theorem", theorem=guarantee.theorem)
    yield fact("making.proof", "text" if found else "cited", files=", ".join(found), value=found)
    yield fact("making.numerics", numerics=guarantee.numerics)
    private = guarantee.private
    yield fact("making.randomness", "text" if private else "void", why=event.why_not_private)


def _model(event: Event, model: str) -> Fact:
    """The model; a search among several knows no one number of columns."""
    if isinstance(event, SearchEvent):
        return fact("making.model", "search", model=model)
    columns = event.counted()["m"]
    return fact("making.model", model=model, columns=columns, value={"columns": columns})


def _trained(found: Trained | None, day: str | None) -> Iterator[Fact]:
    """Date, label and columns."""
    yield fact("making.released", "text" if day else "unknown", day=day, value=day)
    if found is None:
        yield fact("making.label", "unknown")
        yield fact("making.columns", "unknown")
        return
    yield fact(
        "making.label",
        f"bounds{'' if found.label else '_array'}"
        if found.bounds
        else "text"
        if found.label
        else "array",
        label=found.label,
        classes=(" to " if found.bounds else ", ").join(found.classes),
        value={"name": found.label or None, "classes": list(found.classes)},
    )
    yield fact(
        "making.columns",
        "schema" if found.schema else "table" if found.columns else "array",
        names=", ".join(found.columns),
        features=found.features,
        array=found.array(),
        value={"names": list(found.columns), "features": found.features},
    )


def _mechanism(guarantee: Guarantee) -> Fact:
    event, more = guarantee.event, ""
    regularization = regularization_of(event)
    if regularization:
        more = say("making.mechanism.more", regularization=f"{regularization:.6g}")
    if {"steps", "clip"} <= set(guarantee.constants):
        steps, clip = guarantee.constants["steps"], guarantee.constants["clip"]
        more += say("making.mechanism.descent", steps=steps, clip=f"{clip:.6g}")
    if any(each.mechanism == "means" for each in (event, *event.parts)):
        more += say("making.mechanism.means")
    return fact(
        "making.mechanism",
        mechanism=guarantee.mechanism,
        scale=f"{event.scale:.6g}",
        more=more,
        value={
            "name": event.mechanism,
            "noise": event.noise,
            "scale": event.scale,
            "regularization": regularization,
            "version": event.version,
        },
    )


def _paid(event: Event) -> str:
    share = event.counted()["share"]
    return "" if share >= 1.0 else say("making.sensitivity.paid", percent=f"{100.0 * share:.4g}")


def _curve(curve: Curve) -> str:
    fields = curve.to_json().items()
    numbers = (
        f"{name} = {value:.10g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in fields
        if name != "kind"
    )
    return say("making.curves.curve", kind=curve.kind, numbers=", ".join(numbers))


def _parts(event: Event) -> Iterator[Fact]:
    if event.parts:
        yield fact(
            "making.parts",
            count=len(event.parts),
            cells=((p.mechanism, p.noise, f"{p.scale:.6g}", str(p.claim)) for p in event.parts),
            value=[part.to_json() for part in event.parts],
        )


def proofs(event: Event) -> list[str]:
    """The proofs in the package that cover this event, by the names of its mechanism and noise."""
    known = {path.name.removesuffix(PROOF): path for path in sorted(PACKAGE.rglob(f"*{PROOF}"))}
    wanted: dict[str, None] = {}
    for part in event.parts or (event,):
        names = (f"{part.noise}_{part.mechanism}", SHAPED.get(part.noise, ""), part.mechanism)
        wanted |= dict.fromkeys([name for name in names if name in known][:1])
        if part.counted()["share"] < 1.0:
            wanted["gap"] = None
    return [f"privet/{known[name].relative_to(PACKAGE)}" for name in wanted if name in known]


def proof_words(event: Event) -> str:
    """Where the proof is, for a sentence."""
    return ", ".join(proofs(event)) or say("making.proof.cited")


# -- what it rests on ----------------------------------------------------------------------------


def declared(guarantee: Guarantee, by: str | None) -> Section:
    """Public declarations that the proof relies upon, and who made them."""
    relied = guarantee.assumptions
    return section(
        "declared",
        (
            fact("declared.by", "text" if by else "unnamed", by=by, value=by),
            fact("declared.assumptions", items=relied, value=list(relied)),
        ),
    )


def questions(guarantee: Guarantee, *, interactive: bool) -> str:
    """What may be asked of the release, and at what cost."""
    if not guarantee.private:
        return say("trust.queries.void")
    return say("trust.queries.interactive" if interactive else "trust.queries.text")


def trust(guarantee: Guarantee, *, interactive: bool) -> Section:
    """Who must be trusted, and what can be asked."""
    asked = ("interactive" if interactive else "text") if guarantee.private else "void"
    kind = "interactive" if interactive else "one release"
    version = __version__
    return section(
        "trust",
        (
            fact("trust.model", value="central"),
            fact("trust.queries", asked, value=kind),
            fact("trust.software", version=version, value=version),
            fact("trust.origin"),
        ),
    )


def uncovered() -> tuple[str, ...]:
    """What nobody is promised, item by item."""
    return tuple(entry("not_covered.items.items"))


def not_covered() -> Section:
    """What nobody is promised."""
    items = uncovered()
    return section("not_covered", [fact("not_covered.items", items=items, value=list(items))])


def evaluation(guarantee: Guarantee, left: str, *, interactive: bool) -> Section:
    """The parts of NIST's pyramid from the top down, each with its answer."""
    here = "nist_sp_800_226"
    fields: dict[str, Any] = {
        "amount": size(guarantee.budget) if guarantee.private else say(f"{here}.void"),
        "unit": guarantee.unit,
        "compared": guarantee.compared,
        "left": left,
        "mechanism": guarantee.mechanism,
        "proof": proof_words(guarantee.event),
        "queries": say(f"{here}.{'interactive' if interactive else 'one_release'}"),
        "numerics": guarantee.numerics,
    }
    asked = [key for key, found in entry(here).items() if isinstance(found, dict)]
    return section(here, (fact(f"{here}.{key}", **fields) for key in asked))
