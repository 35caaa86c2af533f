"""What public knowledge is worth on Adult: a center of the ridge, and rows for whitening.

Writes ``public_knowledge.md``.

500 rows are taken out of the training rows and play the public ones. A logistic regression fitted
to them without privacy is the center "right"; its negative is "wrong", the worst that a center of
that length can be. Seeded, on a public file: a seeded release protects nobody.

Run: python reproduce/public_knowledge.py   (needs PRIVET_DATA; some minutes)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tables
from _common import Data, adult, folds
from sklearn.linear_model import LogisticRegression as Plain

from privet import ApproxDP, LinearSVC, LogisticRegression, PureDP

PUBLIC, DRAWS, FOLDS = 500, 10, 2
BUDGETS = {"pure 0.1": PureDP(0.1), "(0.1, 1e-6)": ApproxDP(0.1, 1e-6)}
MODELS = {"logistic": LogisticRegression, "svm": LinearSVC}
PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Public knowledge on Adult

Made by `python reproduce/public_knowledge.py`: {n:,} private rows, {public} rows that play the
public ones, {draws} draws on each of {folds} splits; test error and, in brackets, its standard
error over all draws. "right" is a center fitted to the public rows, "wrong" its negative,
"whitened" uses the public rows without labels, "public fit alone" is the center by itself, without
a private row. The last columns are the excess over the error of a logistic regression without
privacy, and what is left of it.

| columns | budget | model | knowledge | error | excess | share of the excess without it |
|---|---|---|---|---|---|---|
"""


def knowledge(x: np.ndarray, y: np.ndarray) -> dict[str, dict[str, Any]]:
    """What each line of the table passes to the model."""
    right = Plain(C=10.0, max_iter=2000).fit(x, y)
    pair = right.coef_, right.intercept_
    return {
        "none": {},
        "right": {"center": pair},
        "wrong": {"center": (-pair[0], -pair[1])},
        "whitened": {"standardize": "whiten", "public_rows": x},
    }


def errors(data: Data, kind: Any, budget: Any) -> dict[str, list[float]]:
    """Test errors of every draw, by what was known; "exact" is the model without privacy."""
    found: dict[str, list[float]] = {}
    for fold, (train, test) in enumerate(folds(len(data.y), 5, FOLDS)):
        public, private = train[:PUBLIC], train[PUBLIC:]
        for name, told in knowledge(data.x[public], data.y[public]).items():
            for draw in range(DRAWS):
                model = kind(budget, insecure_seed=1000 * fold + draw, **told)
                model.fit(data.x[private], data.y[private])
                wrong = 1.0 - model.score(data.x[test], data.y[test])
                found.setdefault(name, []).append(wrong)
        alone = Plain(C=10.0, max_iter=2000).fit(data.x[public], data.y[public])
        found.setdefault("public fit alone", []).append(
            1.0 - alone.score(data.x[test], data.y[test])
        )
        plain = Plain(C=100.0, max_iter=2000).fit(data.x[private], data.y[private])
        found.setdefault("exact", []).append(1.0 - plain.score(data.x[test], data.y[test]))
    return found


def main() -> None:
    """Measure and write the page."""
    import warnings

    warnings.simplefilter("ignore")
    lines, n = [], 0
    for encoding, name in ((tables.ADULT, "31"), (tables.ADULT_FULL, "all one-hot")):
        data = adult(encoding, name)
        n = int(0.8 * len(data.y)) - PUBLIC
        for told, budget in BUDGETS.items():
            for label, kind in MODELS.items():
                found = errors(data, kind, budget)
                best, base = np.mean(found.pop("exact")), np.mean(found["none"])
                for known, each in found.items():
                    excess = np.mean(each) - best
                    error = f"{np.mean(each):.4f} ({np.std(each) / len(each) ** 0.5:.4f})"
                    share = f"{excess / (base - best):.2f}"
                    row = (name, told, label, known, error, f"{excess:.4f}", share)
                    lines.append("| " + " | ".join(row) + " |\n")
                    sys.stderr.write(lines[-1])
    head = HEAD.format(n=n, public=PUBLIC, draws=DRAWS, folds=FOLDS)
    PAGE.write_text(head + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
