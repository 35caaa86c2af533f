"""What is served: an interactive release. The rows are in this process, and never in an answer."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from privet._checks import number_between
from privet._files import canonical
from privet.answers.ledger_answers import KeyUsed, LedgerAnswers
from privet.features.named import kernel_from_json
from privet.service.asked_rows import AskedRows
from privet.service.refusals import Refusal
from privet.service.served_model import AskedQuestion, Served, Told
from privet.statement import Facts, Trained, statement_facts

#: Answer times are whole numbers of this many seconds.
STEP = 0.25


class ServedAnswers(Served):
    """A release that several workers answer, each in its turn at the ledger's database."""

    def __init__(self, answers: LedgerAnswers, *, rows: int, step: float = STEP) -> None:
        kept = answers.kept
        super().__init__(kept.name, kept.digest, kept.schema, kept.guarantee, answers.ledger)
        self.dataset = kept.dataset
        # without a step the time of an answer would tell what the proof hides
        self.answers, self.step = answers, number_between("step", step, 0.01, 60.0)
        self._rows = AskedRows(kept.schema, rows)
        self._classes: list[Any] = np.asarray(kept.declarations["classes"]).tolist()
        event, kernel = kept.row_guarantee.event, kernel_from_json(kept.declarations["kernel"])
        sd = event.scale * math.sqrt(kernel.bound)
        self._noise = {"noise_sd": sd} if event.mechanism == "function" else {}

    @property
    def outcome(self) -> Told:
        """The two classes that were declared."""
        return {"classes": self._classes}

    @property
    def row_limit(self) -> int:
        """As declared when it was opened."""
        return self.answers.kept.limit

    def answer(self, question: AskedQuestion) -> Told:
        """Labels and scores; the same row gets the same score, from every worker."""
        key = None if question.key is None else f"{question.holder}/{question.key}"
        try:
            asked = hashlib.sha256(canonical(question.body).encode()).hexdigest()
        except ValueError:  # 1e999 is no number of JSON's that a record could keep
            raise Refusal(422, "rows", "A number in a row is too large to be noted.") from None
        try:
            scores = self.answers.answer(self._rows(question.body), key, asked)
        except KeyUsed as error:
            raise Refusal(409, "key", str(error)) from None
        return {
            "model": self.name,
            "sha256": self.digest,
            "predictions": [self._classes[int(score > 0)] for score in scores],
            "classes": self._classes,
            "scores": scores.tolist(),
            **self._noise,
        }

    def left(self) -> Told:
        """How many different rows were answered and how many will be."""
        answered, most = self.answers.counted(), self.row_limit
        words = (
            f"{answered:,} of {most:,} different rows were answered; {most - answered:,} are left. "
            "All answers together cost what the promise says, however many there are."
        )
        return {"answered": answered, "left": most - answered, "words": words}

    def facts(self) -> Facts:
        """Of the release as a whole."""
        schema = self.schema
        classes = tuple(map(str, self._classes))
        trained = Trained(
            schema.width, classes, tuple(schema.columns), schema.label.name, schema=True
        )
        return statement_facts(
            self.guarantee,
            model="InteractivePredictor",
            ledger=self.dataset,
            interactive=True,
            trained=trained,
        )
