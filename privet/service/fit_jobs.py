"""Training jobs in a folder of the operator's: who is next, how far each is, what became of it.

    FOLDER/people.csv                 a table that jobs may name; charged to the account ``people``
    FOLDER/people.toml                its schema, for requests that bring none
    FOLDER/fits/people.csv.seen       what is public of it: rows, columns (``fit_tables.py``)
    FOLDER/fits/ID.json               a job's record; ID.running is locked while its process lives
    FOLDER/models/NAME.privet         what was released

A job is a process of its own (``fit_runner.py``): no worker of the service ever holds a row. Jobs
take turns at a lock, so one trains at a time. All workers and every restart see the same records,
and a job whose process is gone is told as stopped, with what the ledger was charged for it. No
record holds a number that depends on rows, except the released model's digest.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet._checks import number_between
from privet._files import canonical, write_whole
from privet._untrusted import MEGABYTE, parsed_json, read_whole
from privet.errors import DataError, DeclarationError
from privet.ledger import Ledger
from privet.service.fit_request import FitRequest
from privet.service.fit_tables import FitTables, own_process
from privet.service.refusals import Refusal

FORMAT = "privet-fit-1"
#: Jobs that wait or run at once, and records that are kept; older ones are forgotten.
MOST_WAITING, MOST_KEPT = 8, 200
#: Seconds after which the end of a job is told at the earliest.
STEP = 15.0
#: Seconds for a job to have its model after it was charged; then it is ended, as paid.
LIMIT, LONGEST_LIMIT = 3_600.0, 604_800.0
ENDED = ("released", "refused", "stopped")
WORDS = {
    "waiting": "It waits for its turn; nothing was charged.",
    "fitting": "The budget was charged; the table is read and the model is trained.",
    "released": "The model was released.",
}
STOPPED = (
    "The job was stopped before it was charged. If the stop came with the charge, the ledger has "
    "an entry that no release settled.",
    "The job was stopped after it was charged: nothing was released, and the charge stays.",
)
ENDED_LATE = (
    "The job was ended before it was charged: it took longer than this service lets a job take. If "
    "the end came with the charge, the ledger has an entry that no release settled.",
    "The job took longer than this service lets a job take, and was ended: nothing was released, "
    "and the charge stays.",
)
#: What is told to who asked; the rest of a record is the operator's.
TOLD = ("id", "name", "table", "model", "state", "words", "charges", "promise", "file", "sha256")
Record = dict[str, Any]


@dataclass(frozen=True)
class FitJobs:
    """The jobs of one folder."""

    folder: Path
    ledger: Ledger
    step: float = STEP
    limit: float = LIMIT

    def __post_init__(self) -> None:
        number_between("job_seconds", self.step, 0.5, 3_600.0)
        number_between("job_limit", self.limit, self.step, LONGEST_LIMIT)

    @property
    def tables(self) -> FitTables:
        """What is public of the tables."""
        return FitTables(self.folder, self.ledger)

    @property
    def fits(self) -> Path:
        """Where records are."""
        return self.folder / "fits"

    @property
    def models(self) -> Path:
        """Where released models go."""
        return self.folder / "models"

    def prepare(self) -> None:
        """Make the folders; refused where the operator's folder is not there."""
        if not self.folder.is_dir():
            raise DeclarationError(f"--jobs names no folder: {self.folder}.")
        for place in (self.fits, self.models):
            place.mkdir(mode=0o700, exist_ok=True)

    # -- asking --------------------------------------------------------------------------------

    def submit(self, request: FitRequest, holder: str, key: str | None) -> Record:
        """What is told of a new job, whose process is started, or of the one that has the key."""
        asked = hashlib.sha256(canonical(request.to_json()).encode()).hexdigest()
        name = secrets.token_hex(16)
        if key is not None:
            name = hashlib.sha256(f"{holder}/{key}".encode()).hexdigest()[:32]
        known = self._known(name, asked)
        if known is not None:  # also where nothing is left since
            return known
        self.tables.priced(request)  # refused now, for what the job would be refused for
        with self._locked(".door"):
            known = self._known(name, asked)
            if known is not None:
                return known
            self._refuse_crowd(request)
            record: Record = {
                "format": FORMAT,
                "id": name,
                "holder": holder,
                "asked": asked,
                "name": request.name,
                "table": request.table,
                "model": request.model,
                "request": request.to_json(),
                "state": "waiting",
                "charges": [],
            }
            _refuse_unreadable(record)
            self._start(record)
            return told_of(record)

    def _known(self, name: str, asked: str) -> Record | None:
        """What is told of a job that is there, if it is for the same request."""
        found = self.read(name)
        if found is not None and found["asked"] != asked:
            raise Refusal(409, "key", "This key was used for another request.")
        return None if found is None else told_of(found)

    def look(self, name: str, holder: str) -> Record:
        """What is told of a job to who asked for it."""
        plain = len(name) == 32 and name.isascii() and name.isalnum()
        record = self.read(name) if plain else None
        if record is None or record["holder"] != holder:
            raise Refusal(404, "unknown", "There is no such job of this token's.")
        return told_of(record)

    def _refuse_crowd(self, request: FitRequest) -> None:
        records = self._all()
        alive = [each for each in records if each["state"] not in ENDED]
        if len(alive) >= MOST_WAITING:
            words = f"{MOST_WAITING} jobs are waiting; try again later."
            raise Refusal(429, "busy", words, {"Retry-After": "60"})
        taken = (self.models / f"{request.name}.privet").exists()
        if taken or any(each["name"] == request.name for each in alive):
            raise Refusal(409, "name", "A model of this name is there, or is being trained.")
        ended = [each for each in records if each["state"] in ENDED]
        for each in ended[: max(0, len(ended) + 1 - MOST_KEPT)]:
            self._record(each["id"]).unlink(missing_ok=True)
            self._running(each["id"]).unlink(missing_ok=True)

    # -- records -------------------------------------------------------------------------------

    def _record(self, name: str) -> Path:
        return self.fits / f"{name}.json"

    def _running(self, name: str) -> Path:
        return self.fits / f"{name}.running"

    def read(self, name: str) -> Record | None:
        """A record as it is now; of a job whose process is gone, that it was stopped."""
        found = self._read(name)
        if found is None or found["state"] in ENDED or self._alive(name):
            return found
        found = self._read(name)  # it may have ended between the two looks
        if found is not None and found["state"] not in ENDED:
            stopped = {"state": "stopped", "words": STOPPED[bool(found["charges"])]}
            found.update(found.get("last", stopped))  # it may have waited to tell its end
        return found

    def _read(self, name: str) -> Record | None:
        try:
            found = parsed_json(read_whole(self._record(name), 4 * MEGABYTE))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, DataError):
            raise Refusal(503, "jobs", "The record of this job cannot be read.") from None
        return dict(found)

    def note(self, record: Record, **more: Any) -> None:
        """The record with what is new, on disk when this returns."""
        record.update(more)
        write_whole(self._record(record["id"]), json.dumps(record))

    def _all(self) -> list[Record]:
        """Every record, the oldest first."""
        files = sorted(self.fits.glob("*.json"), key=lambda file: (file.stat().st_mtime, file.name))
        found = []
        for file in files:
            try:
                each = self.read(file.stem)
            except Refusal:
                continue  # one record that cannot be read stops nobody else
            if each is not None:
                found.append(each)
        return found

    # -- processes -----------------------------------------------------------------------------

    def _start(self, record: Record) -> None:
        """A process that holds the job's lock from before its record is there."""
        name = record["id"]
        lock = os.open(self._running(name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.note(record)
            process = subprocess.Popen(
                own_process("privet.service.fit_runner"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # what a fit tells its curator is for a terminal only
                pass_fds=(lock,),
                start_new_session=True,  # what is paid for is not lost with a worker
            )
        finally:
            os.close(lock)
        # by a pipe and not by arguments, which everybody on the machine can read: a ledger's
        # address may hold a password
        told: Record = {"folder": str(self.folder.absolute()), "ledger": self.ledger.url}
        assert process.stdin is not None
        told = {**told, "step": self.step, "limit": self.limit, "id": name}
        process.stdin.write(json.dumps(told).encode())
        process.stdin.close()
        threading.Thread(target=process.wait, daemon=True).start()

    def _alive(self, name: str) -> bool:
        try:
            with self._running(name).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def end(self, name: str) -> None:
        """The process is about to go; its record is on disk."""
        self._running(name).unlink(missing_ok=True)

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        with open(self.fits / name, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def turn(self) -> Any:
        """One job at a time."""
        return self._locked(".turn")


def _refuse_unreadable(record: Record) -> None:
    """Refuse a request whose record could not be read again."""
    text = json.dumps(record).encode()
    try:
        parsed_json(text)
    except (ValueError, DataError):
        raise Refusal(422, "fit", "The request holds a number that no file can keep.") from None
    if len(text) > 2 * MEGABYTE:
        raise Refusal(413, "size", "The request is too large to be kept.")


def told_of(record: Record) -> Record:
    """What is shown of a record."""
    words = record.get("words") or WORDS[record["state"]]
    return {key: value for key, value in {**record, "words": words}.items() if key in TOLD}
