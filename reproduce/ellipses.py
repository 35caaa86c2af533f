"""The picture of ``docs/gaussian.md``: three made-up classes and their private ellipses.

Run: python reproduce/ellipses.py   (needs matplotlib; a few seconds)
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from _common import HERE, SEED

from privet import LargeMarginGaussian

MIDDLES = np.array([[35.0, 22.0], [55.0, 31.0], [62.0, 23.0]])
SPREADS = np.array([[[7.0, 0.0], [0.5, 2.0]], [[6.0, 0.0], [-1.5, 2.5]], [[5.0, 0.0], [1.0, 1.5]]])


def main() -> None:
    """Fit at epsilon = 1 and draw."""
    mpl.use("Agg")
    rng = np.random.default_rng(SEED)
    y = rng.integers(0, 3, 20_000)
    x = MIDDLES[y] + np.einsum("nij,nj->ni", SPREADS[y], rng.normal(size=(len(y), 2)))
    model = LargeMarginGaussian(
        1.0,
        classes=[0, 1, 2],
        standardize="private",
        column_bounds=([0.0, 10.0], [100.0, 50.0]),
        norm_bound=2.0,
        insecure_seed=SEED,
    ).fit(x, y)
    axes = model.plot()
    few = rng.choice(len(y), 300, replace=False)
    axes.scatter(*x[few].T, c=[f"C{label}" for label in y[few]], s=5, alpha=0.6)
    axes.set_xlabel("age")
    axes.set_ylabel("body mass index")
    axes.figure.savefig(HERE.parent / "docs" / "gaussian.png", dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
