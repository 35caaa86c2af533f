"""The constants of ``regularization="auto"``: regret against the best fixed regularization.

With ``s = E|b_0|/(n R)`` the rule is ``Lam = tau R^2 s^k``, never below the floor of the
calibration. For every table, number of rows, loss and epsilon the script measures the test error
over a grid of ``t = Lam/(R^2 s)``, and the regret of each ``t``: how much worse its error is than
the smallest one on the grid, known only in hindsight. One constant per mechanism, kind of noise and
number of classes (two or more) must serve all of them, and one power per mechanism and kind of
noise. To see that a constant is not fitted to these tables, each table is also judged by the
constant that the *other* tables would have chosen, for several powers.

Writes the measurements to ``default_rule.json`` as they come and the page ``default_rule.md``.

Run: python reproduce/default_rule.py         (needs PRIVET_DATA; over an hour on one core)
     python reproduce/default_rule.py page    (the page alone, after a constant has changed)
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

import numpy as np
import tables
from _common import HERE, SEED, Data, adult, kdd99, rows_of, table, tell, write, wrong

from privet import ZCDP, PureDP
from privet.errors import RegularizationRaised
from privet.losses import HuberHinge, Logistic, Loss, Softmax
from privet.mechanisms import MECHANISMS, Mechanism
from privet.mechanisms.regularization import RULES, Rule

GRIDS = {
    "objective": (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.6, 1.5),
    "output": (0.05, 0.1, 0.25, 0.4, 0.6, 1.5, 4.0),
}
EPSILONS = (0.05, 0.2, 1.0, 4.0)
SIZES = (1_000, 20_000, 100_000, 500_000)
TEST_ROWS = 20_000
POWERS = (1.0, 1.25, 1.5, 1.75, 2.0)
TAUS = np.geomspace(0.003, 6.0, 40)
CLASSES = {"MNIST 7x7": 10, "KDD99 five": 5, "Covertype seven": 7}
# Above this many rows noise matters little: fewer draws and the objective alone.
LARGE = 50_000
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
    """One table, size, loss and epsilon with the errors over the grid of ``t``."""

    data: str
    columns: int
    n: int
    loss: str
    epsilon: float
    errors: tuple[float, ...]

    @property
    def regrets(self) -> np.ndarray:
        """Points of error above the best of the grid, one per ``t``."""
        return 100.0 * (np.array(self.errors) - min(self.errors))

    @property
    def name(self) -> str:
        """Which one."""
        return f"{self.data}, n = {self.n:,}, {self.loss}, eps {self.epsilon:g}"


# -- tables --------------------------------------------------------------------------------------


def digits() -> list[Data]:
    """MNIST: ten classes at 7 x 7 pixels; 3 against 8 at 14 x 14 pixels."""
    pixels, y, _ = tables.mnist()
    image = pixels.reshape(-1, 28, 28) / 255.0

    def shrunk(side: int) -> np.ndarray:
        step = 28 // side
        x = image.reshape(-1, side, step, side, step).mean(axis=(2, 4)).reshape(len(y), -1)
        return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])

    out, small = [Data("MNIST 7x7", shrunk(7), y)], shrunk(14)
    pair = np.isin(y, (3, 8))
    return [*out, Data("MNIST 3/8", small[pair], (y[pair] == 8).astype(int))]


def categories() -> Data:
    """KDD Cup 1999 in five classes, as the 10 % file has them."""
    columns, kinds = tables.kddcup99()
    codes = {kind: c for c, words in enumerate(CATEGORIES.values()) for kind in words.split()}
    x = tables.encode(columns, tables.KDDCUP99)
    return Data("KDD99 five", x, np.array([codes[str(kind)] for kind in kinds]))


def forests() -> list[Data]:
    """Covertype: the second class against the rest, and all seven."""
    columns, y = tables.covertype()
    x = tables.encode(columns, tables.COVERTYPE)
    return [Data("Covertype", x, (y == 2).astype(int)), Data("Covertype seven", x, y - 1)]


def measured_tables() -> tuple[list[Data], list[Data]]:
    """Two-class tables and those with more classes."""
    ten, *pairs = digits()
    two, seven = forests()
    whole = adult(tables.ADULT_FULL, "Adult, all")
    return [adult(), whole, kdd99(494_000), two, *pairs], [ten, categories(), seven]


# -- measuring -----------------------------------------------------------------------------------


@contextmanager
def ruled(key: Key, rule: Rule) -> Iterator[None]:
    """Another rule for this mechanism and noise."""
    kept, RULES[key] = RULES[key], rule
    try:
        yield
    finally:
        RULES[key] = kept


def mechanism_for(key: Key, loss: Loss, epsilon: float) -> Mechanism:
    """Pure epsilon for Laplace noise, rho = eps^2/2 for Gaussian."""
    name, noise, _ = key
    budget = PureDP(epsilon) if noise == "laplace" else ZCDP(epsilon**2 / 2.0)
    return MECHANISMS[name](loss, budget, noise="laplace" if noise == "laplace" else "gaussian")


def error(mechanism: Mechanism, data: Data, n: int) -> float:
    """Mean test error over samples of ``n`` rows and draws of noise."""
    repeats, draws = (1, 5) if n > LARGE else (1, 12) if n > 2_000 else (5, 6)
    if mechanism.loss.classes > 2 and n > 2_000:
        draws = 4  # thousands of test rows in several classes: one draw tells much
    found = []
    for repeat in range(repeats):
        order = np.random.default_rng(SEED + repeat).permutation(len(data.y))
        test, train = order[:TEST_ROWS][: len(order) // 5], order[len(order) // 5 :][:n]
        if len(order) > 5 * TEST_ROWS:
            train = order[TEST_ROWS:][:n]
        seeded = replace(mechanism, insecure_seed=SEED + repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RegularizationRaised)
            thetas = seeded.sample(rows_of(mechanism.loss, data, train), draws)
        found.append(wrong(mechanism.loss, thetas, data.x[test], data.y[test]).mean())
    return float(np.mean(found))


def share(key: Key, mechanism: Mechanism, n: int, columns: int) -> float:
    """``s`` for R = 1, read off a rule that no floor holds up."""
    with ruled(key, Rule(1e6)):
        return mechanism.design(n, columns).risk.regularization / 1e6


def measure(key: Key, data: Data, n: int, loss: Loss, epsilon: float) -> Setting:
    """Errors over the grid; where the floor binds, several ``t`` are one Lam."""
    mechanism, columns = mechanism_for(key, loss, epsilon), data.x.shape[1]
    s, known, errors = share(key, mechanism, n, columns), {}, []
    for t in GRIDS[key[0]]:
        fixed = replace(mechanism, regularization=t * s)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RegularizationRaised)
            lam = fixed.design(n, columns).risk.regularization
            if lam not in known:
                known[lam] = error(fixed, data, n)
        errors.append(known[lam])
    tell(f"{key} {data.name} {n} {loss.name} {epsilon:g}: {min(errors):.4f}")
    return Setting(data.name, columns, n, loss.name, epsilon, tuple(errors))


def sizes(data: Data, many: bool) -> list[int]:
    """Numbers of training rows: as many of the grid as the table has, and all of it."""
    most = max(len(data.y) - max(TEST_ROWS, 0), 4 * len(data.y) // 5)
    if len(data.y) <= 5 * TEST_ROWS:
        most = 4 * len(data.y) // 5
    largest = LARGE if many else most
    inside = [n for n in SIZES if n <= min(most, largest)]
    return [*inside, most] if not many and most > 2 * inside[-1] else inside


def work(two: list[Data], many: list[Data]) -> Iterator[tuple[Key, Data, int, Loss, float]]:
    """Every setting, small tables first."""
    for n_limit in (LARGE, 10**9):
        for key in RULES:
            for data in many if key[2] else two:
                for n in sizes(data, key[2]):
                    if (n > LARGE) != (n_limit > LARGE) or (n > LARGE and key[0] == "output"):
                        continue
                    losses: list[Loss] = (
                        [Softmax(int(data.y.max()) + 1)] if key[2] else [Logistic(), HuberHinge()]
                    )
                    for loss in losses:
                        for epsilon in EPSILONS:
                            yield key, data, n, loss, epsilon


def measure_all() -> None:
    """Every setting, kept as soon as it is measured; what is there already is not repeated."""
    path = HERE / "default_rule.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for key, data, n, loss, epsilon in work(*measured_tables()):
        settings = kept.setdefault("/".join(map(str, key)), [])
        done = {(s["data"], s["n"], s["loss"], s["epsilon"]) for s in settings}
        if (data.name, n, loss.name, epsilon) not in done:
            settings.append(asdict(measure(key, data, n, loss, epsilon)))
            path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


# -- the page ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """What a setting would regret of a rule, between the points of its grid by interpolation."""

    setting: Setting
    share: float
    log_lams: np.ndarray
    auto: float

    @classmethod
    def of(cls, key: Key, setting: Setting) -> Judge:
        """With the floor of the calibration, and with what "auto" takes today."""
        loss = {"logistic": Logistic(), "huber": HuberHinge()}.get(setting.loss)
        mechanism = mechanism_for(key, loss or Softmax(CLASSES[setting.data]), setting.epsilon)
        place = setting.n, setting.columns
        s = share(key, mechanism, *place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RegularizationRaised)
            lams = [
                replace(mechanism, regularization=t * s).design(*place).risk.regularization
                for t in GRIDS[key[0]]
            ]
        auto = mechanism.design(*place).risk.regularization
        return cls(setting, s, np.log(lams), auto)

    def regret(self, lam: float) -> float:
        """Points of error above the best of the grid."""
        return float(np.interp(np.log(lam), self.log_lams, self.setting.regrets))

    def of_rule(self, rule: Rule) -> float:
        """The regret of another rule; below the floor it is the floor's."""
        return self.regret(rule.tau * self.share**rule.power)


