"""Whole writes, new names, digests and names for the screen."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from privet._files import (
    canonical,
    digest,
    file_digest,
    hold,
    printable,
    probe,
    shortened,
    write_paid,
    write_through,
    write_whole,
)
from privet.errors import DeclarationError


def test_a_file_is_written_whole_and_replaced(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    write_whole(place, "first")
    write_whole(place, b"second", mode=0o644)
    assert place.read_bytes() == b"second"
    assert place.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["a.txt"]
    assert file_digest(place) == digest(b"second") == hashlib.sha256(b"second").hexdigest()


@pytest.mark.skipif(os.name != "posix", reason="needs an umask")
def test_who_keeps_new_files_to_themselves_keeps_predictions_too(tmp_path: Path) -> None:
    from privet.cli.predict_command import write

    for umask, mode in ((0o077, 0o600), (0o027, 0o640), (0o022, 0o644), (0, 0o644)):
        before = os.umask(umask)
        try:
            write({"prediction": np.array([1, 0])}, tmp_path / "p.csv", force=True)
            assert os.umask(umask) == umask  # and it is as it was
        finally:
            os.umask(before)
        assert (tmp_path / "p.csv").stat().st_mode & 0o777 == mode


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    write_whole(place, "old")

    def breaks(name: str) -> None:
        Path(name).write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_through(place, breaks)
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_takes_no_name_that_is_taken(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    write_whole(place, "mine", replace=False)
    with pytest.raises(FileExistsError):
        write_whole(place, "yours", replace=False)
    assert place.read_text() == "mine"
    assert os.listdir(tmp_path) == ["a.txt"]


def _try(place: str, text: str, won: object) -> None:
    try:
        write_whole(place, text, replace=False)
    except FileExistsError:
        return
    won.put(text)  # type: ignore[attr-defined]


def test_of_four_processes_one_wins(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    won = context.Queue()
    place = str(tmp_path / "a.txt")
    four = [context.Process(target=_try, args=(place, str(i), won)) for i in range(4)]
    for each in four:
        each.start()
    for each in four:
        each.join()
        assert each.exitcode == 0
    assert Path(place).read_text() == won.get(timeout=10)
    assert won.empty()


def test_a_probe_finds_a_folder_that_is_not_there(tmp_path: Path) -> None:
    probe(tmp_path, 1000)
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="No such file"):
        probe(tmp_path / "none")


def test_room_is_held_without_a_name(tmp_path: Path) -> None:
    with hold(tmp_path, 1000) as room:
        assert os.fstat(room.fileno()).st_size == 1000
        assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="No such file"):
        hold(tmp_path / "none", 1)


def test_a_claimed_name_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file system has no links, a new file's name is claimed first, and empty."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    write_whole(tmp_path / "one", "1", replace=False)
    assert (tmp_path / "one").read_text() == "1"
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        write_whole(tmp_path / "two", "2", replace=False)
    assert os.listdir(tmp_path) == ["one"]


def test_names_cannot_move_a_cursor() -> None:
    assert printable("a\x1b[2Jb\nc") == "a\ufffd[2Jb\ufffdc"
    assert printable("a\nb", keep="\n") == "a\nb"
    assert canonical({"b": 1, "a": [1.5, None]}) == '{"a":[1.5,null],"b":1}'


# -- what was paid for -----------------------------------------------------------------------------


def test_what_was_paid_for_is_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "model"
    write_paid(place, b"one", overwrite=False)
    write_paid(place, b"one", overwrite=False)  # the same again
    for other in (b"two", b"", b"longer"):
        with pytest.raises(DeclarationError, match="overwrite=True"):
            write_paid(place, other, overwrite=False)
    assert place.read_bytes() == b"one"
    write_paid(place, b"two", overwrite=True)
    assert place.read_bytes() == b"two"
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_of_many_threads_one_writes_what_was_paid_for(tmp_path: Path) -> None:
    place = tmp_path / "model"

    def write(i: int) -> bool:
        try:
            write_paid(place, str(i), overwrite=False)
        except DeclarationError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(40))) == 1


def test_long_names_keep_both_ends() -> None:
    """In a picture, the class after a long category told one line from the next."""
    assert shortened("short", 5) == "short"
    homes = [f"discharge to: nursing home of the city → {name}" for name in ("home", "died")]
    cut = [shortened(name, 20) for name in homes]
    assert cut == ["discharge …ty → home", "discharge …ty → died"]
