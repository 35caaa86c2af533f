"""Every kind of event, one small class each, and events and curves from their records.

FitEvent             a minimizer by output or objective perturbation, or from noisy statistics
GradientEvent        parameters by private gradient descent
MeansEvent           parameters from noisy sums by class
HistogramEvent       counts                      MomentsEvent     means of columns or cells
SelectionEvent       one of several candidates   MatrixEvent      the matrices of intervals
FunctionEvent        a function in a kernel's space; SparseVectorEvent, ProjectionEvent,
                     DistinguishingEvent: other answers from the same minimizer
SearchEvent          the best of several fits    CompositeEvent   several releases at once
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from privet.errors import DeclarationError
from privet.privacy.budget import budget_from_json
from privet.privacy.curves import (
    ConcentratedCurve,
    Curve,
    GaussianCurve,
    PureCurve,
    from_fields,
)
from privet.privacy.event import COMMON, COMPOSITE, VERSION, Event
from privet.privacy.jacobian import CurvatureCurve, JacobianCurve
from privet.privacy.stopping import StoppingCurve

#: Every kind of curve that a record can have.
CURVES: dict[str, type[Curve]] = {
    curve.kind: curve
    for curve in (
        PureCurve,
        GaussianCurve,
        ConcentratedCurve,
        JacobianCurve,
        CurvatureCurve,
        StoppingCurve,
    )
}


@dataclass(frozen=True, kw_only=True)
class FitEvent(Event):
    """A released minimizer; ``share`` of the claim pays for the main noise, the rest the gap."""

    mechanisms: ClassVar[tuple[str, ...]] = ("output", "objective", "statistics")
    count_name: ClassVar[str] = "columns"
    columns: int
    regularization: float
    share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class GradientEvent(Event):
    """Parameters by noisy gradient steps; scale and sensitivity are one step's, the curve all's."""

    mechanisms: ClassVar[tuple[str, ...]] = ("gradient",)
    count_name: ClassVar[str] = "columns"
    columns: int
    regularization: float


@dataclass(frozen=True, kw_only=True)
class MeansEvent(Event):
    """Parameters from noisy sums of the rows of each class."""

    mechanisms: ClassVar[tuple[str, ...]] = ("means",)
    count_name: ClassVar[str] = "columns"
    columns: int


@dataclass(frozen=True, kw_only=True)
class HistogramEvent(Event):
    """Noisy counts of declared cells."""

    mechanisms: ClassVar[tuple[str, ...]] = ("histogram",)
    count_name: ClassVar[str] = "cells"
    cells: int


@dataclass(frozen=True, kw_only=True)
class SelectionEvent(Event):
    """The private choice of one candidate."""

    mechanisms: ClassVar[tuple[str, ...]] = ("selection",)
    count_name: ClassVar[str] = "candidates"
    candidates: int


@dataclass(frozen=True, kw_only=True)
class MomentsEvent(Event):
    """Noisy means of a table's columns, in one or more rounds."""

    mechanisms: ClassVar[tuple[str, ...]] = ("moments",)
    count_name: ClassVar[str] = "columns"
    columns: int


@dataclass(frozen=True, kw_only=True)
class MatrixEvent(Event):
    """The two matrices behind intervals, at a released minimizer."""

    mechanisms: ClassVar[tuple[str, ...]] = ("matrix",)
    count_name: ClassVar[str] = "columns"
    columns: int
    regularization: float


@dataclass(frozen=True, kw_only=True)
class MatrixBesideFitEvent(MatrixEvent):
    """The same two matrices, from what the fit left: fit and matrices are one pure release."""

    mechanisms: ClassVar[tuple[str, ...]] = ("matrix_beside_fit",)
    alone: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class FunctionEvent(Event):
    """Any number of answers of one noisy function in a kernel's space."""

    mechanisms: ClassVar[tuple[str, ...]] = ("function",)
    count_name: ClassVar[str] = "columns"
    columns: int
    regularization: float


@dataclass(frozen=True, kw_only=True)
class SparseVectorEvent(Event):
    """Answers from a public guess, corrected where it is wrong."""

    mechanisms: ClassVar[tuple[str, ...]] = ("sparse_vector",)
    count_name: ClassVar[str] = "columns"
    columns: int
    regularization: float


@dataclass(frozen=True, kw_only=True)
class ProjectionEvent(Event):
    """Predictions on public points, released at once."""

    mechanisms: ClassVar[tuple[str, ...]] = ("projection",)
    count_name: ClassVar[str] = "numbers"
    numbers: int
    regularization: float


@dataclass(frozen=True, kw_only=True)
class DistinguishingEvent(Event):
    """Privately drawn points with noisy predictions there."""

    mechanisms: ClassVar[tuple[str, ...]] = ("distinguishing",)
    count_name: ClassVar[str] = "dimension"
    dimension: int
    regularization: float


@dataclass(frozen=True, kw_only=True)
class SearchEvent(Event):
    """The best of several fits, chosen on ``validation_rows``."""

    mechanisms: ClassVar[tuple[str, ...]] = (
        "partition search",
        "random stopping search",
        "search with public validation",
    )
    count_name: ClassVar[str] = "validation_rows"
    validation_rows: int


