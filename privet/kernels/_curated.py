"""The curator's side of an interactive predictor: transcript, journal, and no second noise.

Whatever the mechanism, a query is answered once and from then on from the transcript. The running
release (``_session``) holds training rows: it lives in one private attribute and in memory only.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from privet.errors import DataError, DeclarationError
from privet.kernels import records
from privet.kernels._answering import KernelAnswering
from privet.kernels.sessions import Session
from privet.kernels.transcript import Transcript, load_transcript
from privet.kernels.vector import VectorSession
from privet.models._numbers import table_shape
from privet.models._published import refuse_published
from privet.privacy import Event
from privet.privacy.guarantee import Guarantee
from privet.randomness import source

Array = NDArray[np.float64]


class Curated(KernelAnswering):
    """Answers queries, remembers what it said, and takes up where a transcript ends."""

    interactive: ClassVar[bool] = True

    journal: str | os.PathLike[str] | None
    transcript_: Transcript
    _session: Session | None

    @abstractmethod
    def _declarations(self, d: int) -> dict[str, Any]:
        """What a transcript is tied to: another declaration would be another release."""

    @abstractmethod
    def _say(self, session: Session) -> None:
        """Tell the curator what changed with the last answers."""

    # -- opening and resuming ------------------------------------------------------------------

    def _open(self, transcript: Transcript) -> None:
        assert self._session is not None
        transcript.state = transcript.state or self._session.state
        if self.journal is not None:
            lines = [transcript.header(), {"state": transcript.state}]
            transcript.digest = records.write(self.journal, lines)
            transcript.path = os.fspath(self.journal)
        self.transcript_ = transcript

    def resume(
        self, X: ArrayLike, y: ArrayLike, transcript: Transcript | str | os.PathLike[str]
    ) -> Any:
        """Take the rows again and go on where ``transcript`` ends. Charges nothing.

        The rows must be those of the first fit: that is the curator's word, since nothing kept
        could tell without giving rows away. Another number of rows or another declaration is
        refused. A transcript is continued once and from its end; two predictors that go on from the
        same place would answer the same query with two noises.
        """
        if not isinstance(transcript, Transcript):
            transcript = load_transcript(transcript)
        # its own copy: of two that go on in one journal, the second finds that the other has
        transcript = deepcopy(transcript)
        if self.journal is not None and transcript.path != os.fspath(self.journal):
            raise DeclarationError("A journal is continued in its own file: pass it to resume.")
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
        self._take(transcript.guarantee)
        self.transcript_ = transcript
        return self

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
        self.regularization_ = guarantee.event.regularization

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
        fresh = self._fresh(queries)
        if len(fresh):
            self._ask(queries[fresh] if not self._objects else [queries[i] for i in fresh])
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
        session = self.__dict__.get("_session")
        if session is None:
            raise DeclarationError(
                "Some queries were never answered, and a transcript alone cannot answer them. Take "
                "the rows again with resume(X, y, transcript)."
            )
        if isinstance(queries, np.ndarray):
            queries = np.ascontiguousarray(queries + 0.0)  # a zero has no sign
        # until the answers are noted, this release must not go on from where it was
        self._session = None
        batch = session.answer(queries, source(self._seed()))
        self.transcript_.add(batch, session.state)
        if self.journal is not None:
            transcript = self.transcript_
            try:
                transcript.digest = records.append(
                    self.journal, transcript.last(), transcript.digest
                )
            except BaseException:
                transcript.forget()  # nobody saw them
                raise
        self._session = session
        self._say(session)

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