def loss_of(regrets: np.ndarray) -> float:
    """What a constant is chosen by: the mean and the 90th percentile."""
    return float(regrets.mean() + np.quantile(regrets, 0.9))


def chosen(judges: list[Judge], power: float) -> Rule:
    """The best constant for these settings at one power."""
    rules = [Rule(float(tau), power) for tau in TAUS]
    return min(rules, key=lambda r: loss_of(np.array([j.of_rule(r) for j in judges])))


def held_out(judges: list[Judge], power: float) -> np.ndarray:
    """Regrets of each table at the constant that the other tables choose."""
    out = []
    for name in sorted({j.setting.data for j in judges}):
        rule = chosen([j for j in judges if j.setting.data != name] or judges, power)
        out += [j.of_rule(rule) for j in judges if j.setting.data == name]
    return np.array(out)


def spread(regrets: np.ndarray) -> list[str]:
    """Median, mean, 90th percentile, worst."""
    numbers = np.median(regrets), regrets.mean(), np.quantile(regrets, 0.9), regrets.max()
    return [f"{number:.2f}" for number in numbers]


def powers(judges: list[Judge]) -> str:
    """What each power of ``s`` would give, with its best constant and with the others'."""
    lines = []
    for power in POWERS:
        rule = chosen(judges, power)
        found = np.array([j.of_rule(rule) for j in judges])
        held = spread(held_out(judges, power))
        lines.append([f"{power:g}", f"{rule.tau:.2g}", *spread(found), *held])
    names = ["median", "mean", "90 %", "worst"]
    header = ["power", "best tau", *names, *(f"other tables': {name}" for name in names)]
    return table(header, lines)


