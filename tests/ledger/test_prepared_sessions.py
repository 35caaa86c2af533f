"""An analyst who prepares a session, a role or a moment before writing an entry."""

from __future__ import annotations

from contextlib import suppress

import pytest

from privet import PureDP
from privet.errors import LedgerError
from privet.ledger.answer_turns import glance, turn
from privet.ledger.entry import Entry
from tests.ledger.test_roles import Logins, charge, grown, logins, settle
from tests.strategies import pure_event

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger.postgres_roles import create_roles, roles_sql  # noqa: E402

#: A type called jsonb that tells the totals which its owner likes.
SHADOW = """
SET search_path = pg_temp, pg_catalog;
CREATE TYPE pg_temp.jsonb AS RANGE (subtype = pg_catalog.text);
CREATE FUNCTION pg_temp.give(pg_temp.jsonb) RETURNS pg_catalog.jsonb LANGUAGE sql
  AS 'SELECT pg_catalog.lower($1)::pg_catalog.jsonb';
CREATE FUNCTION pg_temp.take(pg_catalog.jsonb) RETURNS pg_temp.jsonb LANGUAGE sql AS $$
  SELECT pg_temp.jsonb(CASE $1->0->0#>>'{}' WHEN '0' THEN '[@quarter@]' WHEN '1' THEN '[@nothing@]'
    ELSE $1::pg_catalog.text END, NULL)
$$;
CREATE CAST (pg_catalog.jsonb AS pg_temp.jsonb) WITH FUNCTION pg_temp.take(pg_catalog.jsonb)
  AS ASSIGNMENT;
CREATE CAST (pg_temp.jsonb AS pg_catalog.jsonb) WITH FUNCTION pg_temp.give(pg_temp.jsonb)
  AS IMPLICIT;
"""


@pytest.fixture
def ledgers(postgres_server: str) -> Logins:
    return logins(postgres_server)


def spent(ledgers: Logins) -> tuple[list[Entry], Entry]:
    """The entries of an account that has nothing left, and one that would return all of it."""
    alice = ledgers.of("alice")
    alice.settle(alice.reserve("people", pure_event(1.0)))
    entries = alice.entries()
    return entries, charge(entries, totals=entries[0].totals_text)


@pytest.mark.parametrize(
    "prepared",
    [
        "SELECT @.privet_admit_charge(NULL, NULL, NULL)",
        "SELECT pg_catalog.plpgsql_validator('@.privet_admit_charge'::pg_catalog.regproc)",
    ],
    ids=["called", "compiled"],
)
def test_a_type_of_ones_own_does_not_return_the_budget(ledgers: Logins, prepared: str) -> None:
    """A function keeps the types that it found when it was first compiled in a session."""
    entries, refund = spent(ledgers)
    shadow = SHADOW
    for name, totals in (("nothing", entries[0].totals_text), ("quarter", grown(entries[:1]))):
        shadow = shadow.replace(f"@{name}@", totals)
    with psycopg.connect(ledgers.of("alice").url, autocommit=True) as connection:
        connection.execute(shadow.encode())
        with suppress(psycopg.Error):
            connection.execute(prepared.replace("@.", f'"{ledgers.schema}".').encode())
        connection.execute("RESET search_path")
        with pytest.raises(psycopg.Error, match="less was added than the release costs"):
            connection.execute(ledgers.inserting().encode(), tuple(refund))
    assert ledgers.owner.entries() == entries


def test_types_of_ones_own_are_not_found_when_functions_are_compiled(ledgers: Logins) -> None:
    """Compiled by hand, without its settings, a function finds what is first on the path."""
    entries = ledgers.owner.entries()
    shadows = [
        f"CREATE TYPE pg_temp.{name} AS ENUM ()"
        for name in ("bool", "float8", "int4", "int8", "jsonb", '"numeric"', "oid", "text")
    ]
    compiled = (
        "SELECT pg_catalog.plpgsql_validator(p.oid) FROM pg_catalog.pg_proc p "
        "JOIN pg_catalog.pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql' "
        f"WHERE p.pronamespace = '{ledgers.schema}'::pg_catalog.regnamespace"
    )
    honest = charge(entries, totals=grown(entries))
    path = "SET search_path = pg_temp, pg_catalog"
    ledgers.append("alice", honest, *shadows, path, compiled, "RESET search_path")
    assert ledgers.owner.entries() == [*entries, honest]


