"""What this version costs beside an earlier one: processor seconds, as ratios in one run.

Start-up, fits, draws and evaluations in new processes, one of each version in turn; the least of
the runs counts, which a busy machine disturbs least. Both have their compiled modules, as a
package that is installed has. Writes ``earlier.md``.

Run: python benchmarks/earlier.py FOLDER [MORE], where FOLDER is a checkout of the earlier version
(git worktree add FOLDER COMMIT) and MORE a folder with packages that only it needs (pip install
--target MORE opendp); both run with the packages of this environment.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parents[1]
RUNS = 7
TABLE = """
import warnings; warnings.simplefilter("ignore")
import logging; logging.disable()
import resource
import numpy as np
from privet import LogisticRegression, PureDP
rng = np.random.default_rng(0)
X = rng.normal(size=({n}, {d})); X /= np.linalg.norm(X, axis=1, keepdims=True)
y = X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0
def used():
    found = resource.getrusage(resource.RUSAGE_SELF); return found.ru_utime + found.ru_stime
"""
FIT = """
LogisticRegression(1.0, classes=[False, True]).fit(X[:500], y[:500])
start = used()
for _ in range({k}): model = LogisticRegression(1.0, classes=[False, True]).fit(X, y)
"""
DRAW = """
from privet.losses import Logistic
from privet.mechanisms import ObjectivePerturbation
from privet.randomness import SystemRandomness
design = ObjectivePerturbation(Logistic(), PureDP(1.0), regularization=0.01).design(1000, {d})
start = used()
for _ in range({k}): design.main.sample(SystemRandomness(), 50)
"""
EVALUATE = """
from privet.evaluation import evaluate
model = LogisticRegression(1.0, classes=[False, True]).fit(X[:500], y[:500])
evaluate(model, X[:400], y[:400], budget=1.0)
start = used()
for _ in range({k}): evaluate(model, X, y, budget=1.0)
"""
END = "print(used() - start)"


def timed(code: str, **sizes: int) -> list[str]:
    """A process that tells the seconds of its last part."""
    return ["-c", (TABLE + code + END).format(**sizes)]


COMMANDS = {
    "import privet": ["-c", "import privet"],
    "privet --help": ["-m", "privet", "--help"],
    "privet plan --help": ["-m", "privet", "plan", "--help"],
    "200 fits, 500 rows of 5 columns": timed(FIT, n=500, d=5, k=200),
    "10 fits, 20,000 rows of 40 columns": timed(FIT, n=20_000, d=40, k=10),
    "1,000 times 50 draws in 40 columns": timed(DRAW, n=1, d=40, k=1000),
    "10 evaluations, 20,000 rows of 10 columns": timed(EVALUATE, n=20_000, d=10, k=10),
}


def surroundings(compiled: str, folders: list[Path]) -> dict[str, str]:
    """One thread, modules from ``folders``, and their compiled forms kept in ``compiled``."""
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(map(str, folders))
    return {**kept, **single, "PYTHONPYCACHEPREFIX": compiled, "PYTHONPATH": path}


def once(folder: Path, arguments: list[str], environment: Mapping[str, str]) -> float:
    """Processor seconds of one process, or those that it tells."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if arguments[-1].endswith(END):
        return float(done.stdout)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Both versions in turn; a table with the ratios."""
    earlier = Path(sys.argv[1]).resolve()
    named = ["git", "-C", str(earlier), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(named, check=True, capture_output=True, text=True).stdout.strip()
    lines = [
        "# Beside an earlier version",
        "",
        f"Written by `python benchmarks/earlier.py`, with a checkout of {commit}: processor",
        f"seconds, the least of {RUNS} runs of each in turn, one thread.",
        "",
        "| what | earlier | now | ratio |",
        "|---|---|---|---|",
    ]
    more = [Path(each).resolve() for each in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as compiled:
        then = surroundings(compiled, [earlier, *more])
        today = surroundings(compiled, [HERE])
        for name, arguments in COMMANDS.items():
            once(earlier, arguments, then), once(HERE, arguments, today)  # compiles
            runs = [
                (once(earlier, arguments, then), once(HERE, arguments, today)) for _ in range(RUNS)
            ]
            before, now = (min(run[i] for run in runs) for i in (0, 1))
            lines.append(f"| {name} | {before:.3f} | {now:.3f} | {now / before:.2f} |")
            print(lines[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
