"""Private tuning on KDD Cup 1999: four ways to choose a regularization, as learning curves.

Chaudhuri, Monteleoni and Sarwate (2011, section 7.3, Figures 4-5) tune by their Algorithm 4 on rows
divided among five candidates. Here the same division, as far as the 10 % file allows (up to 88,000
rows per candidate, 25,000 for validation, 25,000 for the test), against what else one could do with
the same rows and the same total epsilon:

    as printed        Algorithm 4: equal parts, the exponential mechanism
    partition         permute-and-flip, and no more validation rows than the selection needs
    random stopping   the best of a random number of runs on all training rows
    default rule      no search: regularization="auto" on all rows
    not private       the best candidate on all rows, without noise

Writes ``kdd99_tuning.json`` as it goes, ``kdd99_tuning.md`` and ``kdd99_tuning.png``.

Run: python reproduce/kdd99_tuning.py         (needs PRIVET_DATA; about half an hour on one core)
     python reproduce/kdd99_tuning.py page    (the page and the picture alone)
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import Any

import numpy as np
import tables
from _common import HERE, SEED, Data, rows_of, table, tell, write, wrong

from privet import LinearSVC, LogisticRegression
from privet.errors import PrivetWarning
from privet.losses import HuberHinge, Logistic
from privet.minimize import minimize
from privet.risk import RegularizedRisk
from privet.tuning import PartitionSearch, RandomStoppingSearch

EPSILONS = (0.01, 0.05, 0.1)
PER_CANDIDATE = (5_000, 20_000, 50_000, 88_000)
CANDIDATES = [{"regularization": lam} for lam in (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)]
VALIDATION = TEST = 25_000
DRAWS = 20
MODELS = {"logistic": LogisticRegression, "huber": LinearSVC}
LOSSES = {"logistic": Logistic(), "huber": HuberHinge()}
METHODS = ("as printed", "partition", "random stopping", "default rule", "not private")


def rows() -> Data:
    """All connections of the 10 % file in random order; class 1 is normal."""
    columns, kinds = tables.kddcup99()
    order = np.random.default_rng(SEED).permutation(len(kinds))
    x = tables.encode({k: v[order] for k, v in columns.items()}, tables.KDDCUP99)
    return Data("KDD99", x, (kinds[order] == "normal").astype(int))


def released(method: str, loss: str, epsilon: float, n: int, seed: int) -> Any:
    """An unfitted model or search; ``n`` rows per candidate."""
    model = MODELS[loss](fit_intercept=False)
    if method == "as printed":
        return PartitionSearch(
            model, CANDIDATES, epsilon, calibration="chaudhuri2011", insecure_seed=seed
        )
    if method == "partition":
        return PartitionSearch(model, CANDIDATES, epsilon, insecure_seed=seed)
    if method == "random stopping":
        return RandomStoppingSearch(model, CANDIDATES, epsilon, insecure_seed=seed)
    return model.set_params(budget=epsilon, insecure_seed=seed)


def error(method: str, loss: str, epsilon: float, n: int, data: Data, draw: int) -> float:
    """Test error of one release on its own sample of rows."""
    generator = np.random.default_rng(SEED + draw)
    total = 5 * n + VALIDATION
    order = generator.permutation(len(data.y))
    train, test = order[:total], order[-TEST:]
    if method == "not private":
        errors = []
        for candidate in CANDIDATES:
            risk = RegularizedRisk(LOSSES[loss], candidate["regularization"], 1.0)
            theta = minimize(risk, rows_of(LOSSES[loss], data, train), tolerance=1e-7).certified()
            errors.append(wrong(LOSSES[loss], theta[None, :], data.x[test], data.y[test])[0])
        return float(min(errors))
    model = released(method, loss, epsilon, n, seed=1_000 * (draw + 1)).fit(
        data.x[train], data.y[train]
    )
    return float((model.predict(data.x[test]) != data.y[test]).mean())


def measure_all() -> None:
    """Every cell, kept as soon as it is measured."""
    path = HERE / "kdd99_tuning.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    data = rows()
    cells = [
        (loss, epsilon, n, method)
        for n in PER_CANDIDATE
        for loss in LOSSES
        for epsilon in EPSILONS
        for method in METHODS
    ]
    for loss, epsilon, n, method in cells:
        name = f"{loss}/{epsilon:g}/{n}/{method}"
        if name in kept:
            continue
        if method == "not private" and epsilon != EPSILONS[0]:
            kept[name] = kept[f"{loss}/{EPSILONS[0]:g}/{n}/{method}"]
        else:
            draws = 3 if method == "not private" else DRAWS
            kept[name] = [error(method, loss, epsilon, n, data, draw) for draw in range(draws)]
        path.write_text(json.dumps(kept) + "\n", encoding="utf-8")
        tell(f"{name}: {np.mean(kept[name]):.4f}")


def page(kept: dict[str, list[float]]) -> str:
    """Means and standard errors in a table per loss and epsilon."""
    parts = [
        "# Private tuning on KDD Cup 1999\n\n"
        "Written by `python reproduce/kdd99_tuning.py`: test error, mean of "
        f"{DRAWS} draws of rows and noise ± its standard error. Every method has the same rows "
        "(five parts and 25,000 more) and the same total epsilon.\n\n"
        "![learning curves](kdd99_tuning.png)\n\n"
    ]
    for loss in LOSSES:
        for epsilon in EPSILONS:
            lines = [
                [f"{n:,}", *(_cell(kept.get(f"{loss}/{epsilon:g}/{n}/{m}")) for m in METHODS)]
                for n in PER_CANDIDATE
            ]
            parts.append(
                f"## {loss}, eps = {epsilon:g}\n\n"
                f"{table(['rows per candidate', *METHODS], lines)}\n"
            )
    return "".join(parts)


def _cell(errors: list[float] | None) -> str:
    if errors is None:
        return ""
    return f"{np.mean(errors):.4f} ± {np.std(errors, ddof=1) / np.sqrt(len(errors)):.4f}"


def picture(kept: dict[str, list[float]]) -> None:
    """Learning curves, one panel per loss and epsilon."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        len(LOSSES), len(EPSILONS), figsize=(11, 6), sharex=True, layout="constrained"
    )
    for row, loss in zip(axes, LOSSES, strict=True):
        for axis, epsilon in zip(row, EPSILONS, strict=True):
            for method in METHODS:
                found = [(n, kept.get(f"{loss}/{epsilon:g}/{n}/{method}")) for n in PER_CANDIDATE]
                points = [(n, errors) for n, errors in found if errors]
                axis.errorbar(
                    [n for n, _ in points],
                    [np.mean(e) for _, e in points],
                    [np.std(e, ddof=1) / np.sqrt(len(e)) for _, e in points],
                    marker="o",
                    markersize=3,
                    linewidth=1,
                    label=method,
                    color="black" if method == "not private" else None,
                )
            axis.set(title=f"{loss}, eps = {epsilon:g}", ylim=(0.0, None), xscale="log")
    for axis in axes[-1]:
        axis.set_xlabel("rows per candidate")
    for axis in axes[:, 0]:
        axis.set_ylabel("test error")
    axes[0][0].legend(fontsize=8)
    figure.savefig(HERE / "kdd99_tuning.png", dpi=110)


def main() -> None:
    """Measure unless only the page is wanted."""
    logging.getLogger("privet").setLevel(logging.ERROR)
    if sys.argv[1:] != ["page"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivetWarning)
            measure_all()
    kept = json.loads((HERE / "kdd99_tuning.json").read_text(encoding="utf-8"))
    write("kdd99_tuning.md", page(kept))
    picture(kept)


if __name__ == "__main__":
    main()
