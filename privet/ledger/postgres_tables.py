"""The tables of a ledger on a server, and the functions that guard them (``guard.sql``,
``guard_totals.sql``).

Whoever may charge may insert into the table of entries, and nothing else; every row that is
inserted goes through the trigger ``privet_guard``, the owner's too. It runs with a fixed search
path, under the lock that ``privet_lock`` takes with its owner's rights. There is no database
sequence: the next number is one more than the newest entry's, read under the lock.

``privet_guard`` checks of every entry that it follows the newest and carries its own hash. Of a
role that is not a member of the owning one it takes charges and settlements alone:

- a charge to an open account, in its own name (``author``), whose totals are more than those of the
  last entry in every column, by at least what claim and curves cost there, and within the cap;
- a settlement of a reservation that the same role made, once, with totals and time unchanged.

Both must be spelled as Privet does: what the server's JSON takes and Python's does not (``25e7`` as
an amount) would make an account that nobody can charge or verify again.

Of Gaussian objective perturbation and random stopping only a part of the price is computed here,
and the rest by ``verify``, which names an entry that was charged too little. Whoever would write
one could as well release without a charge: no database can know.

``@.`` stands for the ledger's schema.
"""

from __future__ import annotations

import re
from importlib.resources import files

from privet.ledger.entry import GENESIS
from privet.ledger.store import FORMAT
from privet.privacy.compose import FILTER_ORDERS
from privet.privacy.kinds import CURVES

#: Where the ledger was last known to live: cluster, database and table, whose numbers no copy on
#: the same cluster shares (a cloned database, a dump that was restored), and the branch of history.
HERE = """
SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()), (SELECT oid
    FROM pg_database WHERE datname = current_database()), '@.privet_entries'::regclass::oid),
  ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint
"""
#: The ledger lives here from now on.
MOVE = f"UPDATE @.privet_ledger SET (system, timeline) = ({HERE})"
#: A ledger of an earlier release, which noted the cluster alone, notes database and table, too.
NOTE_TABLE = f"""
UPDATE @.privet_ledger known SET system = here.system FROM ({HERE}) here (system, timeline)
WHERE here.system LIKE known.system || '/%/%' AND here.timeline = known.timeline
"""

_INDEX = "CREATE INDEX privet_entries_by_dataset ON @.privet_entries (dataset, sequence)"
_TABLES = (
    """
    CREATE TABLE @.privet_entries (
      sequence BIGINT PRIMARY KEY,
      dataset TEXT NOT NULL,
      kind TEXT NOT NULL,
      key TEXT,
      body TEXT NOT NULL,
      totals TEXT NOT NULL,
      time TEXT NOT NULL,
      previous TEXT NOT NULL,
      hash TEXT NOT NULL,
      part TEXT,
      ledger TEXT,
      nonce TEXT,
      author TEXT NOT NULL DEFAULT current_user,
      UNIQUE (dataset, kind, key)
    )
    """,
    _INDEX,
    "CREATE TABLE @.privet_ledger (format TEXT PRIMARY KEY, system TEXT, timeline BIGINT)",
    f"INSERT INTO @.privet_ledger SELECT '{FORMAT}', here.* FROM ({HERE}) here",
)

#: What a role calls that may charge.
LOCK = "privet_lock()"


# The language keeps what the names of types meant when a function was first called in a session, so
# that whoever may charge could call one beforehand where "jsonb" is a type of his own. How one is
# compiled past these settings, and what is done about that, is in guard.sql.
_FIXED = "SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on"


# a column of such a type in somebody's own table would keep the owner from changing the ledger's
_TYPES = (
    "REVOKE USAGE ON TYPE @.privet_entries, @.privet_ledger FROM PUBLIC",
    "DO $$ BEGIN IF to_regclass('@.privet_answers') IS NOT NULL THEN "
    "REVOKE USAGE ON TYPE @.privet_answers FROM PUBLIC; END IF; END $$",
)


def _guard() -> tuple[str, ...]:
    """The functions, from the files beside this one."""
    folder = files("privet.ledger")
    made = "".join(
        folder.joinpath(name).read_text(encoding="utf-8")
        for name in ("guard_totals.sql", "guard.sql")
    )
    for name, value in (
        ("@fixed@", _FIXED),
        ("@genesis@", GENESIS),
        ("@orders@", ", ".join(map(str, FILTER_ORDERS))),
        ("@curves@", ", ".join(f"'{kind}'" for kind in CURVES)),
    ):
        made = made.replace(name, value)
    names = ", ".join(re.findall(r"CREATE OR REPLACE FUNCTION (@\.\w+)\(", made))
    # said aloud: many servers take this right away by default
    callable_by_all = f"GRANT EXECUTE ON FUNCTION {names} TO PUBLIC"
    return (made, callable_by_all, f"REVOKE ALL ON FUNCTION @.{LOCK} FROM PUBLIC", *_TYPES)


GUARD = _guard()
#: What the login that creates a ledger gives to others by default is taken from them.
_ALONE = """
DO $$ DECLARE
  given pg_catalog.RECORD;
BEGIN
  FOR given IN SELECT DISTINCT c.oid::regclass AS name, CASE g.grantee WHEN 0 THEN 'PUBLIC'
      ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS whom
      FROM pg_class c, aclexplode(c.relacl) g
      WHERE c.oid IN ('@.privet_entries'::regclass, '@.privet_ledger'::regclass)
        AND g.grantee <> c.relowner LOOP
    EXECUTE format('REVOKE ALL ON %s FROM %s', given.name, given.whom);
  END LOOP;
  FOR given IN SELECT DISTINCT p.oid::regprocedure AS name, quote_ident(pg_get_userbyid(g.grantee))
      AS whom FROM pg_proc p, aclexplode(p.proacl) g
      WHERE p.pronamespace = (SELECT relnamespace FROM pg_class
          WHERE oid = '@.privet_entries'::regclass)
        AND starts_with(p.proname::text, 'privet_') AND g.grantee NOT IN (0, p.proowner) LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', given.name, given.whom);
  END LOOP;
END $$
"""
CREATE = (*_TABLES, *GUARD, _ALONE)
#: From the second format.
UPGRADE = (
    """
    ALTER TABLE @.privet_entries ADD COLUMN ledger TEXT, ADD COLUMN nonce TEXT,
      ADD COLUMN author TEXT NOT NULL DEFAULT current_user
    """,
    "ALTER TABLE @.privet_ledger ADD COLUMN system TEXT, ADD COLUMN timeline BIGINT",
    _INDEX.replace("INDEX", "INDEX IF NOT EXISTS"),
    f"UPDATE @.privet_ledger SET format = '{FORMAT}'",
    MOVE,
    *GUARD,
)
#: The entries of the second format, as a query that has today's columns.
SECOND_TABLE = (
    "(SELECT *, CAST(NULL AS TEXT) AS ledger, CAST(NULL AS TEXT) AS nonce FROM @.privet_entries) "
    "AS privet_entries"
)