def test_every_function_fixes_what_its_names_mean(ledgers: Logins) -> None:
    with psycopg.connect(ledgers.owner.url) as connection:
        query = "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = %s::regnamespace"
        found = dict(connection.execute(query, (ledgers.schema,)).fetchall())
    assert len(found) >= 15
    for settings in found.values():
        assert "search_path=pg_catalog, pg_temp" in settings


def test_nobody_charges_in_the_name_of_a_role_that_many_share(ledgers: Logins) -> None:
    """Else nobody knows who spent the budget, and everybody may settle it."""
    entries = ledgers.owner.entries()
    entry = charge(entries, totals=grown(entries))
    shared = f"SET ROLE r{ledgers.number}_analyst"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="a login's own name"):
        ledgers.append("alice", entry, shared)
    ledgers.append("alice", entry)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="a login's own name"):
        ledgers.append("alice", settle(ledgers.owner.entries(), 2), shared)
    ledgers.append("alice", settle(ledgers.owner.entries(), 2))
    ledgers.owner.verify()


def test_nothing_slips_in_while_the_roles_are_made_again(ledgers: Logins) -> None:
    """By the printed statements, one at a time, as a database client runs them."""
    entries, refund = spent(ledgers)
    statements = [
        each.encode()
        for statement in roles_sql(ledgers.owner.url, f"r{ledgers.number}")
        for each in statement.replace("DROP TRIGGER", "\0DROP TRIGGER")
        .replace("CREATE TRIGGER", "\0CREATE TRIGGER")
        .split("\0")
    ]
    created = next(i for i, each in enumerate(statements) if each.startswith(b"CREATE TRIGGER"))
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        for statement in statements[:created]:
            server.execute(statement)
        hurried = "SET lock_timeout = 100"
        with pytest.raises(psycopg.errors.LockNotAvailable):
            ledgers.append("alice", refund, hurried)
        for statement in statements[created:]:
            server.execute(statement)
    with pytest.raises(psycopg.Error, match="less was added"):
        ledgers.append("alice", refund)
    assert ledgers.owner.entries() == entries


def test_answers_belong_to_whom_the_entries_belong(ledgers: Logins) -> None:
    """Else the first curator who keeps answers there locks the others out of opening accounts."""
    number = ledgers.number
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        for name in ("first", "second"):
            server.execute(f"CREATE ROLE {name}_{number} LOGIN IN ROLE r{number}_owner".encode())
    first, second = ledgers.of("first"), ledgers.of("second")
    with turn(first, "ward") as mine:
        mine.create()
        mine.append(None, {"answer": 1})
    for ledger in (second, ledgers.owner):
        with turn(ledger, "ward") as mine:
            assert len(mine.since(0)) == 1
        ledger.open(f"others {ledger.url}", PureDP(1.0))
    for name in ("alice", "carol"):  # what people asked is not the analysts' and auditors' to read
        with (
            pytest.raises(LedgerError, match="permission denied"),
            glance(ledgers.of(name), "w") as seen,
        ):
            seen.since(0)
    # made by a login before there were roles
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        server.execute(f"ALTER TABLE privet_answers OWNER TO first_{number}".encode())
    create_roles(ledgers.owner.url, f"r{number}")
    second.open("more", PureDP(1.0))


def test_printed_roles_find_no_operator_of_anybody_else(ledgers: Logins) -> None:
    """A stranger's operator in the schema that stands first in the path of whoever runs them."""
    found = "; ".join(roles_sql(ledgers.owner.url, f"r{ledgers.number}"))
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        server.execute(
            b"CREATE SCHEMA strange; CREATE FUNCTION strange.z(oid, oid) RETURNS boolean LANGUAGE "
            b"plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran'; END $$; CREATE OPERATOR strange.<> "
            b"(leftarg = oid, rightarg = oid, function = strange.z)"
        )
        try:
            server.execute(b"SET search_path = strange, pg_catalog")
            server.execute(found.encode())
        finally:
            server.execute(b"ROLLBACK; DROP SCHEMA strange CASCADE")
