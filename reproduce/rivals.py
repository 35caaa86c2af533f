"""Privet beside what a user could pick instead: same rows, same splits, same promise.

For every table, budget and method: ten draws, each a split of the rows into training and test and a
fresh noise. Rivals with knobs (``benchmarks/rivals``) are judged by their best setting in
hindsight, one for each cell. Privet is judged by its defaults: ``fit_table`` with the schema
(logistic regression and linear SVC), and plain arrays of the encoded rows.

Cells are kept in ``rivals.json`` as they come; what is there already is not repeated.

Run: python reproduce/rivals.py                 (needs PRIVET_DATA; about half an hour on one core)
     python reproduce/rivals.py again privet    (forget the cells of methods that begin like this)
     python reproduce/rivals.py again privet "Covertype numbers"    (of one table alone)
     python reproduce/rivals.py page            (the page alone)
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _common import HERE, SEED, tell
from _rival_tables import RawTable, rival_tables
from _rivals_page import write_page
from numpy.typing import NDArray
from scipy.stats import rankdata

from privet import ApproxDP, LinearSVC, LogisticRegression, PureDP
from privet.errors import PrivetWarning
from privet.models.knots import with_knots
from privet.models.raw_tables import for_schema, prepared_for

sys.path.insert(0, str(HERE.parent))
from benchmarks.rivals import RIVALS, Promise, Task

EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-6
DRAWS = 10
FLOOR = 1e-6  # of a probability in the log loss
STORE = HERE / "rivals.json"
Array = NDArray[np.float64]
#: methods without Gaussian noise
PURE_ONLY = ("twin", "majority", "random trees", "perturbed logistic")
#: error, AUC, log loss
Metrics = tuple[float, float, float]


def metrics(chance: Array, y: NDArray[np.int_], *, probable: bool = True) -> Metrics:
    """Of class probabilities; AUC is the mean over classes against the rest."""
    error = float((chance.argmax(axis=1) != y).mean())
    areas = []
    for c in range(1 if chance.shape[1] == 2 else 0, chance.shape[1]):
        inside = y == c
        k = int(inside.sum())
        if 0 < k < len(y):
            ranks = rankdata(chance[:, c])[inside].sum()
            areas.append((ranks - k * (k + 1) / 2.0) / (k * (len(y) - k)))
    own = np.maximum(chance[np.arange(len(y)), y], FLOOR)
    loss = float(-np.log(own).mean()) if probable else float("nan")
    return error, float(np.mean(areas)), loss


# -- Privet's ways ---------------------------------------------------------------------------------


def scores_of(model: Any, rows: Any) -> tuple[Array, bool]:
    """Probabilities, or scores where there are none."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows), True
    found = model.decision_function(rows)
    return (np.stack([-found, found], axis=1) if found.ndim == 1 else found), False


def by_table(model: Any, knots: Any = None) -> Callable[..., tuple[Array, bool]]:
    """What ``fit_table`` does, with the raw columns encoded once for all draws."""

    def run(table: RawTable, budget: Any, draw: int) -> tuple[Array, bool]:
        (train, test), (_, y) = table.split(draw), table.encoded
        made = partial(for_schema, model(budget, insecure_seed=SEED + draw))
        schema = with_knots(table.schema, knots, len(train), made)
        x = table.encoded_by(schema)
        fitted = prepared_for(made(schema), len(train), x.shape[1])
        labels = np.array(table.schema.label.classes)
        return scores_of(fitted.fit(x[train], labels[y[train]]), x[test])

    return run


def by_arrays(model: Any) -> Callable[..., tuple[Array, bool]]:
    """``fit`` on the encoded rows, whose norm is at most 1."""

    def run(table: RawTable, budget: Any, draw: int) -> tuple[Array, bool]:
        (train, test), (x, y) = table.split(draw), table.encoded
        made = model(budget, classes=list(range(table.classes)), insecure_seed=SEED + draw)
        return scores_of(made.fit(x[train], y[train]), x[test])

    return run


def first_version(budget: Any, **options: Any) -> LogisticRegression:
    """Spherical noise, a constant as large as the norm bound, rows as they are."""
    noise = "gaussian" if budget.allows_gaussian else "laplace"
    return LogisticRegression(budget, noise=noise, constant=1.0, standardize=None, **options)


