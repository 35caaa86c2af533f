"""Encoded rows in a file without a name: read once, then from there, and every pass is checked."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import LogisticRegression, PureDP, fit_table, stream
from privet.errors import DataError, DeclarationError
from privet.ledger import Ledger
from privet.rows import scratch_file
from privet.rows.scratch_file import ScratchFile
from privet.rows.threads import Progress, watched
from privet.schema.encode import ChunkEncoder
from tests.cli.people import misused, run
from tests.rows.cases import MODELS, grid_steps, in_memory, schema_for
from tests.rows.tables import N, schema, small_chunks, write

__all__ = ["small_chunks"]
pytestmark = [
    pytest.mark.usefixtures("small_chunks"),
    pytest.mark.filterwarnings("ignore::privet.errors.SeededNoise"),
    pytest.mark.filterwarnings("ignore::privet.tuning.candidates.TuningAdvice"),
]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder that a test may spoil."""
    return write(tmp_path / "mine")


@contextmanager
def after_first_pass(act: Any) -> Iterator[None]:
    """Do something once the table was read."""
    done: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.rows == progress.n and not done:
            done.append(1)
            act()

    with watched(tell):
        yield
    assert done


@pytest.mark.parametrize("name", ["logistic", "softmax", "least squares", "partition search"])
def test_a_table_is_read_once_and_models_agree_with_arrays(
    name: str, mine: Path, tmp_path: Path
) -> None:
    raw = stream(mine, workers=2, scratch=tmp_path)
    with after_first_pass(lambda: shutil.rmtree(mine)):
        other = fit_table(MODELS[name], schema_for(name), raw)
    assert grid_steps(in_memory(name), other) <= 1.0


def test_the_file_has_no_name_and_is_for_its_owner_alone(mine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    source = stream(mine, scratch=folder).source(ChunkEncoder(schema()))
    assert sum(source.each(len)) == N
    assert list(folder.iterdir()) == []
    found = os.fstat(source.handles[0].file._file.fileno())
    assert stat.S_IMODE(found.st_mode) & 0o077 == 0
    assert found.st_size > N  # the rows are there


def test_a_later_pass_over_a_part_sees_the_same_rows(mine: Path, tmp_path: Path) -> None:
    encoder = ChunkEncoder(schema(), group="sex")
    whole = stream(mine).source(encoder)
    source = stream(mine, scratch=tmp_path).source(encoder)
    flags = np.random.default_rng(0).random(N) < 0.3
    for _ in range(2):
        for one, other in ((whole, source), (whole.chosen(flags), source.chosen(flags))):
            both = (each.each(_cells) for each in (one, other))
            for cells, others in zip(*both, strict=True):
                assert all(map(np.array_equal, cells, others))


def _cells(chunk: Any) -> Any:
    return chunk.x, chunk.codes, chunk.groups


def test_a_bit_that_changes_in_the_file_ends_the_fit_charged_and_unreleased(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[ScratchFile] = []

    class Watched(ScratchFile):
        def __init__(self, folder: Any) -> None:
            super().__init__(folder)
            files.append(self)

    def flip() -> None:
        file = files[0]._file.fileno()
        middle = os.fstat(file).st_size // 2
        (before,) = os.pread(file, 1, middle)
        os.pwrite(file, bytes([before ^ 1]), middle)

    monkeypatch.setattr(scratch_file, "ScratchFile", Watched)
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.open("people", cap=PureDP(2.0))
    model = LogisticRegression(1.0, ledger=ledger, dataset="people")
    raw = stream(mine, scratch=tmp_path)
    with after_first_pass(flip), pytest.raises(DataError, match="not what they were a pass before"):
        fit_table(model, schema(), raw)
    assert ledger.remaining("people") == pytest.approx(1.0)
    assert [each.settled for each in ledger.releases("people")] == [False]


def test_a_file_that_is_cut_off_is_noticed(mine: Path, tmp_path: Path) -> None:
    source = stream(mine, scratch=tmp_path).source(ChunkEncoder(schema()))
    source.each(len)
    os.ftruncate(source.handles[0].file._file.fileno(), 1_000)
    with pytest.raises(DataError, match="shorter than it was"):
        source.each(len)


def test_a_full_disk_ends_the_fit_in_words(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(DataError, match="its disk may be full"):
        fit_table(LogisticRegression(1.0), schema(), stream(mine, scratch=tmp_path))


def test_a_folder_that_is_not_there_and_clusters_are_refused(mine: Path, tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="scratch folder"):
        fit_table(LogisticRegression(1.0), schema(), stream(mine, scratch=tmp_path / "nowhere"))
    for engine in ("dask", "spark"):
        with pytest.raises(DeclarationError, match="engine 'threads'"):
            stream(mine, engine=engine, scratch=tmp_path)


def test_train_takes_a_scratch_folder(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema().to_toml())
    asked = ["train", mine, "--schema", tmp_path / "schema.toml", "--epsilon", 1]
    asked += ["--out", tmp_path / "m.privet"]
    found = run(*asked, "--scratch", tmp_path)
    assert found.exit_code == 0, found.output
    found = run(*asked, "--force", "--engine", "dask", "--scratch", tmp_path)
    misused(found, "--scratch goes with --engine threads")
