"""Draw docs/which-noise.png: how large is the noise that each budget and mechanism needs?

Public quantities only, no table. Left: the expected norm of the noise in the objective against the
number of parameters, for pure epsilon = 1, (1, 1e-6) and the rho that converts to (1, 1e-6).
Right: the least noise on the released vector, objective against output perturbation, as the
regularization varies.

Run: python reproduce/which_noise.py
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import matplotlib
import numpy as np

from privet import ZCDP, ApproxDP, PureDP
from privet.bisection import largest
from privet.errors import PrivetWarning
from privet.losses import Logistic
from privet.mechanisms import ObjectivePerturbation, OutputPerturbation
from privet.mechanisms.gap import least_response
from privet.privacy.curves import GaussianCurve

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "which-noise.png"
N = 50_000
DELTA = 1e-6


def objective_norms(parameters: list[int]) -> dict[str, list[float]]:
    """Expected norm of the objective's noise for three budgets of about the same strength."""
    rho = largest(lambda r: GaussianCurve(r).epsilon(DELTA) <= 1.0)
    budgets = {
        "pure, epsilon = 1": (PureDP(1.0), "laplace"),
        "(1, 1e-6), Gaussian": (ApproxDP(1.0, DELTA), "gaussian"),
        f"zCDP, rho = {rho:.3f}, Gaussian": (ZCDP(rho), "gaussian"),
    }
    return {
        name: [
            ObjectivePerturbation(Logistic(), budget, noise=kind).design(N, p).main.expected_norm
            for p in parameters
        ]
        for name, (budget, kind) in budgets.items()
    }


def released_norms(lams: np.ndarray, m: int) -> dict[str, list[float]]:
    """Noise on the release at pure epsilon = 1, least effect for objective perturbation."""
    objective, output = [], []
    for lam in lams:
        first = ObjectivePerturbation(Logistic(), PureDP(1.0), regularization=lam).design(N, m)
        objective.append(first.main.expected_norm * least_response(first.risk, N, m))
        second = OutputPerturbation(Logistic(), PureDP(1.0), regularization=lam).design(N, m)
        output.append(second.main.expected_norm)
    return {"objective perturbation": objective, "output perturbation": output}


def main() -> None:
    """Write the picture."""
    warnings.simplefilter("ignore", PrivetWarning)
    parameters = [int(p) for p in np.unique(np.geomspace(1, 3000, 40).astype(int))]
    lams = np.geomspace(1e-4, 1.0, 40)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), dpi=150, layout="constrained")
    for name, norms in objective_norms(parameters).items():
        left.loglog(parameters, norms, label=name)
    left.set(xlabel="number of parameters", ylabel="expected norm of the noise, R = 1")
    left.set_title("Which noise: Laplace for few, Gaussian for many", loc="left")
    for name, norms in released_norms(lams, 100).items():
        right.loglog(lams, norms, label=name)
    right.set(xlabel="regularization Lam", ylabel="noise on 100 released numbers")
    right.set_title(f"Which mechanism: {N:,} rows, pure epsilon = 1", loc="left")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.savefig(PICTURE)
    crossing = math.floor(
        max(
            p
            for p, a, b in zip(
                parameters, *list(objective_norms(parameters).values())[:2], strict=True
            )
            if a <= b
        )
    )
    print(
        f"Wrote {PICTURE.name}. At epsilon = 1, delta = {DELTA:g} Laplace is smaller up to "
        f"{crossing} parameters."
    )


if __name__ == "__main__":
    main()
