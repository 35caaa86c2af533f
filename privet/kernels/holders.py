"""Who may answer: of all predictors of one release in this process, the last that took it up.

A fork, or a second predictor that resumed, would draw a second noise for the same query. Files
guard against other processes (``journal``); this guards within one, with or without a journal.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from privet.errors import DataError, DeclarationError


@dataclass
class _Turn:
    number: int  # how often the release was taken up in this process
    batches: int  # answered so far


_TURNS: dict[str, _Turn] = {}


@dataclass(frozen=True)
class Hold:
    """The right of one predictor, in one process, to answer new queries of one release."""

    identity: str
    number: int
    process: int

    def check(self) -> None:
        """Refuse where the process was forked, or where another predictor has taken over."""
        if os.getpid() != self.process:
            raise DeclarationError(
                "This predictor was copied into another process, which would answer with a second "
                "noise. Answer in the process that opened it, or resume with the journal in one "
                "process that answers for all."
            )
        if _TURNS[self.identity].number != self.number:
            raise DataError(
                "Another predictor has continued this release, and two must not answer from one "
                "transcript. Use that one, or resume from the newest transcript."
            )

    def note(self, batches: int) -> None:
        """So many batches are answered."""
        _TURNS[self.identity].batches = batches


def take(identity: str, batches: int) -> Hold:
    """Take up a release from the end of a transcript of ``batches``."""
    turn = _TURNS.setdefault(identity, _Turn(0, batches))
    if batches < turn.batches:
        raise DataError(
            "The transcript is not the newest: this release has answered more since. Resume from "
            "its end."
        )
    turn.number += 1
    turn.batches = batches
    return Hold(identity, turn.number, os.getpid())
