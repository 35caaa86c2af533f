"""An analyst who knows Privet's format writes charges and settlements of his own making.

Each is well hashed and follows the newest entry. What a charge costs at least by its claim and its
curves is asked by the functions on the server, before it is written, and not only by ``verify``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger.account import Terms, declared_terms
from privet.ledger.entry import COLUMNS, follow, totals_text
from privet.privacy import GDP, Budget, Event
from privet.privacy.compose import together
from privet.privacy.curves import ConcentratedCurve, GaussianCurve, PureCurve
from privet.privacy.jacobian import CurvatureCurve, JacobianCurve
from privet.privacy.stopping import StoppingCurve
from tests import postgres
from tests.ledger.test_roles import Logins, logins
from tests.strategies import event, events, gaussian_event, pure_event

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger.postgres_roles import create_roles  # noqa: E402

PARTS = {"a": (0, 100), "b": (100, 200)}
SMALL = '"0.000000000000000000000000000001"'
ZEROS = "[" + ",".join(['"0"'] * 12) + "]"
APPROX = event(ApproxDP(0.5, 1e-6), (GaussianCurve(0.005),))


def columns(epsilon: str, rho: str, renyi: str = SMALL) -> str:
    """Totals of 12 columns."""
    return f"[{','.join([epsilon, rho, *[renyi] * 10])}]"


def honest(cap: Budget, made: Event) -> str:
    """The totals of a first charge, as Privet writes them."""
    terms = Terms(cap)
    return totals_text(terms.charged(terms.nothing(), made, None))


@dataclass(frozen=True)
class Forged:
    """A first charge that costs too little, or that no Privet could read."""

    cap: Budget
    totals: str
    made: Event = pure_event(0.25)  # noqa: RUF009
    body: str = ""
    part: str | None = None
    terms: tuple[Any, int] = (None, 1)


QUARTER = honest(PureDP(1.0), pure_event(0.25))
BODY = pure_event(0.25).canonical()
FORGED = {
    # -- too little in the cap's own column, under a claim in another
    "a rho under a cap in epsilon": Forged(
        PureDP(1.0), columns(SMALL, '"100"'), gaussian_event(100.0)
    ),
    "an epsilon under a cap in rho": Forged(ZCDP(1.0), columns('"50"', SMALL), pure_event(50.0)),
    "a mu under a cap in rho": Forged(
        ZCDP(1.0), columns("null", SMALL), event(GDP(1.0), (GaussianCurve(0.5),))
    ),
    "a mu of which the square is not added": Forged(
        GDP(1.0), '["0.2"]', event(GDP(0.5), (GaussianCurve(0.125),))
    ),
    "an epsilon under a cap in mu": Forged(GDP(1.0), f"[{SMALL}]", pure_event(0.5)),
    "a large epsilon under a cap in mu": Forged(GDP(5.0), '["16"]', pure_event(15.0)),
    "a rho without a mu under a cap in mu": Forged(
        GDP(1.0), '["0.2"]', event(ZCDP(0.1), (ConcentratedCurve(0.1, 0.0),))
    ),
    "a discrete noise under a cap in mu": Forged(
        GDP(1.0), '["0.25"]', event(GDP(0.5), (GaussianCurve(0.125, 0.1),))
    ),
    "a claim that its curves exceed": Forged(
        PureDP(1.0), columns('"0.01"', '"1"', '"1"'), event(PureDP(0.01), (PureCurve(0.9),))
    ),
    "too little at Renyi orders": Forged(
        ApproxDP(3.0, 1e-6), columns('"9"', '"2"'), gaussian_event(2.0)
    ),
    "a column given up, too little in the others": Forged(
        ApproxDP(3.0, 1e-6), columns("null", "null"), pure_event(9.0)
    ),
    "an epsilon without its delta": Forged(ApproxDP(1.0, 1e-6), '["0.5","0"]', APPROX),
    "an epsilon with less than its delta": Forged(
        ApproxDP(1.0, 1e-6), '["0.5","0.0000001"]', APPROX
    ),
    "a delta for three rows of a person that does not grow": Forged(
        ApproxDP(9.0, 1e-4), '["1.5","0.000003"]', APPROX, terms=(None, 3)
    ),
    "a delta that grows for a thousand of ten thousand rows alone": Forged(
        ApproxDP(9.0, 1e-4),
        '["1","0.000000017"]',
        event(ApproxDP(1e-4, 1e-12), (GaussianCurve(1e-12),)),
        terms=(None, 10_000),
    ),
    "a claim of which persons pay the curve alone": Forged(
        ApproxDP(9.0, 1e-4),
        columns("null", '"4.5"', '"0.01"'),
        event(ZCDP(0.5), (GaussianCurve(1e-6),)),
        terms=(None, 3),
    ),
    "a choice with the Renyi curve of a pure release": Forged(
        ApproxDP(3.0, 1e-6),
        columns("null", '"1"', '"0.00005"'),
        event(ZCDP(1.0), (ConcentratedCurve(1.0, 1e-4),)),
    ),
    "so much in a column that does not count that nobody can add to it": Forged(
        PureDP(1.0), columns('"0.25"', f'"{"9" * 40}"', '"1"')
    ),
    # -- the cap
    "sums of epsilon and delta under a cap in rho": Forged(
        ZCDP(1.0), '["50","0"]', pure_event(50.0)
    ),
    "sums of epsilon and delta under a cap in epsilon": Forged(PureDP(1.0), '["0.25","0"]'),
    "persons whose parts fit in different columns": Forged(
        ApproxDP(1.0, 1e-6),
        f"[{columns(chr(34) + '0.5' + chr(34), 'null', 'null')},"
        f"{columns('null', 'null', chr(34) + '0.1' + chr(34))}]",
        pure_event(0.01),
        terms=(PARTS, 2),
    ),
    "persons whose parts have different filters": Forged(
        ApproxDP(1.0, 1e-6), f'[["0.5","0"],{ZEROS}]', part="a", terms=(PARTS, 2)
    ),
    "more rows than the part has": Forged(
        PureDP(1.0),
        f"[{QUARTER},{ZEROS}]",
        part="a",
        terms=({"a": (0, 99), "b": (99, 200)}, 1),
    ),
    # -- what the server reads and Privet does not
    "an amount with an exponent": Forged(PureDP(1.0), QUARTER.replace('"0.25"', "25e7")),
    "amounts in billionths": Forged(PureDP(1.0), QUARTER.replace('"0.25"', "250000000")),
    "totals with megabytes of spaces": Forged(
        PureDP(1.0), QUARTER.replace("[", "[" + " " * 2_000_000)
    ),
    "a body that is long to read": Forged(
        PureDP(1.0), QUARTER, body=BODY.replace('"theorem":"', '"theorem":"' + "x" * 100_000)
    ),
    "a mechanism that fills the screen": Forged(
        PureDP(1.0), QUARTER, body=BODY.replace('"mechanism":"', '"mechanism":"' + "x" * 4000)
    ),
    "a body of several lines": Forged(PureDP(1.0), QUARTER, body=BODY.replace(",", ",\n")),
    "a curve of no kind": Forged(
        PureDP(1.0), QUARTER, body=BODY.replace('"kind":"pure","loss"', '"kind":"mine","loss"')
    ),
    "a curve deeper than a stack": Forged(
        PureDP(1.0), QUARTER, body=BODY.replace('"loss":0.25', '"loss":' + "[" * 3000 + "]" * 3000)
    ),
    "a curve beyond all numbers": Forged(
        PureDP(1.0), QUARTER, body=BODY.replace('"loss":0.25', '"loss":1' + "0" * 390)
    ),
}


@pytest.fixture(scope="module")
def attacked(postgres_server: str) -> Logins:
    return logins(postgres_server)


@pytest.mark.parametrize("attack", FORGED)
def test_no_charge_costs_too_little(attacked: Logins, attack: str) -> None:
    forged = FORGED[attack]
    parts, group = forged.terms
    attacked.owner.open(attack, forged.cap, parts=parts, group=group)
    before = attacked.owner.entries()
    entry = follow(
        before[-1],
        attack,
        "reserve",
        key=None,
        part=forged.part,
        body=forged.body or forged.made.canonical(),
        totals=forged.totals,
    )
    with pytest.raises(psycopg.Error):
        attacked.append("alice", entry)
    assert attacked.owner.entries() == before
    attacked.owner.verify()


@pytest.mark.parametrize(
    "body",
    [
        '{"reservation":Ne0}',
        '{"reservation":1,"reservation":N}',
        '{"persons":"5","reservation":N}',
        '{"persons":1e3,"reservation":N}',
        '{"persons":null,"reservation":N}',
        '{"released":[],"reservation":N}',
    ],
)
def test_a_settlement_has_one_spelling(attacked: Logins, body: str) -> None:
    attacked.owner.open(body, PureDP(1.0))
    number = attacked.of("alice").reserve(body, pure_event(0.25))
    before = attacked.owner.entries()
    last = before[-1]
    entry = follow(
        last,
        body,
        "settle",
        key=str(number),
        part=None,
        body=body.replace("N", str(number)),
        totals=last.totals_text,
        time=last.time,
    )
    with pytest.raises(psycopg.Error, match="changes more than it may"):
        attacked.append("alice", entry)
    attacked.of("alice").settle(number, ["0" * 64, "1" * 64], 3)
    attacked.owner.verify()


CURVES = st.one_of(
    st.floats(1e-6, 3.0).map(PureCurve),
    st.floats(1e-9, 3.0).map(GaussianCurve),
    st.builds(ConcentratedCurve, st.floats(1e-9, 3.0), st.sampled_from([0.0, 1e-3, 2.0])),
    st.builds(
        StoppingCurve, st.sampled_from([0.0, 1.0]), st.floats(0.1, 0.9), st.floats(1e-4, 1.0)
    ),
    st.builds(JacobianCurve, st.just("logistic"), st.just(2), st.floats(1e-3, 2.0), st.just(0.1)),
    st.builds(CurvatureCurve, st.just("softmax"), st.just(4), st.floats(1e-3, 2.0), st.just(0.1)),
)
CLAIMS = (PureDP(2.0), PureDP(1e-6), ZCDP(0.5), ApproxDP(1.0, 1e-6), GDP(1.0))
MADE = st.one_of(
    events(3.0),
    st.builds(event, st.sampled_from(CLAIMS), st.lists(CURVES, min_size=1, max_size=3).map(tuple)),
    st.just(together([pure_event(0.25), pure_event(0.5)], PureDP(0.75), "output")),
)
CAPS = st.sampled_from((PureDP(2.0), ZCDP(3.0), ApproxDP(5.0, 1e-5), GDP(2.0)))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(cap=CAPS, made=MADE, group=st.sampled_from([1, 1, 3]), split=st.booleans(), data=st.data())
def test_what_privet_admits_the_server_takes(
    attacked: Logins, cap: Budget, made: Event, group: int, split: bool, data: st.DataObject
) -> None:
    """The floors of the server are never above what Privet charges."""
    parts = {"a": (0, 9999), "b": (9999, 20000)} if split else None
    name = f"{len(attacked.owner.datasets())} random"
    attacked.owner.open(name, cap, parts=parts, group=group)
    part = data.draw(st.sampled_from([None, "a"])) if split else None
    terms = declared_terms(cap, parts, group)
    totals = terms.nothing()
    for _ in range(2):
        try:
            totals = terms.admit(name, totals, made, part)
        except (BudgetExceeded, LedgerError):
            return
        attacked.of("alice").reserve(name, made, part=part)
        assert attacked.owner.entries(name)[-1].totals == totals


@pytest.mark.parametrize("group", [1, 3, 10_000])
def test_epsilons_and_deltas_that_add_up_for_persons(attacked: Logins, group: int) -> None:
    """The server asks for no more than Privet writes, also for many rows of a person."""
    name, made = f"{group} rows", event(ApproxDP(1e-6, 1e-12), (GaussianCurve(1e-16),))
    cap = ApproxDP(group * 1.5e-6, 1e-7)
    attacked.owner.open(name, cap, group=group)
    attacked.of("alice").reserve(name, made)
    terms = declared_terms(cap, None, group)
    [vector] = attacked.owner.entries(name)[-1].totals
    assert (vector,) == terms.charged(terms.nothing(), made, None)
    assert len(vector) == 2
    attacked.owner.verify()


# -- verify, of entries that were written past the functions ---------------------------------------


def written(ledger: Ledger, body: str, totals: str, part: str | None = None) -> None:
    """What somebody writes who may write the tables."""
    with ledger._store.writing() as entries:
        entries.append(entries.newest(), "d", "reserve", part=part, body=body, totals=totals)


@pytest.mark.parametrize(
    "loss", ["[" * 30_000 + "]" * 30_000, "1" + "0" * 390], ids=["deep", "large"]
)
def test_verify_names_an_event_that_cannot_be_read(ledger: Ledger, loss: str) -> None:
    ledger.open("d", PureDP(1.0))
    written(ledger, BODY.replace('"loss":0.25', f'"loss":{loss}'), QUARTER)
    with pytest.raises(LedgerError, match="Entry 2 of the ledger cannot be understood"):
        ledger.verify()


def test_verify_names_an_event_that_two_readers_take_differently(ledger: Ledger) -> None:
    """Many readers of JSON take the first of two fields of the same name, Python the last."""
    ledger.open("d", PureDP(1.0))
    lower = '"claim":{"epsilon":0.001,"kind":"pure"},"claim":'
    written(ledger, BODY.replace('"claim":', lower), QUARTER)
    with pytest.raises(LedgerError, match="Entry 2 of the ledger is not written as Privet"):
        ledger.verify()


def test_verify_names_a_release_from_more_rows_than_its_part_has(ledger: Ledger) -> None:
    ledger.open("d", PureDP(1.0), parts={"a": (0, 99), "b": (99, 200)})
    written(ledger, BODY, f"[{QUARTER},{ZEROS}]", part="a")
    with pytest.raises(LedgerError, match="Entry 2 of the ledger is of a release from more rows"):
        ledger.verify()


def test_verify_forgives_no_billionth_to_entries_of_today(ledger: Ledger) -> None:
    ledger.open("d", PureDP(1.0))
    made = pure_event(2e-9)
    assert json.loads(made.canonical())["claim"] == {"kind": "pure", "epsilon": 2e-9}
    written(ledger, made.canonical(), "[" + ",".join(["1"] * 12) + "]")
    with pytest.raises(LedgerError, match="Entry 2 of the ledger does not add up"):
        ledger.verify()


# -- beside the functions --------------------------------------------------------------------------


PLANTED = """
CREATE SCHEMA "@schema@" AUTHORIZATION "@alice@";
SET SESSION AUTHORIZATION "@alice@";
CREATE TABLE "@schema@".seen (told TEXT);
CREATE TABLE "@schema@".bait (i INT);
INSERT INTO "@schema@".bait SELECT generate_series(1, 9);
CREATE FUNCTION "@schema@".write() RETURNS INT LANGUAGE plpgsql AS $$ BEGIN
  BEGIN
    INSERT INTO "@ledger@".privet_entries
      SELECT (jsonb_populate_record(NULL::"@ledger@".privet_entries, '@line@')).*;
    INSERT INTO "@schema@".seen VALUES ('written by ' || session_user);
  EXCEPTION WHEN OTHERS THEN INSERT INTO "@schema@".seen VALUES (SQLERRM);
  END;
  RETURN 1;
