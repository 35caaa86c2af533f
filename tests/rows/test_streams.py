"""Tables that are read in parts: the same numbers as arrays, and no release of a wrong sum."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.pipeline import make_pipeline

from privet import (
    ApproxDP,
    Ledger,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    evaluate,
    fit_table,
    stream,
)
from privet.errors import DataError, DeclarationError, SeededNoise
from privet.evaluation.threshold import choose_threshold
from privet.kernels import InteractivePredictor
from privet.models.fit import ModelView
from privet.models.predictions import write_predictions
from privet.models.row_wise import RowWise
from privet.rows.chunks import Chunk, Sums
from privet.rows.cutting import Cutter, cut
from privet.rows.parquet import open_parquet, parquet_units
from privet.rows.streamed import Source
from privet.rows.threads import Progress, watched
from privet.schema import Person, Schema
from privet.schema.encode import ChunkEncoder
from tests.rows.cases import MODELS, SEED, grid_steps, in_memory, schema_for
from tests.rows.tables import N, schema, small_chunks, table, write

__all__ = ["small_chunks"]
pytestmark = [
    pytest.mark.usefixtures("small_chunks"),
    pytest.mark.filterwarnings("ignore::privet.errors.SeededNoise"),
    pytest.mark.filterwarnings("ignore::privet.tuning.candidates.TuningAdvice"),
]


@pytest.fixture(scope="module")
def arrow() -> pa.Table:
    """All rows in memory."""
    return pa.table(table())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in files."""
    return write(tmp_path_factory.mktemp("people"))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder that a test may spoil."""
    return write(tmp_path / "mine")


def plain() -> LogisticRegression:
    return LogisticRegression(1.0, standardize=None, **SEED)


# -- the same numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_every_model_agrees_with_arrays_to_one_grid_step(name: str, folder: Path) -> None:
    other = fit_table(MODELS[name], schema_for(name), stream(folder, workers=2))
    assert grid_steps(in_memory(name), other) <= 1.0


def test_csv_duckdb_and_polars_are_read_in_parts_as_well(
    arrow: pa.Table, folder: Path, tmp_path: Path
) -> None:
    for number, part in enumerate((arrow.slice(0, 12_345), arrow.slice(12_345))):
        pa.csv.write_csv(part, tmp_path / f"part-{number}.csv")
    pa.csv.write_csv(arrow, tmp_path.parent / "whole.csv")
    files = f"read_parquet('{folder}/*.parquet')"
    relation = duckdb.sql(f"select * from {files} order by filename, file_row_number")
    plan = pl.scan_parquet(sorted(folder.glob("*.parquet")))
    one = fit_table(plain(), schema(), arrow)
    for other in (tmp_path, stream(tmp_path.parent / "whole.csv"), stream(relation), stream(plan)):
        assert grid_steps(one, fit_table(plain(), schema(), other)) <= 1.0


def test_folders_named_after_a_column_have_it(arrow: pa.Table, tmp_path: Path) -> None:
    sexes = np.asarray(arrow["sex"])
    order = np.argsort(sexes, kind="stable")
    for sex in ("female", "male"):
        part = arrow.filter(pa.array(sexes == sex)).drop_columns(["sex"])
        (tmp_path / f"sex={sex}").mkdir()
        pq.write_table(part, tmp_path / f"sex={sex}" / "part.parquet")
    one = fit_table(plain(), schema(), arrow.take(pa.array(order)))
    assert grid_steps(one, fit_table(plain(), schema(), tmp_path)) <= 1.0


def test_evaluation_threshold_and_intervals_agree(arrow: pa.Table, folder: Path) -> None:
    model = fit_table(plain(), schema(), folder)
    asked: dict[str, Any] = {"budget": 1.0, "training_rows": False, **SEED}
    one, other = (evaluate(model, each, groups="sex", **asked) for each in (arrow, folder))
    assert one.measures == other.measures
    assert one.counts == other.counts
    asked["candidates"] = [-1.0, 0.0, 1.0]
    one, other = (choose_threshold(model, each, **asked) for each in (arrow, folder))
    assert one == other
    one, other = (confidence_intervals(model, each, budget=8.0) for each in (arrow, folder))
    assert one.columns() == other.columns()
    line = in_memory("least squares")
    del asked["candidates"]
    asked["measures"] = ["residuals"]
    one, other = (evaluate(line, each, **asked) for each in (arrow, folder))
    assert one.measures[0].estimate == pytest.approx(other.measures[0].estimate, rel=1e-12)
    assert one.counts == other.counts


def test_predictions_are_written_in_the_order_of_the_table(
    arrow: pa.Table, folder: Path, tmp_path: Path
) -> None:
    model = fit_table(plain(), schema(), folder)
    out = tmp_path / "predictions.parquet"
    assert write_predictions(model, folder, str(out), probabilities=True) == N
    found = pq.read_table(out)
    assert found["prediction"].to_pylist() == model.predict(arrow).tolist()
    second = found[f"probability of {model.classes_[1]}"].to_numpy()
    np.testing.assert_allclose(second, model.predict_proba(arrow)[:, 1], rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(folder), model.decision_function(arrow))


# -- how tables are cut ----------------------------------------------------------------------------


def test_chunks_end_at_multiples_of_their_size_whatever_the_batches() -> None:
    rng = np.random.default_rng(1)
    for start in (0, 5, 64):
        sizes = rng.integers(0, 90, 12)
        x = rng.normal(size=(int(sizes.sum()), 2))
        codes = np.arange(len(x))
        ends = np.cumsum(sizes)
        batches = [(x[e - s : e], codes[e - s : e]) for e, s in zip(ends, sizes, strict=True)]
        pieces = list(cut(iter(batches), start, 32))
        for place, whole in enumerate((x, codes)):
            found = np.concatenate([parts[place] for _, parts in pieces])
            np.testing.assert_array_equal(found, whole)
        numbers = [number for number, _ in pieces]
        assert numbers == [start] + [(start // 32 + 1 + i) * 32 for i in range(len(pieces) - 1)]


def test_units_hold_every_row_once_and_begin_near_row_groups(folder: Path) -> None:
    files, _ = open_parquet(folder)
    units: Any = parquet_units(files, Cutter.of(ChunkEncoder(schema())))
    assert len(units) > 3
    assert sum(unit.rows for unit in units) == N
    for unit in units:
        assert sum(part.rows for part in unit.parts) == unit.rows
        assert all(part.skip < unit.cutter.size for part in unit.parts)
        assert sum(len(chunk) for chunk in unit.chunks()) == unit.rows


# -- what could go wrong ---------------------------------------------------------------------------


def os_utime(path: Path, before: Any) -> None:
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def spoiled_after(passes: int, spoil: Any) -> Any:
    """A watcher that spoils the files once, after some passes."""
    done: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.rows == progress.n == N and progress.passes == passes and not done:
            done.append(1)
            spoil()

    return watched(tell)


def test_a_file_that_changes_between_passes_ends_the_fit_charged_and_unreleased(
    mine: Path, arrow: pa.Table, tmp_path: Path
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.open("people", cap=PureDP(2.0))
    model = LogisticRegression(1.0, ledger=ledger, dataset="people")
    shorter = lambda: pq.write_table(arrow.slice(0, 8_000), mine / "part-0.parquet")  # noqa: E731
    with spoiled_after(2, shorter), pytest.raises(DataError, match="changed while it was read"):
        fit_table(model, schema(), mine)
    assert not hasattr(model, "coef_")
    assert ledger.remaining("people") == pytest.approx(1.0)
    assert [each.settled for each in ledger.releases("people")] == [False]


def test_a_driver_that_is_killed_leaves_a_charge_that_the_ledger_shows(
    folder: Path, tmp_path: Path
) -> None:
    place = f"sqlite:///{tmp_path}/ledger.db"
    Ledger(place).open("people", cap=PureDP(2.0))
    asked = [sys.executable, "-m", "tests.rows.killed_driver", str(folder), place]
    root = Path(__file__).parents[2]
    assert subprocess.run(asked, cwd=root, timeout=300, check=False).returncode == -signal.SIGKILL
    assert Ledger(place).remaining("people") == pytest.approx(1.0)
    assert len(Ledger(place).orphans("people")) == 1


def test_a_file_that_is_gone_where_it_is_read_is_named_as_such(mine: Path) -> None:
    gone = lambda: (mine / "part-4.parquet").unlink()  # noqa: E731
    with spoiled_after(2, gone), pytest.raises(DataError, match="must see the same paths"):
        fit_table(plain(), schema(), mine)


def test_workers_with_another_working_directory_find_the_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    source = stream(folder.name).source(ChunkEncoder(schema()))
    monkeypatch.chdir("/")
    assert sum(source.each(len)) == N


def test_cells_that_change_while_size_and_time_stay_are_noticed(mine: Path) -> None:
    path = mine / "part-0.parquet"
    before, whole = path.stat(), pq.read_table(path)
    ages = np.array(whole["age"])

    def spoil() -> None:
        ages[0] = 90 if ages[0] != 90 else 17
        changed = whole.set_column(0, "age", pa.array(ages))
        pq.write_table(changed, path, row_group_size=1_700)
        os_utime(path, before)

    with spoiled_after(2, spoil), pytest.raises(DataError, match="changed while it was read"):
        fit_table(plain(), schema(), mine)


def test_a_corrupt_row_group_is_an_error_that_quotes_nothing(mine: Path) -> None:
    path = mine / "part-0.parquet"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 3)
        file.write(b"\x00" * (size // 3))
    with pytest.raises(DataError, match=r"damaged|changed"):
        fit_table(plain(), schema(), mine)


def test_other_types_missing_columns_and_empty_folders_are_refused(
    mine: Path, arrow: pa.Table, tmp_path: Path
) -> None:
    other = arrow.slice(0, 10)
    hours = other.column_names.index("hours")
    pq.write_table(other.set_column(hours, "hours", pa.array(["x"] * 10)), mine / "part-9.parquet")
    with pytest.raises(DataError, match=r"column 'hours' of 'part-9\.parquet'"):
        fit_table(plain(), schema(), mine)
    pq.write_table(other.drop_columns(["hours"]), mine / "part-9.parquet")
    with pytest.raises(DataError, match="column 'hours'"):
        fit_table(plain(), schema(), mine)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match="no Parquet or CSV file"):
        fit_table(plain(), schema(), tmp_path / "nothing")
    pq.write_table(other.slice(0, 0), tmp_path / "nothing" / "part.parquet")
    with pytest.raises(DataError, match="no rows"):
        fit_table(plain(), schema(), tmp_path / "nothing")


def test_an_unneeded_column_may_differ(mine: Path, arrow: pa.Table) -> None:
    part = pq.read_table(mine / "part-3.parquet")
    place = part.column_names.index("commute")
    pq.write_table(
        part.set_column(place, "commute", pa.array(["x"] * len(part))), mine / "part-3.parquet"
    )
    one = fit_table(plain(), schema(), arrow)
    assert grid_steps(one, fit_table(plain(), schema(), mine)) <= 1.0


class Twice(type(stream(".").engine)):  # type: ignore[misc]
    """Threads that hand in a unit's answer twice, or leave one out."""

    def __init__(self, fault: str) -> None:
        super().__init__(1)
        self.fault = fault

    def run(self, handles: Any, job: Any) -> Any:
        """Answers with a fault among them."""
        for number, found in enumerate(super().run(handles, job)):
            if number != 1 or self.fault != "lost":
                yield found
            if number == 1 and self.fault == "twice":
                yield found


