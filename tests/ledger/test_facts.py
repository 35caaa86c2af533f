"""A ledger on a server is exactly what Privet makes: whatever is more, less or other is refused."""

from __future__ import annotations

from itertools import count
from urllib.parse import quote

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger.answer_turns import turn
from tests.ledger.test_roles import Logins, logins
from tests.strategies import pure_event

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger.postgres_roles import create_roles, roles_sql  # noqa: E402

_READERS = count()


@pytest.fixture
def ledgers(postgres_server: str) -> Logins:
    return logins(postgres_server)


def kept(ledgers: Logins) -> None:
    """One that keeps answers, too."""
    with turn(ledgers.owner, "ward") as mine:
        mine.create()


def named(ledgers: Logins, statement: str) -> bytes:
    schema = f'"{ledgers.schema}"'
    text = statement.replace("@.", f"{schema}.").replace("SCHEMA @", f"SCHEMA {schema}")
    for name in ("alice_", "bob_", "planted_", "z_", "r"):
        text = text.replace(f"{name}N", f"{name}{ledgers.number}")
    return text.encode()


def changed(ledgers: Logins, statement: str) -> None:
    """As a superuser, who may do everything that a former owner could."""
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        server.execute(named(ledgers, statement))


@pytest.fixture(scope="module")
def made(postgres_server: str) -> tuple[Logins, list[str]]:
    """A ledger that keeps answers, and the statements that make its roles again."""
    ledgers = logins(postgres_server)
    kept(ledgers)
    return ledgers, roles_sql(ledgers.owner.url, f"r{ledgers.number}")


