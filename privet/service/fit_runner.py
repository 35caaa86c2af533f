"""One training job, in a process of its own: ``python -m privet.service.fit_runner`` < its address.

    waiting -> reading -> fitting (charged) -> released, or refused

What is told of a refusal is what the request and the ledger say; what the table says (its columns,
its size) goes into the operator's part of the record. After the charge nothing is told but that it
stays: how a fit fails depends on rows. The end is told after 1, 2, 4, 8, ... seconds, so that its
time says little of them (`docs/service.md` says how much).
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
from privet.errors import (
    BudgetExceeded,
    DataError,
    DeclarationError,
    LedgerError,
    PrivetError,
    quietly,
)
from privet.ledger import Ledger
from privet.ledger.charge import Charge, charges_seen
from privet.service.fit_jobs import FitJobs, Record
from privet.service.fit_request import FitRequest
from privet.service.refusals import Refusal

ROOM = 1 << 20


def main() -> None:
    """Read which job it is, wait for its turn and do it."""
    os.nice(10)  # answers come first
    told = json.loads(sys.stdin.buffer.read())
    jobs = FitJobs(Path(told["folder"]), Ledger(told["ledger"]))
    record = jobs.read(told["id"])
    assert record is not None
    with jobs.turn():
        run(jobs, record)
    jobs.end(record["id"])


def run(jobs: FitJobs, record: Record) -> None:
    """The job, whatever becomes of it; its last state is on disk when this returns."""
    begun = time.monotonic()
    try:
        last = _released(jobs, record)
    except (Exception, KeyboardInterrupt) as error:
        last = _refused(error, charged=bool(record["charges"]))
    time.sleep(padding(time.monotonic() - begun))
    jobs.note(record, **last)


def padding(seconds: float) -> float:
    """How long until 1, 2, 4, 8, ... seconds have passed."""
    whole = 1.0
    while whole < seconds:
        whole *= 2.0
    return whole - seconds


def _released(jobs: FitJobs, record: Record) -> dict[str, Any]:
    from privet.models import fit_table
    from privet.models.model_file import content

    request = FitRequest(**record["request"])
    jobs.note(record, state="reading", process=os.getpid())
    schema, table = jobs.schema(request), jobs.table(request)
    model = request.unfitted(ledger=jobs.ledger, dataset=request.dataset)
    probe(jobs.models, ROOM)  # what is paid for must have a place

    def charged(charge: Charge) -> None:
        record["charges"].append(charge.facts)
        with suppress(OSError):  # paid for: it goes on, and the ledger knows
            jobs.note(record, state="fitting")

    with charges_seen(charged), quietly():
        fitted = fit_table(model, schema, table)
    raw = content(fitted)
    file = f"{request.name}.privet"
    try:
        write_whole(jobs.models / file, raw, replace=False)
    except FileExistsError:  # the operator's own, meanwhile
        file = f"{request.name}-{record['id']}.privet"
        write_whole(jobs.models / file, raw, replace=False)
    promise = fitted.guarantee_.promise
    return {"state": "released", "file": file, "sha256": digest(raw), "promise": promise}


def _refused(error: BaseException, *, charged: bool) -> dict[str, Any]:
    """The last state of a job that released nothing, and for the operator which kind of error."""
    kind = type(error).__name__  # after the charge its words may be about rows
    own = isinstance(error, PrivetError) and not charged
    told = {"state": "refused", "reason": f"{kind}: {error}" if own else kind}
    if charged:
        words = "The model could not be trained. Nothing was released, and the charge stays."
    elif isinstance(error, BudgetExceeded | DeclarationError | Refusal):
        words = f"{error} Nothing was charged."
    elif isinstance(error, LedgerError):
        words = "The ledger cannot be used at the moment. Nothing was released."
    elif isinstance(error, DataError):
        words = (
            "The table cannot be read by this schema: a column is not there, the file has another "
            "form, or it has no rows. Nothing was charged; the operator's record says more."
        )
    else:
        words = "Something went wrong inside the job. Nothing was released."
    return {**told, "words": words}


if __name__ == "__main__":
    main()