@dataclass(frozen=True, kw_only=True)
class CompositeEvent(Event):
    """Several releases under one claim; ``main`` is the part that the whole is described by.

    Its curves are those of its parts. Where a part proves nothing without the others they are one
    pure loss, the sum of all: such parts do not compose in another calculus.
    """

    version: ClassVar[int] = COMPOSITE
    releases: tuple[Event, ...]
    main: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.curves != curves_of(self.releases):
            raise DeclarationError("The event's curves are not those of its parts.")
        if self.claim.kind != "pure" and not all(part.alone for part in self.releases):
            raise DeclarationError("Parts that prove nothing alone have one pure loss together.")

    @property
    def parts(self) -> tuple[Event, ...]:
        """What was released together."""
        return self.releases

    def counted(self) -> dict[str, Any]:
        """Those of the main part."""
        return self.releases[self.main].counted()


def curves_of(parts: Sequence[Event]) -> tuple[Curve, ...]:
    """What proves a claim for several releases at once."""
    curves = tuple(curve for part in parts for curve in part.curves)
    if all(part.alone for part in parts):
        return curves
    return (PureCurve(math.fsum(curve.pure for curve in curves)),)


#: Every kind of event by the mechanisms that make it.
EVENTS: dict[str, type[Event]] = {
    name: kind
    for kind in (
        FitEvent,
        GradientEvent,
        MeansEvent,
        HistogramEvent,
        SelectionEvent,
        MomentsEvent,
        MatrixEvent,
        MatrixBesideFitEvent,
        FunctionEvent,
        SparseVectorEvent,
        ProjectionEvent,
        DistinguishingEvent,
        SearchEvent,
    )
    for name in kind.mechanisms
}

_TYPES: dict[str, Any] = {
    **dict.fromkeys(("mechanism", "noise", "theorem", "why_not_private"), str),
    **dict.fromkeys(("scale", "sensitivity", "share", "regularization"), (int, float)),
    **dict.fromkeys(("n", "m"), int),
    "private": bool,
}


def fit_part(event: Event) -> FitEvent | None:
    """The fit itself: the event, or its first part where other releases came with it.

    None for other events; of a search too, since its best model's own fit is one of many.
    """
    while event.parts:
        event = event.parts[0]
    return event if isinstance(event, FitEvent) else None


def regularization_of(event: Event) -> float:
    """``Lam`` of the released minimizer; 0 where the event is not about one minimizer."""
    return float(event.counted()["regularization"])


def curve_from_json(record: dict[str, Any]) -> Curve:
    """The inverse of ``Curve.to_json``."""
    found = dict(record)
    kind = found.pop("kind", None)
    if not isinstance(kind, str) or kind not in CURVES:
        raise DeclarationError(
            f"Unknown kind of privacy curve {kind!r}; known are {sorted(CURVES)}."
        )
    return from_fields(CURVES[kind], found)


def event_from_json(record: dict[str, Any]) -> Event:
    """The inverse of ``Event.to_json``; refuses versions that this release does not know."""
    version = record.get("version")
    if type(version) is not int or version not in (VERSION, COMPOSITE):
        raise DeclarationError(
            f"This event has version {version!r}; this Privet reads {VERSION} and {COMPOSITE}. "
            "Use the release of Privet that wrote it, or a newer one."
        )
    _check_fields(record, (*_TYPES, "version", "claim", "curves"), ("parts",) * (version - 1))
    common = {
        **{name: record[name] for name in COMMON},
        "claim": budget_from_json(record["claim"]),
        "curves": tuple(curve_from_json(curve) for curve in record["curves"]),
    }
    if record["private"] != (not record["why_not_private"]):
        raise DeclarationError("The event record contradicts itself on whether it is private.")
    if version == COMPOSITE:
        return _composite(record, common)
    kind = EVENTS.get(record["mechanism"])
    if kind is None:
        raise DeclarationError(
            f"The event record names an unknown mechanism {record['mechanism']!r}."
        )
    counted = {"share": record["share"], "regularization": record["regularization"]}
    own = {field.name for field in fields(kind)}
    found = kind(
        **common,
        **{kind.count_name: record["m"]},
        **{name: value for name, value in counted.items() if name in own},
    )
    if found.counted() != {**counted, "m": record["m"]}:
        raise DeclarationError("The event record has a number that its mechanism does not have.")
    return found


def _composite(record: dict[str, Any], common: dict[str, Any]) -> Event:
    """Several releases; the numbers of the whole are those of one of them."""
    parts = tuple(event_from_json(part) for part in record["parts"])
    described = ("scale", "sensitivity", "share", "n", "m", "regularization")
    wanted = [record[name] for name in described]
    for main, part in enumerate(record["parts"]):
        if [part[name] for name in described] == wanted:
            return CompositeEvent(**common, releases=parts, main=main)
    raise DeclarationError("The event record's numbers are not those of any of its parts.")


def _check_fields(
    record: dict[str, Any], wanted: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    known = {*wanted, *optional}
    missing, unknown = sorted(known - set(record)), sorted(set(record) - known)
    if missing:
        raise DeclarationError(f"The event record lacks {', '.join(missing)}.")
    if unknown:
        raise DeclarationError(f"The event record has unknown fields: {', '.join(unknown)}.")
    if not record["curves"]:
        raise DeclarationError("The event record has no curves, so nothing proves its claim.")
    for name, kinds in _TYPES.items():
        if not isinstance(record[name], kinds) or isinstance(record[name], bool) != (kinds is bool):
            raise DeclarationError(f"The event record's {name} is not of the right type.")
