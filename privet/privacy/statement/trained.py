"""What was trained and when: label, columns and date, by their public names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.privacy.guarantee import Guarantee
from privet.privacy.statement.facts import Fact

#: Columns that the summary names; all of them are in the list further down.
MOST_NAMED = 8
NOT_RECORDED = "not recorded"


@dataclass(frozen=True)
class Trained:
    """Names from declarations, never from rows. Without a schema a table may have had none."""

    features: int  # numbers of a row as the model sees it; 0 where a kernel compares objects
    classes: tuple[str, ...]
    columns: tuple[str, ...] = ()
    label: str = ""
    schema: bool = False

    def what(self) -> str:
        """What is predicted from what, for a sentence."""
        label = f"'{self.label}'" if self.label else f"one of {len(self.classes)} classes"
        return f"predicts {label} from {self._from()}"

    def _from(self) -> str:
        if not self.columns:
            return self.array()
        named = ", ".join(self.columns[:MOST_NAMED])
        more = len(self.columns) - MOST_NAMED
        rest = f" and {more} more (listed below)" if more > 0 else ""
        columns = "1 column" if len(self.columns) == 1 else f"{len(self.columns)} columns"
        return f"{columns}: {named}{rest}"

    def array(self) -> str:
        """How a table without names was given."""
        if not self.features:
            return "objects that a kernel compares"
        numbers = "1 number" if self.features == 1 else f"{self.features} numbers"
        return f"an array of {numbers} a row"


def date(guarantee: Guarantee) -> str:
    """The day of the release, for a sentence."""
    return f"on {guarantee.released}" if guarantee.released else f"on a day that is {NOT_RECORDED}"


def facts(found: Trained | None, guarantee: Guarantee) -> Iterator[Fact]:
    """Date, label and columns."""
    day = guarantee.released
    yield Fact(
        "released",
        "Released",
        f"{day} (UTC), as recorded by the fit" if day else NOT_RECORDED,
        value=day,
    )
    if found is None:
        yield Fact("label", "Label", NOT_RECORDED)
        yield Fact("columns", "Columns", NOT_RECORDED)
        return
    classes = f"classes {', '.join(found.classes)}"
    yield Fact(
        "label",
        "Label",
        f"{found.label}; {classes}" if found.label else f"given as an array; {classes}",
        value={"name": found.label or None, "classes": list(found.classes)},
    )
    yield Fact(
        "columns",
        "Columns",
        _columns(found),
        value={"names": list(found.columns), "features": found.features},
    )


def _columns(found: Trained) -> str:
    names = ", ".join(found.columns)
    if found.schema:
        return f"{names}; declared by the schema, {found.features} numbers a row once encoded"
    if found.columns:
        return f"{names}; named by the table that was given to the fit"
    return f"given as {found.array()}; their names are {NOT_RECORDED}"
