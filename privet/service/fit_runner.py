"""One training job, in a process of its own, which is told by a pipe which one it is.

    waiting -> fitting (charged) -> released, or refused

Until the charge no row is read: what the job is refused for follows from the request, from what is
public of the table and from the ledger. After it nothing is told but that it stays. The end is told
``step`` seconds after the charge, or 2, 4, 8, ... times as many, since the time of a fit depends on
rows; what that still tells is in ``docs/service.md``. The work is done by a fork, which is killed
where it has no model ``limit`` seconds after its charge: jobs take turns, and one that never ends
would stop all others.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from privet._files import digest, hold, write_whole
from privet.errors import BudgetExceeded, DeclarationError, LedgerError, quietly
from privet.ledger import Ledger
from privet.ledger.charge import charged_first
from privet.service.fit_jobs import ENDED_LATE, FitJobs, Record
from privet.service.fit_request import FitRequest
from privet.service.fit_tables import PricedJob
from privet.service.refusals import Refusal, without_values

ROOM = 1 << 20
#: What the working process says as it goes on: its turn has come, it is charged, it has a model.
TURN, CHARGED, MADE = b"t", b"c", b"m"
Say = Callable[[bytes], None]


def main() -> None:
    """Read which job it is, have a fork do it, and end that where it takes too long."""
    os.nice(10)  # answers come first
    told = json.loads(sys.stdin.buffer.read())
    heard, says = os.pipe()
    # before there is a ledger or a thread of ours (those of OpenBLAS and jemalloc know of forks)
    process = os.fork()  # the job's lock is held by both
    if process == 0:
        os.close(heard)
        _work(told, says)
    os.close(says)
    late = not in_time(process, heard, told["limit"])
    os.waitpid(process, 0)
    jobs = _jobs(told)
    if late:
        record = jobs.read(told["id"])
        assert record is not None
        jobs.note(record, state="stopped", words=ENDED_LATE[bool(record["charges"])])
    jobs.end(told["id"])


def _jobs(told: dict[str, Any]) -> FitJobs:
    return FitJobs(Path(told["folder"]), Ledger(told["ledger"]), told["step"], told["limit"])


def in_time(process: int, heard: int, limit: float) -> bool:
    """Whether the turn led to a charge, and the charge to a model, within ``limit`` seconds each.

    A process that is late is killed, unless it speaks up while this one is about to: it is halted
    first, so no model is written by a job that is told as stopped. Also True where it is gone.
    """
    wait = None
    while True:
        if not select.select([heard], [], [], wait)[0]:
            os.kill(process, signal.SIGSTOP)
            os.waitid(os.P_PID, process, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            late = not select.select([heard], [], [], 0.0)[0]
            os.kill(process, signal.SIGKILL if late else signal.SIGCONT)
            if late:
                return False
        if os.read(heard, 1) not in (TURN, CHARGED):
            return True
        wait = limit


def _work(told: dict[str, Any], says: int) -> NoReturn:
    """The forked process: it waits for its turn, does the job and never returns."""

    def say(word: bytes) -> None:
        with suppress(OSError):  # who listened is gone: what is paid for goes on
            os.write(says, word)

    try:
        jobs = _jobs(told)
        record = jobs.read(told["id"])
        assert record is not None
        with jobs.turn():
            say(TURN)
            run(jobs, record, say)
    finally:
        os._exit(0)


def run(jobs: FitJobs, record: Record, say: Say = lambda word: None) -> None:
    """The job, whatever becomes of it; its last state is on disk when this returns."""
    try:
        request = FitRequest(**record["request"])
        priced = jobs.tables.priced(request)
        with (
            hold(jobs.models, ROOM) as room,  # what is paid for must have a place
            charged_first(jobs.ledger, request.dataset, priced.event) as charge,
        ):
            begun = time.monotonic()
            say(CHARGED)
            record["charges"].append(charge.facts)
            with suppress(OSError):  # paid for: it goes on, and the ledger knows
                jobs.note(record, state="fitting", process=os.getpid())
            try:
                last = _released(jobs, record, priced, say, room)
            except (Exception, KeyboardInterrupt) as error:
                last = _lost(error)
            with suppress(OSError):
                jobs.note(record, last=last)  # told where the process is killed while it waits
            time.sleep(padding(time.monotonic() - begun, jobs.step, jobs.limit))
    except (Exception, KeyboardInterrupt) as error:
        last = _refused(error)
    jobs.note(record, **last)


def padding(seconds: float, step: float, limit: float) -> float:
    """How long until ``step``, or 2, 4, 8, ... times as much, or ``limit`` has passed."""
    whole = step
    while whole < seconds:
        whole *= 2.0
    return max(0.0, min(whole, limit) - seconds)


def _released(
    jobs: FitJobs, record: Record, priced: PricedJob, say: Say, room: BinaryIO
) -> dict[str, Any]:
    from privet.models import fit_table
    from privet.models.model_file import content

    with quietly():
        fitted = fit_table(priced.model, priced.schema, priced.table)
    say(MADE)
    raw, name = content(fitted), record["request"]["name"]
    file = f"{name}.privet"
    room.close()
    try:
        write_whole(jobs.models / file, raw, replace=False)
    except FileExistsError:  # the operator's own, meanwhile
        file = f"{name}-{record['id']}.privet"
        write_whole(jobs.models / file, raw, replace=False)
    promise = fitted.guarantee_.promise
    return {"state": "released", "file": file, "sha256": digest(raw), "promise": promise}


def _lost(error: BaseException) -> dict[str, Any]:
    """The last state of a job that was charged; the error's words may be about rows."""
    words = "The model could not be trained. Nothing was released, and the charge stays."
    return {"state": "refused", "reason": type(error).__name__, "words": words}


def _refused(error: BaseException) -> dict[str, Any]:
    """The last state of a job that was not charged: it has read no row."""
    told = isinstance(error, BudgetExceeded | DeclarationError | Refusal)
    if told:
        words = f"{without_values(str(error))} Nothing was charged."
    elif isinstance(error, LedgerError):
        words = "The ledger cannot be used at the moment. Nothing was released."
    else:
        words = "Something went wrong inside the job. Nothing was released."
    reason = f"{type(error).__name__}: {error}" if told else type(error).__name__
    return {"state": "refused", "reason": reason, "words": words}
