"""Laws over the registry of releases: units, calibration, draws, and noise that reaches.

The laws of estimators, searches, evaluations and intervals are in the files beside this one; here
every mechanism is held against its own design.
"""

from __future__ import annotations

import inspect
import math
import pkgutil
import re
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet.mechanisms
from privet import randomness
from privet._types import Array
from privet.mechanisms import RELEASES, Design, Draw, Release, ReleaseDesign
from privet.mechanisms.distinguishing import InBall
from privet.mechanisms.function import SLACK
from privet.mechanisms.output import DISCRETE_SLACK
from privet.mechanisms.shaped import SHAPED
from privet.mechanisms.sparse_vector import SparseVectorAnswers
from privet.noise import (
    NOISES,
    ClassHull,
    ClassLaplace,
    ConeLaplace,
    Exponential,
    Gumbel,
    Laplace,
)
from privet.privacy import Budget, PureDP
from privet.privacy.curves import gaussian_delta, renyi_epsilon
from privet.privacy.kinds import EVENTS
from privet.privacy.stopping import StoppingCurve
from tests.laws.listed import names_the_same
from tests.laws.registered import CASES, EXACT, LAM, PURE, ROUNDS, M, N, Values, fit
from tests.laws.test_calibration import spent as fit_spent
from tests.laws.watched import Change, Record, watching

#: Files that a release is made of, but that are none themselves.
HELPERS = {
    "release",
    "trainer",
    "gap",
    "laplace_rate",
    "regularization",
    "kernel_minimizer",
    "shaped",
    "descent_rules",
    "class_rule",
}
EACH = [(name, budget) for name, case in CASES.items() for budget in case.budgets]
every_case = pytest.mark.parametrize(("name", "budget"), EACH, ids=str)


# -- the registry ----------------------------------------------------------------------------------


def classes() -> dict[str, list[type[Release]]]:
    """The releases that each file of the room defines, abstract ones and bases left out."""
    found: dict[str, list[type[Release]]] = {}
    for module in pkgutil.iter_modules(privet.mechanisms.__path__):
        room = import_module(f"privet.mechanisms.{module.name}")
        found[module.name] = [
            kind
            for kind in vars(room).values()
            if inspect.isclass(kind)
            and issubclass(kind, Release)
            and kind.__module__ == room.__name__
            and not inspect.isabstract(kind)
        ]
    return found


@pytest.mark.parametrize("name", sorted(name for name, kinds in classes().items() if kinds))
def test_every_release_has_its_proof_beside_it(name: str) -> None:
    room = Path(privet.mechanisms.__file__).parent
    proof = room / f"{name}.proof.md"
    assert proof.exists(), f"write {proof.name}: statement, argument, status, numerics"
    text = proof.read_text()
    assert "\n## Status\n" in text, f"{proof.name} must say what is proved"
    empty = re.findall(r"^## (.*)\n\s*(?=^## |\Z)", text, re.MULTILINE)
    assert empty == [], f"{proof.name} has headings without text"
    told = import_module(f"privet.mechanisms.{name}").__doc__ or ""
    assert "\nGuarantee\n---------\n" in told, f"{name}.py needs a section Guarantee"
    assert proof.name in told, f"{name}.py must name its proof"


@every_case
def test_a_proof_that_an_event_names_is_there(name: str, budget: Budget) -> None:
    root = Path(privet.mechanisms.__file__).parents[2]
    for path in re.findall(r"privet/\S+\.md", CASES[name].design(budget).event.theorem):
        assert (root / path).exists(), path


def test_every_release_is_registered_under_the_name_of_its_events() -> None:
    made = {kind for kinds in classes().values() for kind in kinds}
    told = "RELEASES, privet/mechanisms/__init__.py"
    names_the_same(RELEASES, {kind.name for kind in made}, told)
    assert all(RELEASES[kind.name] is kind for kind in made)
    names_the_same(EVENTS, RELEASES, "the mechanisms of a kind in EVENTS, privet/privacy/kinds.py")


