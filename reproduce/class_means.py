"""Noisy class means beside objective perturbation, on tables of categories with many classes.

``rivals.py`` has one such table alone, so the limit from which on class means are taken there
was looked for on others: columns of UCI Adult as labels of the others, the areas and soils of
Covertype, and made-up tables with traits that columns share, which Bayes' rule does not know of.
Writes ``class_means.md``.

Run: python reproduce/class_means.py     (needs PRIVET_DATA; some minutes)
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import tables
from _common import SEED, table, tell, write
from _rival_tables import RawTable, raw

from privet import LogisticRegression, PureDP
from privet.errors import PrivetWarning
from privet.models.preparation import NOISE_FOR_MEANS, effects_of_noise
from privet.models.raw_tables import for_schema, prepared_for
from privet.schema import Categorical

EPSILONS = (0.1, 0.5, 1.0, 4.0, 16.0)
DRAWS = 6
MOST_CATEGORIES, LEAST_CLASSES, MOST_CLASSES = 20, 3, 16
#: groups, categories, classes, traits, and how much of a column is the trait's
MADE = ((20, 4, 5, 3, 0.5), (12, 5, 10, 2, 0.8), (6, 8, 20, 3, 0.5), (10, 4, 4, 2, 0.9))
HEADER = """# Class means on tables of categories

Written by `python reproduce/class_means.py`: {draws} draws, each a split and a fresh noise; pure
epsilon, at most 12,000 rows. "noise" is what objective perturbation would add over what all rows
can pull; `fit_table` takes class means above {limit}.

"""
FOOTER = """
In {right} of {cells} cells the rule takes what errs less, and where it does not it loses {most:.4f}
at most, {mean:.4f} on average over all cells. Always objective perturbation: {always:.4f}.
"""


def categories(columns: dict[str, Any], names: list[str]) -> dict[str, Categorical]:
    """Declarations by what the documentation of a file lists, which its cells are."""
    return {k: Categorical(tuple(sorted(set(columns[k].tolist()))), other=False) for k in names}


def adult_tables() -> list[RawTable]:
    """Each column of categories that has few as a label of the others."""
    columns, _ = tables.adult()
    text = [k for k, cells in columns.items() if cells.dtype.kind in "OU" and k != "split"]
    sizes = {k: len(set(columns[k].tolist())) for k in text}
    used = [k for k in text if sizes[k] <= MOST_CATEGORIES]
    out = []
    for label in used:
        if not LEAST_CLASSES <= sizes[label] <= MOST_CLASSES:
            continue
        codes = np.unique(columns[label].astype(str), return_inverse=True)[1]
        declared = categories(columns, [k for k in used if k != label])
        out.append(raw(f"Adult: {label}", columns, codes, dict(declared)))
    return out


def covertype_table() -> RawTable:
    """Areas and soils."""
    columns, y = tables.covertype()
    for name, count in (("Wilderness_Area", 4), ("Soil_Type", 40)):
        hot = np.stack([columns[f"{name}{i}"] for i in range(1, count + 1)], axis=1)
        columns[name] = hot.argmax(axis=1)
    names = ["Wilderness_Area", "Soil_Type"]
    return raw("Covertype: areas and soils", columns, y - 1, dict(categories(columns, names)))


def made_table(groups: int, width: int, classes: int, traits: int, share: float) -> RawTable:
    """Columns by class, mixed with what a hidden trait says: ``share`` of each is the trait's."""
    rng = np.random.default_rng(SEED + 7 * groups + classes)
    n = 12_000
    y, trait = rng.integers(classes, size=n), rng.integers(traits, size=n)
    columns, declared = {}, {}
    for g in range(groups):
        by_class = rng.dirichlet(np.full(width, 0.6), size=(classes, 1))
        by_trait = rng.dirichlet(np.full(width, 0.6), size=(1, traits))
        steps = ((1.0 - share) * by_class + share * by_trait).cumsum(axis=2)[y, trait]
        cells = (rng.uniform(size=(n, 1)) > steps).sum(axis=1)
        columns[f"g{g}"] = np.minimum(cells, width - 1)
        declared[f"g{g}"] = Categorical(tuple(range(width)), other=False)
    name = f"Made: {groups} columns of {width}, {classes} classes, {share:.0%} of {traits} traits"
    return raw(name, columns, y, dict(declared))


def error(found: RawTable, epsilon: float, draw: int, mechanism: str) -> float:
    """Of one split and one noise."""
    (train, test), (x, y) = found.split(draw), found.encoded
    model = LogisticRegression(PureDP(epsilon), mechanism=mechanism, insecure_seed=SEED + draw)
    labels = np.array(found.schema.label.classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivetWarning)
        made = prepared_for(for_schema(model, found.schema), len(train), x.shape[1])
        made.fit(x[train], labels[y[train]])
    return float((made.predict(x[test]) != labels[y[test]]).mean())


def cell(found: RawTable, epsilon: float) -> tuple[float, float, float]:
    """Noise over rows, and the errors of class means and of objective perturbation."""
    n = len(found.split(0)[0])
    model = for_schema(LogisticRegression(PureDP(epsilon)), found.schema)
    noise = min(effects_of_noise(model, n, found.encoded[0].shape[1]).values()) / n
    both = [
        float(np.mean([error(found, epsilon, draw, name) for draw in range(DRAWS)]))
        for name in ("means", "objective")
    ]
    tell(f"{found.name}, {epsilon:g}: noise {noise:.3f}, means {both[0]:.4f}, {both[1]:.4f}")
    return noise, both[0], both[1]


def main() -> None:
    """Every table at every epsilon."""
    every = [*adult_tables(), covertype_table(), *(made_table(*sizes) for sizes in MADE)]
    limit, lines, gaps = NOISE_FOR_MEANS[True], [], []
    for found in every:
        for epsilon in EPSILONS:
            noise, means, objective = cell(found, epsilon)
            taken = means if noise > limit else objective
            gaps.append((taken - min(means, objective), objective - min(means, objective)))
            shown = [f"{each:.4f}" for each in (means, objective)]
            shown[noise <= limit] = f"**{shown[noise <= limit]}**"
            lines.append([found.name, f"{epsilon:g}", f"{noise:.3f}", *shown])
    lost, always = np.array(gaps).T
    footer = FOOTER.format(
        right=int((lost == 0.0).sum()),
        cells=len(lost),
        most=lost.max(),
        mean=lost.mean(),
        always=always.mean(),
    )
    heads = ["table", "eps", "noise", "class means", "objective perturbation"]
    header = HEADER.format(draws=DRAWS, limit=limit)
    write("class_means.md", header + table(heads, lines) + footer)


if __name__ == "__main__":
    main()
