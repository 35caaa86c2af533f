"""Law 9: noise reaches the release.

Whatever is drawn changes what is published: without it every release publishes something else, a
hundredth more of it moves a number that it is added to by a hundredth, and a draw that decides
something decides it. The noise behind a fit is the noise that was drawn, to six digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from privet import ZCDP, LinearSVC, LogisticRegression, PureDP, randomness
from privet.audit.attacks import WeightedTable
from privet.audit.samplers import recovered_noise
from privet.losses import HuberHinge, Logistic
from privet.mechanisms import MECHANISMS, Design, Mechanism
from privet.mechanisms.trainer import KINDS, NoiseChoice
from privet.randomness import InsecureSeed
from privet.rows import checked_rows
from tests.laws.releases import RELEASES, Draw, Published
from tests.laws.releases.answers import NET
from tests.laws.releases.registry import Array, public_points, quiet
from tests.laws.watched import Change, Record, watching

every_release = pytest.mark.parametrize("name", RELEASES)
SEED = 11
MORE = 1.01
SURE = 1e9  # noise that decides whatever it has a part in
SEARCHES = ("partition", "stopping", "public")


def run(name: str, change: Change | None = None) -> tuple[Published, Record]:
    """A seeded release whose draws ``change`` alters."""
    with watching(change) as record:
        return RELEASES[name](SEED), record


@cache
def plain(name: str) -> tuple[Published, Record]:
    """The release as it is."""
    return run(name)


def times(factor: float, place: int | None = None) -> Change:
    """All draws, or the one at ``place``, times ``factor``."""
    return lambda i, draw, sample: sample * factor if place in (None, i) else sample


def distance(one: Published, two: Published, *names: str) -> float:
    """Largest difference between two publications, infinite where their shapes differ."""
    chosen = names or tuple(one.numbers)
    if any(one.numbers[name].shape != two.numbers[name].shape for name in chosen):
        return float("inf")
    return max(float(np.abs(one.numbers[n] - two.numbers[n]).max(initial=0.0)) for n in chosen)


# -- all of the noise, and each draw of it ---------------------------------------------------------


#: What a new release is told that publishes the same without its noise.
UNSEEN = (
    "the noise does not reach what is published; or, where it does, nothing published hangs on it: "
    "of a choice enter many candidates of nearly equal scores, and several choices"
)


@every_release
def test_without_noise_something_else_is_published(name: str) -> None:
    found, _ = plain(name)
    assert distance(found, run(name, times(0.0))[0]) > 0.0, UNSEEN


@every_release
def test_in_earnest_noise_is_published_too(name: str) -> None:
    """The operating system's path, with and without the exact noise and the laws' own."""
    with watching(times(0.0), silent=True):
        exact = RELEASES[name](None)
    assert distance(exact, RELEASES[name](None)) > 0.0, UNSEEN


#: Releases that read no order of the rows and draw no public features.
STEADY = [
    name
    for name in RELEASES
    if not name.startswith(("partition", "stopping"))
    and name not in ("kernel svc", "kernel logistic", "kernel huber")
]


@pytest.mark.parametrize("name", STEADY)
def test_both_paths_add_their_noise_to_the_same_value(name: str) -> None:
    """Without noise the seeded path and the operating system's publish the same."""
    seeded, _ = run(name, times(0.0))
    with watching(times(0.0), silent=True):
        earnest = RELEASES[name](None)
    # the ends of intervals come from a simulation with a seed of its own
    names = [key for key in seeded.numbers if key not in ("lower", "upper")]
    largest = max(float(np.abs(seeded.numbers[key]).max()) for key in names)
    assert distance(seeded, earnest, *names) <= 1e-6 * largest


def added(record: Record, found: Published) -> list[int]:
    """Places of the draws that are added to something that is published."""
    choices = {(d.kind, d.dimension) for d in found.claim(record.words) if d.choice}
    return [i for i, d in enumerate(record.draws) if (d.kind, d.dimension) not in choices]


def some(places: list[int], stretches: int = 24) -> list[int]:
    """All of a few places; of many, as of a descent, both ends and one in each stretch."""
    if len(places) <= stretches:
        return places
    rng = np.random.default_rng()
    between = [int(rng.choice(each)) for each in np.array_split(places[1:-1], stretches - 2)]
    return [places[0], *between, places[-1]]


@pytest.mark.parametrize("name", [name for name in RELEASES if not name.startswith(SEARCHES)])
def test_every_draw_reaches_what_is_published(name: str) -> None:
    """Without it, or with far more of it where a little is too little to act on."""
    found, record = plain(name)
    for place in some(added(record, found)):
        changes = (times(0.0, place), moved(place, 1e3 * record.draws[place].scale))
        assert any(distance(found, run(name, one)[0]) > 0.0 for one in changes), place


