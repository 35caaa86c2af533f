"""The examples of ``docs/gaussian.md`` run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "gaussian.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 1
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("[0 1]")
