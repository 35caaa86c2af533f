"""An analyst's login against a ledger on a server: it charges, and it can do nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from privet import ApproxDP, Ledger, PureDP
from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.ledger.entry import COLUMNS, Entry, follow
from tests import postgres
from tests.ledger.test_stateful import Charges
from tests.strategies import gaussian_event, pure_event

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger.postgres_roles import create_roles, roles_sql  # noqa: E402

_NUMBERS = count()


@dataclass(frozen=True)
class Logins:
    """One ledger as its owner, two analysts and an auditor see it."""

    owner: Ledger
    schema: str
    number: int

    def of(self, name: str) -> Ledger:
        return Ledger(self.owner.url.replace("//privet@", f"//{name}_{self.number}@"))

    def sql(self, name: str, *statements: str) -> None:
        """What somebody with a database client does."""
        with psycopg.connect(self.of(name).url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.replace("@.", f'"{self.schema}".').encode())

    def append(self, name: str, entry: Entry, *before: str) -> None:
        """Write an entry of somebody's own making."""
        with psycopg.connect(self.of(name).url, autocommit=True) as connection:
            for statement in before:
                connection.execute(statement.encode())
            connection.execute(self.inserting().encode(), tuple(entry))

    def inserting(self, *more: str) -> str:
        """A statement that writes an entry."""
        names = (*COLUMNS, *more)
        marks = ", ".join(["%s"] * len(names))
        return f'INSERT INTO "{self.schema}".privet_entries ({", ".join(names)}) VALUES ({marks})'


def logins(server: str) -> Logins:
    number = next(_NUMBERS)
    schema = f"roles_{number}"
    owner = Ledger(postgres.fresh(server, schema))
    owner.open("people", PureDP(1.0))
    create_roles(owner.url, f"r{number}")
    with psycopg.connect(server, autocommit=True) as connection:
        for name, role in (("alice", "analyst"), ("bob", "analyst"), ("carol", "auditor")):
            connection.execute(f"CREATE ROLE {name}_{number} LOGIN IN ROLE r{number}_{role}")
    return Logins(owner, schema, number)


@pytest.fixture
def ledgers(postgres_server: str) -> Logins:
    return logins(postgres_server)


def test_who_may_do_what(ledgers: Logins) -> None:
    alice, carol = ledgers.of("alice"), ledgers.of("carol")
    receipt = alice.settle(alice.reserve("people", pure_event(0.25)), ["0" * 64], 2)
    assert carol.remaining("people") == 0.75
    carol.verify(receipt)
    ledgers.owner.open("others", PureDP(1.0))
    alice.reserve("others", pure_event(0.5))
    for attempt in (
        lambda: alice.open("mine", PureDP(9.0)),
        lambda: carol.open("mine", PureDP(9.0)),
        lambda: carol.reserve("people", pure_event(0.25)),
        lambda: carol.settle(4),
    ):
        with pytest.raises(LedgerError, match="privet ledger roles"):
            attempt()
    with pytest.raises(BudgetExceeded):
        alice.reserve("people", pure_event(0.8))
    ledgers.owner.verify()


def test_an_auditor_whose_every_transaction_is_read_only(ledgers: Logins) -> None:
    ledgers.owner.reserve("people", pure_event(0.25))
    ledgers.sql("carol", "ALTER ROLE CURRENT_USER SET default_transaction_read_only = on")
    carol = ledgers.of("carol")
    assert carol.remaining("people") == 0.75
    carol.verify(carol.head())
    assert len(list(carol.export())) == 2
    with pytest.raises(LedgerError, match=r"only be read|may do what"):
        carol.reserve("people", pure_event(0.1))