def section(key: Key, judges: list[Judge]) -> str:
    """Regret of every ``t`` and of rules, then the errors of each setting."""
    settings, grid = [j.setting for j in judges], GRIDS[key[0]]
    kind = "more than two classes" if key[2] else "two classes"
    regrets = np.array([setting.regrets for setting in settings])
    lines = [
        [f"{t:g}", *spread(column), settings[int(column.argmax())].name]
        for t, column in zip(grid, regrets.T, strict=True)
    ]
    rule, auto = RULES[key], np.array([j.regret(j.auto) for j in judges])
    words = f"tau = {rule.tau:g}, power {rule.power:g}; worst {settings[int(auto.argmax())].name}"
    lines.append(["**rule**", *spread(auto), words])
    header = ["t", "median", "mean", "90 %", "worst", "worst at"]
    details = [
        [
            j.setting.name,
            f"{j.auto / j.share:.2g}",
            *(
                f"**{e:.4f}**" if e == min(j.setting.errors) else f"{e:.4f}"
                for e in j.setting.errors
            ),
        ]
        for j in judges
    ]
    return (
        f"## {key[0]} perturbation, {key[1]} noise, {kind}\n\n{table(header, lines)}\n"
        f"{powers(judges)}\n"
        f"<details><summary>errors of {len(settings)} settings</summary>\n\n"
        f"{table(['setting', 'auto, as t', *(f'{t:g}' for t in grid)], details)}\n</details>\n\n"
    )


def page() -> str:
    """The whole page."""
    stored = json.loads((HERE / "default_rule.json").read_text(encoding="utf-8"))
    kept = {
        key: [Judge.of(key, Setting(**s)) for s in stored["/".join(map(str, key))]]
        for key in RULES
        if stored.get("/".join(map(str, key)))
    }
    rule = {key: np.array([j.regret(j.auto) for j in judges]) for key, judges in kept.items()}
    everything = np.concatenate(list(rule.values()))
    objective = np.concatenate([r for key, r in rule.items() if key[0] == "objective"])
    lines = [
        ["objective perturbation (the default)", len(objective), *spread(objective)],
        ["everything", len(everything), *spread(everything)],
    ]
    header = ["", "settings", "median", "mean", "90 %", "worst"]
    intro = (
        "# The constants of the default regularization\n\n"
        "Written by `python reproduce/default_rule.py`. Regret: points of test error above the "
        "best regularization of the grid, which is known only in hindsight (and is partly luck: "
        "the best of several noisy averages). Laplace noise at pure eps, Gaussian noise at "
        "rho = eps^2/2; eps from 0.05 to 4; from 1,000 rows to all that the tables have. "
        '"other tables\'" judges each table by the constant that the other tables would choose. '
        "With Gaussian noise in the objective a declared regularization may be lower than the "
        "default's, whose floor leaves less of the budget to the determinant: **rule** has the "
        "default's floor, the grid and the tables of powers that of declared values.\n\n"
        f"Regret of the rule, in points of error:\n\n{table(header, lines)}\n"
    )
    return intro + "".join(section(key, judges) for key, judges in kept.items())


def main() -> None:
    """Measure unless only the page is wanted, then write the page."""
    if sys.argv[1:] != ["page"]:
        measure_all()
    write("default_rule.md", page())


if __name__ == "__main__":
    main()
