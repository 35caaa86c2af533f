"""The page and the pictures of ``wang2018.py``, from its stored cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import matplotlib as mpl
import numpy as np
from _common import HERE, table, write
from _interval_page import EARLIER

mpl.use("Agg")
import matplotlib.pyplot as plt

Result = dict[str, Any]
DIMENSIONS = (1, 2, 5, 10, 37)
WAYS = [(kind, m, loss) for kind in ("pure", "zCDP") for m in ("objective", "output")
        for loss in ("logistic", "Huber")]  # fmt: skip
#: Wang, Kifer and Lee (2018), Table 3 (Adult, d = 1, 2, 5, 10) and Table 2 (KDD99, by n)
PAPER_3 = {
    ("pure", "objective", "logistic"): (0.9575, 0.9523, 0.9642, 0.9713),
    ("pure", "objective", "Huber"): (0.9515, 0.9490, 0.9628, 0.9724),
    ("pure", "output", "logistic"): (0.9500, 0.9577, 0.9603, 0.9658),
    ("pure", "output", "Huber"): (0.9545, 0.9550, 0.9525, 0.9605),
    ("zCDP", "objective", "logistic"): (0.9645, 0.9580, 0.9592, 0.9631),
    ("zCDP", "objective", "Huber"): (0.9580, 0.9480, 0.9462, 0.9576),
    ("zCDP", "output", "logistic"): (0.9615, 0.9560, 0.9643, 0.9715),
    ("zCDP", "output", "Huber"): (0.9565, 0.9510, 0.9558, 0.9650),
}
PAPER_2 = {
    ("pure", "objective", "logistic"): (0.9680, 0.9838, 0.9951),
    ("pure", "objective", "Huber"): (0.9545, 0.9760, 0.9938),
    ("pure", "output", "logistic"): (0.9695, 0.9775, 0.9894),
    ("pure", "output", "Huber"): (0.9710, 0.9771, 0.9867),
    ("zCDP", "objective", "logistic"): (0.9659, 0.9822, 0.9962),
    ("zCDP", "objective", "Huber"): (0.9614, 0.9791, 0.9925),
    ("zCDP", "output", "logistic"): (0.9915, 0.9960, 0.9984),
    ("zCDP", "output", "Huber"): (0.9915, 0.9936, 0.9948),
}
KDD_ROWS = (50_000, 150_000, 450_000)
COLORS = {"objective": "#1b6ca8", "output": "#c8553d"}
#: the most that a mean length may be, relative to the variability interval
LIMITS = {("zCDP", "logistic"): 1.03, ("zCDP", "Huber"): 1.03, ("pure", "logistic"): 1.05,
          ("pure", "Huber"): 1.10}  # fmt: skip
INTRO = """# Confidence intervals (Wang, Kifer and Lee 2018)

Written by `python reproduce/wang2018.py`. As in the paper the table stands for the population,
bootstrap replicates are the samples, and the *variability interval* (VI) is what the released
coefficients keep 95 times in 100: no interval can be shorter. Settings of the paper: c = 0.001
(Lam = 0.002), h = 1, eps = 0.5 for the fit and 0.25 for each matrix (zCDP: rho = eps^2/2, in sum
0.125 and 0.0625; ours asks for both matrices at once). Level 95 %. Adult: the 30,162 complete
training rows, 37 columns (numbers by declared bounds; employer, marriage, occupation, sex and
birthplace one-hot), in a fixed random order, the first d of them and a constant, rows of norm 1.
"±" is one standard error over the replicates: 600 for d = 1 and 2, 400 for 5 and
10, 150 for 37; the VI is from 3,000 to 20,000 fits.

What is compared: **ours** is `confidence_intervals` (Gaussian objective perturbation for zCDP, one
joint query, a mixture over plausible matrices); **2018** is the paper's construction
(`reproduce/two_matrices.py`, objective perturbation by its pure noise) on 250 replicates. Reading:
`coverage (length over VI)`.

