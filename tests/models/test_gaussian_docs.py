"""The examples of ``docs/gaussian.md`` run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "gaussian.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}  # the second goes on where the first ended
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    shown = capsys.readouterr().out
    assert shown.startswith("[0 1]")
    assert "column 1 × column 2 → 2" in shown
    assert "class 1 against class 0" in shown