def moved(place: int, by: float) -> Change:
    """The draw at ``place`` plus a number."""
    return lambda i, draw, sample: sample + by if i == place else sample


#: Numbers that a draw is added to, with its place among the draws.
LINEAR = {
    **{
        name: {"coef_": 0, "intercept_": 0}
        for name in RELEASES
        if name.startswith(("logistic output", "svc output"))
    },
    **{name: {"center_": 0} for name in RELEASES if "standardized" in name},
    "function zcdp": {"first": 0, "second": 1},
    "function approx": {"first": 0, "second": 1},
    "function vector": {"first": 0, "second": 0},
    "intervals pure": {"hessian": 2, "covariance": 2},
    "intervals zcdp": {"hessian": 2, "covariance": 2},
    "fit with intervals": {"hessian": 2, "covariance": 2},
    "stopping pure": {"best_score_": -1},
    "stopping many": {"best_score_": -1},
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_hundredth_more_noise_moves_the_release_by_a_hundredth(name: str) -> None:
    _, record = plain(name)
    for key, place in LINEAR[name].items():
        at = place % len(record.draws)
        # a tenth of it: the choice of the best and the clipping stay as they are
        none, some, more = (
            run(name, times(factor, at))[0].numbers[key] for factor in (0.0, 0.1, 0.1 * MORE)
        )
        size = float(np.abs(some - none).max())
        assert size > 0.0
        np.testing.assert_allclose(more - none, MORE * (some - none), atol=5e-5 * size)


# -- draws that decide -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in RELEASES if name.startswith("partition")])
def test_the_selection_decides_which_candidate_is_published(name: str) -> None:
    _, record = plain(name)
    (place,) = [i for i, d in enumerate(record.draws) if d.kind in ("gumbel", "exponential")]
    for candidate in range(3):
        forced = favored(place, candidate)
        published, _ = run(name, forced)
        assert published.numbers["best_index_"] == candidate
        # its own fit's noise is in it: the main draw and the one that pays for the gap
        for own in (2 * candidate, 2 * candidate + 1):
            without, _ = run(name, both(forced, times(0.0, own)))
            assert distance(published, without, "coef_") > 0.0


def favored(place: int, candidate: int, by: float = SURE) -> Change:
    """The draw at ``place`` with one of its numbers moved so far that it wins."""

    def change(i: int, draw: Draw, sample: Array) -> Array:
        if i != place:
            return sample
        one = (np.arange(sample.size) == candidate).reshape(sample.shape)
        return np.asarray(sample + by * one)

    return change


def both(first: Change, second: Change) -> Change:
    """One change after the other."""
    return lambda i, draw, sample: second(i, draw, first(i, draw, sample))


@pytest.mark.parametrize(
    "name", [n for n in RELEASES if n.startswith("stopping") and "public" not in n]
)
def test_the_noisy_scores_decide_which_run_is_published(name: str) -> None:
    _, record = plain(name)
    last = len(record.draws) - 1
    scores = set()
    for best in range(record.draws[last].count):
        forced = favored(last, best, -SURE)  # so many mistakes less than the others
        published, _ = run(name, forced)
        scores.add(float(published.numbers["best_score_"]))
        without, _ = run(name, both(forced, times(0.0, 2 * best)))
        assert distance(published, without, "coef_") > 0.0
    assert len(scores) == record.draws[last].count


@pytest.mark.parametrize("name", ["net pure", "net zcdp"])
def test_the_selection_decides_at_which_point_of_the_net_is_corrected(name: str) -> None:
    first = {
        tuple(run(name, favored(0, i))[0].numbers["points_"][0].tolist()): i for i in range(NET)
    }
    net = public_points(NET)
    # a point at which the answer is within the noise is left out
    assert len(first) >= NET // 2
    for point, i in first.items():
        assert point == tuple(net[i].tolist()) or len(first) < NET


@pytest.mark.parametrize("name", ["ball pure", "ball zcdp"])
def test_the_drawn_point_is_where_the_weights_are_corrected(name: str) -> None:
    for axis in np.eye(3):

        def only(i: int, draw: Draw, sample: Array, axis: Array = axis) -> Array:
            if draw.kind != "ball":
                return sample
            return axis[None, :] if i == 0 else 0.0 * sample  # no correction at the origin

        found, _ = run(name, only)
        np.testing.assert_allclose(np.abs(found.numbers["points_"][0]), axis, atol=1e-9)


@pytest.mark.parametrize("name", ["sparse pure", "sparse zcdp"])
def test_the_comparisons_decide_which_answers_are_corrected(name: str) -> None:
    """A threshold out of reach corrects nothing; a comparison that is sure corrects its query."""
    above = run(name, lambda i, draw, sample: sample + SURE if i == 0 else sample)[0]
    assert not above.numbers["first"].any()
    for query in range(5):

        def only(i: int, draw: Draw, sample: Array, query: int = query) -> Array:
            # in the first epoch: the threshold's noise, then one comparison for each query
            if i == 0 or draw.kind != "independent laplace":
                return sample
            return sample + (SURE if i == query + 1 else -SURE)

        found, record = run(name, only)
        first = found.numbers["first"]
        assert not first[:query].any()
        assert first[query] != 0.0
        value = query + 2
        assert record.draws[value].kind != "independent laplace"
        none, more = (run(name, both(only, times(f, value)))[0] for f in (0.0, MORE))
        shift = first[query] - none.numbers["first"][query]
        assert shift != 0.0
        larger = more.numbers["first"][query] - none.numbers["first"][query]
        assert larger == pytest.approx(MORE * shift, rel=1e-4)


# -- the noise behind a fit ------------------------------------------------------------------------

CASES = [
    (name, kind, loss)
    for name in MECHANISMS
    for kind in KINDS
    for loss in (Logistic(), HuberHinge(0.5))
]


_RNG = np.random.default_rng(3)
X, Y = _RNG.uniform(-0.5, 0.5, (60, 3)), _RNG.choice([-1.0, 1.0], 60)


def perturbed(mechanism: Mechanism, design: Design, change: Change) -> Array:
    """A release on the path that a fit takes, its draws altered."""
    with watching(change):
        return mechanism.perturb(checked_rows(X, Y, norm_bound=1.0), design, randomness.source(0))


@pytest.mark.parametrize(("name", "kind", "loss"), CASES)
def test_the_noise_behind_a_release_is_the_one_that_was_drawn(
    name: str, kind: NoiseChoice, loss: Logistic | HuberHinge
) -> None:
    """To six digits; the gap's noise, which comes second, is left out of it."""
    mechanism = MECHANISMS[name](loss, ZCDP(0.5), noise=kind)
    design = mechanism.design(*X.shape)
    design = replace(design, exponent=design.exponent - 25)  # a finer grid
    value = perturbed(mechanism, design, times(0.0, 1))
    expected = design.main.sample(InsecureSeed(0), 1)[0]
    table = WeightedTable(X, (Y > 0).astype(np.int_), np.ones(len(Y)))
    found = recovered_noise(design, table, value[None, :])[0]
    np.testing.assert_allclose(found, expected, atol=1e-6 * float(np.linalg.norm(expected)))


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.3)])
def test_the_gaps_noise_is_added_to_the_minimum(budget: PureDP | ZCDP) -> None:
    mechanism = MECHANISMS["objective"](Logistic(), budget)
    design = mechanism.design(*X.shape)
    assert design.gap is not None
    design = replace(design, exponent=design.exponent - 25)
    drawn: list[Array] = []

    def kept(i: int, draw: Draw, sample: Array) -> Array:
        drawn.append(sample)
        return sample

    whole, without = (perturbed(mechanism, design, change) for change in (kept, times(0.0, 1)))
    size = float(np.linalg.norm(drawn[1]))
    np.testing.assert_allclose(whole - without, drawn[1][0], atol=1e-6 * size)