**What was chosen in sight of these rows.** One constant: the price of an error in the Hessian,
which sets eta, was chosen by looking at cells of this study, mostly pure ones of Adult with d = 10
and 37. The other constants of the post-processing were chosen on half of the cells of
[interval_grid.md](interval_grid.md). The replicates of the tables were drawn after that, with other
seeds. One change was made after them: what errors across a direction add is taken off, because of
d = 37, zCDP, objective, Huber, which had 1.036 VI (with other seeds and a VI from 12,000 fits 1.034
± 0.001, so it was no accident; with the exact matrices 1.002). On these other seeds it has 1.028 ±
0.001 since, coverage 0.956. The rows below have the same seeds as before.
"""


def key(result: Result) -> tuple[str, str, str]:
    """Kind of privacy, mechanism, loss."""
    return result["kind"], result["mechanism"], result["loss"]


def pick(results: Iterable[Result], **wanted: Any) -> list[Result]:
    """Cells with these values; the paper's budgets unless said otherwise."""
    wanted = {"epsilon": 0.5, "matrices": [0.25, 0.25], "construction": "ours"} | wanted
    return [r for r in results if all(r[name] == value for name, value in wanted.items())]


def one(results: Iterable[Result], way: tuple[str, str, str], **wanted: Any) -> Result | None:
    """The cell of one way, if it is there."""
    found = pick(results, kind=way[0], mechanism=way[1], loss=way[2], **wanted)
    return found[0] if found else None


def ratio(result: Result) -> float:
    """Mean length over the mean variability interval."""
    return float(result["length"] / result["variability"])


def cell(result: Result | None) -> str:
    """Coverage with its standard error, and length."""
    if result is None:
        return ""
    return f"{result['coverage']:.4f} ± {result['coverage_se']:.4f} ({ratio(result):.3f})"


def adult_tables(results: list[Result]) -> str:
    """Table 3: ours, the paper's construction, and the paper's numbers."""
    here = pick(results, data="Adult", n=30_162)
    there = pick(results, data="Adult", n=30_162, construction="wang2018")
    heads = ["privacy, mechanism, loss", *(f"d = {d}" for d in DIMENSIONS)]
    mine = [[", ".join(w), *(cell(one(here, w, d=d)) for d in DIMENSIONS)] for w in WAYS]
    theirs = [
        [", ".join(w), *(cell(one(there, w, d=d, construction="wang2018")) for d in DIMENSIONS)]
        for w in WAYS
    ]
    printed = [[", ".join(w), *(f"{c:.4f}" for c in PAPER_3[w]), ""] for w in WAYS]
    return (
        f"## Adult: ours\n\n{table(heads, mine)}\n{verdict(here)}\n"
        f"## Adult: the construction of 2018\n\n{table(heads, theirs)}\n"
        f"## Adult: coverage as printed in 2018 (Table 3)\n\n{table(heads, printed)}\n"
    )


def verdict(here: list[Result]) -> str:
    """The targets, and whether every cell keeps them."""
    main = here
    if not main:
        return ""
    inside = [
        r
        for r in main
        if 0.945 - 3 * r["coverage_se"] <= r["coverage"] <= 0.96 + 3 * r["coverage_se"]
    ]
    mean = np.mean([r["coverage"] for r in main])
    spread = 3.0
    short = [
        r
        for r in main
        if ratio(r) <= LIMITS[r["kind"], r["loss"]] * (1 + spread * relative_error(r))
    ]
    strictly = [r for r in main if ratio(r) <= LIMITS[r["kind"], r["loss"]]]
    worst = min(min(r["coverages"]) for r in main), max(max(r["coverages"]) for r in main)
    return (
        f"- Coverage within three standard errors of [0.945, 0.96]: {len(inside)} of {len(main)} "
        f"cells; mean over cells {mean:.4f}.\n"
        f"- Length at most 1.03 VI (zCDP), 1.05 (pure logistic), 1.10 (pure Huber): "
        f"{len(strictly)} of {len(main)} cells; within three standard errors of the VI: "
        f"{len(short)}. Largest: "
        + ", ".join(f"{kind} {loss} {longest(main, kind, loss):.3f}" for kind, loss in LIMITS)
        + ".\n"
        f"- Coverage of single coefficients between {worst[0]:.3f} and {worst[1]:.3f} "
        "(below, for each cell).\n"
    )


def longest(main: list[Result], kind: str, loss: str) -> float:
    """The largest length over VI of one kind and loss."""
    return max((ratio(r) for r in main if (r["kind"], r["loss"]) == (kind, loss)), default=0.0)