def test_another_logins_reservation_is_not_settled(ledgers: Logins) -> None:
    alice, bob = ledgers.of("alice"), ledgers.of("bob")
    number = bob.reserve("people", pure_event(0.25))
    with pytest.raises(LedgerError, match="another login's"):
        alice.settle(number, ["0" * 64])
    bob.settle(number)
    stays = bob.reserve("people", pure_event(0.25))
    ledgers.owner.settle(stays)  # whoever may edit the tables may do that
    ledgers.of("carol").verify()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO @.privet_entries SELECT * FROM @.privet_entries",
        "UPDATE @.privet_entries SET totals = '[0]'",
        "DELETE FROM @.privet_entries",
        "TRUNCATE @.privet_entries",
        "DROP TABLE @.privet_entries CASCADE",
        "ALTER TABLE @.privet_entries DISABLE TRIGGER ALL",
        "CREATE TRIGGER t BEFORE INSERT ON @.privet_entries FOR EACH ROW EXECUTE FUNCTION "
        "suppress_redundant_updates_trigger()",
        "CREATE RULE r AS ON INSERT TO @.privet_entries DO INSTEAD NOTHING",
        "LOCK TABLE @.privet_entries IN ACCESS EXCLUSIVE MODE",
        "UPDATE @.privet_ledger SET format = 'privet-ledger-9'",
        "UPDATE @.privet_ledger SET timeline = 7",
        "CREATE TABLE @.privet_more (anything TEXT)",
        "CREATE TEMP TABLE mine (entry @.privet_entries)",
        "CREATE OR REPLACE FUNCTION @.privet_lock() RETURNS void LANGUAGE sql AS ''",
        "CREATE FUNCTION @.privet_lock(more JSON) RETURNS void LANGUAGE sql AS ''",
        "ALTER FUNCTION @.privet_lock() SECURITY INVOKER",
        "DROP TRIGGER privet_guard ON @.privet_entries",
        "ALTER TABLE @.privet_entries DISABLE TRIGGER USER",
        "SET session_replication_role = replica",
        "COPY @.privet_entries FROM PROGRAM 'true'",
        "SELECT nextval(oid) FROM pg_class WHERE relkind = 'S' AND relname LIKE 'privet%'",
    ],
)
def test_nothing_is_written_past_the_functions(ledgers: Logins, statement: str) -> None:
    for name in ("alice", "carol"):
        if "nextval" in statement:
            ledgers.sql(name, statement)  # there is no sequence to exhaust
            continue
        with pytest.raises(psycopg.Error, match=r"permission denied|must be|does not follow"):
            ledgers.sql(name, f"BEGIN; {statement}")
    ledgers.owner.reserve("people", pure_event(0.25))
    ledgers.owner.verify()
    assert len(ledgers.owner.entries()) == 2


def test_no_login_becomes_the_owner(ledgers: Logins) -> None:
    for statement in (
        f"SET ROLE r{ledgers.number}_owner",
        f"GRANT r{ledgers.number}_owner TO CURRENT_USER",
        "SET SESSION AUTHORIZATION privet",
    ):
        with pytest.raises(psycopg.Error, match=r"permission denied|must have admin option"):
            ledgers.sql("alice", statement)


# -- entries of an analyst's own making ------------------------------------------------------------

Forge = Callable[[list[Entry]], Entry]


def forged(entries: list[Entry], kind: str, **changed: Any) -> Entry:
    """The next entry, well hashed, with whatever its author likes in it."""
    last = entries[-1]
    values: dict[str, Any] = {
        "key": None,
        "part": None,
        "body": pure_event(0.25).canonical(),
        "totals": last.totals_text.replace('"0.25"', '"0.5"', 1),
        **changed,
    }
    dataset = values.pop("dataset", "people")
    return follow(last, dataset, kind, **values)


def charge(entries: list[Entry], **changed: Any) -> Entry:
    return forged(entries, "reserve", **changed)


def settle(entries: list[Entry], number: int, **changed: Any) -> Entry:
    last = entries[-1]
    body = json.dumps({"reservation": number}, separators=(",", ":"))
    return forged(
        entries,
        "settle",
        **{"key": str(number), "body": body, "totals": last.totals_text, "time": last.time}
        | changed,
    )


def grown(entries: list[Entry]) -> str:
    """The totals after another quarter, as Privet would write them."""
    from privet.ledger.account import Terms
    from privet.ledger.entry import totals_text

    return totals_text(Terms(PureDP(1.0)).charged(entries[-1].totals, pure_event(0.25), None))


