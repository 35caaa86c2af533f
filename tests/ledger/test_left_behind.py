"""What somebody without the owner's rights prepares for others: tables, transactions, names."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger.answer_turns import glance, turn
from privet.ledger.entry import COLUMNS, Entry
from tests.ledger.test_roles import Logins, charge, grown, logins
from tests.strategies import pure_event

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger.postgres_roles import create_roles  # noqa: E402

_NUMBERS = count()


@pytest.fixture
def ledgers(postgres_server: str) -> Logins:
    return logins(postgres_server)


# -- tables of somebody else's that are only read --------------------------------------------------

#: A function that tells when it is run; calm while the tables are made.
RAN = "CREATE OR REPLACE FUNCTION {} IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN {} RETURN {}; END $$"
RUNS = (("ran(INT) RETURNS BOOLEAN", "true"), ("told(own) RETURNS TEXT", "$1.word"))
ONE_TYPE = "ALTER TABLE {} ALTER {} TYPE own USING ROW({})::own"


@pytest.fixture
def planted(postgres_url: str) -> Ledger:
    """A ledger that keeps answers; whoever made it has a type that becomes a text by itself."""
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with turn(ledger, "ward") as mine:
        mine.create()
        mine.append(None, {"answer": 1})
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(b"CREATE TYPE own AS (word TEXT)")
        for head, value in RUNS:
            server.execute(RAN.format(head, "", value).encode())
        server.execute(b"CREATE CAST (own AS TEXT) WITH FUNCTION told(own) AS IMPLICIT")
    return ledger


def armed(planted: Ledger, left: str) -> None:
    with psycopg.connect(planted.url, autocommit=True) as server:
        server.execute(left.encode())
        for head, value in RUNS:
            server.execute(RAN.format(head, "RAISE EXCEPTION 'ran';", value).encode())


@pytest.mark.parametrize(
    "left",
    [
        ONE_TYPE.format("privet_entries", "dataset", "dataset"),
        ONE_TYPE.format("privet_entries", "sequence", "sequence::text"),
        "ALTER TABLE privet_ledger ALTER format TYPE VARCHAR(20)",
        "ALTER TABLE privet_entries ADD CHECK (ran(1))",
        "ALTER TABLE privet_ledger ADD doubled TEXT GENERATED ALWAYS AS (format || format) STORED",
    ],
)
def test_to_read_a_ledger_runs_no_cast_and_no_condition(planted: Ledger, left: str) -> None:
    """A column of somebody's own type is compared by his function: it ran as a superuser."""
    armed(planted, left)
    # as on a server where the planner looks at the conditions of every table
    careful = Ledger(planted.url + "%20-cconstraint_exclusion%3Don")
    for attempt in (
        careful.verify,
        lambda: careful.remaining("people"),
        lambda: careful.reserve("people", pure_event(0.1)),
    ):
        with pytest.raises(LedgerError, match="nothing was read"):
            attempt()


@pytest.mark.parametrize(
    "left",
    [
        ONE_TYPE.format("privet_answers", "release", "release"),
        "ALTER TABLE privet_answers ADD CHECK (ran(1))",
        "CREATE INDEX z ON privet_answers ((ran(1)))",
        "CREATE INDEX z ON privet_answers (release) WHERE ran(1)",
        "CREATE STATISTICS z ON (ran(1)), release FROM privet_answers",
    ],
)
def test_to_read_answers_runs_nothing_of_their_owners(planted: Ledger, left: str) -> None:
    armed(planted, left)
    careful = Ledger(planted.url + "%20-cconstraint_exclusion%3Don")
    with (
        pytest.raises(LedgerError, match="Nothing was answered"),
        glance(careful, "ward") as seen,
    ):
        seen.since(0)


