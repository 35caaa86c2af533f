"""The same sums on Spark: a master's address, a session, or a local one.

A unit is a task over (file, row group) pairs. Spark runs a failed task again, up to its own limit;
each answer is taken once, by its place. Samples, and tables that fit, stay in the executors' memory
as Spark caches them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from privet.errors import DataError, MissingExtra
from privet.rows.chunks import Job, Unit, UnitAnswer, held, remote_answer
from privet.rows.threads import Engine, usable_cores

LOST = (
    "Spark did not finish the pass ({kind}). Nothing was released; a charge to a ledger stands. "
    "Look at the executors' logs and start again."
)
#: How Spark marks one of Privet's own errors in the text of a failed task.
OWN = "privet.errors.DataError: "


@dataclass(frozen=True)
class Cached(Sequence[Unit]):
    """Units, and the same units with their rows as Spark has cached them."""

    units: Sequence[Unit]
    rdd: Any

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, place: Any) -> Any:
        return self.units[place]


class SparkEngine(Engine):
    """Executors of Spark; they see sums' coefficients, and neither budget nor noise."""

    def __init__(self, master: Any = None, workers: int | None = None) -> None:
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise MissingExtra(
                "The engine 'spark' needs pyspark: pip install 'privet[spark]'."
            ) from error
        if isinstance(master, SparkSession):
            session = master
        else:
            # local[k, 4]: a failed task is tried four times, as on a cluster
            place = master or f"local[{workers or usable_cores()}, 4]"
            if place.startswith("local"):  # its workers have the packages of this Python
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            made = SparkSession.builder.master(place).appName("privet")
            session = made.config("spark.ui.enabled", "false").getOrCreate()
        self.context: Any = session.sparkContext
        self.context.setLogLevel("OFF")  # a failed task's log quotes what it stumbled over
        self.name = "a Spark cluster"

    def run(self, handles: Sequence[Unit], job: Job) -> Iterator[UnitAnswer]:
        """One Spark job: a task for each unit."""
        sent = self.context.broadcast(job)
        try:
            rdd = self._distributed(handles).map(lambda unit: remote_answer(unit, sent.value))
            found = rdd.collect()
        except Exception as error:
            text = str(error)
            own = text.split(OWN, 1)[1].splitlines()[0] if OWN in text else ""
            kind = type(error).__name__
        else:
            sent.unpersist()
            yield from found
            return
        raise DataError(own or LOST.format(kind=kind))  # not what Spark quotes

    def derived(
        self, handles: Sequence[Unit], functions: Sequence[Callable[[Unit], Unit]], *, keep: bool
    ) -> Sequence[Unit]:
        """Functions of the units; cached with their rows at the first pass over them."""
        units = [function(unit) for function, unit in zip(functions, handles, strict=True)]
        return Cached(units, self._distributed(units).map(held).cache()) if keep else units

    def _distributed(self, handles: Sequence[Unit]) -> Any:
        if isinstance(handles, Cached):
            return handles.rdd
        return self.context.parallelize(list(handles), len(handles))
