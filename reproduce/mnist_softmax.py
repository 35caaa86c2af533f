"""MNIST, ten digits by linear softmax: pixels, and fixed public features that do better.

The same model, mechanism and budgets twice. "pixels": each image divided by its own norm, 784
columns. "histograms": gradient-orientation histograms of 7 x 7 cells and 8 directions, square
roots, unit norm, 392 columns (``reproduce.tables.orientation_histograms``); a fixed function of one
image that was learned from nothing, so it costs no privacy. delta = 1e-5, no intercept,
``regularization="auto"``, the standard split of 60,000 and 10,000. Accuracies go to
``mnist_softmax.jsonl`` one by one, and what is there is not measured again: delete that file after
a change. Writes ``mnist_softmax.md``.

Run: python reproduce/mnist_softmax.py   (needs PRIVET_DATA; about ten minutes on a core)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import tables
from _common import HERE, SEED, Array, score, table, tell, write
from numpy.typing import NDArray

from privet import ApproxDP, LogisticRegression
from privet.losses import Softmax
from privet.losses.multiclass import sum_zero_basis
from privet.minimize import minimize
from privet.risk import RegularizedRisk
from privet.rows import checked_rows

DELTA = 1e-5
KNOWN = HERE / "mnist_softmax.jsonl"
EPSILONS = {"histograms": (0.5, 1.0), "pixels": (1.0, 4.0)}
TWIN = 1e-5  # regularization of the non-private twins
INTRO = """# MNIST, ten digits, linear softmax on pixels and on public features

Written by `python reproduce/mnist_softmax.py`. Accuracy on the 10,000 test images after training on
60,000, mean and standard error over {seeds} releases with fresh noise. delta = 1e-5, no intercept,
`regularization="auto"`. "histograms" are gradient-orientation histograms (7 x 7 cells, 8
directions, square roots, unit norm): a fixed function of one image, so they cost nothing.
"""


def features(kind: str, pixels: NDArray[np.uint8]) -> Array:
    """Rows of norm 1 at most."""
    if kind == "histograms":
        return tables.orientation_histograms(pixels)
    x = pixels / 255.0
    x /= np.linalg.norm(x, axis=1, keepdims=True) * (1.0 + 1e-12)
    return np.asarray(x)


def private(epsilon: float, seed: int, data: tuple[Array, ...]) -> float:
    """Accuracy of one seeded release."""
    x, y, test_x, test_y = data
    model = LogisticRegression(
        ApproxDP(epsilon, DELTA), classes=list(range(10)), fit_intercept=False, insecure_seed=seed
    )
    return float(model.fit(x, y).score(test_x, test_y))


def twin(data: tuple[Array, ...]) -> float:
    """The same loss without noise."""
    x, y, test_x, test_y = data
    loss = Softmax(10)
    rows = checked_rows(x, loss.targets(y.astype(np.int_)), norm_bound=1.0)
    theta = minimize(RegularizedRisk(loss, TWIN, 1.0), rows, tolerance=1e-6).certified()
    weights = sum_zero_basis(10) @ theta.reshape(9, -1)
    return float(((test_x @ weights.T).argmax(axis=1) == test_y).mean())


def known() -> dict[str, float]:
    """What was measured before."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines() if KNOWN.exists() else []
    return {key: value for line in lines for key, value in json.loads(line).items()}


def measured(key: str, measure: Callable[[], float]) -> None:
    """Measure what is not known yet and write it down."""
    if key in known():
        return
    value = measure()
    with KNOWN.open("a", encoding="utf-8") as file:
        file.write(json.dumps({key: value}) + "\n")
    tell(f"{key}: {value:.4f}")


def measure_all(kind: str, seeds: list[int]) -> None:
    """Every release and the twin on one kind of features."""
    pixels, y, train = tables.mnist()
    x = features(kind, pixels)
    data = x[train], y[train], x[~train], y[~train]
    for seed in seeds:
        for epsilon in EPSILONS[kind]:
            key = f"{kind}, eps {epsilon:g}, seed {seed}"
            measured(key, partial(private, epsilon, seed, data))
    measured(f"{kind}, twin", partial(twin, data))


def page(seeds: list[int]) -> str:
    """The table from what is known."""
    found, lines = known(), []
    for kind, epsilons in EPSILONS.items():
        for epsilon in epsilons:
            means = [found[f"{kind}, eps {epsilon:g}, seed {seed}"] for seed in seeds]
            lines.append([kind, f"{epsilon:g}", str(score(means))])
        lines.append([kind, "non-private", f"{found[f'{kind}, twin']:.4f}"])
    header = ["features", "eps", "accuracy"]
    return INTRO.format(seeds=len(seeds)) + "\n" + table(header, lines)


def main() -> None:
    """Measure and write the page; with a kind of features as argument, only measure those."""
    seeds = list(range(SEED, SEED + 3))
    for kind in sys.argv[1:] or list(EPSILONS):
        measure_all(kind, seeds)
    if not sys.argv[1:]:
        write("mnist_softmax.md", page(seeds))


if __name__ == "__main__":
    main()
