"""The constants of ``regularization="auto"``: regret against the best fixed regularisation.

The rule is ``Lam = tau R E|b_0|/n``, never below the floor of the calibration. For every table,
loss and epsilon the script measures the test error over a grid of tau (which is a grid of Lam),
and the regret of each tau: how much worse its error is than the smallest one on the grid, known
only in hindsight. One constant per mechanism, kind of noise and number of classes (two or more)
must serve every table and epsilon, so the one with the smallest mean regret is wanted, and near it
the curve should be flat. Writes the measurements to ``default_rule.json`` and the page
``default_rule.md``.

Run: python reproduce/default_rule.py         (needs PRIVET_DATA; about ten minutes)
     python reproduce/default_rule.py page    (the page alone, after a constant has changed)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
from _common import HERE, Data, adult, kdd99, private_error, table, tell, write

from privet import ZCDP, PureDP, datasets
from privet.losses import HuberHinge, Logistic, Loss, Softmax
from privet.mechanisms import MECHANISMS, Mechanism
from privet.mechanisms.regularization import TAU

GRIDS = {
    "objective": (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.6, 1.5),
    "output": (0.05, 0.1, 0.25, 0.4, 0.6, 1.5),
}
EPSILONS = (0.05, 0.2, 1.0, 4.0)
FOLDS, DRAWS = 2, 10
NOISES = ("laplace", "gaussian")
# The five categories of the KDD Cup's documentation.
CATEGORIES = {
    "normal": "normal",
    "denial of service": "back land neptune pod smurf teardrop",
    "probing": "ipsweep nmap portsweep satan",
    "remote to local": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster",
    "user to root": "buffer_overflow loadmodule perl rootkit",
}
Key = tuple[str, str, bool]


@dataclass(frozen=True)
class Setting:
    """One table, loss and epsilon with the errors over the grid of tau."""

    data: str
    loss: str
    epsilon: float
    errors: tuple[float, ...]

    @property
    def regrets(self) -> np.ndarray:
        """Points of error above the best of the grid, one per tau."""
        return 100.0 * (np.array(self.errors) - min(self.errors))


def digits() -> tuple[Data, Data]:
    """MNIST at 7 x 7 pixels, ten classes, 20,000 rows; and 3 against 8 at 14 x 14 pixels."""
    pixels, y, train = datasets.mnist()
    image = pixels[train].reshape(-1, 28, 28) / 255.0
    y = y[train]

    def shrunk(side: int) -> np.ndarray:
        step = 28 // side
        x = image.reshape(-1, side, step, side, step).mean(axis=(2, 4)).reshape(len(y), -1)
        return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])

    pair = np.isin(y, (3, 8))
    return (
        Data("MNIST 7x7", shrunk(7)[:20_000], y[:20_000]),
        Data("MNIST 3/8", shrunk(14)[pair], (y[pair] == 8).astype(int)),
    )


def categories(n: int) -> Data:
    """KDD Cup 1999 in five classes, as the 10 % file has them."""
    columns, kinds = datasets.kddcup99()
    index = np.random.default_rng(1).choice(len(kinds), size=n, replace=False)
    codes = {kind: c for c, words in enumerate(CATEGORIES.values()) for kind in words.split()}
    x = datasets.encode({k: v[index] for k, v in columns.items()}, datasets.KDDCUP99)
    return Data("KDD99 five", x, np.array([codes[str(kind)] for kind in kinds[index]]))


@contextmanager
def constant(key: Key, tau: float) -> Iterator[None]:
    """The rule with another constant."""
    kept, TAU[key] = TAU[key], tau
    try:
        yield
    finally:
        TAU[key] = kept


def mechanism_for(key: Key, loss: Loss, epsilon: float) -> Mechanism:
    """Pure epsilon for Laplace noise, rho = eps^2/2 for Gaussian."""
    name, noise, _ = key
    budget = PureDP(epsilon) if noise == "laplace" else ZCDP(epsilon**2 / 2.0)
    return MECHANISMS[name](loss, budget, noise="laplace" if noise == "laplace" else "gaussian")


def measure(key: Key, data: Data, loss: Loss, epsilon: float) -> Setting:
    """Errors over the grid; where the floor binds, several tau are one Lam."""
    mechanism, known, errors = mechanism_for(key, loss, epsilon), {}, []
    for tau in GRIDS[key[0]]:
        with constant(key, tau):
            lam = mechanism.design(len(data.y), data.x.shape[1]).risk.regularization
            if lam not in known:
                known[lam] = private_error(mechanism, data, count=5, used=FOLDS, draws=DRAWS).mean
        errors.append(known[lam])
    tell(f"{key} {data.name} {loss.name} {epsilon:g}: {min(errors):.4f}")
    return Setting(data.name, loss.name, epsilon, tuple(errors))


def summary(key: Key, settings: list[Setting]) -> str:
    """Mean and worst regret of every tau, then each setting at the rule's constant."""
    regrets = np.array([setting.regrets for setting in settings])
    grid = GRIDS[key[0]]
    best = grid[int(regrets.mean(axis=0).argmin())]
    kind = "more than two classes" if key[2] else "two classes"
    lines = [
        [f"{tau:g}", f"{mean:.2f}", f"{worst:.2f}", f"{s.data}, {s.loss}, {s.epsilon:g}"]
        for tau, mean, worst, s in zip(
            grid,
            regrets.mean(axis=0),
            regrets.max(axis=0),
            (settings[i] for i in regrets.argmax(axis=0)),
            strict=True,
        )
    ]
    header = ["tau", "mean regret", "worst regret", "worst at"]
    return (
        f"## {key[0]} perturbation, {key[1]} noise, {kind}\n\n{table(header, lines)}\n"
        f"Least mean regret at {best:g}; the rule uses **{TAU[key]:g}**.\n\n"
        f"{table(['table', 'loss', 'eps', *(f'{tau:g}' for tau in grid)], errors(settings))}\n"
    )