END $$;
CREATE FUNCTION "@schema@".look(i INT) RETURNS INT LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
  IF session_user <> '@alice@' THEN PERFORM "@schema@".write(); END IF;
  RETURN i;
END $$;
CREATE INDEX ON "@schema@".bait ("@schema@".look(i));
RESET SESSION AUTHORIZATION;
"""


def test_a_superusers_session_does_not_lend_its_rights(postgres_server: str) -> None:
    """The server's own analysis of a table runs its owner's functions, in a superuser's session."""
    ledgers = logins(postgres_server)
    alice = ledgers.of("alice")
    alice.settle(alice.reserve("people", pure_event(0.75)))
    before = ledgers.owner.entries()
    forged = follow(
        before[-1],
        "people",
        "settle",
        key="99",
        part=None,
        body='{"reservation":99}',
        totals=before[0].totals_text,
    )
    line = json.dumps(dict(zip(COLUMNS, forged, strict=True)))
    mine, planted = f"mine_{ledgers.number}", PLANTED
    for name, value in (
        ("@schema@", mine),
        ("@alice@", f"alice_{ledgers.number}"),
        ("@ledger@", ledgers.schema),
        ("@line@", line),
    ):
        planted = planted.replace(name, value)
    with psycopg.connect(ledgers.owner.url, autocommit=True) as superuser:
        superuser.execute(planted.encode())
        superuser.execute(f"ANALYZE {mine}.bait".encode())
        told = superuser.execute(f"SELECT DISTINCT told FROM {mine}.seen".encode())
        assert told.fetchall() == [("there is no such reservation",)]
    assert ledgers.owner.entries() == before
    ledgers.owner.verify()


