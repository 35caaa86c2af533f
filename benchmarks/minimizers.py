"""Time of a certified minimum, against scikit-learn's two solvers for the same objective.

    python benchmarks/minimizers.py [rows ...]        writes benchmarks/minimizers.md

Everything runs on one thread in one process. Contenders take turns, and the medians of their CPU
times are compared: on a busy machine the ratios mean more than the times. scikit-learn minimizes
the same J (no intercept, C = 1/(n Lam)); its looser tolerance is its default, its tighter one the
largest power of ten for which it reaches a mean-gradient norm of 1e-8. Ours reaches 1e-10.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from privet import PureDP
from privet.datasets import census_like
from privet.losses import Array, Logistic
from privet.mechanisms import ObjectivePerturbation
from privet.minimize import Solution, curvature_at, minimize, minimize_many
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows

OURS, THEIRS = 1e-10, 1e-8
DRAWS = 32
LOOSE = 1e-4
SOLVERS = ("lbfgs", "newton-cholesky")


def rounds_for(n: int) -> int:
    """Turns of each contender: a busy machine needs several for a median that means something."""
    return 9 if n < 200_000 else 5


def cpu(run: Callable[[], Any]) -> float:
    """CPU milliseconds of one run."""
    start = time.process_time()
    run()
    return 1e3 * (time.process_time() - start)


def alternated(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median CPU milliseconds of each contender, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(cpu(run))
    return {name: float(np.median(each)) for name, each in times.items()}


@dataclass(frozen=True)
class Problem:
    """One table, one regularization."""

    x: Any
    y: Any
    regularization: float

    @property
    def risk(self) -> RegularizedRisk:
        return RegularizedRisk(Logistic(), self.regularization, 1.0)

    @property
    def rows(self) -> ArrayRows:
        return ArrayRows(self.x, Logistic().targets(self.y))

    def ours(self) -> Solution:
        return minimize(self.risk, self.rows, tolerance=OURS)

    def theirs(self, solver: str, tolerance: float) -> Array:
        model = LogisticRegression(
            solver=solver,
            C=1.0 / (len(self.y) * self.regularization),
            fit_intercept=False,
            tol=tolerance,
            max_iter=100_000,
        )
        return np.asarray(model.fit(self.x, self.y).coef_[0])

    def gradient_norm(self, theta: Array) -> float:
        """Independent of the library's kernels."""
        signs = 2.0 * self.y - 1.0
        pull = self.x.T @ (-signs * expit(-signs * (self.x @ theta)))
        return float(np.linalg.norm(pull / len(self.y) + self.regularization * theta))

    def tight(self, solver: str) -> float:
        """The largest power of ten as ``tol`` that reaches the gradient norm ``THEIRS``."""
        for exponent in range(6, 13):
            tolerance = 10.0**-exponent
            if self.gradient_norm(self.theirs(solver, tolerance)) <= THEIRS:
                return tolerance
        raise RuntimeError(f"{solver} does not reach {THEIRS}.")


