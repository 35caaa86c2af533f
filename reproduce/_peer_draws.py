"""Fits of diffprivlib's logistic regression on one of two neighbors, for ``peer_audit.py``.

Runs in the peer's own environment: ``python _peer_draws.py SIDE FITS OUT``. Nothing of Privet is
imported, and nothing of the peer is changed: its public ``fit`` is called, and ``coef_`` is read.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

#: The setting, which both libraries get: see ``peer_audit.py``.
NORM, ROWS, EPSILON, RIDGE = 100.0, 10, 1.0, 250.0


def table(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of zeros with both classes; in table 0 the first row is as long as allowed."""
    x = np.zeros((ROWS, 1))
    if side == 0:
        x[0, 0] = NORM
    return x, np.arange(ROWS) % 2


def main() -> None:
    """Fit and keep the coefficients."""
    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    side, fits, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    x, y = table(side)
    found = np.empty(fits)
    for i in range(fits):
        model = LogisticRegression(
            epsilon=EPSILON, data_norm=NORM, C=1.0 / RIDGE, fit_intercept=False, tol=1e-10
        )
        found[i] = model.fit(x, y).coef_[0, 0]
    np.save(out, found)


if __name__ == "__main__":
    main()
