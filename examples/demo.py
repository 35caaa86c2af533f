"""The main job on embedded data: train privately, read the statement, see the price of privacy.

Run with ``make demo``. Everything is written to ``demo-output/``. The table is generated, so
nobody's privacy is at stake and the demo may show what a real release could not: how good the model
is with and without privacy, over many repetitions.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression

from privet import LinearSVC, LogisticRegression, PureDP, load
from privet.datasets import census_like
from privet.losses import HuberHinge, Logistic
from privet.mechanisms import ObjectivePerturbation, OutputPerturbation
from privet.mechanisms.release import Mechanism
from privet.rows import checked_rows

Array = NDArray[np.float64]
OUTPUT = Path("demo-output")
ROWS = 50_000
TEST_ROWS = 20_000
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
DRAWS = 20
COLOURS = {"logistic": "#1b6ca8", "Huber SVM": "#c8553d", "logistic, output": "#7a7a7a"}


def main() -> None:
    """Train, tell, repeat, draw."""
    OUTPUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    x, y = census_like(ROWS + TEST_ROWS)
    train, test = (x[:ROWS], y[:ROWS]), (x[ROWS:], y[ROWS:])
    print(
        f"A generated census-like table: {ROWS:,} people, {x.shape[1]} columns, rows of norm 1.\n"
    )

    model = release(*train)
    print(model.statement(), "\n")
    compare(model, train, test)
    curves = price_of_privacy(train, test)
    picture = draw(curves, float(1 - test[1].mean()), baseline(train, test))
    print(f"\nDone in {time.perf_counter() - start:.0f} s. Look at {picture}.")


def release(x: Array, y: NDArray[np.int_]) -> Any:
    """One private fit, saved and loaded again as a reader of the file would."""
    path = OUTPUT / "model.privet"
    LogisticRegression(budget=1.0).fit(x, y).save(path)
    print(f"Released {path}: a logistic regression at epsilon = 1.\n")
    return load(path)


def baseline(train: tuple[Array, NDArray[np.int_]], test: tuple[Array, NDArray[np.int_]]) -> float:
    """Accuracy without privacy, by scikit-learn."""
    plain = PlainLogisticRegression(C=1e4 / ROWS, max_iter=1000).fit(*train)
    return float(plain.score(*test))


def compare(
    model: Any,
    train: tuple[Array, NDArray[np.int_]],
    test: tuple[Array, NDArray[np.int_]],
) -> None:
    """A table of accuracies on fresh rows."""
    lines = [("always the larger class", 1.0 - test[1].mean(), "nothing")]
    lines.append(("LogisticRegression, epsilon = 1", model.score(*test), "1"))
    svm = LinearSVC(budget=1.0).fit(*train)
    lines.append(("LinearSVC, epsilon = 1", svm.score(*test), "1"))
    small = LogisticRegression(budget=0.1).fit(*train)
    lines.append(("LogisticRegression, epsilon = 0.1", small.score(*test), "0.1"))
    lines.append(("scikit-learn, not private", baseline(train, test), "everything"))
    print(f"{'model':<36}{'accuracy':>9}   epsilon spent")
    for name, accuracy, spent in lines:
        print(f"{name:<36}{accuracy:>9.4f}   {spent}")


def price_of_privacy(
    train: tuple[Array, NDArray[np.int_]], test: tuple[Array, NDArray[np.int_]]
) -> dict[str, Array]:
    """Accuracies of many independent releases: name -> (epsilons, draws)."""
    print(f"\nRepeating every fit {DRAWS} times at {len(EPSILONS)} values of epsilon ...")
    recipes: dict[str, tuple[type[Mechanism], Any]] = {
        "logistic": (ObjectivePerturbation, Logistic()),
        "Huber SVM": (ObjectivePerturbation, HuberHinge()),
        "logistic, output": (OutputPerturbation, Logistic()),
    }
    curves = {}
    for name, (mechanism, loss) in recipes.items():
        rows = checked_rows(train[0], loss.targets(train[1]), norm_bound=1.0)
        found = []
        for epsilon in EPSILONS:
            weights = mechanism(loss, PureDP(epsilon)).sample(rows, DRAWS)
            found.append(((test[0] @ weights.T > 0) == (test[1] > 0)[:, None]).mean(axis=0))
        curves[name] = np.array(found)
        print(f"  {name:<18} {' '.join(f'{row.mean():.3f}' for row in found)}")
    return curves


def draw(curves: dict[str, Array], majority: float, plain: float) -> Path:
    """Accuracy against epsilon, with the spread of the releases."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.6), dpi=150, layout="constrained")
    for name, found in curves.items():
        low, middle, high = np.quantile(found, [0.1, 0.5, 0.9], axis=1)
        axes.fill_between(EPSILONS, low, high, color=COLOURS[name], alpha=0.18, linewidth=0)
        axes.plot(EPSILONS, middle, marker="o", markersize=4, color=COLOURS[name], label=name)
    axes.axhline(plain, color="black", linewidth=1)
    axes.annotate("not private", (EPSILONS[0], plain), (0, 4), textcoords="offset points")
    axes.axhline(majority, color="black", linewidth=1, linestyle=":")
    axes.annotate("larger class", (EPSILONS[0], majority), (0, 4), textcoords="offset points")
    axes.set(xscale="log", xlabel="epsilon (smaller protects more)", ylabel="accuracy, fresh rows")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    axes.set_title(f"The price of privacy: {ROWS:,} rows, {DRAWS} releases a point", loc="left")
    path = OUTPUT / "price-of-privacy.png"
    figure.savefig(path)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
