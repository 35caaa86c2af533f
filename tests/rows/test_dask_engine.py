"""The same sums on a Dask cluster, also where workers are lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import LogisticRegression, confidence_intervals, evaluate, fit_table, stream
from privet.errors import DataError, DeclarationError
from privet.models.predictions import write_predictions
from privet.rows.chunks import EachChunk, remote_answer
from privet.rows.door import RawStream
from privet.rows.threads import Progress, watched
from privet.schema.encode import ChunkEncoder
from tests.rows.cases import MODELS, SEED, grid_steps, in_memory, schema_for
from tests.rows.tables import schema, small_chunks, table, write

dask = pytest.importorskip("dask")
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


@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_arrays_to_one_grid_step(name: str, raw: RawStream) -> None:
    other = fit_table(MODELS[name], schema_for(name), raw)
    assert grid_steps(in_memory(name), other) <= 1.0


def test_evaluation_intervals_and_predictions_agree_with_arrays(
    arrow: pa.Table, raw: RawStream, tmp_path: Path
) -> None:
    model = in_memory("logistic")
    asked: dict[str, Any] = {"budget": 1.0, "training_rows": False, **SEED}
    assert evaluate(model, raw, **asked).counts == evaluate(model, arrow, **asked).counts
    line = in_memory("least squares")
    one, other = (evaluate(line, each, **asked).measures[0].estimate for each in (arrow, raw))
    assert one == pytest.approx(other, rel=1e-12)
    one, other = (confidence_intervals(model, each, budget=8.0) for each in (arrow, raw))
    assert one.columns() == other.columns()
    out = tmp_path / "predictions.parquet"
    assert write_predictions(model, raw, str(out)) == len(arrow)
    assert pq.read_table(out)["prediction"].to_pylist() == model.predict(arrow).tolist()


def test_a_dask_dataframe_is_a_table(arrow: pa.Table, client: Any) -> None:
    """Also with partitions of uneven length, one of which is empty."""
    dd = pytest.importorskip("dask.dataframe")
    whole = arrow.to_pandas()
    parts = [whole[:9_000], whole[9_000:9_000], whole[9_000:9_001], whole[9_001:]]
    frame = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    assert frame.npartitions == 4
    other = fit_table(MODELS["logistic"], schema(), stream(frame, engine="dask", scheduler=client))
    assert grid_steps(in_memory("logistic"), other) <= 1.0
    with pytest.raises(DeclarationError, match="engine='dask'"):
        fit_table(MODELS["logistic"], schema(), stream(frame))
    short = stream(frame[["age", "income"]], engine="dask", scheduler=client)
    with pytest.raises(DataError, match="no columns 'schooling'"):
        fit_table(MODELS["logistic"], schema(), short)
    with pytest.raises(DeclarationError, match="A cluster reads files"):
        fit_table(MODELS["logistic"], schema(), stream(arrow, engine="dask", scheduler=client))


def test_rows_may_be_read_anew_in_every_pass(
    raw: RawStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privet.rows.dask.MOST_OF_MEMORY", 0.0)
    other = fit_table(MODELS["logistic"], schema(), raw)
    assert not raw.engine.persisted  # type: ignore[attr-defined]
    assert grid_steps(in_memory("logistic"), other) <= 1.0


def worker_ids(client: Any) -> list[int]:
    """The workers' process ids."""
    return list(client.run(os.getpid).values())


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(raw: RawStream, client: Any) -> None:
    killed: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.passes == 3 and not killed:
            killed.append(worker_ids(client)[0])
            os.kill(killed[0], signal.SIGKILL)

    with watched(tell):
        other = fit_table(MODELS["logistic"], schema(), raw)
    assert killed
    assert grid_steps(in_memory("logistic"), other) <= 1.0


def test_a_cluster_that_gave_up_its_only_worker_gets_another(
    raw: RawStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask gives up a worker that is not back in time, as on a busy machine, for good."""
    monkeypatch.setattr("privet.rows.dask.LOOK", 0.5)
    killed: list[int] = []
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "50ms"}):
        own = stream(raw.table, engine="dask", workers=1)
        mine: Any = own.engine.client  # type: ignore[attr-defined]

        def tell(progress: Progress) -> None:
            if progress.passes == 3 and not killed:
                killed.extend(worker_ids(mine))
                os.kill(killed[0], signal.SIGKILL)

        with mine.cluster, mine, watched(tell):
            other = fit_table(MODELS["logistic"], schema(), own)
    assert len(killed) == 1
    assert grid_steps(in_memory("logistic"), other) <= 1.0


def test_an_answer_that_is_lost_on_its_way_is_computed_again(
    raw: RawStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's client fails in ways of its own where a worker is lost while it fetches from it."""
    source, lost = raw.source(ChunkEncoder(schema())), []
    real = distributed.Future.result

    def result(future: Any, timeout: float | None = None) -> Any:
        if len(lost) < 2 and "remote_answer" in future.key:
            lost.append(future.key)
            raise UnboundLocalError("the secret of row 17")
        return real(future, timeout=timeout)

    monkeypatch.setattr(distributed.Future, "result", result)
    assert sum(source.each(len)) == source.n
    lost.clear()
    monkeypatch.setattr("privet.rows.dask.CHANCES", 2)
    with pytest.raises(DataError, match=r"UnboundLocalError.*Nothing was released"):
        source.each(len)


def boom(chunk: Any) -> None:
    """A task whose error quotes a row."""
    raise ValueError("the secret of row 17")


def test_a_failing_task_ends_the_fit_without_quoting_a_row(raw: RawStream, client: Any) -> None:
    source = raw.source(ChunkEncoder(schema()))
    with pytest.raises(DataError, match="did not finish the pass") as caught:
        source.each(boom)
    assert "secret" not in str(caught.value)
    logs = str(client.get_worker_logs())
    assert "TaskFailed" in logs  # a cluster's own logs name the task and its arguments
    assert "secret" not in logs
    assert "array(" not in logs
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


def test_a_corrupt_row_group_is_an_error_on_the_workers(client: Any, tmp_path: Path) -> None:
    folder = write(tmp_path / "mine")
    path = folder / "part-0.parquet"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 3)
        file.write(b"\x00" * (size // 3))
    with pytest.raises(DataError, match=r"damaged|changed"):
        fit_table(MODELS["logistic"], schema(), stream(folder, engine="dask", scheduler=client))


def test_a_task_that_runs_twice_is_counted_once(raw: RawStream) -> None:
    source = raw.source(ChunkEncoder(schema()))
    job = EachChunk(len)
    for handle in source.handles:  # the same tasks under way beside the pass
        raw.engine._submit(remote_answer, handle, job)  # type: ignore[attr-defined]
    assert sum(source.each(len)) == source.n
