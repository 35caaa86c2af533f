"""What an interactive release tells about itself besides its answers: public numbers."""

from __future__ import annotations

import math
from abc import abstractmethod

from sklearn.utils.validation import check_is_fitted

from privet.answers.answering import KernelAnswering
from privet.answers.curator import Curator
from privet.answers.sessions import Opening
from privet.answers.transcript import Transcript
from privet.mechanisms.sparse_vector import SparseVectorDesign


class AnswerNumbers(KernelAnswering):
    """Noise and error of a release, and how far a sparse vector has come."""

    _curator: Curator

    @abstractmethod
    def _opening(self, d: int) -> Opening:
        """Every declaration of the release on rows of ``d`` columns."""

    @property
    def transcript_(self) -> Transcript:
        """What was asked and answered; public."""
        if "_curator" not in self.__dict__:
            raise AttributeError("transcript_ is there after fit, resume or load.")
        return self._curator.transcript

    @property
    def noise_sd_(self) -> float:
        """Largest standard deviation of one answer's noise under a function release."""
        check_is_fitted(self, "guarantee_")
        event = self.guarantee_.event
        if event.mechanism != "function":
            raise AttributeError("noise_sd_ is of a function release on a general kernel.")
        return event.scale * math.sqrt(self._kernel(int(self.n_features_in_)).bound)

    @property
    def sparse_vector_(self) -> SparseVectorDesign:
        """Every public number of the sparse vector: threshold, epochs, noise, error bound."""
        check_is_fitted(self, "guarantee_")
        design = self._opening(int(self.n_features_in_)).design(self.guarantee_.event.n)
        if not isinstance(design, SparseVectorDesign):
            raise AttributeError("The attribute is of mechanism='sparse_vector'.")
        return design

    @property
    def error_bound_(self) -> float:
        """No answer of the sparse vector is further off, with the promised probability."""
        return self.sparse_vector_.error

    @property
    def updates_allowed_(self) -> int:
        """How many corrections the sparse vector can make."""
        return self.sparse_vector_.epochs

    @property
    def updates_(self) -> int:
        """How many corrections the sparse vector has made."""
        return int(sum(int(batch.marked.sum()) for batch in self.transcript_.batches))

    @property
    def exhausted_(self) -> bool:
        """Whether the sparse vector's guesses are final; each resumption costs a correction."""
        allowed = self.updates_allowed_
        if self._curator.session is None:  # a transcript: as it would be when resumed
            return int(self.transcript_.state.get("epochs", 0)) >= allowed
        return self._curator.exhausted
