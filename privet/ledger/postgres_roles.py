"""Who may do what with a ledger on a server: three roles, as SQL that can be read before it is run.

    <prefix>_owner     owns tables and functions; opens accounts, migrates, adopts
    <prefix>_analyst   reads, charges, and settles what the same role has reserved
    <prefix>_auditor   reads, and so verifies

None of them can log in: they are granted to the logins of people and programs, one login for each,
since what a login may settle is what it has reserved. The owner is not a superuser, so that the
function that runs with the owner's rights (``privet_lock``) can do nothing beside the ledger.
"""

from __future__ import annotations

import re

from privet.errors import DeclarationError, LedgerError
from privet.ledger.postgres_connection import connected
from privet.ledger.postgres_facts import check_facts_sql
from privet.ledger.postgres_tables import GUARD, LOCK, NOTE_TABLE
from privet.ledger.store import NOT_THERE, POSTGRES, checked_url, without_password

_TABLES = "@.privet_entries, @.privet_ledger"
_ROLES = (
    *(
        f"DO $$ BEGIN CREATE ROLE PREFIX_{name} NOLOGIN; "
        "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        for name in ("owner", "analyst", "auditor")
    ),
    "GRANT PREFIX_owner TO CURRENT_USER",
    "REVOKE CREATE ON SCHEMA @ FROM PUBLIC",
    "GRANT USAGE, CREATE ON SCHEMA @ TO PREFIX_owner",
    "GRANT USAGE ON SCHEMA @ TO PREFIX_analyst, PREFIX_auditor",
    "ALTER TABLE @.privet_entries OWNER TO PREFIX_owner",
    "ALTER TABLE @.privet_ledger OWNER TO PREFIX_owner",
    "ALTER TABLE IF EXISTS @.privet_answers OWNER TO PREFIX_owner",
    f"REVOKE ALL ON {_TABLES} FROM PUBLIC, PREFIX_analyst, PREFIX_auditor",
    f"GRANT SELECT ON {_TABLES} TO PREFIX_analyst, PREFIX_auditor",
    "GRANT INSERT ON @.privet_entries TO PREFIX_analyst",  # through the trigger privet_guard
    # A right to a column takes no lock on older servers: one that the former owner has given and
    # not committed yet would be seen by nobody, and stay. To touch what it touches waits for it.
    """
DO $$ DECLARE
  here pg_catalog.RECORD;
BEGIN
  FOR here IN SELECT a.attrelid::regclass AS name, a.attname AS part FROM pg_attribute a
      WHERE a.attrelid IN ('@.privet_entries'::regclass, '@.privet_ledger'::regclass,
        to_regclass('@.privet_answers')) AND a.attnum > 0 AND NOT a.attisdropped LOOP
    EXECUTE format('GRANT SELECT (%I) ON %s TO PREFIX_owner', here.part, here.name);
    EXECUTE format('REVOKE SELECT (%I) ON %s FROM PREFIX_owner', here.part, here.name);
  END LOOP;
END $$
""",
)

# What a member who has left makes as the owner, in a transaction that goes on, nobody sees yet, and
# it would be there after the commit. Such a transaction holds a lock on the role. To be asked
# before what is there is compared, not with it: it may end in between.
_ENDED = """
DO $$ DECLARE
  others pg_catalog.TEXT := (SELECT string_agg(CASE WHEN l.pid IS NULL
      THEN 'a prepared one (pg_prepared_xacts)' ELSE format('of %s (process %s)', a.usename, l.pid)
    END, ', ') FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'object' AND l.classid = 'pg_authid'::regclass
      AND l.objid = 'PREFIX_owner'::regrole
      AND l.pid IS DISTINCT FROM pg_backend_pid());
BEGIN
  IF others IS NOT NULL THEN
    RAISE EXCEPTION 'something of PREFIX_owner, or a right of its, is made in a transaction '
      'that has not ended: %. End it, and make the roles again', others;
  END IF;
END $$
"""

# Whoever runs the printed statements may have a path with somebody else's operators in it, or other
# settings. What is compared last must be seen as it is then, not as it was at the beginning.
_BEGIN = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL quote_all_identifiers = off",
)


def roles_sql(url: str, prefix: str = "privet") -> list[str]:
    """The statements that create the roles of the ledger at ``url``, in order."""
    return _prepared(url, prefix, run=False)


def create_roles(url: str, prefix: str = "privet") -> list[str]:
    """Run the statements, one transaction, as somebody who may create roles; returns them."""
    return _prepared(url, prefix, run=True)


def _prepared(url: str, prefix: str, *, run: bool) -> list[str]:
    if not checked_url(url).startswith(POSTGRES):
        raise DeclarationError(
            "Roles are for a ledger on a server. Who may read and write a file is decided by the "
            "rights of the file and of its folder."
        )
    if not re.fullmatch("[a-z][a-z0-9_]{0,40}", prefix):
        raise DeclarationError("The prefix of the roles must be lower-case letters and digits.")
    with connected(url) as connection:
        if not connection.tables:
            raise LedgerError(NOT_THERE.format(place=without_password(url)))
        statements = [
            connection.named(_in(f'"{connection.schema}"', statement.replace("PREFIX", prefix)))
            # together, whoever runs them: there is no trigger between its removal and its creation
            for statement in (*_BEGIN, *_ROLES, *GUARD, *_functions(), _ENDED)
        ]
        # asked last, when nobody else can change the tables any more
        statements += [check_facts_sql(connection.schema).encode()]
        statements += [connection.named(NOTE_TABLE), b"COMMIT"]  # nobody's trigger sees it now
        for statement in statements if run else ():
            connection.execute(statement)
    return [statement.decode() for statement in statements]


def _in(schema: str, statement: str) -> str:
    """A schema that stands alone; in front of a name it is written by ``named``."""
    return statement.replace("SCHEMA @ ", f"SCHEMA {schema} ")


def _functions() -> list[str]:
    """Every function belongs to the owner; the analyst may take the lock."""
    found = re.findall(r"CREATE OR REPLACE FUNCTION (@\.\w+)\(", GUARD[0])
    owned = [f"ALTER FUNCTION {name} OWNER TO PREFIX_owner" for name in found]
    return [*owned, f"GRANT EXECUTE ON FUNCTION @.{LOCK} TO PREFIX_analyst"]
