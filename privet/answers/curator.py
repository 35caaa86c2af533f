"""The curator's side of a running release: transcript, journal, and no second noise.

Whatever the mechanism, a query is answered once and from then on from the transcript. The running
session holds training rows: it lives in one private attribute and in memory only.
"""

from __future__ import annotations

import os
import secrets
from copy import deepcopy
from typing import Any

import numpy as np

from privet._types import Array
from privet.answers import journal as journals
from privet.answers.journal import Hold, Place
from privet.answers.sessions import Session, SparseSession, VectorSession
from privet.answers.transcript import Transcript, load_transcript
from privet.errors import DeclarationError
from privet.features.kernel import Kernel
from privet.mechanisms.function import MOST_RESUMED
from privet.privacy.guarantee import Guarantee
from privet.randomness import source


class Curator:
    """Answers queries of one release and remembers what it said.

    Without a session, as after reading a file, it repeats what the transcript holds and gives no
    new answers.
    """

    _session: Session | None

    def __init__(
        self,
        transcript: Transcript,
        session: Session | None = None,
        hold: Hold | None = None,
        *,
        journal: Place | None = None,
        seed: int | None = None,
    ) -> None:
        self.transcript = transcript
        self._session, self._hold, self._journal, self._seed = session, hold, journal, seed

    @property
    def session(self) -> Session | None:
        """The running session; None where there is none, or where another thread is answering."""
        return self.__dict__.get("_session")

    @property
    def publishes(self) -> bool:
        """Whether a query becomes public; not where one released vector answers everything."""
        return not isinstance(self.session, VectorSession)

    @property
    def exhausted(self) -> bool:
        """Whether a sparse vector has used all its updates."""
        return isinstance(self.session, SparseSession) and self.session.exhausted

    # -- answering -----------------------------------------------------------------------------

    def answer(self, queries: Any) -> Array:
        """One private score for each query; a query that was asked before gets the same again."""
        session = self.session
        if isinstance(session, VectorSession):
            return session(queries)
        if self.transcript.unanswered(queries):
            self._ask(queries)
        return np.array([self.transcript[query] for query in queries])

    def _ask(self, queries: Any) -> None:
        if self._hold is not None and self.session is not None:
            self._hold.check()
        # until the answers are noted nobody else may go on from here, no other thread either
        session = self.__dict__.pop("_session", None)
        if session is None or self._hold is None:
            raise DeclarationError(
                "Some queries were never answered, and a transcript alone cannot answer them. Take "
                "the rows again with resume(X, y, transcript)."
            )
        # again: another thread may have asked meanwhile
        fresh = self.transcript.unanswered(queries)
        if fresh:
            table = isinstance(queries, np.ndarray)
            asked = queries[fresh] if table else [queries[i] for i in fresh]
            self._note(session, self._hold, asked)
        self._session = session

    def _note(self, session: Session, hold: Hold, queries: Any) -> None:
        """Answer new queries, and note the answers before anybody sees them."""
        if isinstance(queries, np.ndarray):
            queries = np.ascontiguousarray(queries + 0.0)  # a zero has no sign
        transcript = self.transcript
        batch = session.answer(queries, source(self._next_seed()))
        if self._journal is not None:
            journals.append(self._journal, transcript, {**batch.to_json(), "state": session.state})
        hold.note(len(transcript.batches) + 1)
        transcript.add(batch, session.state)  # from here on they can be seen

    def _next_seed(self) -> int | None:
        """Another seed for each batch: the same one again would repeat the noise."""
        if self._seed is None:
            return None
        return self._seed + (len(self.transcript.batches) + 1) * (1 << 32)

    def give_up(self) -> Session:
        """The running session, for whoever answers in its place from now on."""
        session: Session | None = self.__dict__.pop("_session", None)
        if session is None:
            raise DeclarationError("There is no running session to give up.")
        self._session = None
        return session

    def refuse_other_process(self, charged: str) -> None:
        """Refused in a fork of the process that was charged: both would answer."""
        if self._hold is not None and self._hold.process != charged:
            raise DeclarationError(
                "This process was forked while the release was opened, and is not the one that "
                "answers. Fit and answer in one process."
            )

    def refuse_copy(self) -> None:
        """Refused while training rows are held: a copy would answer with a second noise."""
        if self.publishes and self.session is not None:
            raise TypeError(
                "An interactive predictor holds training rows and is neither pickled nor copied. "
                "Save its transcript, and resume with the rows where they are."
            )

    def __getstate__(self) -> Any:
        self.refuse_copy()
        return self.__dict__


# -- opening and resuming ----------------------------------------------------------------------


def opened(
    declarations: dict[str, Any],
    guarantee: Guarantee,
    session: Session,
    *,
    journal: Place | None,
    seed: int | None,
) -> Curator:
    """The curator of a release that was just charged."""
    identity = secrets.token_hex(16)
    transcript = Transcript(declarations, guarantee, state=session.state, identity=identity)
    if journal is not None:
        journals.begin(journal, transcript)
    hold = journals.take(identity, 0, journaled=journal is not None)
    return Curator(transcript, session, hold, journal=journal, seed=seed)


def resumed(
    transcript: Transcript,
    session: Session,
    *,
    journal: Place | None,
    seed: int | None,
    sure: bool,
) -> Curator:
    """The curator that goes on where ``transcript`` ends; ``session`` has the rows again.

    From here on it answers, and no other that was before it.
    """
    session.recall(transcript.state)
    for batch in transcript.batches:
        session.restore(batch)
    end, kept = len(transcript.batches), journal is not None
    hold = journals.take(transcript.identity, end, journaled=kept, sure=sure)
    transcript.resumed += 1
    if journal is not None:
        journals.append(journal, transcript, transcript.counters())
    return Curator(transcript, session, hold, journal=journal, seed=seed)


def recalled(transcript: Transcript, kernel: Kernel) -> Curator:
    """What a transcript answers without rows: what it holds, or all where it holds a vector."""
    session = None
    if "vector" in transcript.state:
        vector = np.array(transcript.state["vector"], dtype=np.float64)
        session = VectorSession(kernel, vector)
    return Curator(transcript, session)


def newest_of(
    transcript: Transcript | str | os.PathLike[str], journal: Place | None, *, sure: bool
) -> Transcript:
    """The end of the release that ``transcript`` is of; refused where it cannot be known."""
    if journal is not None:
        journals.finish_opening(journal)
    if isinstance(transcript, Transcript):
        found = deepcopy(transcript)
    else:
        found = load_transcript(transcript)
    if "vector" in found.state:
        return found  # no noise is left to draw
    if not found.identity:
        raise DeclarationError(
            "The transcript is of an older Privet and does not name its release: it repeats "
            "its answers (load), but gives no new ones. Start a new release with fit."
        )
    if found.place:
        found = journals.reopened(journal, found, sure=sure)
    elif journal is not None:
        raise DeclarationError(
            "The release was opened without a journal and cannot be given one: drop journal=."
        )
    if found.resumed >= MOST_RESUMED:
        raise DeclarationError(
            f"The release was resumed {MOST_RESUMED} times, as often as its sensitivity "
            "covers. It repeats its answers (load); start a new release with fit."
        )
    return found
