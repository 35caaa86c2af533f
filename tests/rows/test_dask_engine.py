"""The same sums on a Dask cluster, also where workers are lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privet import LogisticRegression, evaluate, fit_table, stream
from privet.errors import DataError
from privet.rows.door import RawStream
from privet.rows.threads import Progress, watched
from privet.schema.encode import ChunkEncoder
from tests.rows.cases import MODELS, SEED, grid_steps, schema_for
from tests.rows.tables import schema, small_chunks, table, write

distributed = pytest.importorskip("distributed")
__all__ = ["small_chunks"]
pytestmark = [
    pytest.mark.usefixtures("small_chunks"),
    pytest.mark.filterwarnings("ignore"),  # Dask's own, of ports and of workers that end
]


@pytest.fixture(scope="module")
def arrow() -> pa.Table:
    """All rows in memory."""
    return pa.table(table())


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers in processes of their own."""
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with made as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture(scope="module")
def raw(client: Any, tmp_path_factory: pytest.TempPathFactory) -> RawStream:
    """A folder that the workers read."""
    return stream(write(tmp_path_factory.mktemp("people")), engine="dask", scheduler=client)


@pytest.mark.parametrize("name", ["logistic", "softmax", "mixture", "partition search"])
def test_models_agree_with_arrays_to_one_grid_step(
    name: str, arrow: pa.Table, raw: RawStream
) -> None:
    one = fit_table(MODELS[name], schema_for(name), arrow)
    assert grid_steps(one, fit_table(MODELS[name], schema_for(name), raw)) <= 1.0


def test_rows_may_be_read_anew_in_every_pass(
    arrow: pa.Table, raw: RawStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privet.rows.dask.MOST_OF_MEMORY", 0.0)
    model = MODELS["logistic"]
    other = fit_table(model, schema(), raw)
    assert not raw.engine.persisted  # type: ignore[attr-defined]
    assert grid_steps(fit_table(model, schema(), arrow), other) <= 1.0
    asked: dict[str, Any] = {"budget": 1.0, "training_rows": False, **SEED}
    assert evaluate(other, raw, **asked).counts == evaluate(other, arrow, **asked).counts


def worker_ids(client: Any) -> list[int]:
    """The workers' process ids."""
    return list(client.run(os.getpid).values())


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(
    arrow: pa.Table, raw: RawStream, client: Any
) -> None:
    killed: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.passes == 3 and not killed:
            killed.append(worker_ids(client)[0])
            os.kill(killed[0], signal.SIGKILL)

    with watched(tell):
        other = fit_table(MODELS["logistic"], schema(), raw)
    assert killed
    assert grid_steps(fit_table(MODELS["logistic"], schema(), arrow), other) <= 1.0


def boom(chunk: Any) -> None:
    """A task whose error quotes a row."""
    raise ValueError("the secret of row 17")


def test_a_failing_task_ends_the_fit_without_quoting_a_row(raw: RawStream) -> None:
    source = raw.source(ChunkEncoder(schema()))
    with pytest.raises(DataError, match="did not finish the pass") as caught:
        source.each(boom)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_file_that_changes_is_noticed_by_the_workers(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privet.rows.dask.MOST_OF_MEMORY", 0.0)
    folder = write(tmp_path / "mine")
    spoiled: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.passes == 2 and not spoiled:
            spoiled.append(1)
            (folder / "part-4.parquet").write_bytes((folder / "part-0.parquet").read_bytes())

    model = LogisticRegression(1.0, **SEED)
    with watched(tell), pytest.raises(DataError, match="changed while it was read"):
        fit_table(model, schema(), stream(folder, engine="dask", scheduler=client))
