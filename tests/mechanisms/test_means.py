"""Noisy sums by class: sums, sensitivity, what is read of them, and the scores they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import PureDP
from privet.audit.domain_attack import vertices
from privet.audit.means_replay import audit_means, length
from privet.domain import Box, Domain, OneHot
from privet.errors import DeclarationError
from privet.losses import Logistic, Softmax
from privet.losses.multiclass import sum_zero_basis
from privet.losses.weighted import Weighted
from privet.mechanisms import ClassMeans
from privet.mechanisms.means import completed
from privet.privacy import ZCDP, ApproxDP
from privet.randomness import InsecureSeed
from privet.rows import checked_rows

GROUPS = Domain((Box(1, 0.4), OneHot(3, 0.5), OneHot(2, 0.3, missing=True), OneHot(2, 0.4)))
ONE = PureDP(1.0)


def rows_of(made: ClassMeans, x: Any, codes: Any) -> Any:
    more = {} if made.domain is None else {"domain": made.domain}
    return checked_rows(x, made.loss.targets(np.asarray(codes)), norm_bound=made.norm_bound, **more)


@pytest.mark.parametrize("domain", [None, GROUPS], ids=["ball", "hull"])
@pytest.mark.parametrize("epsilon", [0.05, 3.0])
def test_neighbors_reach_the_budget_and_none_passes_it(domain: Any, epsilon: float) -> None:
    made = ClassMeans(Softmax(4), PureDP(epsilon), 1.0, domain=domain)
    found = audit_means(made, draws=5000, seed=int(np.random.default_rng().integers(2**31)))
    assert [str(each) for each in found if not each.passed] == []
    assert found[0].measured >= 0.999 * epsilon
    assert found[1].measured >= 0.99 * found[1].allowed  # replayed


def test_the_sums_are_those_of_the_classes() -> None:
    rng = np.random.default_rng()
    x, codes = rng.uniform(-0.4, 0.4, (500, 3)), rng.integers(0, 5, 500)
    made = ClassMeans(Softmax(5), ONE)
    found = made.query(rows_of(made, x, codes))
    np.testing.assert_allclose(found, [x[codes == c].sum(axis=0) for c in range(5)], atol=1e-12)


def test_every_pair_of_rows_of_a_domain_is_within_the_sensitivity() -> None:
    made = ClassMeans(Softmax(3), ONE, 1.0, domain=GROUPS)
    design = made.design(50, GROUPS.columns)
    for one in vertices(GROUPS):
        for other in vertices(GROUPS):
            for same in (True, False):
                moved = np.zeros((3, GROUPS.columns))
                moved[0] -= one
                moved[0 if same else 1] += other
                assert length(design, moved) <= design.event.sensitivity * (1.0 + 1e-9)


def test_cells_that_others_give_are_not_read() -> None:
    """Whatever the last cells of later complete blocks hold, what is released is the same."""
    made = ClassMeans(Softmax(3), ONE, 1.0, domain=GROUPS)
    x = vertices(GROUPS)
    sums = made.query(rows_of(made, x, np.arange(len(x)) % 3))
    np.testing.assert_allclose(completed(sums, GROUPS), sums, atol=1e-9)  # exact ones stay
    spoilt = sums.copy()
    spoilt[:, -1] += 17.0
    np.testing.assert_array_equal(completed(spoilt, GROUPS), completed(sums, GROUPS))
    rows = rows_of(made, x, np.arange(len(x)) % 3)
    released = made.noisy_sums(rows, made.design(rows.n, rows.m), InsecureSeed(8), 3)
    np.testing.assert_array_equal(released, completed(released, GROUPS))  # nor in a release
    for free in range(GROUPS.columns - 1):
        spoilt = sums.copy()
        spoilt[:, free] += 17.0
        assert (completed(spoilt, GROUPS) != completed(sums, GROUPS)).any()


def scores(made: ClassMeans, x: Any, codes: Any) -> Any:
    rows = rows_of(made, x, codes)
    value = made.perturb(rows, made.design(rows.n, rows.m), InsecureSeed(3))
    return sum_zero_basis(made.loss.classes) @ value.reshape(made.loss.scores, -1)


def test_without_much_noise_it_is_naive_bayes() -> None:
    """Log-odds of the categories' shares and of the classes, by hand."""
    rng = np.random.default_rng(5)
    domain, n = Domain((OneHot(3, 0.5), OneHot(2, 0.8))), 60_000
    codes = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    chances = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])
    first = (rng.uniform(size=(n, 1)) > chances.cumsum(axis=1)[codes]).sum(axis=1)
    second = (rng.uniform(size=n) < np.array([0.2, 0.5, 0.9])[codes]).astype(int)
    x = np.hstack([0.5 * np.eye(3)[first], 0.8 * np.eye(2)[second]])
    made = ClassMeans(Softmax(3), PureDP(200.0), 1.0, domain=domain, insecure_seed=1)
    pairs = np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    for a in range(3):
        for b in range(2):
            row = np.hstack([0.5 * np.eye(3)[a], 0.8 * np.eye(2)[b]])
            odds = np.log([0.5, 0.3, 0.2]) + np.log(chances[:, a]) + np.log(pairs[:, b])
            found = scores(made, x, codes) @ row
            np.testing.assert_allclose(found - found.mean(), odds - odds.mean(), atol=0.1)


def test_rows_of_norm_one_go_to_the_nearest_mean() -> None:
    rng = np.random.default_rng(6)
    means = np.linalg.qr(rng.normal(size=(6, 4)))[0].T
    codes = rng.integers(0, 4, 4000)
    x = means[codes] + 0.2 * rng.normal(size=(4000, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found = x @ scores(ClassMeans(Softmax(4), ONE, insecure_seed=1), x, codes).T
    assert (found.argmax(axis=1) == codes).mean() > 0.97


def test_hopeless_noise_leaves_finite_scores() -> None:
    for domain in (None, GROUPS):
        made = ClassMeans(Softmax(3), PureDP(1e-6), 1.0, domain=domain, insecure_seed=1)
        x = np.zeros((2, GROUPS.columns))
        assert np.isfinite(scores(made, x, [0, 1])).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"budget": ZCDP(0.5)}, "is for pure epsilon"),
        ({"budget": ApproxDP(1.0, 1e-6)}, "is for pure epsilon"),
        ({"loss": Logistic()}, "more than two classes"),
        ({"loss": Weighted(Softmax(3), (1.0, 1.0, 2.0))}, "without class weights"),
        ({"noise": "laplace"}, "has one noise"),
        ({"regularization": 0.1}, "minimizes nothing"),
        ({"calibration": "exact"}, "minimizes nothing"),
        ({"center": (0.0,) * 6}, "center=None"),
        ({"domain": Domain((Box(2, 0.5),))}, "fit_intercept=True"),
    ],
    ids=str,
)
def test_refusals_are_sentences(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        ClassMeans(**{"loss": Softmax(3), "budget": ONE, **wrong})
