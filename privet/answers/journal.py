"""A journal is one file in one place, and goes on from its end only.

    journal        header with the release's identity and place, one line a batch, one a resumption
    journal.end    the digest of the newest line, and when the system says that it was written: a
                   journal that was put back is older, or was written at another time;
                   while a line is being written, also the digest that it will have;
                   before the first answer also the lines that open the journal
own folder         number and digest of the newest line, where the user's own memory of ledgers is

A release that was continued twice from the same place answers one query with two noises, and only
one of them is paid for. So a journaled release is continued with its own journal or not at all:
not without it, not from a copy in another place, not from an older state, nor from files that were
put back and look like the newest state, unless the curator says that they are. The image of a whole
disk that was put back cannot be told from the newest state.

Files guard against other processes. Within one process, with or without a journal, ``Hold`` does:
of all predictors of a release the last that took it up answers, since a fork or a second predictor
that resumed would draw a second noise for the same query. Without a journal a process that never
held a release takes it up on the curator's word only.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from privet._files import create_new, probe, refuse_ledgers_place
from privet._process import after_fork, this_process
from privet._untrusted import read_whole
from privet.answers import records
from privet.answers.transcript import Transcript, load_transcript
from privet.errors import DataError, DeclarationError, LedgerError
from privet.ledger.memory import Heads, own_heads

Place = str | os.PathLike[str]


def place_of(path: Place, identity: str) -> str:
    """The place of a journal, as a digest: a transcript is public and names no folder."""
    return hashlib.sha256(f"{identity}\0{os.path.realpath(path)}".encode()).hexdigest()


def end_of(path: Place) -> Path:
    """The file that holds the digest of the newest line."""
    return Path(f"{os.fspath(path)}.end")


@contextmanager
def claimed(path: Place | None) -> Iterator[None]:
    """The name of a new journal, before the charge: of several releases one gets it.

    What ends the opening gives the name back, unless something was written under it.
    """
    if path is None:
        yield
        return
    _claim(path)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # a disk that went away hides no loss
            if not os.path.exists(path) and end_of(path).stat().st_size == 0:
                end_of(path).unlink()
        raise


def _claim(path: Place) -> None:
    """A new release has a new journal, which can be written."""
    refuse_ledgers_place(path)
    try:
        probe(os.path.dirname(os.fspath(path)) or os.curdir)
        if os.path.lexists(path):
            raise FileExistsError
        create_new(end_of(path))
    except FileExistsError:
        raise DeclarationError(
            "The journal exists already: it belongs to another release. Choose a new file, or "
            "continue it with resume(X, y, journal)."
        ) from None
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
    _, transcript.digest = records.text_of(lines)
    transcript.lines = len(lines)
    records.write(end_of(path), [_end(transcript), {"opening": lines}])  # the name is claimed
    _open(path, _end(transcript), lines)
    transcript.left = written(path)


def finish_opening(path: Place) -> None:
    """Write a journal that a crash kept from being written; nothing was answered from it.

    An end that says when the journal was written is no such one: the journal was there, and where
    such an end was put back, it would begin again. A released vector may: no noise is left to draw.
    """
    if os.path.exists(path) or not end_of(path).exists():
        return
    found, _ = records.read(end_of(path))
    if len(found) != 2 or "opening" not in found[1]:
        return
    opening = found[1]["opening"]
    if "written" not in found[0] or "vector" in opening[-1]["state"]:
        _open(path, found[0], opening)


def _open(path: Place, end: records.Record, lines: list[records.Record]) -> None:
    records.write(path, lines, replace=False)
    records.write(end_of(path), [{**end, "written": written(path)}, {"opening": lines}])


def append(path: Place, transcript: Transcript, record: records.Record) -> None:
    """One more line, on disk when this returns; refused where another has gone on before.

    The end says first which line is to come. So what a crash leaves, a line or a part of one that
    the end does not know, is told from a journal and an end that a backup took at two times.
    """
    text, coming = records.line(record, transcript.digest)
    with records.at_end(path, transcript.digest, transcript.left) as file:
        # where a power cut takes the name of either end, the curator is asked
        records.write(end_of(path), [{**_known_end(path), "coming": coming}], durable=False)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
        transcript.digest = coming
        transcript.lines += 1
        transcript.left = written(path)
        _remember(transcript)
        records.write(
            end_of(path), [{**_end(transcript), "written": transcript.left}], durable=False
        )


def _known_end(path: Place) -> records.Record:
    """What the file .end says."""
    (mark, *_), _ = records.read(end_of(path))
    return mark


def _end(transcript: Transcript) -> records.Record:
    known = {"identity": transcript.identity, "digest": transcript.digest}
    return {"format": records.FORMAT, **known}


def written(path: Place) -> int:
    """When the file last changed, by the system's clock: no program that puts it back can say."""
    return os.stat(path).st_ctime_ns


