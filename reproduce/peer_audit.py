"""The black box on a peer, diffprivlib 0.6.6 with scikit-learn 1.7.2, and on Privet beside it.

Both libraries are asked for logistic regression with epsilon = 1 on rows of norm at most 100,
without an intercept, at one and the same ridge; Privet may raise it, and says so. Two neighboring
tables of ten rows differ in one row: as long as allowed in the first, zero in the second. Only
released coefficients are looked at; the event is "close to zero", and its width is chosen by draws
that are not counted afterwards.

    python -m reproduce.peer_audit [--fits 10000] [--peer FOLDER]

The peer is installed into an environment of its own (FOLDER, by default beside the other temporary
files) and is skipped by name where it cannot be had. The page is ``peer_audit.md``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from privet import LogisticRegression, PureDP
from privet.audit.black_box import epsilon_lower_bound
from privet.errors import quietly
from reproduce._peer_draws import EPSILON, NORM, RIDGE, ROWS, table

HERE = Path(__file__).parent
PEER = ("diffprivlib==0.6.6", "scikit-learn==1.7.2")
FALSE_ALARM = 0.01

PAGE = """# The black box on a peer

Made by `python -m reproduce.peer_audit` ({fits:,} fits a side, each library's own source of noise,
no seed).

Logistic regression, epsilon = {epsilon:g}, rows of norm at most {norm:g}, ten rows, no intercept,
the same ridge (`C = {c:.3g}`). The neighbors differ in one row: as long as allowed, or zero. Event:
the coefficient is close to zero. The bound is Clopper and Pearson's, on draws that did not choose
the event.

| library | claimed epsilon | certified: at least (99 %) | verdict |
|---|---|---|---|
{rows}

## What is wrong

Chaudhuri, Monteleoni and Sarwate (2011, Algorithm 2) assume rows of norm at most 1 and charge
`2 log(1 + c/(n Lam))` for the Jacobian, `c` the bound on the loss's curvature. A row of norm `R`
has curvature `c R^2`. diffprivlib's `mechanisms/vector.py` computes
`function_sensitivity * data_sensitivity / alpha`, that is `c R/(n Lam)`: one factor `R` too few.
For `data_norm` above 1 too little is charged, the more the longer rows may be; here a row's
curvature makes outputs near zero up to {jacobian:.1f} times as probable (log {log:.2f}), while the
whole epsilon is {epsilon:g}. For `data_norm <= 1` the same line charges too much, and protects.

Privet charges `c R^2` (`privet/mechanisms/objective.proof.md`). At this ridge the Jacobian alone
would cost more than epsilon; Privet raises the ridge to what its theorem needs, with a warning
(`calibration="exact"` refuses). The same slip is one of its planted bugs, "R for R^2", which its
own audit and `privet verify` both find ([planted bugs](../docs/planted-bugs.md)).
"""


def peer_python(folder: Path) -> Path | None:
    """The interpreter of an environment that has the peer; None where it cannot be had."""
    python = folder / "bin" / "python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", folder], check=False)
        if made.returncode:
            return None
    have = [python, "-c", "import diffprivlib, sklearn"]
    if subprocess.run(have, check=False, capture_output=True).returncode == 0:
        return python
    install = [python, "-m", "pip", "install", "--quiet", *PEER]
    done = subprocess.run(install, check=False)
    return python if done.returncode == 0 else None


def of_the_peer(python: Path, side: int, fits: int) -> np.ndarray:
    """Released coefficients, drawn in the peer's own environment."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "draws.npy"
        command = [python, HERE / "_peer_draws.py", str(side), str(fits), out]
        subprocess.run(command, check=True)
        return np.asarray(np.load(out))


def of_privet(side: int, fits: int) -> np.ndarray:
    """The same from Privet's own ``fit``."""
    x, y = table(side)
    found = np.empty(fits)
    with quietly():
        for i in range(fits):
            model = LogisticRegression(
                PureDP(EPSILON),
                norm_bound=NORM,
                fit_intercept=False,
                regularization=RIDGE / ROWS,
                noise="laplace",
                classes=[0, 1],
            )
            found[i] = model.fit(x, y).coef_[0, 0]
    return found


def certified(draws: list[np.ndarray]) -> float:
    """The certified lower bound with "close to zero" as event."""
    first, second = (-np.abs(part) for part in draws)
    return epsilon_lower_bound(first, second, FALSE_ALARM)


def main() -> None:
    """Audit both, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--peer", type=Path, default=Path(tempfile.gettempdir()) / "privet-peer")
    asked = parser.parse_args()
    python = peer_python(asked.peer)
    if python is None:
        print(f"skipped: {' with '.join(PEER)} cannot be had here.")
        return
    libraries = {
        " with ".join(PEER): lambda side: of_the_peer(python, side, asked.fits),
        "Privet": lambda side: of_privet(side, asked.fits),
    }
    rows = []
    for name, draws in libraries.items():
        bound = certified([draws(side) for side in (0, 1)])
        verdict = "**refuted**" if bound > EPSILON else "not refuted"
        shown = f"{bound:.2f}" if bound > 0.0 else "nothing"
        rows.append(f"| {name} | {EPSILON:g} | {shown} | {verdict} |")
        print(rows[-1], flush=True)
    jacobian = 1.0 + 0.25 * NORM**2 / RIDGE
    page = PAGE.format(
        fits=asked.fits,
        epsilon=EPSILON,
        norm=NORM,
        c=1.0 / RIDGE,
        rows="\n".join(rows),
        jacobian=jacobian,
        log=np.log(jacobian),
    )
    (HERE / "peer_audit.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
