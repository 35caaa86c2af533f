"""The examples of ``docs/intervals.md`` run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "intervals.md"


def test_the_examples_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    shown = capsys.readouterr().out
    printed = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)[0]
    for line in printed.splitlines():  # the same names; their numbers are another draw's
        assert line.split("  ")[0].strip("-.") in shown
    assert (tmp_path / "intervals.json").exists()