def cold_fits(problem: Problem, rounds: int) -> str:
    """One line of the first table."""
    tolerances = {solver: problem.tight(solver) for solver in SOLVERS}
    runs: dict[str, Callable[[], Any]] = {"ours": problem.ours}
    for solver in SOLVERS:
        runs[solver] = lambda s=solver: problem.theirs(s, tolerances[s])
        runs[solver + " loose"] = lambda s=solver: problem.theirs(s, LOOSE)
    times = alternated(runs, rounds)
    tight = min(times[solver] for solver in SOLVERS)
    loose = min(times[solver + " loose"] for solver in SOLVERS)
    solution = problem.ours()
    reached = [problem.gradient_norm(problem.theirs(s, tolerances[s])) for s in SOLVERS]
    cells = [
        f"{len(problem.y):,}",
        "CSR" if sp.issparse(problem.x) else "dense",
        f"{problem.regularization:.0e}",
        f"{times['ours']:.0f}",
        f"{solution.passes:.1f} / {solution.hessians:.2f}",
        f"{problem.gradient_norm(solution.certified()):.0e}",
        *(f"{times[s]:.0f} ({g:.0e})" for s, g in zip(SOLVERS, reached, strict=True)),
        *(f"{times[s + ' loose']:.0f}" for s in SOLVERS),
        f"**{times['ours'] / tight:.2f}**",
        f"**{times['ours'] / loose:.2f}**",
        f"{memory(problem):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def memory(problem: Problem) -> float:
    """Peak memory of a fit, input included, as a multiple of the input."""
    x = problem.x
    size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes if sp.issparse(x) else x.nbytes
    targets = Logistic().targets(problem.y)
    tracemalloc.start()
    minimize(problem.risk, ArrayRows(x, targets), tolerance=OURS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(1.0 + peak / size)


def noise(epsilon: float, n: int, p: int, seed: int = 0) -> Array:
    """``b/n`` for spherical Laplace ``b`` of rate ``epsilon/2``: the size of private noise."""
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(DRAWS, p))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return directions * generator.gamma(p, 2.0 / epsilon, size=(DRAWS, 1)) / n


def more_draws(problem: Problem, epsilon: float, rounds: int) -> str:
    """One line of the second table; the optimum and its factor are made beforehand."""
    risk, rows, n = problem.risk, problem.rows, len(problem.y)
    start = minimize(risk, rows, tolerance=1e-6).certified()
    factor = curvature_at(risk, rows, start)
    linears = noise(epsilon, n, len(start))

    def draws() -> Array:
        return minimize_many(risk, rows, linears, tolerance=OURS, start=start, curvature=factor)

    times = alternated({"cold": problem.ours, "draws": draws}, rounds)
    each = times["draws"] / DRAWS
    shift = np.linalg.norm(draws() - start, axis=1).mean() / np.linalg.norm(start)
    cells = [
        f"{n:,}",
        "CSR" if sp.issparse(problem.x) else "dense",
        f"{problem.regularization:.0e}",
        f"{epsilon:g}",
        f"{shift:.1f}",
        f"{times['cold']:.0f}",
        f"{each:.1f}",
        f"**{each / times['cold']:.2f}**",
    ]
    return "| " + " | ".join(cells) + " |"


def limits(x: Array) -> str:
    """What the machine cannot go below."""
    weights = np.ones(x.shape[1])
    times = alternated(
        {"read": x.sum, "scores": lambda: x @ weights, "gram": lambda: x.T @ x}, rounds=5
    )
    return (
        f"- {len(x):,} rows: one read of X {times['read']:.1f} ms, "
        f"`X @ w` {times['scores']:.1f} ms, `X.T @ X` {times['gram']:.1f} ms"
    )


COLD = """\
| rows | form | Lam | ours, ms | passes / Hessians | reached | lbfgs 1e-8, ms (reached) \
| newton-cholesky 1e-8, ms (reached) | lbfgs default | newton-cholesky default \
| ours / faster at 1e-8 | ours / faster default | peak memory / input |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""
MANY = """\
| rows | form | Lam | epsilon | shift of the minimum / its norm | cold fit, ms | one more draw, ms \
| draw / cold |
|---|---|---|---|---|---|---|---|"""


def draws_by_rule(x: Any, y: Any, n: int) -> list[str]:
    """More draws at the regularization that a private fit with this noise takes."""
    lines = []
    for epsilon in (1.0, 0.1):
        mechanism = ObjectivePerturbation(Logistic(), PureDP(epsilon))
        lam = mechanism.design(n, x.shape[1]).risk.regularization
        lines.append(more_draws(Problem(x, y, lam), epsilon, rounds_for(n)))
        print(lines[-1], flush=True)
    return lines


def page(floor: list[str], cold: list[str], many: list[str], ruled: list[str]) -> str:
    """The tables with what they mean."""
    text = __doc__.split("\n\n", 2)
    parts = [
        "# Minimizers\n\n" + text[0],
        text[2].strip(),
        "Limits of the machine:\n\n" + "\n".join(floor),
        "## One fit\n\nGradient norm 1e-10 (ours) against 1e-8 and the default.\n\n"
        + "\n".join([COLD, *cold]),
        f"## One more noise draw\n\n{DRAWS} draws at once, each certified to 1e-10; the optimum "
        "without noise and its factor are not counted.\n\n" + "\n".join([MANY, *many]),
        "### At the regularization of the default rule\n\nWhat a private fit takes for this "
        "noise. Below it, as in the rows above with the largest shifts, noise moves the minimum "
        "further and a draw needs more gradients.\n\n" + "\n".join([MANY, *ruled]),
    ]
    return "\n\n".join(parts) + "\n"


def main(sizes: list[int]) -> None:
    warnings.simplefilter("ignore")
    cold, many, ruled, floor = [], [], [], []
    for n in sizes:
        x, y = census_like(n)
        floor.append(limits(x))
        for table in (x, sp.csr_array(x)):
            for regularization in (1e-2, 1e-3, 1e-4):
                problem = Problem(table, y, regularization)
                cold.append(cold_fits(problem, rounds_for(n)))
                print(cold[-1], flush=True)
                for epsilon in (1.0, 0.1):
                    if n * regularization >= 2.0 / epsilon:  # what the privacy proof asks for
                        many.append(more_draws(problem, epsilon, rounds_for(n)))
                        print(many[-1], flush=True)
            ruled += draws_by_rule(table, y, n)
    Path(__file__).with_suffix(".md").write_text(page(floor, cold, many, ruled))


if __name__ == "__main__":
    with threadpool_limits(1):
        main([int(size) for size in sys.argv[1:]] or [45_000, 500_000])