@pytest.mark.parametrize("fault", ["lost", "twice"])
def test_an_answer_that_is_lost_or_comes_twice_is_noticed(folder: Path, fault: str) -> None:
    source = stream(folder).source(ChunkEncoder(schema()))
    broken = Source(source.handles, source.places, source.d, Twice(fault))
    with pytest.raises(DataError, match="rows were counted"):
        broken.each(len)


def test_persons_pipelines_and_answers_are_refused_in_words(folder: Path) -> None:
    whole = schema()
    persons = Schema(whole.columns, whole.label, person=Person("commute", 2))
    with pytest.raises(DeclarationError, match="rows of a person"):
        fit_table(plain(), persons, folder)
    with pytest.raises(DeclarationError, match="in memory"):
        fit_table(make_pipeline(RowWise(np.negative), plain()), whole, folder)
    x, y = stream(folder).encoded(whole)
    with pytest.raises(DeclarationError, match="hold their table in memory"):
        InteractivePredictor(ApproxDP(1.0, 1e-6), queries=2, **SEED).fit(x, y)
    with pytest.raises(DeclarationError, match="engine must be"):
        stream(folder, engine="abacus")


def test_jobs_hold_neither_budget_nor_ledger_nor_seed() -> None:
    model = LogisticRegression(PureDP(0.123456789), standardize=None, insecure_seed=987654321)
    planned = model.planned(1_000, 5)
    view = ModelView.of(model, 5, planned.mechanism.loss, 2)
    job = Sums(view, planned.design.risk.gradients, (np.zeros((1, 6)),))
    sent = pickle.dumps(job)
    for secret in (b"PureDP", b"Ledger", pickle.dumps(0.123456789)[3:11], b"\x87\xb1\xde\x3a"):
        assert secret not in sent
    chunk = Chunk(0, np.zeros((3, 5)), np.zeros(3, dtype=int), np.zeros(3, dtype=int))
    assert pickle.loads(sent)([chunk])[0].value.shape == (1, 6)


def test_passes_are_told_with_speed_and_gradient_norm(folder: Path) -> None:
    told: list[str] = []
    with watched(lambda progress: told.append(str(progress))):
        fit_table(plain(), schema(), folder)
    assert "rows, " in told[-1]
    assert "gradient norm" in told[-1]


def test_a_seed_warns_here_too(folder: Path) -> None:
    with pytest.warns(SeededNoise):
        fit_table(LogisticRegression(1.0, insecure_seed=1), schema(), folder)
