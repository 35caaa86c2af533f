"""Whose tables and functions a ledger on a server consists of, and whether they were changed.

Whatever belongs to a ledger runs with the rights of whoever charges it, and what hangs on its
tables may run with those of whoever reads them, also if their owner puts it there while they are
being read. So whoever reads or charges asks first who owns it, and a charge with the owner's rights
asks whether the catalog is still in the state in which this process has compared it
(``postgres_facts.py``). Both are questions by indices.
"""

from __future__ import annotations

from privet.errors import LedgerError
from privet.ledger.postgres_connection import PostgresConnection
from privet.ledger.postgres_facts import check_facts

#: The state of the catalog in which this process has found a ledger to be as it is made.
_LOOKED_AT: dict[str, str] = {}

# One role may own a ledger beside whoever asks and superusers: the one that owns its entries, if it
# is as `privet ledger roles` makes it. It logs nobody in, it was let create in the schema by name,
# and the two other roles are beside it with their rights. Of any other group a member could plant a
# ledger, and with it what runs when somebody charges it.
_OTHERS = """
WITH space AS (
  SELECT oid, nspacl FROM pg_namespace WHERE nspname = %(schema)s
), made AS (
  SELECT c.relowner AS owner, c.relname, c.relacl FROM pg_class c JOIN space
    ON space.oid = c.relnamespace WHERE c.relname >= 'privet_' AND c.relname < 'privet`'
      AND (%(whole)s OR c.relname IN ('privet_entries', 'privet_ledger'))
  UNION ALL SELECT p.proowner, NULL, NULL FROM pg_proc p JOIN space ON space.oid = p.pronamespace
    WHERE %(whole)s AND p.proname >= 'privet_' AND p.proname < 'privet`'
), beside (name, privilege) AS (VALUES ('analyst', 'INSERT'), ('auditor', 'SELECT')
), trusted AS (
  SELECT r.oid FROM made JOIN pg_roles r ON r.oid = made.owner, space
  WHERE made.relname = 'privet_entries' AND NOT r.rolcanlogin AND r.rolname LIKE '%%\\_owner'
    AND EXISTS (SELECT FROM aclexplode(space.nspacl) g
      WHERE g.grantee = r.oid AND g.privilege_type = 'CREATE')
    AND NOT EXISTS (SELECT FROM beside WHERE NOT EXISTS (
      SELECT FROM aclexplode(made.relacl) g JOIN pg_roles other ON other.oid = g.grantee
      WHERE g.privilege_type = beside.privilege AND NOT other.rolcanlogin
        AND other.rolname = regexp_replace(r.rolname, 'owner$', beside.name)))
)
SELECT DISTINCT CASE WHEN r.rolcanlogin THEN 'login' ELSE 'group' END, r.rolname
FROM made JOIN pg_roles r ON r.oid = made.owner
WHERE r.rolname <> current_user AND NOT r.rolsuper AND r.oid NOT IN (SELECT oid FROM trusted)
"""

# Whether whoever asks has the owner's rights, or all, and the versions that the rows of the catalog
# have in which the ledger's tables, functions and what hangs on them are: every change makes a new
# one. What else is compared at first, rights of roles among it, does not run anything.
_CATALOG = """
WITH space AS (
  SELECT oid, xmin AS version FROM pg_namespace WHERE nspname = %(schema)s
), tables AS (
  SELECT c.oid, c.relname, c.relowner, c.xmin AS version FROM pg_class c JOIN space
    ON space.oid = c.relnamespace WHERE c.relname >= 'privet_' AND c.relname < 'privet`'
), state (kind, number, part, version) AS (
  SELECT 'schema', oid, 0, version FROM space
  UNION ALL SELECT 'table', oid, 0, version FROM tables
  UNION ALL SELECT 'function', p.oid, 0, p.xmin FROM pg_proc p JOIN space
    ON space.oid = p.pronamespace WHERE p.proname >= 'privet_' AND p.proname < 'privet`'
  UNION ALL SELECT 'column', r.attrelid, r.attnum, r.xmin
    FROM pg_attribute r JOIN tables ON tables.oid = r.attrelid
  UNION ALL SELECT 'default', r.oid, 0, r.xmin
    FROM pg_attrdef r JOIN tables ON tables.oid = r.adrelid
  UNION ALL SELECT 'trigger', r.oid, 0, r.xmin
    FROM pg_trigger r JOIN tables ON tables.oid = r.tgrelid
  UNION ALL SELECT 'rule', r.oid, 0, r.xmin
    FROM pg_rewrite r JOIN tables ON tables.oid = r.ev_class
  UNION ALL SELECT 'policy', r.oid, 0, r.xmin
    FROM pg_policy r JOIN tables ON tables.oid = r.polrelid
  UNION ALL SELECT 'index', r.indexrelid, 0, r.xmin
    FROM pg_index r JOIN tables ON tables.oid = r.indrelid
  UNION ALL SELECT 'constraint', r.oid, 0, r.xmin
    FROM pg_constraint r JOIN tables ON tables.oid = r.conrelid
  UNION ALL SELECT 'statistics', r.oid, 0, r.xmin
    FROM pg_statistic_ext r JOIN tables ON tables.oid = r.stxrelid
  UNION ALL SELECT 'child', r.inhrelid, r.inhseqno, r.xmin
    FROM pg_inherits r JOIN tables ON tables.oid = r.inhparent
)
SELECT (SELECT pg_has_role(current_user, relowner, 'USAGE') FROM tables
    WHERE relname = 'privet_entries'),
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
  (SELECT string_agg(concat_ws(' ', kind, number, part, version), ', '
    ORDER BY kind, number, part) FROM state)
"""


def expect_own(connection: PostgresConnection, place: str, *, whole: bool = True) -> None:
    """Refuse tables and functions of another login or group, which may change what they do.

    Not the ``whole`` ledger but its two tables alone concern whoever only reads: nothing else that
    somebody could put beside them is run, or keeps an auditor from verifying.

    To be asked before anything is read from them. The tables are locked against being dropped and
    made again, so that those which are read are those that were asked about.
    """
    if connection.tables:
        names = ", ".join(connection.table(name) for name in sorted(connection.tables))
        connection.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE".encode())
    values = {"schema": connection.schema, "whole": whole}
    for kind, owner in connection.execute(_OTHERS, values).fetchall():
        raise LedgerError(
            f"Tables or functions of the ledger at {place} belong to the {kind} "
            f"{owner!r}, which could change every entry, and what is run to read them. If the "
            f"ledger is that {kind}'s, read and charge it as that {kind}, or after `privet ledger "
            "roles --apply`. If not, choose another schema, for example "
            "?options=-csearch_path%3Dledger."
        )


def expect_as_made(connection: PostgresConnection, url: str, place: str) -> None:
    """Refuse what would use the rights of whoever charges; all is compared again once it changed.

    The owner's functions may be another release's, since curators upgrade in turn. A superuser has
    more to lose than the ledger, and runs today's alone.
    """
    found = connection.execute(_CATALOG, {"schema": connection.schema}).fetchall()
    [(as_owner, as_superuser, state)] = found
    if as_owner and _LOOKED_AT.get(url) != state:
        check_facts(connection, place, uses=False, functions=as_superuser)
        _LOOKED_AT[url] = state
