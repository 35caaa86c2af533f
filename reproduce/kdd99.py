"""KDD Cup 1999, normal against attack (Chaudhuri, Monteleoni and Sarwate 2011, Table 2, Figure 3).

70,000 connections drawn without repetition from the 10 % file in the shares of the full file: the
seven large classes are a tenth in that file, the others complete. ``regularization="auto"``;
10 folds and 20 draws on each. The paper's numbers are at epsilon = 0.1 with the best
regularization in hindsight; the last table does the same here. Writes ``kdd99.md``.

Run: python reproduce/kdd99.py   (needs PRIVET_DATA; about ten minutes)
"""

from __future__ import annotations

import tables
from _common import Data, kdd99, private_error, table, tell, twin_error, write

from privet import ZCDP, PureDP
from privet.losses import HuberHinge, Logistic, Loss
from privet.mechanisms import MECHANISMS
from privet.privacy import Budget

ROWS = 70_000
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
LOSSES: dict[str, Loss] = {"logistic": Logistic(), "Huber": HuberHinge(0.5)}
#: Chaudhuri et al. (2011), Table 2: epsilon = 0.1, the best of eight Lam in hindsight
PAPER = {
    "logistic": {"objective": 0.0113, "output": 0.0304, "non-private": 0.0016},
    "Huber": {"objective": 0.0064, "output": 0.0092, "non-private": 0.0013},
}
HINDSIGHT = (-3.5, -3.0, -2.5, -2.0, -1.5)
INTRO = """# KDD Cup 1999, normal against attack

Written by `python reproduce/kdd99.py`. Test error, mean of 10 folds and 20 draws on each, with the
standard error of the ten folds' means. {rows:,} connections in the shares of the full file; share
of normal ones {normal:.3f}. `regularization="auto"`.

Encoding: `reproduce.tables.KDDCUP99`, {columns} columns: duration and bytes on a logarithmic scale
up to declared bounds, counts up to 511 and 255 (the windows of the documentation), rates as they
are, protocol, ten well-known services and three flags by name, the others together. The content
features are left out but for `logged_in`: the documentation says that they were made for attacks
from inside a connection, which are a few in ten thousand. `KDDCUP99_FULL` has every feature, all 70
services and all flags. Rows of norm 1, no intercept; when the script runs, nothing of the encoding
is read from the rows.

**What was chosen in sight of this file.** `KDDCUP99` was chosen among about seven encodings whose
errors were compared on rows of this file, and this table is one of six on which the constants of
the default regularization were measured (`default_rule.md`). Neither choice was charged to a
budget; the errors are a little optimistic for it. `KDDCUP99_FULL` is what the paper's numbers
compare with.
"""
ENDING = """
What separates the Huber numbers from the paper's: columns and hindsight. Each column costs noise,
so with every feature in ({full} columns; the paper has 119) the default rule does worse than with
{columns}. And the paper reports its best regularization in hindsight, with constants of the
encoding (the largest value of each column) that were read from the data without being charged.
The last table gives Privet the same hindsight: what is left beside the paper's line is the
calibration and the scale of the columns.
"""


def error(loss: Loss, budget: Budget, how: str, data: Data, lam: float | None = None) -> object:
    """Mean test error of one way, at the default rule or a fixed regularization."""
    mechanism = MECHANISMS[how](loss, budget, regularization="auto" if lam is None else lam)
    found = private_error(mechanism, data)
    tell(f"{data.name} {loss.name} {how} {budget} {lam or 'auto'}: {found}")
    return found


def headline(data: Data, full: Data) -> str:
    """Epsilon = 0.1 beside the paper, with both encodings."""
    lines = []
    for name, loss in LOSSES.items():
        for how in ("objective", "output"):
            ours = [error(loss, PureDP(0.1), how, each) for each in (data, full)]
            lines.append([f"{name}, {how}", *ours, PAPER[name][how]])
        twins = [twin_error(loss, each) for each in (data, full)]
        lines.append([f"{name}, non-private", *twins, PAPER[name]["non-private"]])
    columns = [f"{part.name} ({part.x.shape[1]} columns)" for part in (data, full)]
    return table(["pure eps = 0.1", *columns, "Chaudhuri et al. 2011, best Lam"], lines)


def over_epsilon(data: Data) -> str:
    """Both losses, mechanisms and kinds of budget at every epsilon."""
    ways = [(name, how) for name in LOSSES for how in ("objective", "output")]
    lines = []
    for epsilon in EPSILONS:
        for kind, budget in (("pure", PureDP(epsilon)), ("zCDP", ZCDP(epsilon**2 / 2.0))):
            cells = [error(LOSSES[name], budget, how, data) for name, how in ways]
            lines.append([f"{epsilon:g}", kind, *cells])
    return table(["eps", "budget", *(f"{name}, {how}" for name, how in ways)], lines)


def hindsight(data: Data, full: Data) -> str:
    """Epsilon = 0.1 at the paper's grid of Lam; values below the proven floor are raised to it."""
    lines = [
        [
            f"{name}, {each.name}",
            *(error(loss, PureDP(0.1), "objective", each, 10.0**power) for power in HINDSIGHT),
        ]
        for name, loss in LOSSES.items()
        for each in (data, full)
    ]
    return table(["Lam", *(f"10^{power:g}" for power in HINDSIGHT)], lines)


def main() -> None:
    """Measure and write the page."""
    data = kdd99(ROWS, name="KDDCUP99")
    full = kdd99(ROWS, tables.KDDCUP99_FULL, "KDDCUP99_FULL")
    columns = {"columns": data.x.shape[1], "full": full.x.shape[1]}
    pages = [
        INTRO.format(rows=ROWS, normal=data.y.mean(), **columns),
        headline(data, full),
        "## Over eps, KDDCUP99 (zCDP: rho = eps^2/2)\n\n" + over_epsilon(data),
        "## eps = 0.1 in hindsight: objective perturbation at fixed Lam\n\n"
        + hindsight(data, full),
        ENDING.format(**columns).strip() + "\n",
    ]
    write("kdd99.md", "\n".join(pages))


if __name__ == "__main__":
    main()
