"""How long `privet` takes to say something, beside Python itself.

Writes ``startup.md``: wall and CPU seconds of a new process, medians of alternated runs.

Run: python benchmarks/startup.py
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import numpy'": ["-c", "import numpy"],
    "privet --help": ["-m", "privet", "--help"],
    "privet plan --help": ["-m", "privet", "plan", "--help"],
    "privet schema --help": ["-m", "privet", "schema", "--help"],
    "privet plan": ["-m", "privet", "plan", "--rows", "50000", "--columns", "60", "--epsilon", "1"],
}


def once(arguments: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Alternate the commands and write the medians."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, arguments in COMMANDS.items():
            found[name].append(once(arguments))
    load = os.getloadavg()[0]
    lines = [
        "# Start-up",
        "",
        f"Written by `python benchmarks/startup.py`: medians of {RUNS} alternated runs, seconds of",
        f"a new process. Load average {load:.1f} at the end; wall times mean little above 1.",
        "",
        "| command | wall | CPU |",
        "|---|---|---|",
    ]
    for name, runs in found.items():
        wall, cpu = (statistics.median(run[i] for run in runs) for i in (0, 1))
        lines.append(f"| `{name}` | {wall:.2f} | {cpu:.2f} |")
        print(lines[-1])
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