def test_every_file_makes_a_release_or_is_a_part_of_one() -> None:
    helpers = {name for name, kinds in classes().items() if not kinds}
    names_the_same(HELPERS, helpers, "HELPERS, or define a Release in the file")


def test_every_release_has_a_case() -> None:
    found = {case.release for case in CASES.values()}
    names_the_same(found, RELEASES, "tests/laws/registered.py, by a case")


@every_case
def test_declarations_are_frozen_and_name_their_event(name: str, budget: Budget) -> None:
    made, design = CASES[name].made(budget), CASES[name].design(budget)
    assert design.event.mechanism == made.name
    assert design.event.claim == budget
    assert hash(made) == hash(CASES[name].made(budget))
    assert made.design(*CASES[name].sizes) == design
    assert not CASES[name].design(budget, seed=1).event.private
    assert CASES[name].design(budget, seed=None).event.private
    assert design.numerics


# -- law 2: units ----------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("unit", [2.0**-7, 2.0**9])
def test_the_draws_are_the_same_in_other_units(name: str, budget: Budget, unit: float) -> None:
    """Powers of two are exact but for what rounding adds to a sensitivity."""
    here, there = (CASES[name].design(budget, each) for each in (1.0, unit))
    powers = CASES[name].powers
    assert (
        len(here.draws)
        == len(there.draws)
        == len(powers) * (len(here.draws) // max(1, len(powers)))
    )
    for place, (one, two) in enumerate(zip(here.draws, there.draws, strict=True)):
        power = powers[place % len(powers)]
        assert two.scale == pytest.approx(one.scale * unit**power, rel=1e-9)
        assert (two.kind, two.dimension, two.count) == (one.kind, one.dimension, one.count)
        if one.exponent is not None:
            assert two.exponent == one.exponent + power * math.log2(unit)
    assert [each.zcdp for each in there.event.curves] == pytest.approx(
        [each.zcdp for each in here.event.curves], rel=1e-9
    )


@every_case
@pytest.mark.parametrize("unit", [2.0**-7, 2.0**9])
def test_the_release_is_the_same_in_other_units(name: str, budget: Budget, unit: float) -> None:
    here, there = (CASES[name].released(budget, each)[0] for each in (1.0, unit))
    for key, (value, power) in here.items():
        # two minimizers stop within a tolerance of each other, far below the noise
        np.testing.assert_allclose(there[key][0] * unit**-power, value, rtol=1e-4, atol=1e-6)


# -- law 5: noise ----------------------------------------------------------------------------------


def test_every_draw_is_of_a_law_that_is_tested() -> None:
    """Spherical laws in ``test_noise``, the others in ``tests/statistics`` and by their choices."""
    known = {*NOISES, *SHAPED, Laplace.kind, Exponential.kind, Gumbel.kind, "ball"}
    known |= {ClassLaplace.kind, ClassHull.kind, ConeLaplace.kind}
    assert {
        draw.kind for name, budget in EACH for draw in CASES[name].design(budget).draws
    } <= known


# -- the sensitivities of the theorems -------------------------------------------------------------

#: ``2 L R/(n Lam)`` of the cases: logistic loss has slopes up to one, rows norms up to one.
MOVED = 2.0 / (N * LAM)
SENSITIVITIES = {
    "output": MOVED,
    "gradient": 2.0 * 0.4,  # two rows, each clipped to 0.4 of the slope of logistic loss
    "function": MOVED,
    "sparse vector": MOVED,
    "coordinates": MOVED,
    "predictions": math.sqrt(2.0) * MOVED,
    "distinguishing ball": MOVED,
    "distinguishing net": MOVED,
    "moments": 2.0 * math.sqrt(M) / N,
    "means": 2.0,  # one row out of a sum and one into a sum, of norm or gauge one
    "statistics": math.sqrt(2.0) / N,  # of rows and targets in the unit ball
    "matrix": 1.0,  # in units of its own
    "selection": 1.0,
    "disjoint parts": 1.0,
    "stopping": 1.0,
}


@every_case
def test_the_sensitivity_is_that_of_the_theorem(name: str, budget: Budget) -> None:
    """Widened by rounding and by what a minimizer may miss, and by nothing else."""
    found = CASES[name].design(budget).event
    laplace = found.noise == "laplace"
    if name == "histogram":  # a row is in two cells, so four change by one each
        expected = 4.0 if laplace else 2.0
    elif name == "predictions" and laplace:
        expected = math.sqrt(8.0) * MOVED
    else:
        keys = [key for key in SENSITIVITIES if name.startswith(key)]
        if not keys:
            assert name.startswith("objective") or name == "public rows", (
                f"SENSITIVITIES has no hand number for the case {name!r}"
            )
            return
        expected = SENSITIVITIES[keys[0]]
    assert expected <= found.sensitivity * (1.0 + 1e-12)
    assert found.sensitivity <= 1.01 * expected


# -- law 6: calibrate, then account ----------------------------------------------------------------


def additive(budget: Budget, draw: Draw, shift: float, numbers: int, rounds: int = 1) -> float:
    """What noise on a value costs, as a share of the budget; ``shift`` is sensitivity/scale."""
    if rounds > 1:
        cost = shift if draw.kind != "gaussian" else shift**2 / 2.0
        return rounds * cost / budget.additive.amount
    if "laplace" in draw.kind:
        return shift / budget.laplace_epsilon
    if budget.amount_name == "rho":
        return shift**2 / 2.0 / budget.amount
    if budget.amount_name == "mu":  # what the grid's slack costs is far below the law's room
        return (shift / budget.amount) ** 2
    facts = budget.facts()
    return gaussian_delta(shift, facts["epsilon"] - DISCRETE_SLACK * numbers) / facts["delta"]


def choice_cost(budget: Budget, kind: str, epsilon: float) -> float:
    """A selection at ``epsilon``: its pure loss, or its rho."""
    if not budget.additive.allows_gaussian:
        return epsilon
    return epsilon**2 / (8.0 if kind == "gumbel" else 2.0)


def value_cost(budget: Budget, shift: float) -> float:
    """A noisy value: its pure loss, or its rho."""
    return shift if not budget.additive.allows_gaussian else shift**2 / 2.0


def spent(design: ReleaseDesign, release: Release, budget: Budget, less: float = 1.0) -> float:
    """What the draws cost, scaled by ``less``, as a share of the budget.

    It reads the draws and the sensitivities, not the curves of the event.
    """
    event, draws, whole = design.event, design.draws, budget.additive.amount
    scales = [less * draw.scale for draw in draws]
    s = event.sensitivity
    if isinstance(design, Design) and event.mechanism != "statistics":
        return fit_spent(design, budget, less)
    match event.mechanism:
        case "histogram":
            return additive(budget, draws[0], s / scales[0], draws[0].count)
        case "moments":
            assert len(draws) == ROUNDS
            return additive(budget, draws[0], s / scales[0], 0, len(draws))
        case "means":
            return s / scales[0] / budget.amount
        case "matrix" | "matrix_beside_fit" | "projection" | "statistics":
            numbers = draws[0].dimension * draws[0].count
            return additive(budget, draws[0], s / scales[0], numbers)
        case "gradient":
            total = math.sqrt(len(draws)) * s / scales[0]
            return additive(budget, draws[0], total, draws[0].dimension * len(draws))
        case "selection":
            return choice_cost(budget, draws[0].kind, 2.0 * s / scales[0]) / whole
        case "function":
            return (1.0 + SLACK) * (s / scales[0]) ** 2 / 2.0 / budget.gaussian_rho()
        case "sparse_vector":
            assert scales[1] == pytest.approx(2.0 * scales[0], rel=1e-12)
            epsilon = 4.0 * s / scales[1]
            compared = epsilon if not budget.allows_gaussian else epsilon**2 / 2.0
            answer = value_cost(budget, (s + grid(draws[2])) / scales[2])
            return design.epochs * (compared + answer) / whole  # type: ignore[attr-defined]
        case "distinguishing":
            epsilon = 2.0 * s / scales[0]  # the unit ball of the unit radius
            point = choice_cost(budget, "gumbel", epsilon)
            answer = value_cost(budget, (s + grid(draws[1])) / scales[1])
            return len(draws) // 2 * (point + answer) / whole
        case "partition search":
            chosen = choice_cost(budget, draws[0].kind, 2.0 / scales[0])
            return max(chosen, *(part.amount for part in design.fits)) / whole  # type: ignore[attr-defined]
        case "random stopping search":
            return stopping(design, budget, scales)
        case _:
            assert event.mechanism == "search with public validation", (
                f"write what the draws of {event.mechanism!r} cost, from its proof, as a case above"
            )
            return sum(part.amount for part in design.fits) / whole  # type: ignore[attr-defined]


def grid(draw: Draw) -> float:
    """How far rounding before exact noise moves a number, between neighbors."""
    return 0.0 if draw.exponent is None else math.ldexp(1.0, draw.exponent)


def stopping(design: ReleaseDesign, budget: Budget, scales: list[float]) -> float:
    """The best of a random number of runs that cost the dearer of a fit and a noisy count."""
    law, (part, *_) = design.law, design.fits  # type: ignore[attr-defined]
    shift = 1.0 / scales[0] if scales else 0.0
    if part.amount_name == "epsilon":
        return float((2.0 + law.eta) * max(part.amount, shift) / budget.laplace_epsilon)
    curve = StoppingCurve(law.eta, law.gamma, max(part.amount, shift**2 / 2.0))
    if budget.amount_name == "rho":
        return curve.zcdp / budget.amount
    facts = budget.facts()
    return renyi_epsilon([curve], facts["delta"]) / facts["epsilon"]


@every_case
def test_the_draws_cost_the_budget_and_less_noise_would_not_keep_it(
    name: str, budget: Budget
) -> None:
    made, design = CASES[name].made(budget), CASES[name].design(budget)
    share = spent(design, made, budget)
    assert 1.0 - 1e-6 <= share <= 1.0 + 1e-8
    if design.draws:
        assert spent(design, made, budget, less=0.99) > 1.0


@every_case
def test_the_events_account_is_the_claim(name: str, budget: Budget) -> None:
    """At most the budget, and where it is its own calculus, all of it."""
    event = CASES[name].design(budget).event
    assert budget.keeps(event)
    if budget.kind == "pure":
        assert sum(each.pure for each in event.curves) == pytest.approx(budget.amount, rel=1e-9)
    elif budget.kind == "zcdp":
        assert sum(each.zcdp for each in event.curves) == pytest.approx(budget.amount, rel=1e-9)


# -- law 8: the draws are the design's -------------------------------------------------------------


def totals(draws: Iterable[Draw]) -> Counter[tuple[str, float, int]]:
    """How many draws of each law there are."""
    found: Counter[tuple[str, float, int]] = Counter()
    for draw in draws:
        found[draw.kind, draw.scale, draw.dimension] += draw.count
    return found


def promised(design: ReleaseDesign, times: dict[str, int]) -> list[Draw]:
    """The design's draws, each as often as the run did what it is for."""
    return [
        draw for draw in design.draws for _ in range(times.get(draw.each, draw.each == "release"))
    ]


@every_case
@pytest.mark.parametrize("seed", [0, 5])
def test_the_draws_are_those_of_the_design(name: str, budget: Budget, seed: int) -> None:
    with watching() as record:
        _, times = CASES[name].released(budget, seed=seed)
    assert totals(record.draws) == totals(promised(CASES[name].design(budget, seed=seed), times))
    assert record.exact == []


@every_case
def test_the_draws_in_earnest_are_those_of_the_design(name: str, budget: Budget) -> None:
    """What is drawn exactly is what the design says, on the grid of the design."""
    with watching() as record:
        _, times = CASES[name].released(budget, seed=None)
    claimed = promised(CASES[name].design(budget, seed=None), times)
    assert totals(record.draws) == totals(draw for draw in claimed if not draw.exact)
    exact: Counter[tuple[str, float]] = Counter()
    for draw in claimed:
        if draw.exact:
            kind = draw.kind.removeprefix("independent ")
            scale = draw.scale if draw.choice else math.ldexp(draw.scale, -(draw.exponent or 0))
            exact[kind, scale] += draw.dimension * draw.count
    drawn: Counter[tuple[str, float]] = Counter()
    for kind, scale, numbers in record.exact:
        drawn[kind, scale] += numbers
    assert drawn == exact


# -- law 9: noise reaches the release --------------------------------------------------------------


def run(name: str, budget: Budget, change: Change) -> tuple[Values, Record]:
    """A seeded run whose draws are altered."""
    with watching(change) as record:
        return CASES[name].released(budget, seed=11)[0], record


def times(factor: float) -> Change:
    """All draws times ``factor``."""
    return lambda place, draw, sample: sample * factor


LINEAR = [each for each in EACH if CASES[each[0]].linear and CASES[each[0]].powers]


@pytest.mark.parametrize(("name", "budget"), LINEAR, ids=str)
def test_a_hundredth_more_noise_moves_every_number_by_a_hundredth(
    name: str, budget: Budget
) -> None:
    none, once, more = (run(name, budget, times(factor))[0] for factor in (0.0, 1.0, 1.01))
    for key, (value, _) in once.items():
        shift = value - none[key][0]
        assert (shift != 0.0).all()
        # answers of a path are conditional on rounded ones
        np.testing.assert_allclose(
            more[key][0] - none[key][0], 1.01 * shift, atol=5e-5 * np.abs(shift).max()
        )


#: Cases whose draws are added as they are, in the order in which they are released.
PLAIN = ("histogram", "moments", "output", "coordinates", "predictions", "stopping")


@pytest.mark.parametrize(
    ("name", "budget"), [each for each in LINEAR if each[0].startswith(PLAIN)], ids=str
)
def test_the_noise_in_a_release_is_the_one_that_was_drawn(name: str, budget: Budget) -> None:
    drawn: list[Array] = []

    def keep(place: int, draw: Draw, sample: Array) -> Array:
        drawn.append(sample)
        return sample

    ((once, _),) = run(name, budget, keep)[0].values()
    ((none, _),) = run(name, budget, times(0.0))[0].values()
    noise = np.concatenate([sample.ravel() for sample in drawn])
    np.testing.assert_allclose(once - none, noise, atol=5e-6 * np.abs(noise).max())


@pytest.mark.parametrize(
    ("name", "budget"),
    [each for each in EACH if each[0].startswith(("selection", "disjoint"))],
    ids=str,
)
@pytest.mark.parametrize("seed", range(20))
def test_the_candidate_with_the_largest_noisy_score_is_chosen(
    name: str, budget: Budget, seed: int
) -> None:
    drawn: list[Array] = []

    def keep(place: int, draw: Draw, sample: Array) -> Array:
        drawn.append(sample)
        return sample

    with watching(keep):
        ((index, _),) = CASES[name].released(budget, seed=seed)[0].values()
    scores = EXACT if name.startswith("selection") else np.array([-1.0, 0.0, -2.0])
    assert index[0] == np.argmax(scores + drawn[0][0])


OTHERS = [each for each in EACH if not CASES[each[0]].linear]


@pytest.mark.parametrize(("name", "budget"), OTHERS, ids=str)
def test_every_draw_that_is_not_added_decides(name: str, budget: Budget) -> None:
    """Moved far enough, each changes what is released."""
    plain, record = run(name, budget, times(1.0))
    for place, draw in enumerate(record.draws):

        def moved(i: int, drawn: Draw, sample: Array, place: int = place) -> Array:
            if i != place:
                return sample
            if drawn.kind == "ball":
                return -sample
            far = np.zeros(sample.shape)
            far[..., -1] = 1e12 * drawn.scale
            return np.asarray(sample + far)

        other, _ = run(name, budget, moved)
        back, _ = run(name, budget, lambda i, d, sample, m=moved: 2 * sample - m(i, d, sample))
        assert differ(plain, other) or differ(plain, back), (place, draw)


def differ(one: Values, two: Values) -> bool:
    """Whether anything that is released is another."""
    return any(
        one[key][0].shape != two[key][0].shape or bool((one[key][0] != two[key][0]).any())
        for key in one
    )


def test_the_source_is_the_one_that_is_watched() -> None:
    """A law that is drawn past the door would not be seen: the door is the class itself."""
    with watching() as record:
        NOISES["laplace"](1.0, 2).sample(randomness.source(3), 4)
    assert [(d.kind, d.dimension, d.count) for d in record.draws] == [("laplace", 2, 4)]


# -- what the draws are added to -------------------------------------------------------------------

SEEDS = range(60)


@pytest.mark.parametrize(
    "name", ["distinguishing net", "selection exponential", "selection permute_and_flip"]
)
def test_a_choice_compares_the_scores_as_they_are(name: str) -> None:
    """Scores times two are a choice at twice its epsilon, with the draws of the design."""
    design: Any = CASES[name].design(PURE)
    law = design.selection if name == "distinguishing net" else design.law
    scores = 2.0 * law.scale * EXACT
    for seed in SEEDS:
        noisy = scores + law.sample(randomness.source(seed), 1)[0]
        assert design.choose(scores, randomness.source(seed)) == np.argmax(noisy)


def test_a_choice_in_earnest_is_given_the_scores_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[list[float], float]] = []

    def largest(values: Array, scale: float, source: Any, *, gumbel: bool) -> int:
        asked.append((values.tolist(), scale))
        return 0

    monkeypatch.setattr("privet.exact_draws.largest", largest)
    for name in ("distinguishing net", "selection exponential", "selection permute_and_flip"):
        design: Any = CASES[name].design(PURE, seed=None)
        law = design.selection if name == "distinguishing net" else design.law
        design.choose(EXACT, randomness.source(None))
        assert asked.pop() == (EXACT.tolist(), law.scale)


