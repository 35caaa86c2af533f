"""Coverage of ``evaluate``'s 95 % intervals over 2,000 simulations of every setting.

    python reproduce/evaluate_coverage.py          # writes evaluate_coverage.md, some minutes
    python reproduce/evaluate_coverage.py --auc    # the AUC alone: evaluate_coverage_auc.md

A population is a law of (group, class, score); the score decides the prediction, and the
probability is its logistic function. Each simulation draws n rows, counts the tables, adds the
mechanism's noise and reads all measures with their intervals by the same code as ``evaluate``.
What an interval must cover is the population's value, for the AUC that of the binned score.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm, t, uniform

from privet import ZCDP, PureDP
from privet.evaluation.allocation import EvaluationPlan, plan_evaluation
from privet.evaluation.auc import NoisyCurves
from privet.evaluation.count_tables import CodedRows, CountTable, read_tables
from privet.evaluation.released_evaluation import Measures, PublicFacts
from privet.mechanisms.counts import Histogram
from privet.privacy import Budget
from privet.randomness import SystemRandomness

Array = NDArray[np.float64]
SIMULATIONS = 2000
LEVEL = 0.95
GROUPS = ("a", "b", "c")
MEASURES = ("accuracy", "confusion", "auc", "calibration", "groups")
ATOMS = np.linspace(-6.0, 6.0, 241) + 0.001  # scores, none of them on the border of two bins


#: Laws of a class's scores: Student's with 1.5 degrees of freedom, and one with ends.
SHAPES = {
    "normal": norm(),
    "heavy": t(1.5),
    "bounded": uniform(-2.3, 4.6),
}


@dataclass(frozen=True)
class Population:
    """Positive share, and where the scores of negative and positive rows lie on average."""

    name: str
    positive: float
    negative_score: float
    positive_score: float
    shares: tuple[float, float, float] = (0.6, 0.3, 0.1)
    shift: float = 0.3  # from one group to the next
    shape: str = "normal"

    def law(self) -> Array:
        """Probabilities of (group, class, score); groups differ by a shift of their scores."""
        out = np.zeros((len(GROUPS), 2, len(ATOMS)))
        for g, share in enumerate(self.shares):
            for c, center in enumerate((self.negative_score, self.positive_score)):
                density = SHAPES[self.shape].pdf(ATOMS - center - self.shift * g)
                weight = self.positive if c else 1.0 - self.positive
                out[g, c] = share * weight * density / density.sum()
        return out.ravel()


def rows() -> CodedRows:
    """One row of each kind that the law gives a probability to."""
    group, truth, atom = np.unravel_index(
        np.arange(len(GROUPS) * 2 * len(ATOMS)), (len(GROUPS), 2, len(ATOMS))
    )
    score = ATOMS[atom]
    probability = expit(score)
    return CodedRows(
        truth=truth,
        predicted=(score > 0).astype(np.intp),
        group=group,
        score=np.clip((score[:, None] / 6.0 + 1.0) / 2.0, 0.0, 1.0),
        probability=np.stack([1.0 - probability, probability], axis=1),
    )


def gathered(kinds: CodedRows, table: CountTable) -> Array:
    """The matrix from counts of kinds of rows to the cells of a table."""
    out = np.zeros((len(kinds.truth), table.cells))
    places = table.places(kinds).reshape(len(kinds.truth), -1)
    for column in places.T:
        out[np.arange(len(out)), column] += 1.0
    return out


def truths(planned: EvaluationPlan, population: Population) -> Array:
    """The population's values: what a huge table without noise says."""
    n = 10**9
    law, kinds = population.law(), rows()
    exact = [(n * law @ gathered(kinds, table))[None] for table in planned.tables]
    public = PublicFacts(n, LEVEL, (0, 1), GROUPS)
    return read_tables(planned.tables, planned.mechanisms, exact, public)[0].estimate[0]


def simulate(
    population: Population, budget: Budget, n: int
) -> tuple[EvaluationPlan, Measures, Array]:
    """Measures of many simulated evaluations, and the true values."""
    planned = plan_evaluation(budget, n, MEASURES, 2, len(GROUPS))
    generator = np.random.default_rng()
    counts = generator.multinomial(n, population.law(), size=SIMULATIONS)
    kinds, noisy = rows(), []
    for table, mechanism in zip(planned.tables, planned.mechanisms, strict=True):
        cells = (counts @ gathered(kinds, table)).astype(np.int64)
        noisy.append(fast(mechanism, cells, n))
    reading, _ = read_tables(
        planned.tables, planned.mechanisms, noisy, PublicFacts(n, LEVEL, (0, 1), GROUPS)
    )
    return planned, reading, truths(planned, population)


