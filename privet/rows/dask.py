"""The same sums on a Dask cluster: a scheduler's address, a client, or workers started here.

Units are read and encoded where the workers are, so the paths must be the same there. Where the
whole table fits into the workers' memory, its chunks stay in it between passes. The partitions of a
Dask dataframe are computed once and stay on the workers as they are. A pass is one round
trip: a task for each unit, then a tree of sums; the driver receives a few of them. A lost worker's
units are read again by others, and each answer is taken once, by its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from privet.errors import DataError, MissingExtra, PrivetError
from privet.rows.chunks import Job, Unit, UnitAnswer, held, joined, remote_answer
from privet.rows.cutting import Cutter, CutUnit, Piece
from privet.rows.threads import Engine, usable_cores
from privet.schema.tables import open_table

#: Answers that are joined by one task: the tree of 10,000 units has three levels.
FAN_IN = 16
#: The share of the workers' memory that a table may take between passes.
MOST_OF_MEMORY = 0.5
#: Seconds after which it is looked whether anybody still works on a pass.
LOOK = 5.0
#: Seconds that a pass waits where nobody works on it, and where there is no worker at all.
PATIENCE, PATIENCE_ALONE = 40.0, 120.0
#: How often the answers of a pass are computed before it is given up, and what ends it at once.
CHANCES = 3
FINAL = ("TaskFailed", "KilledWorker", "no worker is left")
LOST = (
    "The Dask cluster did not finish the pass ({kind}). Nothing was released; a charge to a "
    "ledger stands. Look at the workers' logs and start again."
)


@dataclass(frozen=True)
class PartitionUnit(CutUnit):
    """The rows of a Dask dataframe's partition, on the worker that has it."""

    frame: Any = field(repr=False)
    start: int
    rows: int
    cutter: Cutter

    def pieces(self) -> Iterator[Piece]:
        """The rows, read anew."""
        return self.cutter.pieces(open_table(self.frame).batches(self.cutter.names), self.start)


class LostAnswer(DataError):
    """An answer that did not come, and not by its task's fault: it can be computed again."""


def is_dask_frame(table: Any) -> bool:
    """Whether a table is a Dask dataframe, without an import of Dask."""
    return type(table).__module__.startswith("dask.") and hasattr(table, "to_delayed")


def _itself(job: Job) -> Job:
    """The job, on the worker that others fetch it from."""
    return job


def _without_rows(frame: Any) -> Any:
    """A data frame with the columns of a Dask dataframe."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in frame.dtypes.items()})


class DaskEngine(Engine):
    """Workers of a Dask cluster; they see sums' coefficients, and neither budget nor noise."""

    def __init__(self, scheduler: Any = None, workers: int | None = None) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise MissingExtra(
                "The engine 'dask' needs distributed: pip install 'privet[dask]'."
            ) from error
        self._asked = workers or usable_cores()
        self._cluster: Any = None  # one that was started here
        if isinstance(scheduler, Client):
            self.client: Any = scheduler
        elif scheduler is not None:
            self.client = Client(scheduler)  # type: ignore[no-untyped-call]
        else:
            self._cluster = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=self._asked, threads_per_worker=1, dashboard_address=None, silence_logs=50
            )
            self.client = Client(self._cluster)  # type: ignore[no-untyped-call]
        self.name = "a Dask cluster"
        self.persisted = False

    def placed(self, units: Sequence[Unit], d: int) -> Sequence[Any]:
        """The units, or where their rows are kept; by how much memory the workers have."""
        needed = sum(unit.rows for unit in units) * (d + 2) * 8
        room = sum(worker["memory_limit"] or 0 for worker in self._tended())
        self.persisted = needed <= MOST_OF_MEMORY * room
        return self._kept(held, units) if self.persisted else units

    def partitioned(self, frame: Any, cutter: Cutter) -> tuple[list[Any], list[tuple[int, int]]]:
        """Handles of a dataframe's partitions that have rows, and their places in the table."""
        open_table(_without_rows(frame)).require(cutter.names)
        futures = self.client.compute(frame[cutter.names].to_delayed())
        counts = [self._submit(len, future) for future in futures]
        handles, places, start = [], [], 0
        for future, count in zip(futures, counts, strict=True):
            rows = self._result(count)
            if rows:
                handles.append(self._submit(PartitionUnit, future, start, rows, cutter))
                places.append((start, rows))
            start += rows
        return handles, places

    def run(self, handles: Sequence[Any], job: Job) -> Iterator[UnitAnswer]:
        """Joined answers in their order; one that is lost is computed again, and taken once."""
        level, chances = self._tasks(handles, job), CHANCES
        for place in range(len(level)):
            found = None
            while found is None:
                try:
                    found = self._result(level[place])
                except LostAnswer:  # a worker may be lost while Dask fetches from it
                    chances -= 1
                    if not chances:
                        raise
                    level = self._tasks(handles, job)
            yield found

    def _tasks(self, handles: Sequence[Any], job: Job) -> list[Any]:
        """A task for each unit, then tasks that join them until few are left."""
        # a task, and not scattered: to scatter hangs where a worker is lost, a task is done again
        sent = self._submit(_itself, job)
        level = [self._submit(remote_answer, each, sent) for each in handles]
        while len(level) > FAN_IN:
            groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            level = [self._submit(joined, sent, group) for group in groups]
        return level

    def derived(
        self, handles: Sequence[Any], functions: Sequence[Callable[[Unit], Unit]], *, keep: bool
    ) -> Sequence[Any]:
        """Functions of the units on the workers that have them."""
        pairs = zip(functions, handles, strict=True)
        made = [self._submit(function, handle) for function, handle in pairs]
        return self._kept(held, made) if keep else made

    def _kept(self, function: Callable[[Any], Any], handles: Sequence[Any]) -> list[Any]:
        return [self._submit(function, handle) for handle in handles]

    def _submit(self, function: Callable[..., Any], *args: Any) -> Any:
        # pure=False: a key of its own, so that no earlier answer is mistaken for this one
        return self.client.submit(function, *args, pure=False)

    def _tended(self) -> list[Any]:
        """What the scheduler knows of each worker; a cluster started here gets lost ones back.

        Dask gives up a worker whose new process has not come after 15 seconds, or is lost as well.
        """
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        if self._cluster is not None and len(workers) < self._asked:
            self._cluster.scale(self._asked)
        return workers

    def _result(self, future: Any) -> Any:
        """An answer; what a worker says of a row is not passed on, Privet's own errors are."""
        last = time.monotonic()
        while True:
            try:
                return future.result(timeout=LOOK)
            except PrivetError:
                raise
            except TimeoutError:
                # after the loss of a worker a result may never come: nobody works on it any more
                workers, now = self._tended(), time.monotonic()
                last = now if any(self.client.processing().values()) else last
                kind = "nobody works on it" if workers else "no worker is left"
                if now - last < (PATIENCE if workers else PATIENCE_ALONE):
                    continue
            except Exception as error:
                kind = type(error).__name__
            break
        # outside of the handler, which may quote a row
        raise (DataError if kind in FINAL else LostAnswer)(LOST.format(kind=kind))
