"""Files with one thing changed, as a forger would: every leaf, key, list, array and part of them.

    numbers    halved, doubled, made negative          texts, truths   made others
    keys       left out, added                         lists           an item less, twice, swapped
    values     those of another file at the same place arrays          left out, added, bytes added
    parts      left out of the event with their curves, claim and budget lowered to the rest

Digests are not kept: who forges a file computes them again, and ``verify`` reads facts alone.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from privet.certificate.file_facts import MAGIC, FileFacts, parsed_facts
from privet.certificate.recompute import recompute_facts
from privet.errors import PrivetError

Place = tuple[Any, ...]
STRANGE = "nobody_knows_this"
#: Lists of released numbers are as long as one likes: their first items stand for all.
MOST_ITEMS = 4


@dataclass(frozen=True)
class Parsed:
    """A file as its lines of JSON (one but for answers) and the bytes of its arrays."""

    lines: list[Any]
    body: bytes
    binary: bool

    @property
    def kind(self) -> str:
        """A model's format is in its first bytes, that of others in their first line."""
        return "model" if self.binary else str(self.lines[0].get("format"))

    def facts(self) -> FileFacts:
        """What ``verify`` reads."""
        if self.binary:
            text = json.dumps(self.lines[0]).encode()
            raw = MAGIC + len(text).to_bytes(8, "little") + text + self.body + bytes(32)
        else:
            tail = "\tx\n" if len(self.lines) > 1 else ""
            raw = "".join(json.dumps(line) + tail for line in self.lines).encode()
        return parsed_facts(raw)


@dataclass(frozen=True)
class Mutant:
    """One change: where, what was done, and the file that it makes."""

    place: Place
    how: str
    file: Parsed
    #: ``how`` with the new text, or how near a new number is to the old one
    told: str = ""

    @property
    def where(self) -> str:
        """The place in one word; places in a list are alike."""
        return ".".join("*" if isinstance(key, int) else str(key) for key in self.place[1:])


def parsed(raw: bytes) -> Parsed:
    """A file that can be changed."""
    if raw.startswith(MAGIC):
        size = int.from_bytes(raw[8:16], "little")
        return Parsed([json.loads(raw[16 : 16 + size])], raw[16 + size : -32], True)
    try:
        return Parsed([json.loads(raw)], b"", False)
    except ValueError:
        lines = [json.loads(line.partition(b"\t")[0]) for line in raw.split(b"\n") if line]
        return Parsed(lines, b"", False)


def accepted(file: Parsed) -> bool:
    """Whether ``verify`` would end with 0: nothing fails, nothing is left open."""
    try:
        found = recompute_facts(file.facts())
    except PrivetError:
        return False
    return not any(number.holds is False or number.undecided for number in found)