def fast(mechanism: Histogram, cells: NDArray[np.int64], n: int) -> Array:
    """The mechanism's noise by floating point: its grid is a millionth of it."""

    class Fast(SystemRandomness):
        secure = False

    return mechanism.design(n).perturb(cells, Fast())


POPULATIONS = (
    Population("balanced", 0.5, -1.0, 1.0),
    Population("rare positives", 0.05, -2.5, 0.5),
    Population("nearly perfect", 0.3, -2.3, 2.3),
    # the logarithm of the odds of two normal classes that are one apart is the score itself
    Population("calibrated", 0.5, -0.5, 0.5, shift=0.0),
)
BUDGETS: tuple[tuple[str, Budget], ...] = (
    ("eps = 1", PureDP(1.0)),
    ("eps = 8", PureDP(8.0)),
    ("rho = 0.1", ZCDP(0.1)),
)
SIZES = (200, 2000, 20000)
AREA_SIMULATIONS = 10_000
AREA_SIZES = (200, 1000, 5000, 20_000, 100_000)
MORE_POPULATIONS = (
    Population("weak", 0.3, -0.3, 0.2),
    Population("rare and nearly perfect", 0.02, -3.0, 2.0),
    Population("heavy tails", 0.05, -2.5, 1.0, shape="heavy"),
    Population("scores with ends", 0.3, -2.0, 2.0, shape="bounded"),
)
FAMILY = {
    "accuracy": "accuracy",
    "confusion rate": "confusion rates",
    "precision": "precisions",
    "selection rate": "rates of groups",
    "true positive rate": "rates of groups",
    "false positive rate": "rates of groups",
    "AUC": "AUC",
    "observed frequency": "calibration, bins",
    "calibration error": "calibration error",
}


def family(name: tuple[str, str]) -> str:
    """The line of the table that a measure belongs to."""
    return "rates of groups" if name[1].startswith("group") else FAMILY[name[0]]


def main() -> None:
    """Run every setting and write the table."""
    error = np.sqrt(LEVEL * (1.0 - LEVEL) / SIMULATIONS)
    lines, totals, start = [], defaultdict(list), time.process_time()
    for population in POPULATIONS:
        for label, budget in BUDGETS:
            for n in SIZES:
                _, reading, true = simulate(population, budget, n)
                covered = ((reading.lower <= true) & (true <= reading.upper)).mean(axis=0)
                width = np.median(reading.upper - reading.lower, axis=0)
                told = ~np.isnan(reading.estimate)
                by = defaultdict(list)
                for i, name in enumerate(reading.names):
                    by[family(name)].append((covered[i], width[i], told[:, i].mean()))
                for kind, found in by.items():
                    sure = [each for each in found if each[2] > 0.99]
                    lines.append(line(population.name, label, n, kind, found, sure))
                    totals[kind] += [each[0] for each in sure]
                print(lines[-1], round(time.process_time() - start), file=sys.stderr, flush=True)
    page = report(lines, totals, float(error), time.process_time() - start)
    Path(__file__).with_suffix(".md").write_text(page, encoding="utf-8")


Found = tuple[float, float, float]  # coverage, median width, share of releases that tell anything


def line(
    population: str, budget: str, n: int, kind: str, found: list[Found], sure: list[Found]
) -> str:
    """A row of the table of settings."""
    cover = [f"{value:.3f}" for value in sorted(each[0] for each in sure)]
    span = " to ".join(dict.fromkeys([cover[0], cover[-1]])) if cover else ""
    width = f"{np.median([each[1] for each in found]):.3f}"
    cells = (population, budget, f"{n:,}", kind, f"{len(sure)} of {len(found)}", span, width)
    return "| " + " | ".join(cells) + " |"


def area_coverage(population: Population, budget: Budget, n: int) -> tuple[float, float]:
    """The true AUC, and how often it is covered; not a number where most releases tell nothing."""
    planned = plan_evaluation(budget, n, MEASURES, 2, len(GROUPS))
    pairs = zip(planned.tables, planned.mechanisms, strict=True)
    table, mechanism = next(pair for pair in pairs if pair[0].name == "ranks")
    law = population.law() @ gathered(rows(), table)
    size = table.shape[-1]
    counts = np.random.default_rng().multinomial(n, law / law.sum(), size=AREA_SIMULATIONS)
    noisy = fast(mechanism, counts, n)
    found = NoisyCurves(noisy[:, size:], noisy[:, :size], mechanism.variance)
    exact = NoisyCurves(law[None, size:], law[None, :size], 0.0)
    area = float(exact.estimates()[0])
    if found.usable.mean() < 0.99:
        return area, np.nan
    return area, float(found.accepts(np.full(AREA_SIMULATIONS, area), LEVEL).mean())