@pytest.mark.parametrize(
    "left",
    [
        "CREATE TRIGGER z BEFORE INSERT ON @.privet_entries FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE RULE z AS ON INSERT TO @.privet_entries DO ALSO NOTIFY z",
        "CREATE POLICY z ON @.privet_entries",
        "CREATE TABLE @.z () INHERITS (@.privet_entries)",
        "ALTER TABLE @.privet_entries ADD CHECK (length(body) > 0)",
        "CREATE INDEX z ON @.privet_entries (length(body))",
        "ALTER TABLE @.privet_entries ALTER author SET DEFAULT session_user",
        "GRANT UPDATE ON @.privet_entries TO bob_N",
        "GRANT UPDATE (totals) ON @.privet_entries TO bob_N",
        "GRANT UPDATE ON @.privet_ledger TO bob_N",
        "CREATE STATISTICS @.z ON (length(dataset)) FROM @.privet_entries",
        "ALTER TABLE @.privet_entries SET UNLOGGED",
        "ALTER TABLE @.privet_entries ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE @.privet_entries DROP CONSTRAINT privet_entries_pkey",
        "GRANT CREATE ON SCHEMA @ TO bob_N",
        # what a list of bad things did not name
        "GRANT SELECT ON @.privet_entries TO bob_N",
        "GRANT INSERT ON @.privet_entries TO bob_N",
        "GRANT INSERT ON @.privet_ledger TO bob_N",
        "GRANT SELECT ON @.privet_answers TO bob_N",
        "GRANT EXECUTE ON FUNCTION @.privet_lock() TO bob_N",
        "GRANT USAGE ON TYPE @.privet_entries TO bob_N",
        "CREATE FUNCTION @.privet_number(json) RETURNS numeric LANGUAGE sql AS 'SELECT 0.0'",
        "CREATE VIEW @.privet_more AS SELECT 1",
        "CREATE SEQUENCE @.privet_numbers",
        # what a former member of the owner leaves elsewhere, which lends the owner's rights
        "CREATE VIEW z_N AS SELECT * FROM @.privet_entries; ALTER VIEW z_N OWNER TO rN_owner",
        "CREATE FUNCTION @.z() RETURNS INT LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'; "
        "ALTER FUNCTION @.z() OWNER TO rN_owner",
        "CREATE TABLE z_N (x INT); ALTER TABLE z_N OWNER TO rN_owner",
        "CREATE TABLE z_N (entry @.privet_entries)",  # keeps the owner from adding a column
        "CREATE TABLE z_N (entry @.privet_entries[])",
        "CREATE PUBLICATION z_N FOR TABLE @.privet_entries",
        "CREATE TABLE @.z (entry BIGINT REFERENCES @.privet_entries)",
        "ALTER TABLE @.privet_entries ADD COLUMN more TEXT",
        "ALTER TABLE @.privet_ledger ADD COLUMN more TEXT; ALTER TABLE @.privet_ledger DROP more",
        "ALTER TABLE @.privet_entries ALTER hash DROP NOT NULL",
        'ALTER TABLE @.privet_entries ALTER body TYPE TEXT COLLATE "POSIX"',
        "ALTER TABLE @.privet_answers ALTER number TYPE NUMERIC",
        "ALTER TABLE @.privet_entries SET (autovacuum_enabled = false)",
        "ALTER TABLE @.privet_entries SET (toast.autovacuum_enabled = false)",
        "ALTER TABLE @.privet_entries ALTER body SET STORAGE PLAIN",  # in which no long event fits
        "ALTER TABLE @.privet_entries REPLICA IDENTITY FULL",
        "CREATE INDEX z ON @.privet_entries (body)",
        "DROP INDEX @.privet_entries_by_dataset",
        "DROP INDEX @.privet_entries_by_dataset; CREATE INDEX privet_entries_by_dataset "
        "ON @.privet_entries (dataset, sequence DESC)",
        "ALTER DEFAULT PRIVILEGES FOR ROLE rN_owner GRANT ALL ON TABLES TO bob_N",
        "ALTER SCHEMA @ OWNER TO bob_N",
        "CREATE CAST (@.privet_entries AS TEXT) WITH INOUT AS IMPLICIT",
        "ALTER ROLE rN_analyst CREATEROLE",
        "ALTER ROLE rN_owner LOGIN",
        "GRANT rN_owner TO rN_analyst",
        "ALTER EXTENSION plpgsql ADD TABLE @.privet_entries",
        "CREATE TRIGGER privet_guard BEFORE UPDATE ON @.privet_ledger FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    ],
)
def test_the_login_that_made_the_tables_leaves_nothing_behind(
    made: tuple[Logins, list[str]], left: str
) -> None:
    """Else it goes on writing past the guard, or with the rights of whoever opens an account."""
    ledgers, (_, *statements, committed) = made
    assert committed == "COMMIT"
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        server.execute(b"BEGIN")  # and undone in the end
        server.execute(named(ledgers, left))
        # the server itself says which function of two with one name is meant by none
        told = r"not as Privet makes it|\.privet_number\" is not unique"
        with pytest.raises(psycopg.Error, match=told):
            server.execute("; ".join(statements).encode())


def test_a_fresh_ledger_is_as_it_is_made(ledgers: Logins) -> None:
    """Without roles and with them, without answers and with them, and made again."""
    create_roles(ledgers.owner.url, f"r{ledgers.number}")
    ledgers.owner.open("second", PureDP(1.0))
    kept(ledgers)
    ledgers.owner.open("third", PureDP(1.0))
    create_roles(ledgers.owner.url, f"r{ledgers.number}")
    ledgers.owner.adopt("moved")
    ledgers.owner.migrate()


def test_what_is_wrong_is_named(ledgers: Logins) -> None:
    changed(ledgers, "CREATE INDEX z ON @.privet_entries (body)")
    changed(ledgers, "ALTER TABLE @.privet_entries ALTER hash DROP NOT NULL")
    for attempt in (
        lambda: create_roles(ledgers.owner.url, f"r{ledgers.number}"),
        lambda: ledgers.owner.open("more", PureDP(1.0)),
    ):
        with pytest.raises(LedgerError, match=r"index z on privet_entries \(body\) is there"):
            attempt()
        with pytest.raises(LedgerError, match="hash: text, not null is missing"):
            attempt()


def test_views_of_readers_are_their_own_business(ledgers: Logins) -> None:
    """Else whoever may read could keep the owner from opening an account."""
    changed(ledgers, "CREATE SCHEMA z_N AUTHORIZATION bob_N")
    for statement in (
        f"CREATE VIEW z_{ledgers.number}.seen AS SELECT * FROM @.privet_entries",
        f"CREATE TABLE z_{ledgers.number}.mine (n JSONB CHECK (@.privet_number(n) > 0))",
        "CREATE TEMP TABLE privet_entries (n INT)",
    ):
        ledgers.sql("bob", statement)
    ledgers.owner.open("more", PureDP(1.0))
    create_roles(ledgers.owner.url, f"r{ledgers.number}")


def test_whoever_charges_as_the_owner_runs_nobody_elses_trigger(ledgers: Logins) -> None:
    """Also where the roles were made before, and in a process that has charged before."""
    ledgers.owner.reserve("people", pure_event(0.25))
    changed(
        ledgers,
        "CREATE TRIGGER z BEFORE INSERT ON @.privet_entries FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    )
    for attempt in (
        lambda: ledgers.owner.reserve("people", pure_event(0.25)),
        lambda: ledgers.owner.adopt("moved"),
        ledgers.owner.migrate,
    ):
        with pytest.raises(LedgerError, match="trigger z on privet_entries"):
            attempt()


def test_functions_of_another_release_are_charged_and_made_anew(ledgers: Logins) -> None:
    """Curators do not upgrade at the same moment; accounts are opened with today's functions.

    A superuser, who has more to lose than the ledger, runs today's alone: members of the owner may
    replace them at any time.
    """
    changed(ledgers, "CREATE ROLE z_N LOGIN IN ROLE rN_owner")
    curator = ledgers.of("z")
    curator.reserve("people", pure_event(0.125))
    ledgers.owner.reserve("people", pure_event(0.125))
    changed(
        ledgers,
        "CREATE OR REPLACE FUNCTION @.privet_quoted(value TEXT) RETURNS TEXT LANGUAGE sql "
        "IMMUTABLE SET search_path = pg_catalog, pg_temp AS "
        "$$ SELECT coalesce(to_json(value)::text, 'null') $$",
    )
    curator.reserve("people", pure_event(0.25))
    for attempt in (
        lambda: curator.open("more", PureDP(1.0)),
        lambda: ledgers.owner.open("more", PureDP(1.0)),
        lambda: ledgers.owner.reserve("people", pure_event(0.25)),
    ):
        with pytest.raises(LedgerError, match=r"function privet_quoted.*ledger migrate"):
            attempt()
    ledgers.owner.migrate()
    ledgers.owner.open("more", PureDP(1.0))


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE @.privet_answers (release TEXT); ALTER TABLE @.privet_answers OWNER TO bob_N",
        "CREATE VIEW @.privet_answers AS SELECT 1",
        "GRANT SELECT ON @.privet_answers TO bob_N",
        "CREATE TRIGGER z BEFORE INSERT ON @.privet_answers FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    ],
)
def test_answers_are_kept_in_no_table_of_others(ledgers: Logins, made: str) -> None:
    if not made.startswith("CREATE TABLE") and "VIEW" not in made:
        kept(ledgers)
    changed(ledgers, made)
    # a superuser is told of it before the turn begins, as of every other change of the ledger
    told = "Nothing was answered|not as Privet makes it|belong to the login"
    with pytest.raises(LedgerError, match=told), turn(ledgers.owner, "ward") as mine:
        mine.create()


def test_rights_by_default_reach_no_answers(ledgers: Logins) -> None:
    changed(ledgers, "ALTER DEFAULT PRIVILEGES IN SCHEMA @ GRANT SELECT ON TABLES TO bob_N")
    with pytest.raises(LedgerError, match="Nothing was answered"):
        kept(ledgers)


def test_a_view_in_the_place_of_a_ledger_is_not_looked_at(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(
            b"CREATE FUNCTION ran() RETURNS TEXT LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            b"'ran'; END $$; CREATE VIEW privet_ledger AS SELECT ran() AS format;"
            b"CREATE VIEW privet_entries AS SELECT ran() AS sequence"
        )
    for attempt in (lambda: Ledger(postgres_url).datasets(), Ledger(postgres_url).verify):
        with pytest.raises(LedgerError, match="not a ledger that this Privet knows"):
            attempt()


@pytest.mark.parametrize(
    "left",
    [
        "CREATE POLICY z ON privet_ledger USING (ran(1)); "
        "ALTER TABLE privet_ledger ENABLE ROW LEVEL SECURITY",
        "CREATE INDEX z ON privet_ledger ((ran(1)))",
        "CREATE INDEX z ON privet_entries (body) WHERE ran(1)",
        "CREATE TABLE z (CHECK (ran(1))) INHERITS (privet_entries)",
        "CREATE STATISTICS z ON (ran(1)), body FROM privet_entries",
    ],
)
def test_to_read_a_ledger_runs_nothing_of_its_owners(postgres_url: str, left: str) -> None:
    """Policies run for whoever reads, and the planner computes what seems to be constant."""
    number = next(_READERS)
    Ledger(postgres_url).open("people", PureDP(1.0))
    made = (
        "CREATE OR REPLACE FUNCTION ran(INT) RETURNS BOOLEAN IMMUTABLE LANGUAGE plpgsql AS "
        "$$ BEGIN {} RETURN true; END $$"
    )
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(made.format("").encode())
        server.execute(left.encode())
        server.execute(made.format("RAISE EXCEPTION 'ran';").encode())
        reader = f"reader_{number}"
        [(schema,)] = server.execute(b"SELECT current_schema()").fetchall()
        server.execute(
            f"CREATE ROLE {reader} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {reader}; "
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}".encode()
        )
    ledger = Ledger(postgres_url.replace("//privet@", f"//{reader}@"))
    for attempt in (ledger.datasets, ledger.verify):
        with pytest.raises(LedgerError, match="nothing was read"):
            attempt()


def test_no_ledger_of_a_group_is_opened_or_charged(postgres_server: str) -> None:
    """Its members would own what runs for whoever charges: an analyst became a superuser."""
    ledgers = logins(postgres_server)
    changed(ledgers, "CREATE ROLE z_N NOLOGIN; GRANT ALL ON SCHEMA @ TO z_N")
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        server.execute(named(ledgers, "REASSIGN OWNED BY rN_owner TO z_N"))
    for attempt in (
        lambda: ledgers.owner.open("more", PureDP(1.0)),
        lambda: ledgers.of("alice").reserve("people", pure_event(0.1)),
        lambda: ledgers.owner.adopt("moved"),
    ):
        with pytest.raises(LedgerError, match=f"belong to the group 'z_{ledgers.number}'"):
            attempt()


@pytest.mark.parametrize("beside", [False, True])
def test_no_group_is_an_owner_by_its_name(postgres_server: str, beside: bool) -> None:
    """An analyst in a group of such a name plants a ledger as Privet makes it, and owns it."""
    ledgers = logins(postgres_server)
    changed(
        ledgers,
        "CREATE ROLE z_N_owner NOLOGIN; GRANT z_N_owner TO alice_N; "
        "CREATE SCHEMA planted_N; GRANT ALL ON SCHEMA planted_N TO PUBLIC"
        + (", z_N_owner; CREATE ROLE z_N_analyst; CREATE ROLE z_N_auditor" if beside else ""),
    )
    planted = Ledger(ledgers.of("alice").url.replace("roles_", "planted_"))
    planted.open("people", PureDP(1.0))
    changed(ledgers, "REASSIGN OWNED BY alice_N TO z_N_owner")
    changed(ledgers, "GRANT ALL ON ALL TABLES IN SCHEMA planted_N TO bob_N")
    changed(ledgers, "GRANT ALL ON ALL FUNCTIONS IN SCHEMA planted_N TO bob_N")
    for whom in ("bob", "privet"):
        url = planted.url.replace("//alice", f"//{whom}")
        found = Ledger(url if whom == "bob" else url.replace(f"privet_{ledgers.number}", "privet"))
        for attempt in (
            lambda found=found: found.reserve("people", pure_event(0.25)),
            lambda found=found: found.open("more", PureDP(1.0)),
            lambda found=found: found.adopt("moved"),
        ):
            with pytest.raises(LedgerError, match=f"belong to the group 'z_{ledgers.number}_owner"):
                attempt()


def test_a_function_of_another_owner_in_a_ledger(ledgers: Logins) -> None:
    """Planted while a process goes on charging, by a member of the owner of something else."""
    bob = ledgers.of("bob")
    bob.reserve("people", pure_event(0.125))
    changed(
        ledgers,
        "CREATE ROLE z_N_owner NOLOGIN; CREATE FUNCTION @.privet_number(json) RETURNS numeric "
        "LANGUAGE sql AS 'SELECT 0.0'; ALTER FUNCTION @.privet_number(json) OWNER TO z_N_owner",
    )
    with pytest.raises(LedgerError, match=f"belong to the group 'z_{ledgers.number}_owner"):
        bob.reserve("people", pure_event(0.125))
    ledgers.of("carol").verify()  # which it is not run for


def test_rights_by_default_reach_no_new_ledger(postgres_url: str) -> None:
    """Many servers give readers every table by default, and take functions from everybody."""
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(b"CREATE ROLE reading; CREATE ROLE making LOGIN SUPERUSER")
        for what in ("SELECT ON TABLES", "EXECUTE ON FUNCTIONS"):
            rights = f"ALTER DEFAULT PRIVILEGES FOR ROLE making GRANT {what} TO reading"
            server.execute(rights.encode())
        server.execute(
            b"ALTER DEFAULT PRIVILEGES FOR ROLE making REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC"
        )
    ledger = Ledger(postgres_url.replace("//privet@", "//making@"))
    ledger.open("people", PureDP(1.0))
    create_roles(ledger.url, "made")
    ledger.reserve("people", pure_event(0.25))


def test_a_right_that_is_given_while_the_roles_are_made(postgres_url: str) -> None:
    """A grant takes no lock: what its transaction has not committed yet nobody else can see."""
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with psycopg.connect(postgres_url) as former, psycopg.connect(postgres_url) as curator:
        curator.autocommit = True
        former.execute(b"CREATE ROLE late; GRANT UPDATE (totals, hash) ON privet_entries TO late")
        curator.execute(b"SET lock_timeout = 100")
        with pytest.raises(psycopg.Error, match="lock timeout"):
            curator.execute("; ".join(roles_sql(ledger.url, "hurried")).encode())
        former.commit()
    with pytest.raises(LedgerError, match=r"UPDATE on column privet_entries\.hash for late"):
        create_roles(ledger.url, "hurried")


def test_settings_of_a_session_do_not_change_what_is_compared(postgres_url: str) -> None:
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with psycopg.connect(postgres_url, autocommit=True) as curator:
        for name, value in (
            ("quote_all_identifiers", "on"),
            ("default_transaction_isolation", "'serializable'"),
            ("standard_conforming_strings", "on"),
        ):
            curator.execute(f"SET {name} = {value}".encode())
        curator.execute("; ".join(roles_sql(ledger.url, "otherwise")).encode())
    odd = Ledger(ledger.url + quote(" -cquote_all_identifiers=on", safe=""))
    odd.open("more", PureDP(1.0))
