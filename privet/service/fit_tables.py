"""The tables that training jobs may name: what of them is public, and the price of a job.

A job must find out nothing of a table that it has not paid for. So every table is looked through
when the service starts, while nobody asks: that the file has its form to the end, how many rows it
has, what its columns are called. These facts are public, and all that can be refused of a job, its
price among it, follows from them, from declarations and from the ledger. The first time that a job
opens the table, it has been charged.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privet._files import write_whole
from privet._untrusted import MEGABYTE, parsed_json, read_whole
from privet.errors import DataError, DeclarationError
from privet.ledger import Ledger
from privet.privacy.event import Event
from privet.schema import Schema
from privet.schema.cells import is_readable
from privet.schema.file_format import FileFormat
from privet.schema.tables import open_table
from privet.service.fit_request import ENDINGS, FitRequest, refuse_extreme
from privet.service.refusals import Refusal
from privet.service.served_model import PLAIN_NAME

#: Bytes of a table, and numbers of an encoded one: 8 GB in memory.
LARGEST_TABLE, MOST_NUMBERS = 4 << 30, 1 << 30
#: Charges of an account after which no job reads its table any more, however small they were: what
#: the end of a job tells by its time is not in its price.
MOST_CHARGES = 500


@dataclass(frozen=True)
class TableFacts:
    """What was seen of a table; ``state`` tells whether it is still the same file."""

    rows: int
    columns: list[str]
    state: list[int | str]


@dataclass(frozen=True)
class PricedJob:
    """A job of which all is known but the rows."""

    model: Any  # unfitted, with its account
    schema: Schema
    table: Path
    event: Event


@dataclass(frozen=True)
class FitTables:
    """The tables of one folder."""

    folder: Path
    ledger: Ledger

    # -- when the service starts ---------------------------------------------------------------

    def look_through(self) -> Iterator[tuple[str, str]]:
        """Look through every table that is new or changed; by name, which are refused and why."""
        for path in sorted(self.folder.iterdir()):
            if not path.name.endswith(ENDINGS) or PLAIN_NAME.fullmatch(path.name) is None:
                continue
            try:
                file = self._file_format(path.name)
                state = _state(_regular(path), file)
                known = self._noted(path.name)
                if known is None or known.state != state:
                    facts = TableFacts(*_seen(path, file), state)
                    write_whole(self._note(path.name), json.dumps(asdict(facts)))
            except (DataError, DeclarationError, Refusal) as error:
                self._note(path.name).unlink(missing_ok=True)
                yield path.name, str(error)

    def look_through_apart(self) -> list[tuple[str, str]]:
        """The same by a process of its own: the service that starts must not hold a row."""
        process = subprocess.run(
            own_process("privet.service.fit_tables"),
            input=json.dumps({"folder": str(self.folder.absolute()), "ledger": self.ledger.url}),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return [(name, why) for name, why in json.loads(process.stdout)]

    def _note(self, table: str) -> Path:
        return self.folder / "fits" / f"{table}.seen"

    def _noted(self, table: str) -> TableFacts | None:
        try:
            return TableFacts(**parsed_json(read_whole(self._note(table), 16 * MEGABYTE)))
        except (OSError, ValueError, TypeError, DataError):
            return None

    # -- for a request -------------------------------------------------------------------------

    def priced(self, request: FitRequest) -> PricedJob:
        """The job of a request, with what it will be charged; no row is read.

        Refused where it cannot be done, or does not fit under the account's cap now.
        """
        from privet.models.raw_tables import planned_table

        path, facts = self.table(request)
        schema = self.schema(request)
        refuse_extreme(schema)
        model = request.unfitted(schema, ledger=self.ledger, dataset=request.dataset)
        _refuse_absent(schema, facts)
        if facts.rows * schema.width > MOST_NUMBERS:
            raise Refusal(413, "size", "The table encoded by this schema has too many columns.")
        event = planned_table(model, schema, facts.rows).event
        if len(list(self.ledger.releases(request.dataset, MOST_CHARGES))) >= MOST_CHARGES:
            words = f"The account has {MOST_CHARGES} charges, after which no job reads its table."
            raise Refusal(409, "limit", words)
        self.ledger.require(request.dataset, event)
        return PricedJob(model, schema, path, event)

    def table(self, request: FitRequest) -> tuple[Path, TableFacts]:
        """The table that a request names, as it was when the service was started."""
        path = self.folder / request.table
        found = _regular(path)
        try:
            state = _state(found, self._file_format(request.table))
        except (DataError, DeclarationError):  # which would name the folder
            state = []
        facts = self._noted(request.table)
        if request.dataset not in self.ledger.datasets():
            raise Refusal(404, "unknown", "The ledger has no account for this table.")
        if facts is None or facts.state != state:
            raise Refusal(
                409,
                "table",
                "The table was not looked through, cannot be read, or was changed since: its "
                "operator reads why where the service is started, and starts it again.",
            )
        if facts.rows == 0:
            raise Refusal(409, "table", "The table has no rows.")
        return path, facts

    def _own(self, dataset: str) -> Schema | None:
        """The schema beside a table."""
        beside = self.folder / f"{dataset}.toml"
        return Schema.from_toml(beside) if beside.is_file() and not beside.is_symlink() else None

    def _file_format(self, table: str) -> FileFormat | None:
        own = self._own(table.rpartition(".")[0])
        return None if own is None else own.file

    def schema(self, request: FitRequest) -> Schema:
        """The request's schema, or the one beside the table, whose word on persons holds."""
        own = self._own(request.dataset)
        given = None if request.schema is None else Schema.from_toml(request.schema)
        if given is None and own is None:
            raise DeclarationError("No schema lies beside this table: send one.")
        if own is None and self.ledger.terms(request.dataset).group > 1:
            raise DeclarationError(
                "The account counts for persons with several rows, so the table's own schema must "
                "say whose row it is: the operator lays it beside the table."
            )
        # Whose row it is and how the file is written are the operator's word. Another person's
        # column would let one row change several; another encoding would tell of cells for nothing.
        known = (None, None) if own is None else (own.person, own.file)
        if given is not None and (given.person, given.file) != known:
            raise DeclarationError(
                "Whose row it is and how the file is written, [person] and [file], is for the "
                "schema beside the table to say. Leave out yours, or take both over from there."
            )
        found = given if given is not None else own
        assert found is not None
        return found