def areas() -> None:
    """The AUC's coverage alone, over more populations, sizes and simulations."""
    error = np.sqrt(LEVEL * (1.0 - LEVEL) / AREA_SIMULATIONS)
    lines = []
    for population in (*POPULATIONS[:3], *MORE_POPULATIONS):
        for label, budget in BUDGETS:
            found = [area_coverage(population, budget, n) for n in AREA_SIZES]
            cells = ["" if np.isnan(cover) else f"{cover:.4f}" for _, cover in found]
            row = (population.name, f"{found[-1][0]:.4f}", label, *cells)
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], file=sys.stderr, flush=True)
    sizes = " | ".join(f"n = {n:,}" for n in AREA_SIZES)
    page = [
        "# Coverage of the AUC's 95 % interval",
        "",
        f"Written by `evaluate_coverage.py --auc`: {AREA_SIMULATIONS:,} simulations of each "
        f"setting, one standard error {error:.4f}. Empty where a class is lost in the noise in "
        "more than 1 % of the releases.",
        "",
        f"| population | AUC | budget | {sizes} |",
        "|---|---|---|" + "---|" * len(AREA_SIZES),
        *lines,
        "",
    ]
    target = Path(__file__).with_name("evaluate_coverage_auc.md")
    target.write_text("\n".join(page), encoding="utf-8")


def layouts() -> list[str]:
    """Noise of accuracy and AUC: the tables of ``evaluate`` against one table of everything."""
    out = []
    for label, budget in BUDGETS:
        for groups in (0, 4):
            asked = MEASURES if groups else MEASURES[:-1]
            built = plan_evaluation(budget, 2000, asked, 2, groups)
            law = {t.name: m for t, m in zip(built.tables, built.mechanisms, strict=True)}
            bins = {t.name: t.shape[-1] for t in built.tables}["ranks"]
            cells = 2 * bins * max(groups, 1)
            one = Histogram(cells, budget).variance
            # accuracy adds up half of the cells; the sum of all is known
            accuracy = law["confusion"].variance
            if groups:
                whole, parts = law["confusion"].variance, 4 * law["groups"].variance
                accuracy = 1.0 / (1.0 / whole + 1.0 / parts)
            values = (
                np.sqrt(accuracy),
                np.sqrt(one * cells / 4),
                np.sqrt(bins * law["ranks"].variance),
                np.sqrt(bins * max(groups, 1) * one),
            )
            out.append(f"| {label} | {groups} | " + " | ".join(f"{v:.1f}" for v in values) + " |")
    return out


def report(lines: list[str], totals: dict[str, list[float]], error: float, seconds: float) -> str:
    """The page."""
    summary = []
    for kind, found in totals.items():
        values = np.array(found)
        outside = int((np.abs(values - LEVEL) > 3 * error).sum())
        below = int((values < LEVEL - 3 * error).sum())
        summary.append(
            f"| {kind} | {len(values)} | {values.mean():.4f} | {values.min():.3f} | "
            f"{values.max():.3f} | {outside} | {below} |"
        )
    return "\n".join(
        [
            "# Coverage of the intervals of `evaluate`",
            "",
            f"Written by `evaluate_coverage.py`: {SIMULATIONS:,} simulations of each setting, 95 % "
            f"intervals, {seconds / 60:.1f} minutes of one core. One standard error of a coverage "
            f"is {error:.4f}; within three is from {LEVEL - 3 * error:.4f} to "
            f"{LEVEL + 3 * error:.4f}. Of values that are exactly at 0.95, 1 in 370 is outside by "
            "chance.",
            "",
            "A measure counts where more than 99 % of its releases tell anything: where a group, a "
            "class or a bin is lost in the noise, the interval is [0, 1] and covers always.",
            "",
            "| measure | settings | mean | smallest | largest | outside three errors | below |",
            "|---|---|---|---|---|---|---|",
            *summary,
            "",
            "The calibration error is not negative. Where it, or most of the bins' gaps that it "
            "adds up, is small beside their noise, its interval covers more than the level; "
            "elsewhere as much as it says.",
            "",
            "## Several tables or one",
            "",
            "Standard deviation, in rows, of the noise in the number of right predictions, and "
            "of the noise in the sum of a class's bins (to which that of the AUC is proportional): "
            "as `evaluate` splits the budget, and with all of it on one table of group x class x "
            "bin.",
            "",
            "| budget | groups | right: split | right: one table | AUC: split | AUC: one table |",
            "|---|---|---|---|---|---|",
            *layouts(),
            "",
            "## By setting",
            "",
            "Widths are medians over measures and simulations, those that tell nothing included.",
            "",
            "| population | budget | n | measure | told | coverage | width |",
            "|---|---|---|---|---|---|---|",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    areas() if "--auc" in sys.argv[1:] else main()
