"""The statement as a page for signing; templates to pages, and pages to files."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

from privet._files import write_whole
from privet.errors import MissingExtra
from privet.statement.facts import Facts
from privet.statement.wording import entry

HERE = "privet.statement"


def as_page(facts: Facts) -> str:
    """One file without outside parts, for a screen, a phone or paper."""
    return rendered("statement.html", facts=facts, signature=entry("signature"))


def rendered(name: str, room: str = HERE, **values: Any) -> str:
    """The template of this name, with every value escaped and a missing one an error.

    ``room`` is the package that it is in; templates that several pages share are in this one.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("Pages need Jinja2, the extra 'cli'.") from error

    def source(wanted: str) -> str:
        found = files(room if wanted == name else HERE).joinpath(wanted)
        return found.read_text(encoding="utf-8")

    environment = Environment(
        loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return str(environment.get_template(name).render(**values))


def write_page(text: str, path: str | os.PathLike[str]) -> None:
    """Write a page, all or nothing; it is for others to read."""
    write_whole(path, text, mode=0o644)