def test_a_point_of_the_ball_is_drawn_by_the_error_as_it_is() -> None:
    design: Any = CASES["distinguishing ball"].design(PURE)
    error = EXACT[:M] / design.rate
    for seed in SEEDS:
        found = randomness.source(seed).draw(InBall(error, design.rate), 1)[0]
        np.testing.assert_array_equal(design.point(error, randomness.source(seed)), found)


def test_a_comparison_is_of_the_error_as_it_is() -> None:
    design: Any = CASES["sparse vector"].design(PureDP(100.0))
    for seed in SEEDS:
        source = randomness.source(seed)
        level = design.threshold + design.level.sample(source, 1)[0, 0]
        error = level - design.comparison.sample(source, 1)[0, 0]
        for share in (0.999, 1.001):
            # the same words: a threshold, then the comparison of the first query
            asked = SparseVectorAnswers(design).ask(share * error, randomness.source(seed))
            assert asked == ((share > 1.0) == (error > 0.0))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.run is fit])
def test_a_fit_is_released_on_its_grid(name: str) -> None:
    """The last bits of a minimizer tell of its rows."""
    case = CASES[name]
    if name.startswith(("statistics", "gradient")):
        return  # arithmetic on noisy sums, which are on a grid themselves
    design: Any = case.design(case.budgets[0])
    value = case.released(case.budgets[0])[0]["f"][0]
    steps = np.ldexp(value, -design.exponent)
    np.testing.assert_array_equal(steps, np.round(steps))