def test_tables_of_another_login_are_not_read(postgres_url: str) -> None:
    """Whoever owns them may add to them while somebody reads."""
    name = f"planter_{next(_NUMBERS)}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        [(schema,)] = server.execute(b"SELECT current_schema()").fetchall()
        server.execute(f"CREATE ROLE {name} LOGIN; GRANT ALL ON SCHEMA {schema} TO {name}".encode())
    theirs = Ledger(postgres_url.replace("//privet@", f"//{name}@"))
    theirs.open("people", PureDP(1.0))
    with turn(theirs, "ward") as mine:
        mine.create()
    theirs.verify()
    found = Ledger(postgres_url)  # as a superuser
    for attempt in (found.verify, found.datasets, lambda: found.require("people", pure_event(0.1))):
        with pytest.raises(LedgerError, match=f"belong to the login '{name}'"):
            attempt()
    with pytest.raises(LedgerError, match="belong to the login"), glance(found, "ward"):
        pass
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f"REVOKE ALL ON SCHEMA {schema} FROM {name}".encode())
    create_roles(postgres_url, f"theirs_{name}")
    found.verify()


def test_what_is_changed_while_a_reader_waits_is_not_run(postgres_url: str) -> None:
    """Looked over before its lock is given back, a table became a view that ran for the reader."""
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with psycopg.connect(postgres_url) as owner, ThreadPoolExecutor(1) as pool:
        owner.execute(
            b"CREATE FUNCTION ran() RETURNS TEXT LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            b"'ran'; END $$; CREATE ROLE swapper NOLOGIN; ALTER TABLE privet_ledger RENAME TO was; "
            b"CREATE VIEW privet_ledger AS SELECT ran() AS format; "
            b"ALTER VIEW privet_ledger OWNER TO swapper"
        )
        waiting = pool.submit(ledger.verify)
        held = b"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'was'::regclass"
        until = time.monotonic() + 20
        while owner.execute(held).fetchone() == (0,) and time.monotonic() < until:
            time.sleep(0.02)
        owner.commit()
        with pytest.raises(LedgerError, match="belong to the group 'swapper'"):
            waiting.result()


# -- what keeps the owner out ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "mine",
    [
        "CREATE TEMP TABLE mine (x REGCLASS DEFAULT '@.privet_entries'::regclass)",
        "CREATE TEMP TABLE mine (x OID CHECK (x <> '@.privet_ledger'::regclass))",
        "CREATE TEMP TABLE mine (x OID); CREATE INDEX ON mine ((x = '@.privet_entries'::regclass))",
        "CREATE TEMP TABLE mine (x OID); CREATE INDEX ON mine ((x = '@.privet_entries'::regtype))",
        "CREATE DOMAIN pg_temp.mine AS REGCLASS DEFAULT '@.privet_entries'::regclass",
        "CREATE TEMP TABLE mine (x OID) PARTITION BY LIST ((x = '@.privet_entries'::regclass))",
    ],
)
def test_no_login_keeps_the_owner_out_by_a_tables_name(ledgers: Logins, mine: str) -> None:
    """A name in a condition of one's own hangs on the table, too: nobody opened or charged."""
    with psycopg.connect(ledgers.of("alice").url, autocommit=True) as alice:
        alice.execute(mine.replace("@.", f'"{ledgers.schema}".').encode())
        create_roles(ledgers.owner.url, f"r{ledgers.number}")
        ledgers.owner.open("more", PureDP(1.0))
        ledgers.owner.reserve("more", pure_event(0.25))
        ledgers.owner.migrate()


def test_a_charge_and_a_migration_do_not_wait_for_each_other(ledgers: Logins) -> None:
    """A charge looks at the tables before its turn comes: a busy ledger was never migrated."""
    tables = f'"{ledgers.schema}".privet_entries, "{ledgers.schema}".privet_ledger'
    with psycopg.connect(ledgers.of("alice").url) as alice, ThreadPoolExecutor(1) as pool:
        alice.execute(f"LOCK TABLE {tables} IN ACCESS SHARE MODE".encode())
        migrating = pool.submit(ledgers.owner.migrate)
        until = time.monotonic() + 20
        waits = (
            b"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '"
            + f'"{ledgers.schema}".privet_entries'.encode()
            + b"'::regclass"
        )
        while alice.execute(waits).fetchone() == (0,) and time.monotonic() < until:
            time.sleep(0.02)
        alice.execute(f'SELECT "{ledgers.schema}".privet_lock()'.encode())
        alice.commit()
        migrating.result()


# -- a member of the owner who leaves --------------------------------------------------------------


