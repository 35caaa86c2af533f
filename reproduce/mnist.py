"""MNIST, ten digits by one linear softmax model: accuracy against epsilon at delta = 1e-5.

Unit-norm pixel rows (each image divided by its own norm), no intercept, the standard split of
60,000 and 10,000. One budget pays for all ten classes. Beside it: the non-private twin, and ten
one-against-the-rest logistic models that share the budget as zCDP (a tenth of the largest rho that
converts to (epsilon, delta) each). ``regularization="auto"``. Writes ``mnist.md``.

Run: python reproduce/mnist.py   (needs PRIVET_DATA; about half an hour on one core)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import tables
from _common import SEED, Array, Data, rows_of, table, tell, write, wrong
from numpy.typing import NDArray

from privet import ZCDP, ApproxDP
from privet.bisection import largest
from privet.losses import Logistic, Softmax
from privet.mechanisms import ObjectivePerturbation
from privet.minimize import minimize
from privet.risk import RegularizedRisk

EPSILONS = (0.5, 1.0, 2.0, 4.0)
DELTA = 1e-5
TWIN = 1e-5  # regularization of the non-private twins
INTRO = """# MNIST, ten digits, linear models

Written by `python reproduce/mnist.py`. Accuracy of one release on the 10,000 test images, trained
on 60,000, with the standard error that 10,000 images have. Unit-norm pixel rows, no intercept,
delta = 1e-5, `regularization="auto"`. Softmax has one budget for its 9 x 784 parameters;
one-against-the-rest fits ten logistic models at a tenth of rho each.
"""


def load() -> tuple[Data, Data]:
    """Training and test images as rows of norm 1."""
    pixels, y, train = tables.mnist()
    x = pixels / 255.0
    x /= np.linalg.norm(x, axis=1)[:, None]
    return Data("train", x[train], y[train]), Data("test", x[~train], y[~train])


def softmax(epsilon: float, train: Data, test: Data) -> float:
    """Accuracy of a release by L-BFGS; a Hessian would have 50 million entries."""
    loss = Softmax(10)
    mechanism = ObjectivePerturbation(loss, ApproxDP(epsilon, DELTA), insecure_seed=SEED)
    theta = mechanism.run(rows_of(loss, train, np.arange(len(train.y)))).value
    accuracy = 1.0 - float(wrong(loss, theta[None, :], test.x, test.y)[0])
    tell(f"softmax {epsilon:g}: {accuracy:.4f}")
    return accuracy


def share(epsilon: float) -> ZCDP:
    """A tenth of the largest rho that converts to (epsilon, DELTA)."""
    whole = largest(lambda rho: ApproxDP(epsilon, DELTA).covers(ZCDP(rho)), 1e-3)
    return ZCDP(whole / 10.0)


def one_against_rest(epsilon: float, train: Data, test: Data) -> float:
    """Accuracy of ten logistic models that share the budget."""
    mechanism = ObjectivePerturbation(Logistic(), share(epsilon))
    scores = np.empty((10, len(test.y)))
    for digit in range(10):
        rows = rows_of(Logistic(), against(digit, train), np.arange(len(train.y)))
        scores[digit] = test.x @ replace(mechanism, insecure_seed=SEED + digit).run(rows).value
    accuracy = float((scores.argmax(axis=0) == test.y).mean())
    tell(f"one against the rest {epsilon:g}: {accuracy:.4f}")
    return accuracy


def against(digit: int, data: Data) -> Data:
    """One digit against the others; the pixels are shared."""
    return Data(data.name, data.x, (data.y == digit).astype(int))


def twins(train: Data, test: Data) -> tuple[float, float]:
    """Both models without noise."""
    every: NDArray[np.intp] = np.arange(len(train.y))
    loss = Softmax(10)
    theta = plain(RegularizedRisk(loss, TWIN, 1.0), train, every)
    joint = 1.0 - float(wrong(loss, theta[None, :], test.x, test.y)[0])
    tell(f"softmax, non-private: {joint:.4f}")
    risk = RegularizedRisk(Logistic(), TWIN, 1.0)
    thetas = np.stack([plain(risk, against(digit, train), every) for digit in range(10)])
    apart = float(((thetas @ test.x.T).argmax(axis=0) == test.y).mean())
    tell(f"one against the rest, non-private: {apart:.4f}")
    return joint, apart


def plain(risk: RegularizedRisk, data: Data, index: NDArray[np.intp]) -> Array:
    """The minimizer without noise."""
    return minimize(risk, rows_of(risk.loss, data, index), tolerance=1e-6).certified()


def cell(accuracy: float) -> str:
    """Accuracy and the standard error of the test images."""
    return f"{accuracy:.4f} ± {math.sqrt(accuracy * (1.0 - accuracy) / 10_000):.4f}"


def main() -> None:
    """Measure and write the page."""
    train, test = load()
    lines = []
    for epsilon in EPSILONS:
        found = softmax(epsilon, train, test), one_against_rest(epsilon, train, test)
        lines.append([f"{epsilon:g}", *map(cell, found)])
    lines.append(["non-private", *map(cell, twins(train, test))])
    header = ["eps", "softmax, one budget", "one against the rest, split budget"]
    write("mnist.md", INTRO + "\n" + table(header, lines))


if __name__ == "__main__":
    main()