def errors(settings: list[Setting]) -> list[list[str]]:
    """Every measured error, the best in bold."""
    return [
        [
            s.data,
            s.loss,
            f"{s.epsilon:g}",
            *(f"**{e:.4f}**" if e == min(s.errors) else f"{e:.4f}" for e in s.errors),
        ]
        for s in settings
    ]


def tables() -> tuple[list[Data], list[Data]]:
    """Two-class tables and those with more classes."""
    ten, pair = digits()
    whole = adult(datasets.ADULT_FULL, "Adult, all")
    part = Data(whole.name, whole.x[:20_000], whole.y[:20_000])
    return [adult(), part, kdd99(20_000), pair], [ten, categories(20_000)]


def measure_all() -> dict[str, list[Setting]]:
    """Every key of the rule on every table."""
    two, many = tables()
    out = {}
    for key in TAU:
        out["/".join(map(str, key))] = [
            measure(key, data, loss, epsilon)
            for data in (many if key[2] else two)
            for loss in ([Softmax(int(data.y.max()) + 1)] if key[2] else [Logistic(), HuberHinge()])
            for epsilon in EPSILONS
        ]
    return out


def main() -> None:
    """Measure unless only the page is wanted, then write the page."""
    if sys.argv[1:] != ["page"]:
        measured = {
            name: [asdict(setting) for setting in settings]
            for name, settings in measure_all().items()
        }
        write("default_rule.json", json.dumps(measured, indent=1) + "\n")
    stored = json.loads((HERE / "default_rule.json").read_text(encoding="utf-8"))
    pages = [summary(key, [Setting(**s) for s in stored["/".join(map(str, key))]]) for key in TAU]
    intro = (
        "# The constants of the default regularisation\n\n"
        "Written by `python reproduce/default_rule.py`. Regret: points of test error above the "
        "best regularisation of the grid, which is known only in hindsight. Laplace noise at pure "
        "eps, Gaussian noise at rho = eps^2/2. Differences below 0.1 points are noise of the "
        f"measurement ({FOLDS} folds, {DRAWS} draws each). With Gaussian noise in the objective "
        "the floor is above the rule for every tau up to 0.05 on these tables; the constant "
        "matters with thousands of parameters only.\n\n"
    )
    write("default_rule.md", intro + "".join(pages))


if __name__ == "__main__":
    main()
