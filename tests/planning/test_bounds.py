"""The proved numbers: never violated more often than they allow, and met where they are tight."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from privet.losses import Loss
from privet.mechanisms import Design, Mechanism
from privet.minimize import minimize
from privet.planning import plan
from privet.planning.bounds import excess_mean, excess_quantile, release_noise
from privet.planning.numbers import Declaration
from privet.rows.arrays import checked_rows
from tests.strategies import EACH_BUDGET, name_of, table

Array = NDArray[np.float64]
ALARM = 1e-6
SEED = int(np.random.SeedSequence().generate_state(1)[0])  # any seed must do
LOSSES = (("logistic", 2), ("huber", 2), ("smooth_hinge", 2), ("logistic", 3), ("huber", 3))


def planned(n: int, d: int, **declared: object) -> tuple[Design, Mechanism]:
    """A design, and its mechanism with seeded noise (plain Gaussians, no extra package)."""
    made = plan(n=n, d=d, fit_intercept=False, **declared)  # type: ignore[arg-type]
    base = made.declared.release
    fields = {name: getattr(base, name) for name in ("loss", "budget", "norm_bound", "noise")}
    seeded = type(base)(**fields, regularization=made.regularization, insecure_seed=SEED)
    return made.design, seeded


def excesses(x: Array, codes: Array, design: Design, mechanism: Mechanism, k: int) -> Array:
    """``J(release) - min J`` and the distance to the minimizer, for ``k`` releases: (2, k)."""
    loss, risk = mechanism.loss, design.risk
    rows = checked_rows(x, loss.targets(codes), norm_bound=risk.norm_bound)
    best = minimize(risk, rows, tolerance=1e-10).certified()
    released = mechanism.sample(rows, k)
    targets = loss.targets(codes)
    values = [_risk(loss, x, targets, f, risk.regularization) for f in (best, *released)]
    distances = np.linalg.norm(released - best, axis=1)
    return np.stack([np.array(values[1:]) - values[0], distances])


def _risk(loss: Loss, x: Array, targets: Array, f: Array, lam: float) -> float:
    z = x @ f.reshape(loss.scores, -1).T
    return float(loss.value(z, targets).mean() + 0.5 * lam * f @ f)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", EACH_BUDGET, ids=name_of)
@pytest.mark.parametrize(("loss", "classes"), LOSSES)
def test_excess_is_never_above_its_bounds_too_often(mechanism, budget, loss, classes) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    k, beta = 400, 0.1
    x, codes = table(SEED, 60, 3, classes)
    design, run = planned(60, 3, budget=budget, loss=loss, classes=classes, mechanism=mechanism)
    excess, distance = excesses(x, codes, design, run, k)
    assert (excess > excess_quantile(design, beta)).sum() <= binom.isf(ALARM, k, beta)
    spread = 5.0 * excess.std() / np.sqrt(k)
    assert excess.mean() - spread <= excess_mean(design)
    bounds = release_noise(design)
    spread = 5.0 * distance.std() / np.sqrt(k)
    assert bounds.least - spread <= distance.mean() <= bounds.mean + spread
    assert (distance > bounds.high).sum() <= binom.isf(ALARM, k, 0.05)


def test_objective_bound_is_met_by_a_table_without_curvature() -> None:
    """Rows of zeros: the release is ``-b/(n Lam)`` and every inequality is an equality."""
    k, beta = 20_000, 0.1
    design, run = planned(10, 4, budget=1.0)
    excess, distance = excesses(np.zeros((10, 4)), np.zeros(10, dtype=int), design, run, k)
    assert binom.isf(1 - ALARM, k, 0.85 * beta) <= (excess > excess_quantile(design, beta)).sum()
    assert excess.mean() == pytest.approx(excess_mean(design), rel=0.08)
    assert distance.mean() == pytest.approx(release_noise(design).mean, rel=0.03)


def test_least_response_is_met_by_rows_spread_evenly() -> None:
    """Huber's knee has constant curvature; rows along the axes share it evenly."""
    n, d = 3000, 3
    x = np.tile(np.concatenate([np.eye(d), -np.eye(d)]), (n // (2 * d), 1))
    codes = np.arange(n) // (2 * d) % 2  # both labels equally often: margins around 0
    design, run = planned(n, d, budget=1.0, loss="huber", h=5.0)
    _, distance = excesses(x, codes, design, run, 4000)
    assert distance.mean() == pytest.approx(release_noise(design).least, rel=0.06)


def test_output_bound_is_met_in_one_dimension() -> None:
    """One column at the norm bound, inside the knee: curvature ``Lam + c R^2`` everywhere."""
    n, k, beta = 4000, 20_000, 0.1
    design, run = planned(n, 1, budget=5.0, loss="huber", h=5.0, mechanism="output")
    excess, _ = excesses(np.ones((n, 1)), np.arange(n) % 2, design, run, k)
    count = (excess > excess_quantile(design, beta)).sum()
    assert binom.isf(1 - ALARM, k, 0.9 * beta) <= count <= binom.isf(ALARM, k, beta)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_training_loss_promise_is_minimal_and_kept(mechanism: str) -> None:
    """The bound keeps the promise at these rows, and not with one per cent fewer."""
    made = plan(n=1000, d=2, budget=1.0, mechanism=mechanism, fit_intercept=False)
    needed = made.rows_needed(excess=0.05, reference_norm=2.0)
    assert needed.for_training_loss is not None

    def promised(n: int) -> float:
        from privet.planning.rows_needed import best_regularization

        return best_regularization(made.declared.but(n=n), "laplace", 2.0, 0.05)[0]

    assert (
        promised(needed.for_training_loss) <= 0.05 < promised(int(0.99 * needed.for_training_loss))
    )


def test_objective_training_rows_are_the_theorems_noise_term_with_constant_one() -> None:
    needed = plan(n=10_000, d=20, budget=1.0).rows_needed(excess=0.01, reference_norm=3.0)
    assert needed.for_training_loss == pytest.approx(needed.noise_term, rel=0.02)
    assert needed.up_to_constant == needed.sampling_term  # log(1/beta) (L R F/excess)^2
    assert needed.sampling_term == pytest.approx(1.25 * 9.0 * np.log(20.0) / 1e-4)


@pytest.mark.parametrize("budget", EACH_BUDGET, ids=name_of)
@pytest.mark.parametrize(("loss", "classes"), LOSSES)
def test_the_floor_is_where_raising_starts(budget, loss, classes) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    made = plan(n=500, d=3, budget=budget, loss=loss, classes=classes)
    curve = made.curve("regularization", [0.999 * made.floor, 1.001 * made.floor])
    assert [each.raised for each in curve] == [True, False]
    assert curve[0].regularization == pytest.approx(made.floor, rel=1e-9)


def test_output_perturbation_has_no_floor() -> None:
    made = plan(n=500, d=3, budget=1.0, mechanism="output", regularization=1e-6)
    assert made.floor == 0.0
    assert made.regularization == 1e-6


def test_norms_are_exact_quantiles() -> None:
    rng = np.random.default_rng(SEED)
    laplace = plan(n=1000, d=5, budget=1.0).main
    share = (rng.gamma(6, laplace.scale, 100_000) > laplace.norm_quantile(0.05)).sum()
    assert binom.isf(1 - ALARM, 100_000, 0.05) <= share <= binom.isf(ALARM, 100_000, 0.05)


def test_declared_is_what_the_design_is_made_of() -> None:
    made = plan(n=100, d=2, budget=1.0)
    assert isinstance(made.declared, Declaration)
    assert made.declared.but(n=200).design().n == 200
