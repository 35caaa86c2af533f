"""The curator's side of an interactive predictor: transcript, journal, and no second noise.

Whatever the mechanism, a query is answered once and from then on from the transcript. The running
release (``_session``) holds training rows: it lives in one private attribute and in memory only.
"""

from __future__ import annotations

import os
import secrets
from abc import abstractmethod
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from privet._types import Array
from privet.answers import journal
from privet.answers.answering import KernelAnswering
from privet.answers.journal import Hold, take
from privet.answers.sessions import Session, VectorSession
from privet.answers.transcript import Transcript, load_transcript
from privet.errors import DataError, DeclarationError
from privet.mechanisms.function import MOST_RESUMED
from privet.models._numbers import table_shape
from privet.models._published import refuse_published
from privet.privacy import Event
from privet.privacy.guarantee import Guarantee
from privet.privacy.kinds import regularization_of
from privet.randomness import source


class Curated(KernelAnswering):
    """Answers queries, remembers what it said, and takes up where a transcript ends."""

    interactive: ClassVar[bool] = True

    journal: str | os.PathLike[str] | None
    transcript_: Transcript
    _session: Session | None
    _hold: Hold

    @abstractmethod
    def _declarations(self, d: int) -> dict[str, Any]:
        """What a transcript is tied to: another declaration would be another release."""

    @abstractmethod
    def _say(self, session: Session) -> None:
        """Tell the curator what changed with the last answers."""

    # -- opening and resuming ------------------------------------------------------------------

    def _open(self, declarations: dict[str, Any]) -> None:
        assert self._session is not None
        transcript = Transcript(declarations, self.guarantee_, identity=secrets.token_hex(16))
        transcript.state = self._session.state
        if self.journal is not None:
            journal.begin(self.journal, transcript)
        self._hold = take(transcript.identity, 0, journalled=self.journal is not None)
        self.transcript_ = transcript

    def resume(
        self, X: ArrayLike, y: ArrayLike, transcript: Transcript | str | os.PathLike[str]
    ) -> Any:
        """Take the rows again and go on where ``transcript`` ends. Charges nothing.

        The rows must be those of the first fit: that is the curator's word, since nothing kept
        could tell without giving rows away. Another number of rows or another declaration is
        refused. A transcript is continued once and from its end; two predictors that go on from the
        same place would answer the same query with two noises. A release that keeps a journal is
        continued with that journal only, from the end of what it holds.
        """
        if not isinstance(transcript, Transcript):
            transcript = load_transcript(transcript)
        transcript = self._newest(deepcopy(transcript))
        self._forget()
        data, labels = self._table(X, y)
        n, d = table_shape(data)
        self.classes_ = self._two_classes(labels)
        self._refuse_other(transcript, self._event(n, d), d)
        self._refuse_unsound(data)
        targets = self._targets(labels, self.classes_)  # the first fit was charged for this
        if not self._recalled_vector(transcript, d):
            self._run(data, targets)
            assert self._session is not None
            self._session.recall(transcript.state)
            for batch in transcript.batches:
                self._session.restore(batch)
            self._claim(transcript)
        self._take(transcript.guarantee)
        self.transcript_ = transcript
        return self

    def _newest(self, transcript: Transcript) -> Transcript:
        """The end of the release that ``transcript`` is of; refused where it cannot be known."""
        if "vector" in transcript.state:
            return transcript  # no noise is left to draw
        if not transcript.identity:
            raise DeclarationError(
                "The transcript is of an older Privet and does not name its release: it repeats "
                "its answers (load), but gives no new ones. Start a new release with fit."
            )
        if transcript.place:
            transcript = journal.reopened(self.journal, transcript)
        elif self.journal is not None:
            raise DeclarationError(
                "The release was opened without a journal and cannot be given one: drop journal=."
            )
        if transcript.resumed >= MOST_RESUMED:
            raise DeclarationError(
                f"The release was resumed {MOST_RESUMED} times, as often as its sensitivity "
                "covers. It repeats its answers (load); start a new release with fit."
            )
        return transcript

    def _claim(self, transcript: Transcript) -> None:
        """From here on this predictor answers, and no other that was before it."""
        end, kept = len(transcript.batches), self.journal is not None
        hold = take(transcript.identity, end, journalled=kept)
        transcript.resumed += 1
        if self.journal is not None:
            journal.append(self.journal, transcript, transcript.counters())
        self._hold = hold

    def _refuse_other(self, transcript: Transcript, event: Event, d: int) -> None:
        known = transcript.guarantee.event
        if event.n != known.n:
            raise DataError(f"The transcript is of {known.n} rows, these are {event.n}.")
        mine, theirs = self._declarations(d), transcript.declarations
        different = sorted(name for name in mine if mine[name] != theirs.get(name))
        if different or event.to_json() != known.to_json():
            names = ", ".join(different) or "the version of Privet"
            raise DeclarationError(
                f"The transcript was made with other declarations ({names}). Declare the same "
                "again, or start a new release with fit, which costs a new budget."
            )

    def _recalled_vector(self, transcript: Transcript, d: int) -> bool:
        """A released vector needs no rows: it is in the transcript."""
        if "vector" not in transcript.state:
            return False
        vector = np.array(transcript.state["vector"], dtype=np.float64)
        self._session = VectorSession(self._kernel(d), vector)
        return True

    def _take(self, guarantee: Guarantee) -> None:
        self.guarantee_ = guarantee
        self.regularization_ = regularization_of(guarantee.event)

    # -- answering -----------------------------------------------------------------------------

    def answer(self, z: ArrayLike) -> Array:
        """Private scores, one for each query (rows of a table, or a list of objects).

        A query that was asked before gets the same answer again, from the transcript.
        """
        check_is_fitted(self, "transcript_")
        queries = self._table(z, reset=False)
        if not self._objects and not np.isfinite(queries).all():
            raise DataError("A query holds NaN or infinity.")
        session = self.__dict__.get("_session")
        if isinstance(session, VectorSession):
            return session(queries)
        if self._fresh(queries):
            self._ask(queries)
        return np.array([self.transcript_[query] for query in queries])

    def _fresh(self, queries: Any) -> list[int]:
        """Positions of queries that were never asked, each once."""
        seen: dict[Any, int] = {}
        for i, query in enumerate(queries):
            if query not in self.transcript_:
                key = query.tobytes() if isinstance(query, np.ndarray) else query
                seen.setdefault(key, i)
        return list(seen.values())

    def _ask(self, queries: Any) -> None:
        if self.__dict__.get("_session") is not None:
            self._hold.check()
        # until the answers are noted nobody else may go on from here, no other thread either
        session = self.__dict__.pop("_session", None)
        if session is None:
            raise DeclarationError(
                "Some queries were never answered, and a transcript alone cannot answer them. Take "
                "the rows again with resume(X, y, transcript)."
            )
        fresh = self._fresh(queries)  # again: another thread may have asked meanwhile
        if fresh:
            asked = queries[fresh] if not self._objects else [queries[i] for i in fresh]
            self._note(session, asked)
        self._session = session
        self._say(session)

    def _note(self, session: Session, queries: Any) -> None:
        """Answer new queries, and note the answers before anybody sees them."""
        if isinstance(queries, np.ndarray):
            queries = np.ascontiguousarray(queries + 0.0)  # a zero has no sign
        transcript = self.transcript_
        transcript.add(session.answer(queries, source(self._seed())), session.state)
        if self.journal is not None:
            try:
                journal.append(self.journal, transcript, transcript.last())
            except BaseException:
                transcript.forget()  # nobody saw them
                raise
        self._hold.note(len(transcript.batches))

    def _seed(self) -> int | None:
        """Another seed for each batch: the same one again would repeat the noise."""
        if self.insecure_seed is None:
            return None
        return self.insecure_seed + (len(self.transcript_.batches) + 1) * (1 << 32)

    def decision_function(self, X: ArrayLike) -> Array:
        """The same as ``answer``: positive for the second class."""
        return self.answer(X)

    @property
    def publishes_queries(self) -> bool:
        """Whether what is asked becomes public: a query lands in the transcript as it is.

        Not where a vector was released: then nothing is noted.
        """
        return not isinstance(self.__dict__.get("_session"), VectorSession)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on these rows, not private; refused where asking would publish the rows."""
        refuse_published(self)
        return float(super().score(X, y, sample_weight))

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the transcript: queries, answers and parameters, never a row."""
        check_is_fitted(self, "transcript_")
        self._kernel(int(self.n_features_in_)).to_json()
        self.transcript_.save(path)

    def __getstate__(self) -> Any:
        if not isinstance(self.__dict__.get("_session"), VectorSession | None):
            raise TypeError(
                "An interactive predictor holds training rows and is neither pickled nor copied. "
                "Save its transcript, and resume with the rows where they are."
            )
        return super().__getstate__()