def test_an_unfinished_transaction_keeps_nobody_the_owners_rights(ledgers: Logins) -> None:
    """What it has made is seen by nobody yet, and would be there after its commit."""
    number = ledgers.number
    with psycopg.connect(ledgers.owner.url, autocommit=True) as superuser:
        superuser.execute(
            f"CREATE ROLE dora_{number} LOGIN IN ROLE r{number}_owner; GRANT CREATE ON SCHEMA "
            f"public TO r{number}_owner".encode()
        )
        with psycopg.connect(ledgers.of("dora").url) as dora:
            dora.execute(
                f"SET ROLE r{number}_owner; CREATE FUNCTION public.back() RETURNS INT LANGUAGE "
                "plpgsql SECURITY DEFINER AS 'BEGIN RETURN 1; END'; RESET ROLE".encode()
            )
            superuser.execute(f"REVOKE r{number}_owner FROM dora_{number}".encode())
            with pytest.raises(LedgerError, match=rf"not ended: of dora_{number} \(process"):
                create_roles(ledgers.owner.url, f"r{number}")
            dora.rollback()
    create_roles(ledgers.owner.url, f"r{number}")


def test_numbers_of_ones_own_are_no_lock_on_the_owner(ledgers: Logins) -> None:
    """Every login may lock any two numbers for as long as it likes: no roles were made anew."""
    owner = f"'r{ledgers.number}_owner'::regrole::oid::int"
    with psycopg.connect(ledgers.of("carol").url, autocommit=True) as carol:
        carol.execute(f"SELECT pg_advisory_lock('pg_authid'::regclass::oid::int, {owner})".encode())
        create_roles(ledgers.owner.url, f"r{ledgers.number}")


# -- entries that are written by other roads -------------------------------------------------------


def test_what_is_replicated_goes_through_the_guard(ledgers: Logins) -> None:
    """A login that may create subscriptions would return the budget: they run few triggers."""
    alice = ledgers.of("alice")
    alice.settle(alice.reserve("people", pure_event(1.0)))
    entries = alice.entries()
    refund = charge(entries, totals=entries[0].totals_text)
    with psycopg.connect(ledgers.owner.url, autocommit=True) as applying:
        applying.execute(b"SET session_replication_role = replica")
        applying.execute(f"SET SESSION AUTHORIZATION alice_{ledgers.number}".encode())
        with pytest.raises(psycopg.Error, match="less was added"):
            applying.execute(ledgers.inserting().encode(), tuple(refund))
    assert ledgers.owner.entries() == entries


def test_a_key_that_server_and_reader_spell_differently(postgres_server: str) -> None:
    """Hashed as the server would, one such entry ended every account of the ledger."""
    name = f"spelled_{next(_NUMBERS)}"
    with psycopg.connect(postgres_server, autocommit=True) as server:
        server.execute(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0".encode()
        )
    ledgers = logins(postgres_server.replace("/postgres?", f"/{name}?"))
    entries = ledgers.owner.entries()
    made = charge(entries, key="KEY", totals=grown(entries))
    forged = hashed_by_the_server(ledgers, made, "chr(233)")
    with (
        psycopg.connect(ledgers.of("alice").url, autocommit=True) as connection,
        pytest.raises(psycopg.Error, match="need a UTF8 database"),
    ):
        connection.execute(forged.encode())
    assert ledgers.owner.entries() == entries
    ledgers.of("alice").reserve("people", pure_event(0.25), key="a~ key")
    ledgers.owner.verify()


def hashed_by_the_server(ledgers: Logins, made: Entry, key: str) -> str:
    """A statement that writes an entry with a key and the hash that the server has for it."""
    table = f'"{ledgers.schema}".privet_entries'
    values = dict(zip(COLUMNS, made, strict=True)) | {"author": "", "hash": ""}
    row = "jsonb_populate_record(NULL::{}, jsonb_build_object({}))".format(
        table,
        ", ".join(
            f"'{name}', {key}" if name == "key" else f"'{name}', '{value}'::text"
            for name, value in values.items()
            if value is not None
        ),
    )
    names = ", ".join(COLUMNS)
    each = ", ".join(
        f'"{ledgers.schema}".privet_hash(made)' if name == "hash" else f"(made).{name}"
        for name in COLUMNS
    )
    return f"INSERT INTO {table} ({names}) SELECT {each} FROM (SELECT {row} AS made) one"