PRIVET: dict[str, Callable[..., tuple[Array, bool]]] = {
    "privet logistic": by_table(LogisticRegression, "auto"),
    "privet straight": by_table(LogisticRegression),
    "privet svm": by_table(LinearSVC),
    "privet arrays": by_arrays(LogisticRegression),
    "before": by_table(first_version),
}


# -- cells -----------------------------------------------------------------------------------------


def privet_cell(name: str, table: RawTable, promise: Promise) -> dict[str, Any]:
    """All draws of one of Privet's ways."""
    pure = promise.delta == 0.0
    budget = PureDP(promise.epsilon) if pure else ApproxDP(promise.epsilon, promise.delta)
    found = []
    for draw in range(DRAWS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivetWarning)
            chance, probable = PRIVET[name](table, budget, draw)
        y = table.encoded[1][table.split(draw)[1]]
        found.append(metrics(chance, y, probable=probable))
    return stored("", found)


def rival_cell(name: str, table: RawTable, promise: Promise) -> dict[str, Any]:
    """All draws of a rival at the setting that was best in the mean."""
    by_knob: dict[str, list[Metrics]] = {}
    for draw in range(DRAWS):
        (train, test), (x, y) = table.split(draw), table.encoded
        task = Task(x[train], y[train], x[test], table.classes, table.schema.domain)
        rng = np.random.default_rng([SEED, draw, int(1000 * promise.epsilon)])
        for knob, chance in RIVALS[name](task, promise, rng).items():
            by_knob.setdefault(knob, []).append(metrics(chance, y[test]))
    best = min(by_knob, key=lambda knob: np.mean([m[0] for m in by_knob[knob]]))
    return stored(best, by_knob[best])


def twin_cell(table: RawTable) -> dict[str, Any]:
    """Without privacy: scikit-learn's logistic regression on the same rows."""
    from sklearn.linear_model import LogisticRegression as Plain

    found = []
    for draw in range(DRAWS):
        (train, test), (x, y) = table.split(draw), table.encoded
        model = Plain(C=100.0, max_iter=1000).fit(x[train], y[train])
        found.append(metrics(model.predict_proba(x[test]), y[test]))
    return stored("", found)


def stored(knob: str, found: list[Metrics]) -> dict[str, Any]:
    """A cell of the file: errors draw by draw, the rest as they are needed."""
    rounded = np.round(np.array(found), 5).T
    return {"setting": knob, "error": rounded[0].tolist(), "auc": rounded[1].tolist()} | {
        "log loss": None if np.isnan(rounded[2]).any() else rounded[2].tolist()
    }


def measure_all(kept: dict[str, Any]) -> None:
    """Every cell that is not there yet, written after each table and method."""
    every = rival_tables()
    for name in ("twin", *RIVALS, *PRIVET):
        for table in every:
            for epsilon in EPSILONS if name != "twin" else (0.0,):
                for delta in (0.0, DELTA):
                    measure(kept, table, name, Promise(epsilon, delta))


def measure(kept: dict[str, Any], table: RawTable, name: str, promise: Promise) -> None:
    """One cell; pure mechanisms are the same at every delta."""
    alike = promise.delta > 0.0 and name in PURE_ONLY
    key = f"{table.name}/{name}/{promise.epsilon:g}/{promise.delta:g}"
    if key in kept or alike:
        return
    if name == "twin":
        kept[key] = twin_cell(table)
    else:
        kept[key] = (privet_cell if name in PRIVET else rival_cell)(name, table, promise)
    tell(f"{key}: {np.mean(kept[key]['error']):.4f} {kept[key]['setting']}")
    STORE.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")


def picks() -> dict[str, str]:
    """What ``privet train`` fits in each cell where no model is named."""
    names = [table.name for table in rival_tables()]
    cells = [f"{n}/{e:g}/{d:g}" for n in names for e in EPSILONS for d in (0.0, DELTA)]
    return dict.fromkeys(cells, "privet logistic")


def _forgotten(key: str, method: str, table: str = "") -> bool:
    """Whether a cell is of a method that begins like this and, if one is named, of this table."""
    where, name, *_ = key.split("/")
    return name.startswith(method) and where.startswith(table)


def main(words: list[str]) -> None:
    """Measure and write."""
    kept = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    if words[:1] == ["again"]:
        kept = {k: v for k, v in kept.items() if not _forgotten(k, *words[1:])}
    if words != ["page"]:
        measure_all(kept)
    write_page(kept, picks())


if __name__ == "__main__":
    main(sys.argv[1:])
