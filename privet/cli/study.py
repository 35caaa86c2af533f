"""The demo's study: how good private models are on made-up people, release after release.

Only generated data allows this. Each point repeats a release many times and measures it on fresh
rows; on a real table every one of these releases would have to be paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.losses import HuberHinge, Logistic
from privet.mechanisms import ObjectivePerturbation, OutputPerturbation
from privet.mechanisms.release import Mechanism
from privet.privacy import PureDP
from privet.rows import checked_rows

Array = NDArray[np.float64]
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
COLOURS = ("#1b6ca8", "#c8553d", "#7a7a7a")
#: name in the picture -> mechanism and loss
RECIPES: dict[str, tuple[type[Mechanism], Any]] = {
    "logistic": (ObjectivePerturbation, Logistic()),
    "Huber SVM": (ObjectivePerturbation, HuberHinge()),
    "logistic, noise on the output": (OutputPerturbation, Logistic()),
}


@dataclass(frozen=True)
class Split:
    """Encoded rows and whether each is in the second class."""

    x: Array
    y: NDArray[np.bool_]


def without_privacy(train: Split, test: Split) -> float:
    """Accuracy of scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression

    plain = LogisticRegression(C=10.0, max_iter=1000).fit(train.x, train.y)
    return float(plain.score(test.x, test.y))


def accuracies(train: Split, test: Split, draws: int) -> dict[str, Array]:
    """Accuracy of ``draws`` releases at each epsilon: name -> (epsilons, draws)."""
    found = {}
    for name, (mechanism, loss) in RECIPES.items():
        targets = loss.targets(train.y.astype(np.int_))
        rows = checked_rows(train.x, targets, norm_bound=1.0)
        points = []
        for epsilon in EPSILONS:
            scores = test.x @ mechanism(loss, PureDP(epsilon)).sample(rows, draws).T
            points.append(((scores > 0) == test.y[:, None]).mean(axis=0))
        found[name] = np.array(points)
    return found


def draw(curves: dict[str, Array], majority: float, plain: float, rows: int, path: Path) -> None:
    """Accuracy against epsilon, with the spread of the releases."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for colour, (name, found) in zip(COLOURS, curves.items(), strict=True):
        low, middle, high = np.quantile(found, [0.1, 0.5, 0.9], axis=1)
        axes.fill_between(EPSILONS, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(EPSILONS, middle, marker="o", markersize=4, color=colour, label=name)
    for level, word, style in ((plain, "not private", "-"), (majority, "larger class", ":")):
        axes.axhline(level, color="black", linewidth=1, linestyle=style)
        axes.annotate(word, (EPSILONS[0], level), (0, 4), textcoords="offset points")
    axes.set(xscale="log", xlabel="epsilon (smaller protects more)", ylabel="accuracy, fresh rows")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.08))
    draws = next(iter(curves.values())).shape[1]
    axes.set_title(f"The price of privacy: {rows:,} rows, {draws} releases a point", loc="left")
    figure.savefig(path)
