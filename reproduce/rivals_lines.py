"""Single numbers beside ``rivals.md``: Adult and KDD99 in full, sizes of noise, floors, times.

Errors are means over forty splits (a tenth for the test), with a fresh noise on each, on KDD99 with
five: there the noise of a fit is most of what differs. Standard errors are of the splits' means.
Times are of the process, the fastest of five; with ``--earlier`` also against another checkout of
Privet.

Run: python reproduce/rivals_lines.py                      (needs PRIVET_DATA; ten minutes)
     python reproduce/rivals_lines.py --earlier FOLDER     (a checkout to compare times with)
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import tables
from _common import HERE, SEED, TENTHS, TWIN_REGULARIZATION, tell
from _rival_tables import declared_as
from _rivals_page import LINES

from privet import GDP, ZCDP, ApproxDP, Box, LinearSVC, LogisticRegression, OneHot, PureDP, Schema
from privet.errors import InfeasibleBudget, PrivetWarning
from privet.losses import HuberHinge, Logistic, Softmax
from privet.mechanisms import ObjectivePerturbation
from privet.minimize import minimize
from privet.models.knots import with_knots
from privet.models.raw_tables import for_schema, prepared_for
from privet.noise import SphericalLaplace
from privet.privacy.curves import GaussianCurve
from privet.randomness import SystemRandomness
from privet.risk import RegularizedRisk
from privet.rows import checked_rows
from privet.schema import Label

DRAWS, KDD_NOISES = 40, 5
TIME_OF_A_FIT = "time of a fit"
MODELS = {"logistic": LogisticRegression, "Huber": LinearSVC}


def line(what: str, wanted: str, found: str, met: bool) -> dict[str, Any]:
    """One row of the page."""
    tell(f"{what}: {found} ({wanted})")
    return {"what": what, "wanted": wanted, "found": found, "met": bool(met)}


def splits(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of each draw."""
    orders = [np.random.default_rng(SEED + draw).permutation(n) for draw in range(DRAWS)]
    return [(order[n // 10 :], order[: n // 10]) for order in orders]


def errors(model: Any, x: np.ndarray, y: np.ndarray, noises: int = 1) -> tuple[float, float]:
    """Mean test error and its standard error, with several noises on each split."""
    found = []
    for draw, (train, test) in enumerate(splits(len(y))):
        wrong = 0.0
        for again in range(noises):
            seeded = model.set_params(insecure_seed=SEED + draw + 1000 * again)
            wrong += float((seeded.fit(x[train], y[train]).predict(x[test]) != y[test]).mean())
        found.append(wrong / noises)
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(DRAWS))


def prepared(model: Any, schema: Schema, n: int) -> Any:
    """The unfitted model as ``fit_table`` would fit it to encoded rows."""
    return prepared_for(for_schema(model, schema), n, schema.width)


def chosen(model: Any, schema: Schema, cells: Any, n: int) -> tuple[Any, np.ndarray]:
    """The same as ``privet train`` without a model's name does it, and the rows for it."""
    bent = with_knots(schema, "auto", n, partial(for_schema, model))
    return prepared(model, bent, n), bent.encode(cells).x


def plain_error(x: np.ndarray, y: np.ndarray) -> float:
    """Without privacy, logistic loss."""
    from sklearn.linear_model import LogisticRegression as Plain

    (train, test), *_ = splits(len(y))
    twin = Plain(C=100.0, max_iter=200).fit(x[train], y[train])
    return float((twin.predict(x[test]) != y[test]).mean())


def judged(
    name: str, wanted: tuple[float, ...], found: list[tuple[float, float]], plain: float
) -> Any:
    """Errors of logistic and Huber against what was wanted of them."""
    told = " / ".join(f"{mean:.4f} ± {spread:.4f}" for mean, spread in found)
    met = all(mean <= limit for (mean, _), limit in zip(found, wanted, strict=False))
    limits = " / ".join(f"{limit:g}" for limit in wanted)
    return line(name, f"at most {limits}", f"{told} (non-private {plain:.4f})", met)


def adult_lines() -> list[dict[str, Any]]:
    """Pure epsilon = 0.1 in three encodings, and (0.1, 1/n^2) by ``adult.toml``."""
    columns, y = tables.adult()
    label = Label("y", (0, 1))
    example = Schema.from_toml(HERE.parent / "examples" / "adult.toml")
    example = Schema(dict(example.columns), label)
    whole = Schema(declared_as(tables.ADULT_FULL, columns), label)
    out = []
    for name, schema, wanted in (
        ("Adult, pure 0.1, every category a column, logistic / Huber", whole, (0.200,)),
        ("Adult, pure 0.1, examples/adult.toml", example, (0.172, 0.168)),
    ):
        cells = {**columns, "y": y}
        ways = [chosen(m(PureDP(0.1)), schema, cells, len(y)) for m in MODELS.values()]
        plain = plain_error(schema.encode(cells).x, y)
        out.append(judged(name, wanted, [errors(w, x, y) for w, x in ways], plain))
    x = tables.encode(columns, tables.ADULT)
    widths = [len(how.names()) for how in tables.ADULT.values()]
    size = float(x.max())
    x = np.where(x > 0.0, size, 0.0)
    domain = [OneHot(width, size) for width in widths]
    ways = [m(PureDP(0.1), domain=domain, fit_intercept=False) for m in MODELS.values()]
    found = [errors(w, x, y) for w in ways]
    out.append(judged("Adult, pure 0.1, 31 columns", (0.162, 0.160), found, plain_error(x, y)))
    return [*out, *adult_approximate(example, columns, y)]


def adult_approximate(schema: Schema, columns: Any, y: np.ndarray) -> list[dict[str, Any]]:
    """Excess logistic loss over the non-private fit of numbers without knots, on the test rows."""
    cells, n = {**columns, "y": y}, len(splits(len(y))[0][0])
    model, seen = chosen(LogisticRegression(ApproxDP(0.1, 1.0 / n**2)), schema, cells, n)
    x = schema.encode(cells).x
    wrong, excess = [], []
    for draw, (train, test) in enumerate(splits(len(y))):
        fitted = model.set_params(insecure_seed=SEED + draw).fit(seen[train], y[train])
        wrong.append(float((fitted.predict(seen[test]) != y[test]).mean()))
        loss = np.logaddexp(0.0, -(2.0 * y[test] - 1.0) * fitted.decision_function(seen[test]))
        rows = checked_rows(x[train], Logistic().targets(y[train]), norm_bound=1.0)
        risk = RegularizedRisk(Logistic(), TWIN_REGULARIZATION, 1.0)
        twin = minimize(risk, rows, tolerance=1e-6).certified()
        best = np.logaddexp(0.0, -(2.0 * y[test] - 1.0) * (x[test] @ twin))
        excess.append(float(loss.mean() - best.mean()))
    error, over = float(np.mean(wrong)), float(np.mean(excess))
    name = "Adult, (0.1, 1/n^2), examples/adult.toml, logistic"
    return [
        line(f"{name}: error", "at most 0.173", f"{error:.4f}", error <= 0.173),
        line(f"{name}: excess log loss", "at most 0.039", f"{over:.4f}", over <= 0.039),
    ]


def kdd_line() -> dict[str, Any]:
    """KDD99 with every column, pure 0.1, in the full file's shares."""
    columns, kinds = tables.kddcup99()
    weight = np.where(np.isin(kinds, TENTHS), 10.0, 1.0)
    rng = np.random.default_rng(SEED)
    some = rng.choice(len(kinds), size=70_000, replace=False, p=weight / weight.sum())
    cells = {key: values[some] for key, values in columns.items()}
    schema = Schema(declared_as(tables.KDDCUP99_FULL, cells), Label("y", (0, 1)))
    y = (kinds[some] == "normal").astype(int)
    x = schema.encode({**cells, "y": y}).x
    unit = tables.encode(cells, tables.KDDCUP99_FULL)
    ways = [chosen(m(PureDP(0.1)), schema, {**cells, "y": y}, len(x)) for m in MODELS.values()]
    found = [errors(w, rows, y, KDD_NOISES) for w, rows in ways]
    name = f"KDD99, pure 0.1, all columns (rows at norm 1: non-private {plain_error(unit, y):.4f})"
    return judged(name, (0.009, 0.0055), found, plain_error(x, y))


def noise_lines() -> list[dict[str, Any]]:
    """Root mean square of b for many classes against spherical noise, at equal R and epsilon."""
    out = []
    for classes, columns, limit in ((7, 20, 0.5), (10, 20, 0.55), (10, 60, 0.55)):
        loss = Softmax(classes)
        ways = [
            ObjectivePerturbation(loss, PureDP(1.0), noise=noise).design(50_000, columns).main
            for noise in ("auto", "laplace")
        ]
        assert isinstance(ways[1], SphericalLaplace)
        sizes = [way.coordinate_sd * math.sqrt(way.dimension) for way in ways]
        ratio = sizes[0] / sizes[1]
        what = f"root mean square of b, {classes} classes, {columns} columns, over spherical"
        out.append(line(what, f"at most {limit:g}", f"{ratio:.3f}", ratio <= limit))
    return out


def floor_of(loss: Any, budget: Any) -> float:
    """The smallest regularization that is not raised, times n."""
    mechanism = ObjectivePerturbation(loss, budget, noise="gaussian", regularization=1e-12)
    return 50_000 * float(mechanism.design(50_000, 20).risk.regularization)


def floor_line(losses: tuple[Any, ...], words: str) -> dict[str, Any]:
    """Floors of the budgets that one mu means, delta = 1e-6, where the budget is taken at all."""
    worst, where = 0.0, ""
    for loss in losses:
        for mu in (0.03, 0.1, 0.4, 1.0, 2.0):
            epsilon = GaussianCurve(mu**2 / 2.0).epsilon(1e-6)
            direct = floor_of(loss, ApproxDP(epsilon, 1e-6))
            for budget in (ZCDP(mu**2 / 2.0), GDP(mu)):
                with suppress(InfeasibleBudget):
                    ratio = floor_of(loss, budget) / direct
                    if ratio > worst:
                        worst, where = ratio, f"{type(budget).__name__}, mu {mu:g}, {loss.name}"
    what = f"floor of Lam under ZCDP and GDP over that of (eps, 1e-6) at the same mu, {words}"
    return line(what, "at most 1", f"{worst:.3f} ({where})", worst <= 1.0 + 1e-6)


def floor_lines() -> list[dict[str, Any]]:
    """Two classes, and more."""
    two = floor_line((Logistic(), HuberHinge()), "two classes")
    return [two, floor_line((Softmax(5),), "five classes")]


TIMED = """
import sys, time, warnings, numpy as np
warnings.simplefilter("ignore")
from privet import LogisticRegression, ApproxDP, PureDP
rng = np.random.default_rng(1)
x = rng.uniform(-1, 1, (40_000, 50)) / 8.0
# what fit_table takes at (0.1, 1e-6); the earlier version perturbs the objective
descent = {"mechanism": "gradient", "standardize": "whiten"} if sys.argv[1:] == ["now"] else {}
for classes in (2, 7):
    y = rng.integers(classes, size=len(x))
    for budget, more in (
        (PureDP(1.0), {}), (ApproxDP(1.0, 1e-6), {}), (ApproxDP(0.1, 1e-6), descent)
    ):
        spent = []
        for draw in range(5):
            model = LogisticRegression(
                budget, classes=list(range(classes)), insecure_seed=draw, **more
            )
            start = time.process_time()
            model.fit(x, y)
            spent.append(time.process_time() - start)
        print(min(spent))
"""
#: budgets of ``TIMED``, and how often as long as the earlier version's a fit may take
TIMES = {"pure": 1.3, "(1, 1e-6)": 1.3, "(0.1, 1e-6), gradient descent after whitening": 8.0}


def time_lines(earlier: str | None) -> list[dict[str, Any]]:
    """Fits of plain arrays against another checkout, and the hull's share of a fit."""
    out = [hull_line()]
    if earlier is None:
        return out
    found = []
    for folder, which in ((str(HERE.parent), "now"), (earlier, "earlier")):
        told = subprocess.run(
            [sys.executable, "-c", TIMED, which],
            env={**os.environ, "PYTHONPATH": folder},
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        found.append([float(text) for text in told.stdout.split()])
    names = [(classes, *most) for classes in (2, 7) for most in TIMES.items()]
    for (classes, name, most), now, then in zip(names, *found, strict=True):
        what = f"{TIME_OF_A_FIT} over the earlier version's, 40,000 x 50, {classes} classes, {name}"
        out.append(line(what, f"at most {most:g}", f"{now / then:.2f}", now <= most * then))
    return out


def hull_line() -> dict[str, Any]:
    """Drawing from the hull of 100 columns as a share of a fit to 40,000 rows."""
    rng = np.random.default_rng(SEED)
    widths = (8,) * 12
    hot = np.concatenate([np.eye(w)[rng.integers(w, size=40_000)] for w in widths], axis=1)
    x = np.concatenate([hot, rng.uniform(-1.0, 1.0, (40_000, 4))], axis=1) / 4.0
    y = rng.integers(2, size=len(x))
    domain = [*(OneHot(w, 0.25) for w in widths), Box(4, 0.25)]
    options = {"domain": domain, "fit_intercept": False, "noise": "hull"}
    model = LogisticRegression(PureDP(1.0), insecure_seed=1, **options)
    fits, draws = [], []
    for _ in range(5):
        start = time.process_time()
        model.fit(x, y)
        fits.append(time.process_time() - start)
    noise = model.planned(len(x), x.shape[1]).design.main
    assert noise.kind == "hull"
    for _ in range(5):
        start = time.process_time()
        noise.sample(SystemRandomness(), 1)
        draws.append(time.process_time() - start)
    share = min(draws) / min(fits)
    what = "drawing from the hull of 100 columns, share of a fit to 40,000 rows"
    return line(what, "below 0.1", f"{share:.3f}", share < 0.1)


def main() -> None:
    """Measure everything and write the file that the page reads."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--earlier")
    earlier = parser.parse_args().earlier
    warnings.simplefilter("ignore", PrivetWarning)
    found = [*noise_lines(), *floor_lines(), *time_lines(earlier), *adult_lines(), kdd_line()]
    if earlier is None and LINES.exists():  # ratios to another checkout stay those of their own run
        stored = json.loads(LINES.read_text(encoding="utf-8"))
        found += [each for each in stored if each["what"].startswith(TIME_OF_A_FIT)]
    LINES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