EVENT = json.loads(pure_event(0.25).canonical())
ATTACKS: dict[str, Forge] = {
    "a larger cap": lambda e: forged(
        e, "open", dataset="mine", key="mine", body='{"epsilon":9.0,"kind":"pure"}'
    ),
    "the cap again": lambda e: forged(e, "open", key="x", body='{"epsilon":9.0,"kind":"pure"}'),
    "a migration": lambda e: forged(e, "migrate", key="x", totals="[]"),
    "an adoption": lambda e: forged(e, "adopt", key="x", totals="[]"),
    "a kind of his own": lambda e: forged(e, "refund", totals="[0]"),
    "nothing charged": lambda e: charge(e, totals=e[-1].totals_text),
    "a refund": lambda e: charge(e, totals=e[0].totals_text),
    "less than claimed": lambda e: charge(e, totals=grown(e).replace('"0.5"', '"0.4"')),
    "columns given back": lambda e: charge(e, totals='["0.5"]'),
    "totals that are no amounts": lambda e: charge(e, totals=grown(e).replace('"0.5"', '"-1"')),
    "totals that are no list": lambda e: charge(e, totals='{"a":1}'),
    "another filter": lambda e: charge(e, totals='["0.5","0"]'),
    "more than the cap": lambda e: charge(
        e,
        body=pure_event(0.9).canonical(),
        totals=grown(e).replace('"0.5"', '"1.15"'),
    ),
    "an account of nobody": lambda e: charge(e, dataset="nobody", totals=grown(e)),
    "a part of nobody": lambda e: charge(e, part="a", totals=grown(e)),
    "another identity": lambda e: charge(e, ledger="0" * 32, totals=grown(e)),
    "no event": lambda e: charge(
        e, body='{"claim":{"epsilon":0.25,"kind":"pure"}}', totals=grown(e)
    ),
    "an event that is not private": lambda e: charge(
        e, body=json.dumps({**EVENT, "private": False, "why_not_private": "x"}), totals=grown(e)
    ),
    "an event without curves": lambda e: charge(
        e, body=json.dumps({**EVENT, "curves": []}), totals=grown(e)
    ),
    "an event with more": lambda e: charge(
        e, body=json.dumps({**EVENT, "more": 1}), totals=grown(e)
    ),
    "a body that is no JSON": lambda e: charge(e, body="{", totals=grown(e)),
    "a body with an end of its own": lambda e: charge(
        e, body='{},"dataset":"others"', totals=grown(e)
    ),
    "a time of his own": lambda e: charge(e, time="1999", totals=grown(e)),
    "a day that does not exist": lambda e: charge(
        e, time="2026-02-31T00:00:00+00:00", totals=grown(e)
    ),
    "24 o'clock": lambda e: charge(e, time="2026-02-01T24:00:00+00:00", totals=grown(e)),
    "a leap second": lambda e: charge(e, time="2026-06-30T23:59:60+00:00", totals=grown(e)),
    "a key with an escape": lambda e: charge(e, key="\x1b[2J", totals=grown(e)),
    "somebody else's settlement": lambda e: settle(e, 2),
    "a settlement of nothing": lambda e: settle(e, 1),
    "a settlement of the future": lambda e: settle(e, 9),
    "a settlement that refunds": lambda e: settle(e, 3, totals=e[0].totals_text),
    "a settlement at another time": lambda e: settle(e, 3, time="1999-01-01T00:00:00+00:00"),
    "a settlement by another name": lambda e: settle(e, 3, key="03"),
    "a settlement of no digest": lambda e: settle(e, 3, body='{"released":["x"],"reservation":3}'),
    "a settlement for no person": lambda e: settle(
        e, 3, body='{"persons":0,"reservation":3}', time=e[2].time
    ),
    "a settlement with more": lambda e: settle(e, 3, body='{"more":1,"reservation":3}'),
    "a number far ahead": lambda e: charge(e, totals=grown(e))._replace(sequence=2**62),
    "a hash of another": lambda e: charge(e, totals=grown(e))._replace(hash=e[-1].hash),
    "a predecessor of his own": lambda e: charge([*e[:-1], e[-1]._replace(hash="0" * 64)]),
}


@pytest.fixture(scope="module")
def attacked(postgres_server: str) -> Logins:
    """Bob's reservation is entry 2, alice's, of nothing yet released, entry 3."""
    found = logins(postgres_server)
    found.of("bob").reserve("people", pure_event(0.125))
    found.of("alice").reserve("people", pure_event(0.125))
    return found


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_entry_is_forged(attacked: Logins, attack: str) -> None:
    before = attacked.owner.entries()
    with pytest.raises(psycopg.Error):
        attacked.append("alice", ATTACKS[attack](before))
    assert attacked.owner.entries() == before
    attacked.owner.verify()


def test_the_honest_entry_in_the_same_words_is_taken(attacked: Logins) -> None:
    """Else the attacks above would be refused for a fault of the test's."""
    entries = attacked.owner.entries()
    attacked.append("alice", charge(entries, totals=grown(entries)))
    attacked.owner.verify()
    entries = attacked.owner.entries()
    attacked.append("alice", settle(entries, 3, time=entries[2].time))
    attacked.owner.verify()
    with pytest.raises(psycopg.Error, match="duplicate key"):
        attacked.append("alice", settle(attacked.owner.entries(), 3, time=entries[2].time))


