"""A journal is one file in one place, and goes on from its end only.

    journal        header with the release's identity and place, one line a batch, one a resumption
    journal.end    the digest of the newest line: a journal that was put back from a copy is older;
                   before the first answer also the lines that open the journal

A release that was continued twice from the same place answers one query with two noises, and only
one of them is paid for. So a journalled release is continued with its own journal or not at all:
not without it, not from a copy in another place, not from an older state. Both files put back
together cannot be told from the newest state; that they are not is the curator's word.

Files guard against other processes. Within one process, with or without a journal, ``Hold`` does:
of all predictors of a release the last that took it up answers, since a fork or a second predictor
that resumed would draw a second noise for the same query.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from privet._files import probe
from privet.answers import records
from privet.answers.records import Transcript, load_transcript
from privet.errors import DataError, DeclarationError

Place = str | os.PathLike[str]


def place_of(path: Place, identity: str) -> str:
    """The place of a journal, as a digest: a transcript is public and names no folder."""
    return hashlib.sha256(f"{identity}\0{os.path.realpath(path)}".encode()).hexdigest()


def end_of(path: Place) -> Path:
    """The file that holds the digest of the newest line."""
    return Path(f"{os.fspath(path)}.end")


def refuse_existing(path: Place) -> None:
    """A new release has a new journal, which can be written: found before the charge."""
    if os.path.exists(path) or end_of(path).exists():
        raise DeclarationError(
            "The journal exists already: it belongs to another release. Choose a new file, or "
            "continue it with resume(X, y, journal)."
        )
    try:
        probe(os.path.dirname(os.fspath(path)) or os.curdir)
    except OSError as error:
        raise DeclarationError(
            f"The journal cannot be written ({error.strerror}). Name a file in a folder that is "
            "there and can be written."
        ) from error


def begin(path: Place, transcript: Transcript) -> None:
    """Open the journal of a new release: first the file .end, with all that the journal will hold.

    A crash between the two leaves a release that was paid for and that nobody has asked yet;
    ``finish_opening`` writes the journal then. Once something was answered the opening is gone
    from .end, so a journal that is missing later is not begun again.
    """
    transcript.place = place_of(path, transcript.identity)
    transcript.path = os.fspath(path)
    lines = [transcript.header(), {"state": transcript.state}]
    transcript.digest = records.last_digest(lines)
    records.write(end_of(path), [_end(transcript), {"opening": lines}], replace=False)
    records.write(path, lines, replace=False)


def finish_opening(path: Place) -> None:
    """Write a journal that a crash kept from being written; nothing was answered from it."""
    if os.path.exists(path) or not end_of(path).exists():
        return
    found, _ = records.read(end_of(path))
    if len(found) == 2 and "opening" in found[1]:
        records.write(path, found[1]["opening"], replace=False)


def append(path: Place, transcript: Transcript, record: records.Record) -> None:
    """One more line, on disk when this returns; refused where another has gone on before."""
    transcript.digest = records.append(path, record, transcript.digest)
    records.write(end_of(path), [_end(transcript)])


def _end(transcript: Transcript) -> records.Record:
    known = {"identity": transcript.identity, "digest": transcript.digest}
    return {"format": records.FORMAT, **known}


def reopened(path: Place | None, transcript: Transcript) -> Transcript:
    """What the journal of ``transcript`` holds now; refused unless it is its own and the newest."""
    if path is None:
        raise DeclarationError(
            "This release keeps a journal, and only with it can nobody else continue it: pass "
            "journal=, the file that it was opened with."
        )
    if not os.path.exists(path) or not end_of(path).exists():
        raise DataError(
            "The journal, or the file .end beside it, is missing: answers that were given could be "
            "given again with other noise. Put both back as they were left, or start a new release "
            "with fit, which costs a new budget."
        )
    found = load_transcript(path)
    if found.identity != transcript.identity:
        raise DeclarationError("The journal belongs to another release than the transcript.")
    if found.place != place_of(path, found.identity):
        raise DeclarationError(
            "This is a copy of a journal: the journal itself may have gone on. Resume with the "
            "file in the place where it was opened."
        )
    (mark, *_), _ = records.read(end_of(path))
    newest = mark.get("identity") == found.identity and mark.get("digest") in records.digests(path)
    mine = [batch.to_json() for batch in transcript.batches]
    if not newest or mine != [batch.to_json() for batch in found.batches[: len(mine)]]:
        raise DataError(
            "The journal is older than what was answered: it was put back from a copy. Resume with "
            "the newest one, or start a new release with fit, which costs a new budget."
        )
    return found


@dataclass
class _Turn:
    number: int  # how often the release was taken up in this process
    batches: int  # answered so far
    process: int  # which one that is: a fork inherits this table


_TURNS: dict[str, _Turn] = {}
_ONE_AT_A_TIME = Lock()


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
        """So many batches are answered; refused where another took over while they were."""
        with _ONE_AT_A_TIME:
            self.check()
            _TURNS[self.identity].batches = batches


def take(identity: str, batches: int, *, journalled: bool) -> Hold:
    """Take up a release from the end of a transcript of ``batches``."""
    with _ONE_AT_A_TIME:
        turn = _TURNS.setdefault(identity, _Turn(0, batches, os.getpid()))
        if turn.process != os.getpid() and not journalled:
            raise DeclarationError(
                "The process that this one was forked from holds this release, and without a "
                "journal both would answer, with two noises. Go on there, or give the release a "
                "journal when it is opened."
            )
        turn.process = os.getpid()
        if batches < turn.batches:
            raise DataError(
                "The transcript is not the newest: this release has answered more since. Resume "
                "from its end."
            )
        turn.number += 1
        turn.batches = batches
        return Hold(identity, turn.number, os.getpid())