def reopened(path: Place | None, transcript: Transcript, *, sure: bool) -> Transcript:
    """What the journal of ``transcript`` holds now; refused unless it is its own and the newest.

    ``sure`` is the curator's word for files that were put back.
    """
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
    left = written(path)  # before it is read: what changes it from here on is noticed
    found = load_transcript(path)
    if found.identity != transcript.identity:
        raise DeclarationError("The journal belongs to another release than the transcript.")
    if found.place != place_of(path, found.identity):
        raise DeclarationError(
            "This is a copy of a journal: the journal itself may have gone on. Resume with the "
            "file in the place where it was opened."
        )
    mark, known = _known_end(path), records.digests(path)
    newest = mark.get("identity") == found.identity and mark.get("digest") in known
    newest = newest and _remembered(found.identity) in {None, *known}
    mine = [batch.to_json() for batch in transcript.batches]
    if not newest or mine != [batch.to_json() for batch in found.batches[: len(mine)]]:
        raise DataError(
            "The journal is older than what was answered: it was put back from a copy. Resume with "
            "the newest one, or start a new release with fit, which costs a new budget."
        )
    if not sure and _put_back(path, mark, found):
        raise DataError(records.PUT_BACK)
    found.left = None if sure else left
    return found


def _put_back(path: Place, mark: records.Record, found: Transcript) -> bool:
    """Whether the journal was written at another time than its end says.

    A crash leaves the line that the end says is to come, or a part of it: that is no sign of it.
    """
    whole = read_whole(path, records.LARGEST).endswith(b"\n")
    if "coming" in mark and (found.digest == mark["coming"] or not whole):
        return False
    if mark["digest"] != found.digest or not whole:
        return True
    return "written" in mark and mark["written"] != written(path)


# -- the user's own folder -----------------------------------------------------------------------


class _Newest(NamedTuple):
    """The newest line of a journal, as heads are noted."""

    sequence: int
    hash: str


def _memory(identity: str) -> Heads | None:
    return own_heads(identity, "-journal")


def _remembered(identity: str) -> str | None:
    """The digest of the newest line that this user has written; None where nothing is known."""
    heads = _memory(identity)
    if heads is None:
        return None
    try:
        known = heads.newest()
    except OSError:  # nothing is remembered, or it cannot be read
        return None
    except (DataError, LedgerError):
        raise DataError(
            f"{heads.path} is damaged, which remembers the newest line of the journal. Put it back "
            "as it was; where you know that the journal holds all that was answered, remove it."
        ) from None
    return None if known is None else known[1]


def _remember(transcript: Transcript) -> None:
    """The newest line, once it is durable; a folder that cannot be written remembers nothing."""
    heads, newest = _memory(transcript.identity), _Newest(transcript.lines, transcript.digest)
    if heads is None:
        return
    with suppress(OSError):
        if heads.path.exists() and not heads.is_long():
            heads.note(newest, durable=False)
        else:
            heads.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            heads.start("-", [newest])


# -- within a process ----------------------------------------------------------------------------


@dataclass
class _Turn:
    number: int  # how often the release was taken up in this process
    batches: int  # answered so far
    process: str  # which one that is: a fork inherits this table


_TURNS: dict[str, _Turn] = {}
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class Hold:
    """The right of one predictor, in one process, to answer new queries of one release."""

    identity: str
    number: int
    process: str

    def check(self) -> None:
        """Refuse where the process was forked, or where another predictor has taken over."""
        if this_process() != self.process:
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


def take(identity: str, batches: int, *, journaled: bool, sure: bool = True) -> Hold:
    """Take up a release from the end of a transcript of ``batches``.

    ``sure`` is the curator's word that nobody else goes on with it; without a journal it is needed
    for a release that this process has never held.
    """
    here = this_process()
    with _ONE_AT_A_TIME:
        if not (identity in _TURNS or journaled or sure):
            raise DeclarationError(
                "The release keeps no journal, and another process opened it: whether that one, or "
                "a third, answers too cannot be known. If nobody does and this is its newest "
                "transcript, say so with resume(..., newest=True); give the next release a journal."
            )
        turn = _TURNS.setdefault(identity, _Turn(0, batches, here))
        if turn.process != here and not journaled:
            raise DeclarationError(
                "The process that this one was forked from holds this release, and without a "
                "journal both would answer, with two noises. Go on there, or give the release a "
                "journal when it is opened."
            )
        turn.process = here
        if batches < turn.batches:
            raise DataError(
                "The transcript is not the newest: this release has answered more since. Resume "
                "from its end."
            )
        turn.number += 1
        turn.batches = batches
        return Hold(identity, turn.number, here)


def _unlock() -> None:
    """A lock that another thread held when this process was forked is never given back."""
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = Lock()


after_fork(_unlock)
