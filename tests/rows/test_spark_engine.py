"""The same sums on Spark: `make test-spark`; skipped where there is no Java or no pyspark."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privet import confidence_intervals, evaluate, fit_table, stream
from privet.errors import DataError
from privet.rows.door import RawStream
from privet.rows.threads import Progress, watched
from privet.schema.encode import ChunkEncoder
from tests.rows.cases import MODELS, SEED, grid_steps, in_memory, schema_for
from tests.rows.tables import schema, small_chunks, table, write

if os.environ.get("PRIVET_SPARK") != "1":
    pytest.skip("Spark's tests run by `make test-spark`", allow_module_level=True)
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)
sql = pytest.importorskip("pyspark.sql", reason="Spark's tests need pyspark, the extra 'spark'")
__all__ = ["small_chunks"]
pytestmark = [pytest.mark.usefixtures("small_chunks"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def arrow() -> pa.Table:
    """All rows in memory."""
    return pa.table(table())


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Two executors' threads, each of which starts a Python of its own; tasks are tried anew."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = sql.SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false")
    found = made.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def raw(session: Any, tmp_path_factory: pytest.TempPathFactory) -> RawStream:
    """A folder that the executors read."""
    return stream(write(tmp_path_factory.mktemp("people")), engine="spark", scheduler=session)


@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_arrays_to_one_grid_step(name: str, raw: RawStream) -> None:
    other = fit_table(MODELS[name], schema_for(name), raw)
    assert grid_steps(in_memory(name), other) <= 1.0


def test_evaluation_and_intervals_agree_with_arrays(arrow: pa.Table, raw: RawStream) -> None:
    model = in_memory("logistic")
    asked: dict[str, Any] = {"budget": 1.0, "training_rows": False, **SEED}
    assert evaluate(model, raw, **asked).counts == evaluate(model, arrow, **asked).counts
    one, other = (confidence_intervals(model, each, budget=8.0) for each in (arrow, raw))
    assert one.columns() == other.columns()


@dataclass(frozen=True)
class DyingOnce:
    """A task that kills its own process the first time."""

    folder: str

    def __call__(self, chunk: Any) -> int:
        """How many rows there are."""
        mark = Path(self.folder) / f"died-{chunk.start}"
        if chunk.start == 0 and not mark.exists():
            mark.touch()
            os._exit(9)
        return len(chunk)


def test_a_task_whose_process_dies_is_done_again_and_counted_once(
    raw: RawStream, tmp_path: Path
) -> None:
    source = raw.source(ChunkEncoder(schema()))
    assert sum(source.each(DyingOnce(str(tmp_path)))) == source.n
    assert (tmp_path / "died-0").exists()


def boom(chunk: Any) -> None:
    """A task whose error quotes a row."""
    raise ValueError("the secret of row 17")


def test_a_failing_task_ends_the_fit_without_quoting_a_row(raw: RawStream) -> None:
    with pytest.raises(DataError, match="did not finish the pass") as caught:
        raw.source(ChunkEncoder(schema())).each(boom)
    assert "secret" not in str(caught.value)


def test_a_file_that_changes_is_noticed_by_the_executors(session: Any, tmp_path: Path) -> None:
    folder = write(tmp_path / "mine")
    spoiled: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.passes == 2 and not spoiled:
            spoiled.append(1)
            (folder / "part-4.parquet").write_bytes((folder / "part-0.parquet").read_bytes())

    there = stream(folder, engine="spark", scheduler=session)
    with watched(tell), pytest.raises(DataError, match="changed while it was read"):
        fit_table(MODELS["logistic"], schema(), there)
