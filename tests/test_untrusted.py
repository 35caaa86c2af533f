"""Files from other hands: bounded in size, time and depth, and refused with a sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import privet
from privet._names import alike, is_safe
from privet._untrusted import (
    DEEPEST,
    parsed_json,
    parsed_toml,
    read_whole,
    sealed,
    unsealed,
)
from privet.errors import DataError


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = f"from privet._untrusted import read_whole\nread_whole({str(pipe)!r}, 9)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert "DataError: pipe is a pipe or a device" in done.stderr


#: Files that are Privet's own or the system's: templates, words, the table of mounts, own memories.
OWN = {
    "statement/writers.py",
    "statement/facts.py",
    "ledger/postgres_tables.py",
    "ledger/postgres_facts.py",
}
OWN |= {"ledger/place.py", "ledger/memory.py", "_files.py", "service/visitor_page.py"}


def test_every_file_from_outside_is_read_by_the_one_reader() -> None:
    root = Path(privet.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"\.read_text\(|\.read_bytes\(|tomllib\.loads?\(", path.read_text())
    }
    assert found <= OWN | {"_untrusted.py"}


def test_devices_folders_and_large_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="device"):
        read_whole("/dev/zero", 9)
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path, 9)
    (tmp_path / "f").write_bytes(b"0123456789")
    assert read_whole(tmp_path / "f", 10) == b"0123456789"
    with pytest.raises(DataError, match="larger"):
        read_whole(tmp_path / "f", 9)


def test_a_file_of_the_kernels_that_would_wait_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's log calls itself a regular file, and has nothing more to say just now."""
    (tmp_path / "f").write_bytes(b"")
    heard, says = os.pipe()
    os.set_blocking(heard, False)
    found, real = os.stat(tmp_path / "f"), os.fstat
    monkeypatch.setattr(os, "open", lambda *_: heard)
    monkeypatch.setattr(os, "fstat", lambda number: found if number == heard else real(number))
    with pytest.raises(DataError, match="device"):
        read_whole(tmp_path / "f", 9)
    os.close(says)


def test_a_file_that_only_claims_its_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DataError, match="larger"):
        read_whole(tmp_path / "f", 1 << 20)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        "[" + "[]," * 2_000_001 + "[]]",
        "9" * 5000,
        "9" * 401,
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        '{"a": 1, "a": 2}',
        '{"b": {"a": 1, "a": 1}}',
        "\ufeff{}",
        "{'a': 1}",
        "",
    ],
    ids=range(15),
)
def test_hostile_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parsed_json(text.encode())


def test_ordinary_json_is_read() -> None:
    value = {"a": [1, -2.5, 1e300, None, True, "ü\u202e"], "b": {"c": [[[]]]}, "n": 10**30}
    assert parsed_json(json.dumps(value).encode()) == value
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert json.dumps(parsed_json(deep.encode())) == deep


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 100_000,
        "x = " + "{a=" * 3000,
        "[" + ".".join("a" * 500_000) + "]",
        ".".join(["'a'"] * 200_000) + " = 1",
        "x = {" + " . ".join(['"a"'] * 200_000) + " = 1}",
        "x = " + "9" * 5000,
        "x = 0x" + "f" * 100_000,
        "x = 1\nx = 2",
    ],
    ids=range(8),
)
def test_hostile_toml_is_a_toml_error(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        parsed_toml(text)


def test_ordinary_toml_is_read() -> None:
    text = 'a.b.c = 1\n[x."y.z"]\nlist = [1.5, "' + "w." * 60 + '"]\n'
    assert parsed_toml(text) == tomllib.loads(text)


def test_every_flipped_bit_of_a_sealed_text_is_found() -> None:
    record = {"name": "grün\x7f", "numbers": [1.0, -2.5e-300, 7], "none": None, "yes": True}
    text = sealed(record).encode()
    assert unsealed(text) == record
    for place in range(len(text)):
        for bit in range(8):
            changed = bytearray(text)
            changed[place] ^= 1 << bit
            with pytest.raises(ValueError):
                unsealed(bytes(changed))


def test_other_spellings_of_the_same_record_are_found() -> None:
    text = sealed({"a": 1.5})
    for changed in (
        text.replace("1.5", "1.50"),
        text + " ",
        text.replace("\n", "\r\n"),
        "{}",
        "[]",
    ):
        with pytest.raises(ValueError):
            unsealed(changed.encode())


@pytest.mark.parametrize(
    "names",
    [
        ("age", "Age"),
        ("age", "ａｇｅ"),
        ("caf\u00e9", "cafe\u0301"),
        ("age", "\u0430ge"),
        ("age", "a\u200bge"),
        ("age", "age "),
        ("two words", "two\u00a0words"),
        ("straße", "STRASSE"),
        ("Β", "β"),
        ("H", "\u041d"),
    ],
)
def test_names_that_look_the_same(names: tuple[str, str]) -> None:
    assert alike(["other", *names]) == names
    assert alike([names[0], names[0]]) is None


def test_names_that_do_not_look_the_same() -> None:
    assert alike(["ρ", "p", "α", "a", "x1", "x2", "x_1", "год", "rod", "سن", "年齢", "x²y"]) is None
    assert alike(["M", "m"], case=True) is None
    assert alike(["M", "\u041c"], case=True) == ("M", "\u041c")


def test_what_may_be_in_a_name() -> None:
    for good in ("age", "Größe", "می\u200cخواهم", "😀", "a b", "<=50K"):
        assert is_safe(good)
    for bad in (
        "a\x1b[2J",
        "a\x9b",
        "a\x7f",
        "a\nb",
        "a\tb",
        "\u202eega",
        "a\u2028",
        "\ud800",
        "\0",
    ):
        assert not is_safe(bad)