def relative_error(result: Result) -> float:
    """Standard error of the variability interval's length, relative."""
    return float(result["variability_se"] / result["variability"])


def against_paper(results: list[Result]) -> str:
    """Length of ours over the paper's construction, by dimension."""
    lines = []
    for way in WAYS:
        line: list[object] = [", ".join(way)]
        for d in DIMENSIONS:
            mine = one(results, way, data="Adult", d=d, n=30_162)
            theirs = one(results, way, data="Adult", d=d, n=30_162, construction="wang2018")
            line.append("" if not (mine and theirs) else f"{mine['length'] / theirs['length']:.3f}")
        lines.append(line)
    heads = ["ours over 2018, mean length", *(f"d = {d}" for d in DIMENSIONS)]
    return f"## Length against the construction of 2018\n\n{table(heads, lines)}\n"


def per_coefficient(results: list[Result]) -> str:
    """Coverage of every coefficient, the constant last."""
    lines = []
    for d in DIMENSIONS:
        for way in WAYS:
            found = one(results, way, data="Adult", d=d, n=30_162)
            if found is not None:
                shares = " ".join(f"{share:.3f}" for share in found["coverages"])
                lines.append([d, ", ".join(way), shares])
    return "## Coverage of each coefficient\n\n" + table(["d", "cell", "coverage"], lines)


def kdd_table(results: list[Result]) -> str:
    """Table 2: by the number of rows."""
    heads = ["d = 10", *(f"n = {n:,}: {w}" for n in KDD_ROWS for w in ("ours", "2018", "printed"))]
    lines = []
    for way in WAYS:
        line: list[object] = [", ".join(way)]
        for i, n in enumerate(KDD_ROWS):
            for construction in ("ours", "wang2018"):
                found = one(results, way, data="KDD99", n=n, construction=construction)
                line.append(
                    "" if found is None else f"{found['coverage']:.3f} ({ratio(found):.2f})"
                )
            line.append(f"{PAPER_2[way][i]:.3f}")
        lines.append(line)
    return (
        "## KDD99 (Table 2)\n\nConnections of the 10 % file in the shares of the full file, "
        "`reproduce.tables.KDDCUP99`; normal against attack; 100 replicates, 200 of 2018; "
        "what is empty was not repeated.\n\n" + table(heads, lines) + "\n"
    )


def budget_table(results: list[Result]) -> str:
    """Other budgets on Adult at d = 10: coverage, length, and length over VI."""
    lines = []
    for way in WAYS:
        line: list[object] = [", ".join(way)]
        for epsilon, share in ((0.3, 0.25), (0.5, 0.25), (1.0, 0.25), (0.5, 0.1), (0.5, 1.0)):
            found = one(
                results, way, data="Adult", d=10, n=30_162, epsilon=epsilon, matrices=[share] * 2
            )
            told = "" if found is None else f"{found['coverage']:.3f}, {found['length']:.3f}"
            line.append(told if found is None else f"{told} ({ratio(found):.2f})")
        lines.append(line)
    heads = [
        "Adult, d = 10",
        *(f"eps = {e:g}, matrices {s:g} each" for e, s in
          ((0.3, 0.25), (0.5, 0.25), (1.0, 0.25), (0.5, 0.1), (0.5, 1.0))),
    ]  # fmt: skip
    return (
        "## Other budgets\n\nCoverage, mean length and (length over VI); 100 replicates where the "
        "budget is not the paper's; what is empty was not repeated.\n\n"
        + table(heads, lines)
        + "\n"
    )