def test_nobody_writes_in_another_logins_name(ledgers: Logins) -> None:
    entries = ledgers.owner.entries()
    entry = charge(entries, totals=grown(entries))
    row = (*entry, f"bob_{ledgers.number}")
    with psycopg.connect(ledgers.of("alice").url, autocommit=True) as connection:
        connection.execute(ledgers.inserting("author").encode(), row)
        query = f'SELECT author FROM "{ledgers.schema}".privet_entries WHERE sequence = 2'
        assert connection.execute(query.encode()).fetchone() == (f"alice_{ledgers.number}",)
    with pytest.raises(LedgerError, match="another login's"):
        ledgers.of("bob").settle(2)


def test_tables_and_settings_of_the_session_do_not_stand_in(ledgers: Logins) -> None:
    entries = ledgers.owner.entries()
    entry = charge(entries, totals=grown(entries))
    ledgers.append(
        "alice",
        entry,
        "CREATE TEMP TABLE privet_entries (sequence BIGINT, hash TEXT)",
        "CREATE TEMP TABLE pg_class (relowner OID, oid OID)",
        "SET search_path = pg_temp, pg_catalog",
        "SET standard_conforming_strings = off",
    )
    assert ledgers.owner.entries() == [*entries, entry]
    assert ledgers.owner.remaining("people") == 0.75
    ledgers.owner.verify()


def test_every_name_hashes_as_in_python(ledgers: Logins) -> None:
    name = 'J\u00fcrgen "\U0001f600" \\ \u20ac/\u65e5'
    ledgers.owner.open(name, ApproxDP(2.0, 1e-6), parts={"\u00e4": (0, 500), "b": (500, 900)})
    alice = ledgers.of("alice")
    alice.settle(alice.reserve(name, pure_event(0.25), key="\u00fc", part="\u00e4"))
    alice.settle(alice.reserve(name, gaussian_event(0.001)))
    ledgers.of("carol").verify()


class AsAnalyst(Charges):
    """The owner opens, an analyst charges."""

    def __init__(self, server: str) -> None:
        ledgers = logins(server)
        super().__init__(ledgers.of("alice").url)
        self.owner = ledgers.owner
        self.writes = 1

    def _open(self, cap: Any, parts: Any, group: int) -> str:
        name = f"data set {len(self.model)}"
        self.owner.open(name, cap, parts=parts, group=group)
        self.model[name], self.terms[name] = [], self.ledger.terms(name)
        self.writes += 1
        return name


def test_random_charges_of_an_analyst(postgres_server: str) -> None:
    """Whatever Privet grants, the functions take."""
    run_state_machine_as_test(
        lambda: AsAnalyst(postgres_server),
        settings=settings(
            max_examples=6,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_roles_are_shown_before_they_are_made(postgres_url: str, sqlite_url: str) -> None:
    ledger = Ledger(postgres_url)
    with pytest.raises(LedgerError, match="no ledger"):
        roles_sql(ledger.url)
    ledger.open("people", PureDP(1.0))
    shown = roles_sql(ledger.url, "shown")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        found = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'shown_%'"
        assert connection.execute(found).fetchone() == (0,)
        assert create_roles(ledger.url, "shown") == shown
        assert create_roles(ledger.url, "shown") == shown  # again, after an upgrade of Privet
        assert connection.execute(found).fetchone() == (3,)
    ledger.reserve("people", pure_event(0.5))
    with pytest.raises(DeclarationError, match="prefix"):
        roles_sql(ledger.url, 'x"; DROP')
    with pytest.raises(DeclarationError, match="rights of the file"):
        roles_sql(sqlite_url)


@pytest.mark.parametrize("mode", ["ROW EXCLUSIVE", "EXCLUSIVE"])
def test_whoever_is_in_the_way_is_named(ledgers: Logins, mode: str) -> None:
    """Every lock that whoever may insert can take, not only the one of a charge."""
    take = {
        "ROW EXCLUSIVE": "LOCK TABLE @.privet_entries IN ROW EXCLUSIVE MODE",
        "EXCLUSIVE": "SELECT @.privet_lock()",
    }[mode]
    bob = Ledger(ledgers.of("bob").url + "%20-clock_timeout%3D100")
    with psycopg.connect(ledgers.of("alice").url) as alice:
        alice.execute(take.replace("@.", f'"{ledgers.schema}".').encode())
        with pytest.raises(LedgerError, match=rf"login 'alice_{ledgers.number}' \(process \d+"):
            bob.reserve("people", pure_event(0.1))