def slope(margins: Array, loss: str) -> Array:
    """Derivative of the loss at each margin, by hand."""
    if loss == "logistic":
        return np.asarray(-1.0 / (1.0 + np.exp(margins)))
    return np.asarray(-np.clip((1.5 - margins) / 1.0, 0.0, 1.0))  # a knee from 0.5 to 1.5


MODELS: list[tuple[str, Callable[..., LogisticRegression | LinearSVC]]] = [
    ("logistic", LogisticRegression),
    ("huber", LinearSVC),
]


@pytest.mark.parametrize(("loss", "model"), MODELS)
@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.3)])
def test_the_noise_behind_a_model_is_the_one_its_event_claims(
    loss: str, model: Callable[..., LogisticRegression | LinearSVC], budget: PureDP | ZCDP
) -> None:
    """``b = -(n Lam f + sum of gradients)``, from the coefficients that a fit published."""
    rng = np.random.default_rng(5)
    n = 300
    x, y = rng.uniform(-0.5, 0.5, (n, 3)), rng.integers(0, 2, n)
    drawn: list[Array] = []

    def change(i: int, draw: Draw, sample: Array) -> Array:
        drawn.append(sample)
        return sample if i == 0 else 0.0 * sample

    with watching(change), quiet():
        found = model(budget, fit_intercept=False, insecure_seed=SEED).fit(x, y)
    signs, weights = 2.0 * y - 1.0, found.coef_[0]
    gradients = (slope(signs * (x @ weights), loss) * signs) @ x
    b = -(n * found.regularization_ * weights + gradients)
    size = float(np.linalg.norm(drawn[0]))
    np.testing.assert_allclose(b, drawn[0][0], atol=2e-4 * size)
