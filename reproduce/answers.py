"""Three ways of answering with a kernel: how noisy, how exact, how accurate.

Writes ``answers.md``. After Jain and Thakurta 2013 (their interactive, semi-interactive and
non-interactive algorithms) and Hall, Rinaldo and Wasserman 2013 (function release). Draws are
seeded where a table is to be made again, and from the system's source elsewhere.

Run: OPENBLAS_NUM_THREADS=1 PRIVET_DATA=... python reproduce/answers.py
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from _answers import Array, neighbors, prediction_table, transcript_losses
from scipy.sparse.linalg import eigsh

from privet import ZCDP, ApproxDP, PureDP
from privet.answers.dual import kernel_minimum
from privet.answers.non_interactive import linear_rounds
from privet.answers.sessions import FunctionSession, Predict, SparseSession
from privet.bisection import largest
from privet.kernels import Gaussian
from privet.losses.margin import HuberHinge, Logistic, MarginLoss
from privet.mechanisms.distinguishing import Distinguishing, Space
from privet.mechanisms.function import FunctionRelease
from privet.mechanisms.kernel_minimizer import KernelMinimizer
from privet.mechanisms.projection import Projection, Stretch, prediction_stretch
from privet.mechanisms.sparse_vector import SparseVector
from privet.privacy import Budget
from privet.randomness import InsecureSeed

LOSS, KERNEL = Logistic(), Gaussian(0.5)
BUDGET = ApproxDP(1.0, 1e-6)
N, LAM = 100_000, 1e-3
COLUMNS = 5
DECLARED: dict[str, Any] = {
    "loss": LOSS,
    "budget": BUDGET,
    "norm_bound": 1.0,
    "regularization": LAM,
}


def sparse_vector(budget: Budget, lam: float, queries: int) -> SparseVector:
    """The sparse vector with an accuracy promised for so many queries."""
    declared = DECLARED | {"budget": budget, "regularization": lam}
    return SparseVector(**declared, queries=queries, failure_probability=0.05)


def noise_per_answer() -> list[str]:
    """At (1, 1e-6), 100,000 rows, Lam = 1e-3: standard deviations, measured from draws."""
    lines = [
        "## Noise per answer",
        "",
        f"{BUDGET}, n = {N:,}, Lam = {LAM:g}, K(x, x) = 1: root mean square of the noise that T",
        "answers got (the function is zero, so answers are noise). Queries and public points are",
        f"standard normal in {COLUMNS} columns, kernel {KERNEL}. *Function*: any kernel, answers",
        "in batches of 100. *Finite rank*: one released vector, 20 features. *TDDL, paper*: Jain",
        "and Thakurta's independent Laplace noise under advanced composition (Dwork, Rothblum and",
        "Vadhan 2010). *TDDL, Gaussian*: independent Gaussian noise for the sensitivity sqrt(T) S.",
        "*TDDL, ours*: the same for sqrt(lambda_max(K_ZZ)) S. *PINP*: the error that 95 % of",
        "runs stay below (declared, not a deviation).",
        "",
        "| T | function | finite rank | TDDL, paper | TDDL, Gaussian | TDDL, ours | PINP bound "
        "| paper / function | Gaussian / function |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for t in (100, 1_000, 10_000, 100_000):
        z = np.random.default_rng(t).normal(size=(t, COLUMNS))
        function = function_noise(z) if t <= 10_000 else math.nan
        finite, paper, ours = finite_noise(t), paper_noise(t), our_noise(z)
        plain = gaussian_noise(t, float(t))
        sparse = sparse_vector(BUDGET, LAM, t).design(N, COLUMNS).error
        best = finite if math.isnan(function) else function
        lines.append(
            f"| {t:,} | {show(function)} | {finite:.4f} | {paper:.3f} | {plain:.3f} "
            f"| {show(ours)} | {sparse:.1f} | {paper / best:.1f} | {plain / best:.1f} |"
        )
        print(lines[-1], flush=True)
    declared = FunctionRelease(**DECLARED).design(N, COLUMNS).answer_sd
    lines += ["", f"Declared for the function release at every T: {declared:.4f}.", ""]
    return lines


def show(value: float) -> str:
    """A number, or a dash where it was not measured."""
    return "-" if math.isnan(value) else f"{value:.4f}"


def rms(values: Array) -> float:
    """Root mean square."""
    return math.sqrt(float(values @ values) / len(values))


def function_noise(z: Array) -> float:
    """Answers of function releases of the zero function; several paths where T is small."""
    design = FunctionRelease(**DECLARED).design(N, COLUMNS)
    found = []
    for path in range(max(1, 5_000 // len(z))):
        session = FunctionSession(design, KERNEL, lambda part: np.zeros(len(part)))
        randomness = InsecureSeed(path)
        for i in range(0, len(z), 100):
            found.append(session.answer(z[i : i + 100], randomness).answers)
    return rms(np.concatenate(found))


def finite_noise(t: int) -> float:
    """``<g, phi(z)>`` for one vector of noise and t unit vectors phi(z) of 20 features."""
    rng = np.random.default_rng(t)
    phi = rng.normal(size=(t, 20))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    design = Projection(
        **DECLARED, insecure_seed=1, size=20, of="coordinates", stretch=Stretch(20)
    ).design(N)
    # one vector is one draw of the whole function: the mean over many of them is its deviation
    draws = [phi @ design.perturb(np.zeros(20), InsecureSeed(s)) for s in range(200)]
    return rms(np.concatenate(draws))


def paper_noise(t: int) -> float:
    """Laplace noise of scale s/eps0, t-fold composition of eps0 by the advanced theorem."""
    s = 2.0 / (LAM * N)

    def total(eps0: float) -> float:
        return math.sqrt(2.0 * t * math.log(1.0 / BUDGET.delta)) * eps0 + t * eps0 * math.expm1(
            eps0
        )

    eps0 = largest(lambda e: total(e) <= BUDGET.epsilon)
    drawn = np.random.default_rng(t).laplace(scale=s / eps0, size=max(t, 10_000))
    return rms(drawn)


def our_noise(z: Array) -> float:
    """Gaussian noise for the exact stretch of these points; not beyond 10,000 of them."""
    if len(z) > 10_000:
        return math.nan
    top = float(eigsh(KERNEL(z, z), k=1, return_eigenvectors=False)[0])
    return gaussian_noise(len(z), top * (1.0 + 1e-6))


def gaussian_noise(t: int, eigenvalue: float) -> float:
    """Independent Gaussian noise on t predictions for the stretch sqrt(eigenvalue)."""
    stretch = prediction_stretch(1.0, t, eigenvalue)
    design = Projection(
        **DECLARED, insecure_seed=1, size=t, of="predictions", stretch=stretch
    ).design(N)
    draws = range(max(1, 5_000 // t))
    return rms(np.concatenate([design.perturb(np.zeros(t), InsecureSeed(s)) for s in draws]))


def transcripts() -> list[str]:
    """The exact privacy loss of adaptive transcripts on real neighboring tables."""
    lines = [
        "## What transcripts give away",
        "",
        "Two neighboring tables (one row with the other label), their minimizers, and an",
        "adaptive user (new places, places near the largest answer, near-copies). From the joint",
        "Gaussian law of the transcript: `2 rho` it really spends, against what is claimed. The",
        "last column is the same transcript answered with independent noise of the same size.",
        "",
        "| loss | rows | Lam | budget | transcripts | answers | largest/claimed | independent |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cases: list[tuple[MarginLoss, int, float, Budget]] = [
        (HuberHinge(0.1), 50, 5.0, ZCDP(0.5)),
        (LOSS, 200, 0.1, ZCDP(0.1)),
        (LOSS, 200, 0.01, BUDGET),
    ]
    for loss, n, lam, budget in cases:
        losses, naive = transcript_losses(neighbors(n, lam), budget, lam, KERNEL, loss)
        lines.append(
            f"| {loss.name} | {n} | {lam:g} | {budget} | {len(losses)} | 120 | {max(losses):.4f} "
            f"| {max(naive):.1f} |"
        )
        print(lines[-1], flush=True)
    return [*lines, ""]


def pinp() -> list[str]:
    """200 runs of the sparse vector on one table."""
    lines = [
        "## PINP, made rigorous",
        "",
        "200 runs each, 300 queries; promised: all answers of a run within the bound with",
        "probability 0.95, and no more updates than B. The first two on one table of 3,000 rows;",
        "the others with a stand-in for the minimizer that has the largest norm there can be.",
        "",
        "| minimizer | budget | n | Lam | bound | largest error | runs beyond | B | most updates |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    cases: list[tuple[Budget, int, float]] = [
        (PureDP(1.0), 3_000, 0.05),
        (ZCDP(0.5), 3_000, 0.05),
        (PureDP(1.0), 1_000_000, 0.01),
        (ZCDP(0.5), 1_000_000, 0.01),
        (ZCDP(0.5), 1_000_000, 0.1),
    ]
    for budget, n, lam in cases:
        design = sparse_vector(budget, lam, 300).design(n, 2)
        real = n <= 3_000
        predict = fitted(design.minimizer) if real else longest(design.minimizer.norm)
        worst, beyond, updates = 0.0, 0, 0
        for run in range(200):
            z = 1.5 * np.random.default_rng(run).normal(size=(300, 2))
            session = SparseSession(design, KERNEL, predict)
            answers = session.answer(z, InsecureSeed(run)).answers
            error = float(np.abs(answers - predict(z)).max())
            worst, beyond = max(worst, error), beyond + (error > design.error)
            updates = max(updates, session.updates)
        lines.append(
            f"| {'fitted' if real else 'stand-in'} | {budget} | {n:,} | {lam:g} "
            f"| {design.error:.3f} | {worst:.3f} | {beyond} of 200 | {design.epochs} | {updates} |"
        )
        print(lines[-1], flush=True)
    return [*lines, ""]


def fitted(facts: KernelMinimizer) -> Predict:
    """The minimizer of a table of 3,000 rows."""
    x = np.random.default_rng(3).normal(size=(facts.n, 2))
    y = np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0)
    return kernel_minimum(facts.risk, KERNEL, x, y, facts.tolerance)


def longest(norm: float) -> Predict:
    """A function of this norm."""
    rng = np.random.default_rng(4)
    centers, c = 1.5 * rng.normal(size=(20, 2)), rng.normal(size=20)
    c *= norm / math.sqrt(float(c @ KERNEL(centers, centers) @ c))
    return lambda z: np.asarray(KERNEL(z, centers) @ c)


def tdil() -> list[str]:
    """The non-interactive learner's error as the dimension grows."""
    lines = [
        "## TDIL against the dimension",
        "",
        "Linear kernel, rho = 0.5, n = 100,000, Lam = 0.01, |w*| half of its public bound; error",
        "|w - w*| (the largest over the unit ball), mean of 10 runs. We prove a bound that grows",
        "like sqrt(d) for many rows; the paper's Theorem 8, as far as it can be read, d^(1/3).",
        "",
        "| d | rounds | error | bound |",
        "|---|---|---|---|",
    ]
    dims, errors, bounds = (2, 4, 8, 16, 32, 64, 128), [], []
    for d in dims:
        design = Distinguishing(
            loss=LOSS, budget=ZCDP(0.5), norm_bound=1.0, regularization=0.01, space=Space(d)
        ).design(N)
        left = []
        for run in range(10):
            w = np.random.default_rng(run).normal(size=d)
            w *= 0.5 * design.minimizer.norm / np.linalg.norm(w)
            left.append(float(np.linalg.norm(linear_rounds(design, w, InsecureSeed(run)) - w)))
        errors.append(float(np.mean(left)))
        bounds.append(design.error)
        lines.append(f"| {d} | {design.rounds} | {errors[-1]:.3f} | {bounds[-1]:.3f} |")
        print(lines[-1], flush=True)
    slopes = [float(np.polyfit(np.log(dims[2:]), np.log(v[2:]), 1)[0]) for v in (errors, bounds)]
    words = (
        f"From d = 8 on the error grows like d^{slopes[0]:.2f}, the bound like d^{slopes[1]:.2f}."
    )
    print(words)
    return [*lines, "", words, ""]


def main() -> None:
    """All sections, or those named on the command line."""
    start = time.process_time()
    sections = {
        "noise": noise_per_answer,
        "transcripts": transcripts,
        "pinp": pinp,
        "tdil": tdil,
        "accuracy": prediction_table,
    }
    chosen = sys.argv[1:] or list(sections)
    parts = [line for name in chosen for line in sections[name]()]
    spent = time.process_time() - start
    head = [
        "# Answers",
        "",
        f"Written by `python reproduce/answers.py`; {spent:.0f} CPU seconds.",
        "",
    ]
    if chosen == list(sections):
        Path(__file__).with_suffix(".md").write_text("\n".join([*head, *parts]))


if __name__ == "__main__":
    main()