def draw(results: list[Result]) -> None:
    """Figures 1-4 in two rows: length over d (Adult) and over n (KDD99)."""
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.2), layout="constrained")
    panels = [(loss, kind) for loss in ("logistic", "Huber") for kind in ("pure", "zCDP")]
    for axis, (loss, kind) in zip(axes[0], panels, strict=True):
        lines(axis, results, (loss, kind), "d", DIMENSIONS, lambda d: {"data": "Adult", "d": d,
              "n": 30_162}, "first")  # fmt: skip
        axis.set(xscale="log", xlabel="d", title=f"Adult, {loss}, {kind}")
        axis.set_xticks(DIMENSIONS, [str(d) for d in DIMENSIONS])
        axis.minorticks_off()
    for axis, (loss, kind) in zip(axes[1], panels, strict=True):
        lines(axis, results, (loss, kind), "n", KDD_ROWS, lambda n: {"data": "KDD99", "n": n}, "")
        axis.set(xscale="log", yscale="log", xlabel="n", title=f"KDD99, {loss}, {kind}, d = 10")
        axis.set_xticks(KDD_ROWS, [f"{n // 1000}k" for n in KDD_ROWS])
        axis.minorticks_off()
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("length, first coefficient")
    axes[1, 0].set_ylabel("mean length")
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.suptitle("Private 95 % intervals: ours, the construction of 2018, variability intervals")
    figure.savefig(HERE / "wang2018.png", dpi=130)
    plt.close(figure)


def lines(
    axis: Any,
    results: list[Result],
    panel: tuple[str, str],
    name: str,
    places: tuple[int, ...],
    where: Callable[[int], dict[str, Any]],
    first: str,
) -> None:
    """Ours and 2018's with the variability interval, for both mechanisms."""
    loss, kind = panel
    length, vi = ("first_length", "first_variability") if first else ("length", "variability")
    for mechanism, color in COLORS.items():
        for construction, style in (("ours", "-"), ("wang2018", ":")):
            way = (kind, mechanism, loss)
            found = [one(results, way, construction=construction, **where(p)) for p in places]
            shown = [(p, r) for p, r in zip(places, found, strict=True) if r is not None]
            if not shown:
                continue
            label = f"{mechanism}, {'ours' if construction == 'ours' else '2018'}"
            at = [p for p, _ in shown]
            axis.plot(at, [r[length] for _, r in shown], style, color=color, marker="o",
                      markersize=3.5, label=label)  # fmt: skip
            if construction == "ours":
                axis.plot(at, [r[vi] for _, r in shown], "x", color=color, markersize=7,
                          label=f"{mechanism}, VI of ours")  # fmt: skip


def draw_coverage(results: list[Result]) -> None:
    """Coverage of every cell with three standard errors."""
    main = pick(results, data="Adult", n=30_162)
    main.sort(key=lambda r: (r["kind"], r["mechanism"], r["loss"], r["d"]))
    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    axis.axhspan(0.945, 0.96, color="#dfe9f1", zorder=0)
    for i, r in enumerate(main):
        axis.errorbar(i, r["coverage"], 3 * r["coverage_se"], fmt="o", markersize=4,
                      color=COLORS[r["mechanism"]])  # fmt: skip
    labels = [f"{r['kind']} {r['loss']} d={r['d']}" for r in main]
    axis.set_xticks(range(len(main)), labels, rotation=90, fontsize=7)
    axis.set(ylabel="coverage of 95 % intervals", ylim=(0.92, 0.985))
    axis.set_title(
        "Coverage on Adult, three standard errors; blue objective, red output", loc="left"
    )
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "wang2018_coverage.png", dpi=130)
    plt.close(figure)


def waiting(results: list[Result]) -> str:
    """Which cells of ours are from before the last change of constants."""
    ours = [r for r in results if r["construction"] == "ours"]
    places = sorted({(r["data"], r["d"], r["n"], r["epsilon"]) for r in ours if EARLIER in r})
    count = sum(EARLIER in r for r in ours)
    if not count:
        return ""
    names = "; ".join(f"{data}, d = {d}, n = {n:,}, eps = {eps:g}" for data, d, n, eps in places)
    return (
        f"\n{count} of {len(ours)} cells of ours were measured with earlier constants, some or all "
        f"of: {names}. `python reproduce/wang2018.py` measures them again.\n"
    )


def write_all(stored: dict[str, Result]) -> None:
    """Page and pictures."""
    results = list(stored.values())
    draw(results)
    draw_coverage(results)
    pages = [
        INTRO + waiting(results),
        adult_tables(results),
        against_paper(results),
        "![coverage](wang2018_coverage.png)\n",
        kdd_table(results),
        budget_table(results),
        "![lengths](wang2018.png)\n",
        per_coefficient(results),
    ]
    write("wang2018.md", "\n".join(pages))