def test_a_key_is_one_logins(attacked: Logins) -> None:
    """Else two logins would draw noise on one charge, and only one of them could settle it."""
    attacked.owner.open("keys", PureDP(1.0))
    alice, bob = attacked.of("alice"), attacked.of("bob")
    number = alice.reserve("keys", pure_event(0.25), key="nightly")
    with pytest.raises(LedgerError, match="used by another login"):
        bob.reserve("keys", pure_event(0.25), key="nightly")
    assert alice.reserve("keys", pure_event(0.25), key="nightly") == number
    alice.settle(number)


def test_no_account_is_opened_in_another_logins_tables(postgres_server: str) -> None:
    """Whoever made the tables beforehand may have changed what the functions do."""
    schema = postgres.fresh(postgres_server, "prepared")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE ROLE mallory LOGIN")
        connection.execute("CREATE ROLE curator LOGIN")
        connection.execute("GRANT ALL ON SCHEMA prepared TO PUBLIC")
    mallory = Ledger(schema.replace("//privet@", "//mallory@"))
    mallory.open("decoy", PureDP(1.0))
    with psycopg.connect(mallory.url, autocommit=True) as connection:
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA prepared TO PUBLIC")
        connection.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA prepared TO PUBLIC")
        connection.execute(
            "CREATE OR REPLACE FUNCTION prepared.privet_admit(made prepared.privet_entries, "
            "newest prepared.privet_entries) RETURNS void LANGUAGE sql AS ''"
        )
    for name in ("curator", "privet"):
        ledger = Ledger(schema.replace("//privet@", f"//{name}@"))
        with pytest.raises(LedgerError, match="belong to the login 'mallory'"):
            ledger.open("patients", PureDP(1.0))
    with pytest.raises(LedgerError, match="not as Privet makes it"):
        mallory.open("another", PureDP(1.0))
    create_roles(schema, "prepared")
    Ledger(schema).open("patients", PureDP(1.0))


def test_no_ledger_is_created_over_another_logins_functions(postgres_server: str) -> None:
    """Replaced, they would still be that login's, which could replace them again."""
    schema = postgres.fresh(postgres_server, "functions")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE ROLE mallet LOGIN")
        connection.execute("GRANT ALL ON SCHEMA functions TO PUBLIC")
    with psycopg.connect(schema.replace("//privet@", "//mallet@"), autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION functions.privet_quoted(value TEXT) RETURNS TEXT "
            "LANGUAGE sql AS 'SELECT value'"
        )
    with pytest.raises(LedgerError, match="belong to the login 'mallet'"):
        Ledger(schema).open("patients", PureDP(1.0))


def test_a_ledger_with_a_charge_that_nobody_can_price_is_adopted(ledger: Ledger) -> None:
    ledger.open("d", PureDP(1.0))
    written(ledger, BODY.replace('"output"', '"a mechanism of mine"'), QUARTER)
    with pytest.raises(LedgerError, match="Entry 2"):
        ledger.adopt("the disk was replaced")
    ledger.adopt("the disk was replaced", excused=[2])
    ledger.verify(excused=[2])
    assert ledger.remaining("d") == 0.75
