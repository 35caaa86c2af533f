"""An interactive release whose transcript is in the ledger's database: several processes answer it.

What a journal is for one process (``journal.py``) the database is for many. Every new query is
answered within a turn: alone, with all that others have answered taken up first, and durable before
anybody sees the answer. The argument is in ``ledger_answers.proof.md``.

    open_answers(name, schema, table, budget=..., ledger=..., dataset=...)     charges once
    resumed_answers(name, table, ledger=...)                                   charges nothing
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from privet._process import this_process
from privet._types import Array
from privet.answers import records
from privet.answers.interactive import DECLARED, InteractivePredictor
from privet.answers.records import AnsweredBatch, batch_from_json
from privet.answers.sessions import Session, SparseSession
from privet.answers.transcript import Transcript
from privet.errors import BudgetExceeded, DataError, DeclarationError, LedgerError
from privet.features.named import kernel_from_json
from privet.features.numeric import Gaussian
from privet.ledger import Ledger
from privet.ledger.answer_turns import AnswerNoted, Turn, glance, turn
from privet.ledger.charge import charges_seen, check_unit, for_persons
from privet.mechanisms.function import MOST_RESUMED
from privet.models.inputs import schema_classes
from privet.models.raw_tables import encoded, promised, refuse_unconfirmed
from privet.privacy.budget import Budget, budget_from_json
from privet.privacy.guarantee import Guarantee, guarantee_from_json
from privet.randomness import source
from privet.schema import Schema


class KeyUsed(DeclarationError):
    """An idempotency key came with another request than the first time."""


#: Width of the kernel on encoded rows, whose distances are at most 2.
GAMMA = 1.0
#: Rows that are answered or taken up in one turn: for so long nobody else can charge the ledger.
TURN_ROWS = 100


@dataclass(frozen=True)
class KeptRelease:
    """What the database says of a release: public, and enough to find its session again."""

    name: str
    schema: Schema
    declarations: dict[str, Any]
    guarantee: Guarantee  # for whom the schema says
    row_guarantee: Guarantee  # of the mechanism, as it was charged
    ledger: str | None  # the identity of the ledger that it was opened in
    dataset: str
    digest: str

    @property
    def limit(self) -> int:
        """How many different queries are answered, as declared."""
        return int(self.declarations["queries"])

    def predictor(self) -> InteractivePredictor:
        """The declarations as a predictor that is not fitted."""
        told = self.declarations
        return InteractivePredictor(
            budget_from_json(told["budget"]),
            kernel=kernel_from_json(told["kernel"]),
            mechanism=told["mechanism"],
            regularization=told["regularization"],
            classes=records.labels_in(told["classes"]).tolist(),
            **{name: told[name] for name in DECLARED},
        )


def open_answers(
    name: str,
    schema: Schema,
    table: Any,
    *,
    budget: Budget,
    ledger: Ledger,
    dataset: str,
    **declared: Any,
) -> LedgerAnswers:
    """Charge and open a release that keeps its transcript in the ledger's database.

    ``budget`` is for whom the schema protects; ``declared`` are parameters of
    ``InteractivePredictor``, where ``queries`` is how many different queries will be answered.
    """
    refuse_unconfirmed(schema)
    check_unit(ledger, dataset, schema.group_size)
    declared = {"kernel": Gaussian(GAMMA), "classes": schema_classes(None, schema), **declared}
    predictor = InteractivePredictor(
        budget.per_row(schema.group_size), ledger=ledger, dataset=dataset, **declared
    )
    with turn(ledger, name) as mine:
        mine.create()
        _refuse_taken(mine)
    x, y = encoded(schema, table)
    persons = 0 if schema.person is None else schema.group_size
    with charges_seen() as charges, for_persons(persons):
        predictor.fit(x, y)
        session = predictor.hand_over()
        try:
            head = {
                **predictor.transcript_.header(),
                "dataset": dataset,
                "schema": schema.to_toml(),
                "promised": promised(predictor.guarantee_, schema, budget).to_json(),
                "state": session.state,
            }
            with turn(ledger, name) as mine:
                _refuse_taken(mine)
                noted = mine.append(None, {**head, "ledger": mine.ledger})
        except BaseException as error:  # paid, and nobody can ask: say so
            for charge in charges:
                charge.note_loss(error)
            raise
    return LedgerAnswers(ledger, _kept(name, noted), session, noted, noted.record["identity"])


def _refuse_taken(mine: Turn) -> None:
    if mine.since(0):
        raise DeclarationError(
            f"A release is called {mine.release!r} already. Choose another name, or resume it."
        )


def _kept(name: str, head: AnswerNoted) -> KeptRelease:
    record = head.record
    with records.understood():
        return KeptRelease(
            name,
            Schema.from_text(str(record["schema"])),
            dict(record["declarations"]),
            guarantee_from_json(record["promised"]),
            guarantee_from_json(record["guarantee"]),
            record["ledger"],
            str(record["dataset"]),
            head.digest,
        )


def kept_release(ledger: Ledger, name: str) -> KeptRelease:
    """What the database says of a release."""
    with glance(ledger, name) as seen:
        found = seen.since(0)
    if not found:
        raise DataError(f"No release is called {name!r} in this ledger: open it first.")
    return _kept(name, found[0])


def resumed_answers(name: str, table: Any, *, ledger: Ledger) -> LedgerAnswers:
    """Take the rows again and go on with a release. Charges nothing; counts as a resumption.

    The rows must be those of the first fit, which is the curator's word.
    """
    kept = kept_release(ledger, name)
    predictor = kept.predictor()
    with glance(ledger, name) as seen:
        head, *rest = seen.since(0)
    states = [each.record["state"] for each in (head, *rest) if "state" in each.record]
    known = Transcript(kept.declarations, kept.row_guarantee, state=dict(states[-1]))
    x, y = encoded(kept.schema, table)
    session = predictor.session_again(x, y, known) or predictor.recalled_session(known)
    made = LedgerAnswers(ledger, kept, session, head, secrets.token_hex(16))
    made.take_up()
    made.catch_up()  # before anybody asks, and once for all forks
    return made


class LedgerAnswers:
    """A running release of which other processes run copies.

    After a fork both processes may answer: each takes its turns at the database. A sparse vector
    cannot be shared so, since its threshold's noise is in one process: whoever took it up last
    answers.
    """

    def __init__(
        self, ledger: Ledger, kept: KeptRelease, session: Session, head: AnswerNoted, holder: str
    ) -> None:
        self.ledger, self.kept = ledger, kept
        self.transcript = Transcript(kept.declarations, kept.row_guarantee)
        self._first, self._head, self._newest = session, head, head
        self._holder, self._held = holder, str(head.record["identity"])
        self._state: records.Record = dict(head.record["state"])
        self._session = session.anew()
        self._whole = True  # whether the session has answered just what is noted
        self._process = this_process()
        self._lock = Lock()

    @property
    def shared(self) -> bool:
        """Whether several processes may answer it at once."""
        return not isinstance(self._first, SparseSession)

    def __len__(self) -> int:
        return len(self.transcript)

    # -- answering -----------------------------------------------------------------------------

    def answer(self, queries: Array, key: str | None = None, asked: str | None = None) -> Array:
        """One private score for each encoded row; the same row gets the same score, always.

        ``key`` names the request and ``asked`` is its digest. A key is noted with the new answers
        that it brought, so there are no more keys than answers; with another request it is refused.
        Many new rows take several turns, between which others have theirs.
        """
        queries = np.ascontiguousarray(np.asarray(queries, dtype=np.float64) + 0.0)
        if not np.isfinite(queries).all():
            raise DataError("A query holds NaN or infinity.")
        looked = key is None  # whether the key is known to be for this request
        while True:
            with self._lock:
                if looked and all(query in self.transcript for query in queries):
                    return np.array([self.transcript[query] for query in queries])
                looked = self._take_turn(queries, key, asked) or looked

    def _take_turn(self, queries: Array, key: str | None, asked: str | None) -> bool:
        """Answer the first new rows; False where there was too much to take up before."""
        batch: AnsweredBatch | None = None
        with turn(self.ledger, self.kept.name) as mine:
            found = self._unseen(mine)
            far = sum(len(each.record.get("queries", ())) for each in found) > TURN_ROWS
            if not far:
                session = self._take_in(found)
                noted, batch = self._answered(mine, session, queries, key, asked)
        if far:
            self._take_in(found)  # the ledger is free meanwhile
            return False
        # durable: from here on the answers may be seen
        if batch is not None:
            self._state = dict(session.state)
            self.transcript.add(batch, self._state)
        self._newest, self._whole = noted, True
        return True

    def _answered(
        self, mine: Turn, session: Session, queries: Array, key: str | None, asked: str | None
    ) -> tuple[AnswerNoted, AnsweredBatch | None]:
        """The newest record and what was answered in it; all new rows must be within the limit."""
        used = None if key is None else mine.keyed(key)
        if used is not None and used.asked != asked:
            raise KeyUsed("This key was used for another request. Choose a new one.")
        fresh = self.transcript.unanswered(queries)
        if not fresh:
            return self._newest, None
        self._refuse_beyond(len(fresh), session)
        self._whole = False  # until what is drawn now is noted
        batch = session.answer(queries[fresh[:TURN_ROWS]], source(None))
        count = len(self.transcript) + len(batch.answers)
        record = {**batch.to_json(), "state": session.state, "count": count}
        told = (key, asked) if used is None else (None, None)
        return mine.append(self._newest, record, *told), batch

    def _refuse_beyond(self, more: int, session: Session) -> None:
        """The declared number of answers; public, like everything that is counted here."""
        left = self.kept.limit - len(self.transcript)
        if more > left:
            raise BudgetExceeded(
                f"This release answers {self.kept.limit:,} different rows, and {left:,} are left. "
                "Rows that were asked before are answered again."
            )
        if isinstance(session, SparseSession) and session.exhausted:
            raise BudgetExceeded(
                "This release has used all its corrections. Rows that were asked before are "
                "answered again."
            )

    # -- what others have answered -------------------------------------------------------------

    def catch_up(self) -> None:
        """Take up all that is noted, while others go on: after many answers it takes long."""
        with self._lock:
            with glance(self.ledger, self.kept.name) as seen:
                found = self._unseen(seen)
            self._take_in(found)

    def _unseen(self, seen: Turn) -> list[AnswerNoted]:
        """What is noted and not in the session."""
        if seen.ledger != self.kept.ledger:
            raise LedgerError(
                f"The ledger was restored or moved since {self.kept.name!r} was opened, and "
                "answers that were given may be missing from it: open a new release."
            )
        if not self._whole:  # from its first answer on: nothing of a failed turn stays
            self._session, self._newest = self._first.anew(), self._head
            self._state = dict(self._head.record["state"])
            self.transcript = Transcript(self.kept.declarations, self.kept.row_guarantee)
        return seen.since(self._newest.number, self._newest.digest)

    def _take_in(self, found: list[AnswerNoted]) -> Session:
        """The session after what was found, which others have answered."""
        session, self._whole = self._session, not found
        for each in found:
            record = each.record
            if "queries" in record:
                batch = batch_from_json(record)
                session.restore(batch)
                self.transcript.add(batch, record["state"])
            self._held = str(record.get("holder", self._held))
            self._state = dict(record.get("state", self._state))
        if found:
            session.recall(self._state)
            self._newest, self._whole = found[-1], True
        if not self.shared and (self._held, self._process) != (self._holder, this_process()):
            raise LedgerError(
                f"Another process has taken up {self.kept.name!r}, which one process answers."
            )
        return session

    def take_up(self) -> None:
        """Note that the rows were taken again, and by whom; refused after too many times."""
        with self._lock, turn(self.ledger, self.kept.name) as mine:
            noted = mine.since(self._head.number, self._head.digest)
            times = 1 + sum("holder" in each.record for each in noted)
            if times > MOST_RESUMED:
                raise DeclarationError(
                    f"The release was resumed {MOST_RESUMED} times, as often as its sensitivity "
                    "covers. Open a new one."
                )
            newest = noted[-1] if noted else self._head
            mine.append(newest, {"holder": self._holder, "resumed": times})
            self._whole = False

    def counted(self) -> int:
        """How many different rows were answered so far, by all processes."""
        with glance(self.ledger, self.kept.name) as seen:
            found = seen.since(self._newest.number, self._newest.digest)
        counts = [int(each.record["count"]) for each in found if "count" in each.record]
        return max([len(self.transcript), *counts])

    def __reduce__(self) -> str:
        raise TypeError("A running release holds training rows and is not pickled.")
