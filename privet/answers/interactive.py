"""Interactive answers: the curator keeps the rows, users send queries.

The predictor is the curator's object. Its minimizer is made of training rows, lives in one private
attribute and in memory only: it is not pickled, copied or saved. What is saved is the transcript.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from privet._process import this_process
from privet._types import Array
from privet.answers import records
from privet.answers.answering import KernelAnswering, budget_first
from privet.answers.curator import Curator, newest_of, opened, recalled, resumed
from privet.answers.journal import claimed
from privet.answers.public_numbers import AnswerNumbers
from privet.answers.sessions import Opening, Session
from privet.answers.transcript import Transcript, load_transcript
from privet.errors import DataError, DeclarationError, PrivetWarning
from privet.features.kernel import Kernel
from privet.features.named import kernel_from_json
from privet.ledger import Ledger
from privet.ledger.charge import charges_seen
from privet.models.inputs import table_shape
from privet.models.model_display import refuse_published
from privet.privacy import Budget, Event
from privet.privacy.budget import budget_from_json
from privet.privacy.kinds import regularization_of

#: Parameters that a transcript is tied to as they are.
DECLARED = ("loss", "h", "queries", "failure_probability")


class InteractivePredictor(AnswerNumbers):
    """Private predictions on demand, for any kernel.

    Parameters
    ----------
    budget : float (pure epsilon), PureDP, ZCDP, ApproxDP or GDP, default 1.0
        Pays for every answer there will ever be; charged once, at ``fit``.
    kernel : Kernel, "gaussian", "laplacian" or "matern", default "gaussian"
        A name takes its width from the number of columns.
    mechanism : "auto", "function" or "sparse_vector", default "auto"
        Where the noise goes. A function release answers without limit, with the same noise whatever
        was asked before; it needs ``ZCDP`` or ``ApproxDP``, or a kernel with few explicit features.
        The sparse vector answers from a guess that it corrects at most ``updates_allowed_`` times.
        "auto" is the function release wherever the budget and the kernel allow it.
    regularization : float or "auto", default "auto"
        ``Lam`` of the mean objective; "auto" is a public rule that reads no data.
    loss : "logistic", "huber" or "smooth_hinge", default "logistic"
        What is minimized.
    h : float, default 1.0
        Half-width of the knee of the two hinges, as in ``KernelSVC``.
    queries : int, default 10,000
        How many answers the sparse vector's error bound is promised for.
    failure_probability : float, default 0.05
        How likely that promise may fail.
    classes : list, None or "observed", default None
        The two labels; as in ``privet.LogisticRegression``.
    journal : path or None, default None
        A file to which every batch is written before it is answered, so that a crash loses nothing
        that somebody saw. Without one, save the transcript before the process ends: answers that
        are forgotten cannot be repeated, and a second noise for the same query is not paid for.
    ledger, dataset : a privacy ledger and the name of the data set to charge, default None
        Without a ledger the guarantee covers this one release.
    insecure_seed : int or None, default None
        For tests and studies only: the release is stamped as not private.

    Attributes
    ----------
    guarantee_ : Guarantee
        The promise for all answers together.
    classes_ : array of shape (2,)
    regularization_ : float
    transcript_ : Transcript
        What was asked and answered; public.
    noise_sd_ : float
        Largest standard deviation of one answer's noise; of a function release.
    error_bound_, updates_allowed_, updates_, exhausted_ : float, int, int and bool
        How far off an answer may be, how many corrections there can be and were, and whether the
        guesses are final; of the sparse vector.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import ZCDP
    >>> from privet.kernels import InteractivePredictor
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> curator = InteractivePredictor(ZCDP(0.5)).fit(X, X[:, 0] > 0)
    >>> bool(curator.answer([[1.0, 0.0]]) == curator.answer([[1.0, 0.0]]))
    True
    """

    interactive: ClassVar[bool] = True
    released: ClassVar[tuple[str, ...]] = (*KernelAnswering.released, "_curator", "_found", "_said")

    _curator: Curator
    _found: Session
    _said: bool

    @budget_first("kernel", "budget", "regularization")
    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        kernel: str | Kernel = "gaussian",
        mechanism: Literal["auto", "function", "sparse_vector"] = "auto",
        regularization: float | Literal["auto"] = "auto",
        loss: Literal["logistic", "huber", "smooth_hinge"] = "logistic",
        h: float = 1.0,
        queries: int = 10_000,
        failure_probability: float = 0.05,
        classes: Any = None,
        journal: str | os.PathLike[str] | None = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.budget = budget
        self.kernel = kernel
        self.mechanism = mechanism
        self.regularization = regularization
        self.loss = loss
        self.h = h
        self.queries = queries
        self.failure_probability = failure_probability
        self.classes = classes
        self.journal = journal
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _opening(self, d: int) -> Opening:
        promise = {"queries": self.queries, "failure_probability": self.failure_probability}
        return Opening(self._kernel(d), d, self.mechanism, self._declared(d), promise)

    def _event(self, n: int, d: int) -> Event:
        return self._opening(d).event(n)

    def _constants(self, n: int, d: int) -> dict[str, Any]:
        return self._opening(d).constants(n)

    def _declarations(self, d: int) -> dict[str, Any]:
        """What a transcript is tied to: another declaration would be another release."""
        try:
            kernel = self._kernel(d).to_json()
        except DeclarationError:  # a supplied kernel: no file will hold it, memory may
            kernel = {"name": "supplied"}
        lam = self.regularization
        return {
            "kernel": kernel,
            "columns": d,
            "budget": self._budget.to_json(),
            "regularization": lam if lam == "auto" else float(lam),
            "mechanism": self._opening(d).mechanism,
            "classes": records.labels_out(self.classes_),
            **{name: getattr(self, name) for name in DECLARED},
        }

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> InteractivePredictor:
        """Find the minimizer and open the release; spends the whole budget once."""
        if self.journal is not None:
            self._kernel(1).to_json()  # refuses what no file can hold, before a charge
        here = this_process()
        with claimed(self.journal), charges_seen() as charges:
            super().fit(X, y)
            try:
                self._open()  # a fork before this would hold it, too
                self._curator.refuse_other_process(here)
            except BaseException as error:  # paid, and nobody can ask: say so
                self._forget()
                for charge in charges:
                    charge.note_loss(error)
                raise
        return self

    def _open(self) -> None:
        self._curator = opened(
            self._declarations(int(self.n_features_in_)),
            self.guarantee_,
            self.__dict__.pop("_found"),
            journal=self.journal,
            seed=self.insecure_seed,
        )

    def _run(self, data: Any, targets: Array) -> str:
        self._found, numerics = self._opening(table_shape(data)[1]).session(data, targets)
        return numerics

    def resume(
        self,
        X: ArrayLike,
        y: ArrayLike,
        transcript: Transcript | str | os.PathLike[str],
        *,
        newest: bool = False,
    ) -> InteractivePredictor:
        """Take the rows again and go on where ``transcript`` ends. Charges nothing.

        The rows must be those of the first fit: that is the curator's word, since nothing kept
        could tell without giving rows away. Another number of rows or another declaration is
        refused. A transcript is continued once and from its end; two predictors that go on from the
        same place would answer the same query with two noises. A release that keeps a journal is
        continued with that journal only, from the end of what it holds.

        ``newest`` is the curator's word where files cannot tell: that nobody else goes on with a
        release without a journal that another process opened, and that a journal that was put back
        or moved holds all that was answered.
        """
        found = newest_of(transcript, self.journal, sure=newest)
        session = self.session_again(X, y, found)
        if session is None:
            self._curator = recalled(found, self._kernel(int(self.n_features_in_)))
        else:
            seed = self.insecure_seed
            self._curator = resumed(found, session, journal=self.journal, seed=seed, sure=newest)
        self.guarantee_ = found.guarantee
        self.regularization_ = regularization_of(found.guarantee.event)
        return self

    def session_again(self, X: Any, y: Any, found: Transcript) -> Session | None:
        """The session of a release that was charged before, from its rows; None: it needs none.

        Whoever calls it sees to it that no query is answered twice with different noise.
        """
        self._forget()
        data, labels = self._table(X, y)
        n, d = table_shape(data)
        self.classes_ = self._two_classes(labels)
        self._refuse_other(found, self._event(n, d), d)
        self._refuse_unsound(data)
        targets = self._targets(labels, self.classes_)  # the first fit was charged for this
        if "vector" in found.state:
            return None  # its release is in the transcript
        return self._opening(d).session(data, targets)[0]

    def hand_over(self) -> Session:
        """The session, for a release that others answer too; this predictor answers no more."""
        return self._curator.give_up()

    def recalled_session(self, found: Transcript) -> Session:
        """The session of a release that needs no rows: its vector is in the transcript."""
        return recalled(found, self._kernel(int(self.n_features_in_))).give_up()

    def _refuse_other(self, transcript: Transcript, event: Event, d: int) -> None:
        known = transcript.guarantee.event
        if event.n != known.n:
            raise DataError(f"The transcript is of {known.n} rows, these are {event.n}.")
        mine, theirs = self._declarations(d), transcript.declarations
        if self.loss == "logistic":  # it has no knee
            mine.pop("h")
        different = sorted(name for name in mine if mine[name] != theirs.get(name))
        if different or event.to_json() != known.to_json():
            names = ", ".join(different) or "the version of Privet"
            raise DeclarationError(
                f"The transcript was made with other declarations ({names}). Declare the same "
                "again, or start a new release with fit, which costs a new budget."
            )

    # -- answering -----------------------------------------------------------------------------

    def answer(self, z: ArrayLike) -> Array:
        """Private scores, one for each query (rows of a table, or a list of objects).

        A query that was asked before gets the same answer again, from the transcript.
        """
        check_is_fitted(self, "transcript_")
        queries = self._table(z, reset=False)
        if not self._objects and not np.isfinite(queries).all():
            raise DataError("A query holds NaN or infinity.")
        answers = self._curator.answer(queries)
        if self._curator.exhausted and not self.__dict__.get("_said", False):
            self._said = True
            warnings.warn(
                "The sparse vector has used all its updates: answers are guesses from now on, and "
                "no error bound is promised for them.",
                PrivetWarning,
                stacklevel=2,
            )
        return answers

    def decision_function(self, X: ArrayLike) -> Array:
        """The same as ``answer``: positive for the second class."""
        return self.answer(X)

    @property
    def publishes_queries(self) -> bool:
        """Whether what is asked becomes public: a query lands in the transcript as it is.

        Not where a vector was released: then nothing is noted.
        """
        return "_curator" not in self.__dict__ or self._curator.publishes

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on these rows, not private; refused where asking would publish the rows."""
        refuse_published(self)
        return float(super().score(X, y, sample_weight))

    def __getstate__(self) -> Any:
        if "_curator" in self.__dict__:
            self._curator.refuse_copy()
        return super().__getstate__()

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the transcript: queries, answers and parameters, never a row.

        An earlier state of it is replaced, any other file of that name with ``overwrite`` only.
        """
        check_is_fitted(self, "transcript_")
        self._kernel(int(self.n_features_in_)).to_json()
        self.transcript_.save(path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> InteractivePredictor:
        """A predictor that repeats the answers of a transcript; ``resume`` lets it give new ones.

        A kernel with few explicit features needs no rows: its release is in the transcript.
        """
        transcript = load_transcript(path)
        with records.understood():
            told = transcript.declarations
            classes = records.labels_in(told["classes"])
            predictor = cls(
                budget_from_json(told["budget"]),
                kernel=kernel_from_json(told["kernel"]),
                mechanism=told["mechanism"],
                regularization=told["regularization"],
                classes=classes.tolist(),
                **{name: told[name] for name in DECLARED},
            )
            predictor.classes_, predictor.n_features_in_ = classes, int(told["columns"])
            predictor._curator = recalled(transcript, predictor._kernel(predictor.n_features_in_))
            predictor.guarantee_ = transcript.guarantee
            predictor.regularization_ = regularization_of(transcript.guarantee.event)
            return predictor