def own_process(module: str) -> list[str]:
    """The command that runs ``main`` of a module of this very package, installed or not.

    Not by ``-m``, with which Python looks for modules in the current folder first: a file of
    somebody's there that is called json.py would be run.
    """
    root = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {root!r}); from {module} import main; main()"
    return [sys.executable, "-P", "-c", code]


def _regular(path: Path) -> os.stat_result:
    """A regular file in the folder itself, and no link."""
    try:
        found = os.lstat(path)
    except OSError:
        found = None
    if found is None or not stat.S_ISREG(found.st_mode):
        raise Refusal(404, "unknown", "There is no table of this name for training jobs.")
    if found.st_size > LARGEST_TABLE:
        raise Refusal(413, "size", f"A table may have {LARGEST_TABLE >> 30} GB at most.")
    return found


def _state(found: os.stat_result, file: FileFormat | None) -> list[int | str]:
    """What changes with a file: the system's word on it, and how it is said to be written."""
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, repr(file)]


def _seen(path: Path, file: FileFormat | None) -> tuple[int, list[str]]:
    """Rows and columns of a table of which every cell was read once."""
    opened = open_table(path, file)
    names = [name for name, kind in opened.types.items() if is_readable(kind)]
    rows = 0
    for batch in opened.batches(names):
        rows += len(batch)
        for name in names:
            batch.cells(name).missing()
    return rows, names


def _refuse_absent(schema: Schema, facts: TableFacts) -> None:
    person = [] if schema.person is None else [schema.person.column]
    if not {*schema.columns, schema.label.name, *person} <= set(facts.columns):
        raise Refusal(
            422,
            "fit",
            "The table has not all of the columns that the schema declares, or one of them is "
            "neither numbers nor text.",
        )


def main() -> None:
    """Look through the tables of a folder that is told by a pipe."""
    told = json.loads(sys.stdin.read())
    print(json.dumps(list(FitTables(Path(told["folder"]), Ledger(told["ledger"])).look_through())))
