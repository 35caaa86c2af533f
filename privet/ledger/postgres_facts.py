"""Whether the tables and functions of a ledger on a server are exactly those that Privet makes.

Whoever made them, or owned the schema once, may have left something that goes on writing, or that
runs with the rights of whoever charges: a trigger, an index on an expression, statistics, a grant,
a function of the same name. A list of such things is never complete. So everything that the
server's catalog says about a ledger (``facts.sql``) is compared with what it says about a fresh one
(``fresh_facts.txt``); what is more, less or other is refused, by name.

Superusers are trusted, and so are the owner of the database and members of the ledger's owner: they
can change all of it at any time. Views and functions that read the ledger from elsewhere run with
rights of their own and are nobody's business.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files

from privet.errors import LedgerError
from privet.ledger.postgres_connection import PostgresConnection
from privet.ledger.postgres_tables import GUARD

#: How many differences an error tells; the rest is counted.
_TOLD = 5
_MEND = (
    "Look at it; if nobody means harm, undo what is more, and run `privet ledger roles --apply` (a "
    "ledger with roles) or `privet ledger migrate`, which make the rest again."
)
_FUNCTION = re.compile(r"FUNCTION @\.(\w+)\(.*?AS \$\$(.*?)\$\$", re.DOTALL)


def _read(name: str) -> str:
    return files("privet.ledger").joinpath(name).read_text(encoding="utf-8")


_FACTS = _read("facts.sql").strip()
#: The lines of every ledger, of one that keeps answers, and of one with roles.
_ALWAYS, _ANSWERS, _ROLES = (
    tuple(part.splitlines()[1:])
    for part in re.split("^#", _read("fresh_facts.txt"), flags=re.M)[1:]
)


def _expected(schema: str) -> tuple[str, ...]:
    """The lines of every ledger in this schema, whose name is in the texts of its functions."""
    bodies = dict(_FUNCTION.findall(GUARD[0]))
    hashes = {
        name: hashlib.sha256(body.replace("@.", f'"{schema}".').encode()).hexdigest()
        for name, body in bodies.items()
    }
    return tuple(
        f"{line}, {hashes[found[1]]}" if (found := re.match(r"function (\w+)\(", line)) else line
        for line in _ALWAYS
    )


def check_facts(
    connection: PostgresConnection, place: str, *, uses: bool = True, functions: bool = True
) -> None:
    """Refuse a ledger that is not exactly as Privet makes it.

    Without ``functions`` those of the owner may be another release's: curators upgrade in turn.
    Without ``uses`` others may call them or use the tables' types, as after a restored dump.
    """
    more, less = _differences(connection)

    def counts(line: str) -> bool:
        return (uses or not _is_use(line)) and (functions or not _is_function(line))

    told = [f"{_shown(line)} is there" for line in more if counts(line)]
    told += [f"{_shown(line)} is missing" for line in less if counts(line)]
    _refuse(told, place)


def check_nothing_more(connection: PostgresConnection, place: str) -> None:
    """The same of a ledger of an earlier release, which may lack something."""
    more, _ = _differences(connection)
    counted = (line for line in more if not (_is_use(line) or _is_function(line)))
    _refuse((f"{_shown(line)} is there" for line in counted), place)


def _differences(connection: PostgresConnection) -> tuple[list[str], list[str]]:
    """The lines that are more and those that are missing."""
    query = _FACTS.replace("@schema@", connection.schema)
    found = Counter(str(row[0]) for row in connection.execute(query.encode()).fetchall())
    wanted = Counter(_expected(connection.schema))
    if any(line.startswith("table privet_answers ") for line in found):
        wanted.update(_ANSWERS)
    if any(line.endswith((" for the analyst", " for the auditor")) for line in found):
        wanted.update(_ROLES)
    return sorted((found - wanted).elements()), sorted((wanted - found).elements())


def _refuse(differences: Iterable[str], place: str) -> None:
    told = list(differences)
    if told:
        raise LedgerError(
            f"The ledger at {place} is not as Privet makes it: {_some(told)}. Nothing was "
            f"released. {_MEND}"
        )


def _is_use(line: str) -> bool:
    """Whether it says who may call a function or use a type: that gives nobody's rights away.

    Somebody could only keep the owner from changing the tables.
    """
    return line.startswith(("EXECUTE on function ", "USAGE on type "))


def _is_function(line: str) -> bool:
    """Whether it is a function of the owner's."""
    return line.startswith("function ") and ") of the owner: " in line


def _shown(line: str) -> str:
    """A line for people's eyes: the hash of a function tells that its text is another one."""
    return re.sub(", ([0-9a-f]{64})$", lambda found: f" (text {found[1][:8]})", line)


def _some(told: list[str]) -> str:
    rest = len(told) - _TOLD
    return "; ".join([*told[:_TOLD], *([f"and {rest} more"] if rest > 0 else [])])


def check_facts_sql(schema: str) -> str:
    """The same as a statement, for a ledger with roles: it fails where there is a difference."""
    wanted = ",\n".join(_literal(line) for line in (*_expected(schema), *_ROLES))
    answers = ",\n".join(map(_literal, _ANSWERS))
    return f"""DO $privet$ DECLARE
  differences pg_catalog.TEXT;
BEGIN
  WITH found AS ({_FACTS.replace("@schema@", schema)}),
  wanted (fact) AS (SELECT unnest(ARRAY[{wanted}])
    UNION ALL SELECT unnest(ARRAY[{answers}])
      WHERE to_regclass('"{schema}".privet_answers') IS NOT NULL
  ), more AS (SELECT fact || ' is there' AS told FROM
      (SELECT fact FROM found EXCEPT ALL SELECT fact FROM wanted) one
    UNION ALL SELECT fact || ' is missing' FROM
      (SELECT fact FROM wanted EXCEPT ALL SELECT fact FROM found) other)
  SELECT string_agg(told, '; ' ORDER BY told COLLATE "C") INTO differences
    FROM (SELECT told FROM more ORDER BY told COLLATE "C" LIMIT {_TOLD}) first;
  IF differences IS NOT NULL THEN
    RAISE EXCEPTION 'the ledger is not as Privet makes it: %. Look at it, undo it, and make the '
      'roles again', differences;
  END IF;
END $privet$"""


def _literal(line: str) -> str:
    return "'" + line.replace("'", "''") + "'"
