"""Files of the registry's releases, written once, and files with one fact changed."""

from __future__ import annotations

import copy
import hashlib
import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from privet.certificate.file_facts import MAGIC
from privet.certificate.recompute import recompute
from privet.certificate.verdicts import Number
from tests.laws.releases import RELEASES, UNWRITTEN

WRITTEN = [name for name in RELEASES if name not in UNWRITTEN]


@cache
def files(name: str) -> tuple[Path, ...]:
    """What a release of the registry writes."""
    folder, found = Path(mkdtemp()), []
    for place, released in enumerate(RELEASES[name](None).released):
        path = folder / f"{place}"
        if hasattr(released, "save"):
            released.save(path)
        else:
            path.write_text(released.dumps())
        found.append(path)
    return tuple(found)


def save_and_recompute(released: Any, path: Path) -> list[Number]:
    """The numbers of a file that was just written."""
    released.save(path, overwrite=True)
    return recompute(path)


class Opened:
    """A file whose facts can be changed, one at a time."""

    def __init__(self, path: Path) -> None:
        raw = path.read_bytes()
        self.body = b""
        self.lines: list[Any] = []
        if raw.startswith(MAGIC):
            size = int.from_bytes(raw[8:16], "little")
            self.facts, self.body = json.loads(raw[16 : 16 + size]), raw[16 + size : -32]
            return
        try:
            self.facts = json.loads(raw)
        except ValueError:
            records = [json.loads(line.partition(b"\t")[0]) for line in raw.split(b"\n") if line]
            self.facts, *self.lines = records

    def changed(self, path: Path, place: tuple[Any, ...], value: Any) -> Path:
        """The same file with another value at ``place``."""
        facts = copy.deepcopy(self.facts)
        inner = facts
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        if self.body:
            text = json.dumps(facts, sort_keys=True).encode()
            whole = MAGIC + len(text).to_bytes(8, "little") + text + self.body
            path.write_bytes(whole + hashlib.sha256(whole).digest())
        elif self.lines:
            path.write_text("".join(json.dumps(one) + "\tx\n" for one in (facts, *self.lines)))
        else:
            path.write_text(json.dumps(facts))
        return path

    def at(self, place: tuple[Any, ...]) -> Any:
        """The value at ``place``; None where there is none."""
        inner = self.facts
        for key in place:
            if not isinstance(inner, dict | list) or (isinstance(inner, dict) and key not in inner):
                return None
            inner = inner[key]
        return inner


def failed(numbers: list[Number]) -> list[str]:
    """The numbers that do not hold."""
    return [f"{each.release}: {each.name}" for each in numbers if each.holds is False]
