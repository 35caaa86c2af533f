"""One training job, in a process of its own: ``python -m privet.service.fit_runner`` < its address.

    waiting -> fitting (charged) -> released, or refused

Until the charge no row is read: what the job is refused for follows from the request, from what is
public of the table and from the ledger. After it nothing is told but that it stays. The end is told
``step`` seconds after the charge, or 2, 4, 8, ... times as many, since the time of a fit depends on
rows; what that still tells is in ``docs/service.md``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from privet._files import digest, probe, write_whole
from privet.errors import BudgetExceeded, DeclarationError, LedgerError, quietly
from privet.ledger import Ledger
from privet.ledger.charge import charged_first
from privet.service.fit_jobs import FitJobs, Record
from privet.service.fit_request import FitRequest
from privet.service.fit_tables import PricedJob
from privet.service.refusals import Refusal, without_values

ROOM = 1 << 20


def main() -> None:
    """Read which job it is, wait for its turn and do it."""
    os.nice(10)  # answers come first
    told = json.loads(sys.stdin.buffer.read())
    jobs = FitJobs(Path(told["folder"]), Ledger(told["ledger"]), told["step"])
    record = jobs.read(told["id"])
    assert record is not None
    with jobs.turn():
        run(jobs, record)
    jobs.end(record["id"])


def run(jobs: FitJobs, record: Record) -> None:
    """The job, whatever becomes of it; its last state is on disk when this returns."""
    try:
        request = FitRequest(**record["request"])
        priced = jobs.tables.priced(request)
        probe(jobs.models, ROOM)  # what is paid for must have a place
        with charged_first(jobs.ledger, request.dataset, priced.event) as charge:
            begun = time.monotonic()
            record["charges"].append(charge.facts)
            with suppress(OSError):  # paid for: it goes on, and the ledger knows
                jobs.note(record, state="fitting", process=os.getpid())
            try:
                last = _released(jobs, record, request, priced)
            except (Exception, KeyboardInterrupt) as error:
                last = _lost(error)
            with suppress(OSError):
                jobs.note(record, last=last)  # told where the process is killed while it waits
            time.sleep(padding(time.monotonic() - begun, jobs.step))
    except (Exception, KeyboardInterrupt) as error:
        last = _refused(error)
    jobs.note(record, **last)


def padding(seconds: float, step: float) -> float:
    """How long until ``step``, or 2, 4, 8, ... times as much, has passed."""
    whole = step
    while whole < seconds:
        whole *= 2.0
    return whole - seconds


def _released(
    jobs: FitJobs, record: Record, request: FitRequest, priced: PricedJob
) -> dict[str, Any]:
    from privet.models import fit_table
    from privet.models.model_file import content

    with quietly():
        fitted = fit_table(priced.model, priced.schema, priced.table)
    raw = content(fitted)
    file = f"{request.name}.privet"
    try:
        write_whole(jobs.models / file, raw, replace=False)
    except FileExistsError:  # the operator's own, meanwhile
        file = f"{request.name}-{record['id']}.privet"
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


if __name__ == "__main__":
    main()