def places(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every place below ``value``; of long lists the first ones."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*at, key), inner
            yield from places(inner, (*at, key))
    elif isinstance(value, list):
        for key, inner in enumerate(value[:MOST_ITEMS]):
            yield (*at, key), inner
            yield from places(inner, (*at, key))


def found_at(lines: Any, place: Place) -> Any:
    """The value at a place; a ``LookupError`` where there is none."""
    inner = lines
    for key in place:
        if not isinstance(inner, dict | list):
            raise LookupError
        inner = inner[key]
    return inner


def changed(file: Parsed, place: Place, value: Any) -> Parsed:
    """The same file with another value there."""
    lines = copy.deepcopy(file.lines)
    found_at(lines, place[:-1])[place[-1]] = value
    return Parsed(lines, file.body, file.binary)


def others(value: Any) -> Iterator[tuple[str, Any]]:
    """What a leaf can be changed to."""
    if isinstance(value, bool):
        yield "flipped", not value
    elif isinstance(value, int):
        yield from (("halved", value // 2), ("doubled", 2 * value), ("negative", -value))
        yield "next", value + 1
    elif isinstance(value, float):
        yield from (("halved", value / 2.0), ("doubled", 2.0 * value), ("negative", -value))
    elif isinstance(value, str):
        yield "other text", f"{value} or not"
    elif value is None:
        yield from (("no longer null", 1), ("a text", "x"))


def mutants(file: Parsed, donors: list[Parsed]) -> Iterator[Mutant]:
    """Every single change of a file; values of ``donors`` take the place of its own."""
    for place, value in places(file.lines):
        if len(place) == 1:
            yield Mutant((*place, "*"), "added key", changed(file, (*place, STRANGE), 1))
            continue
        for how, other in others(value):
            if other != value:
                yield Mutant(place, how, changed(file, place, other))
        yield from _containers(file, place, value)
        seen = [value]
        for donor in donors:
            try:
                other = found_at(donor.lines, place)
            except (LookupError, TypeError):  # another kind of file
                continue
            if other not in seen:
                seen.append(other)
                yield Mutant(place, "swapped", changed(file, place, other), _swap(value, other))
        if isinstance(found_at(file.lines, place[:-1]), dict):
            lines = copy.deepcopy(file.lines)
            del found_at(lines, place[:-1])[place[-1]]
            yield Mutant(place, "left out", Parsed(lines, file.body, file.binary))
    if file.binary:
        yield from _arrays(file)
    yield from _parts(file)


def _swap(value: Any, other: Any) -> str:
    if isinstance(value, float) and isinstance(other, float):
        if math.isclose(value, other, rel_tol=1e-8):
            return "swapped, nearly equal"
        return "swapped, within a hundredth" if math.isclose(value, other, rel_tol=0.01) else ""
    return f"swapped for {other}" if isinstance(other, str) else "swapped"


def _containers(file: Parsed, place: Place, value: Any) -> Iterator[Mutant]:
    if isinstance(value, dict):
        yield Mutant(place, "added key", changed(file, (*place, STRANGE), 1))
    if isinstance(value, list) and value:
        yield Mutant(place, "an item less", changed(file, place, value[1:]))
        yield Mutant(place, "the last less", changed(file, place, value[:-1]))
        yield Mutant(place, "an item twice", changed(file, place, [value[0], *value]))
        if value[::-1] != value:
            yield Mutant(place, "reversed", changed(file, place, value[::-1]))


def _arrays(file: Parsed) -> Iterator[Mutant]:
    """Arrays left out and added, with their bytes."""
    held = file.lines[0]["arrays"]
    longer = Parsed(file.lines, file.body + bytes(8), True)
    yield Mutant((0, "body"), "a number more", longer)
    yield Mutant((0, "body"), "a number less", Parsed(file.lines, file.body[:-8], True))
    added = changed(file, (0, "arrays", STRANGE), [1])
    yield Mutant((0, "arrays"), "added array", Parsed(added.lines, longer.body, True))
    for name in held:
        lines = copy.deepcopy(file.lines)
        size = 8
        for count in lines[0]["arrays"].pop(name):
            size *= count
        yield Mutant((0, "arrays"), "array left out", Parsed(lines, file.body[:-size], True))


def _parts(file: Parsed) -> Iterator[Mutant]:
    """Events without one of their parts or with another one as the whole, told to cost less."""
    event = file.lines[0]["guarantee"]["event"]
    parts = event.get("parts", [])
    for place in range(len(parts)):
        rest = [part for other, part in enumerate(parts) if other != place]
        yield Mutant(
            (0, "guarantee", "event"), "a part less", with_event(file, _joined(event, rest))
        )
        yield Mutant((0, "guarantee", "event"), "one part", with_event(file, parts[place]))
        twice = [*parts, parts[place]]
        yield Mutant(
            (0, "guarantee", "event"), "a part twice", with_event(file, _joined(event, twice))
        )
    if parts:
        backwards = _joined(event, parts[::-1])
        yield Mutant((0, "guarantee", "event"), "parts reversed", with_event(file, backwards))


def _joined(event: Any, parts: list[Any]) -> Any:
    """The event of some parts, with the sum of what they claim where they claim alike."""
    if len(parts) == 1:
        return parts[0]
    whole = copy.deepcopy(event)
    whole["parts"] = parts
    whole["curves"] = [curve for part in parts for curve in part["curves"]]
    whole["noise"] = " and ".join(dict.fromkeys(part["noise"] for part in parts))
    whole["theorem"] = "; ".join(dict.fromkeys(part["theorem"] for part in parts))
    for name in ("scale", "sensitivity", "share", "n", "m", "regularization"):
        whole[name] = parts[0][name]
    for name in ("epsilon", "rho"):
        if all(name in part["claim"] for part in (*parts, whole)) and "delta" not in whole["claim"]:
            whole["claim"][name] = sum(part["claim"][name] for part in parts)
    return whole


def with_event(file: Parsed, event: Any) -> Parsed:
    """The file with this event and the budget that it claims."""
    made = changed(file, (0, "guarantee", "event"), copy.deepcopy(event))
    declared = made.lines[0].get("parameters", {})
    if "budget" in declared:
        declared["budget"] = event["claim"]
    return made
