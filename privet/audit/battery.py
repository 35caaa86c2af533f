"""All checks on one mechanism: what an auditor runs before trusting an implementation.

    exact loss      adversarial neighbors against the main budget, over a range of regularization
    profile, Renyi  Gaussian objective perturbation by quadrature, where the output is small enough
    replay          distance of neighbors' releases under the same random words
    gap             the stopping tolerance is reached, hidden by noise and charged
    noise           recovered from releases: scale, radius, direction, independence; both paths
    fresh           no two runs share noise, and a seed is stamped
    clipping        no row enters with a norm above the bound

A real mechanism passes every check; each planted bug fails at least one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from privet.audit.attacks import Finding, WeightedTable, allows_opposite_rows
from privet.audit.domain_attack import worst_domain_loss
from privet.audit.exact import worst_loss
from privet.audit.profile import densities, pairs
from privet.audit.replay import (
    MakeRows,
    door,
    gap_bound,
    gap_price,
    measured_gap,
    random_table,
    worst_replay,
)
from privet.audit.samplers import check_noise, recovered_noise, release_many, release_singly
from privet.errors import InfeasibleBudget, quietly
from privet.mechanisms import Design, Mechanism, Trainer
from privet.privacy.curves import Curve, GaussianCurve
from privet.privacy.jacobian import JacobianCurve
from privet.rows import checked_rows
from privet.rows.inside import in_domain

#: total regularizers n Lam to attack at, in units of R^2
RIDGES = (0.05, 0.5, 5.0, 50.0, 1000.0)
# Crowds of tiny rows need many; output perturbation's rounding bound limits them.
CROWD_ROWS = {"objective": 10**16, "output": 10**7}


def audit_mechanism(
    mechanism: Mechanism,
    *,
    n: int = 60,
    m: int = 2,
    draws: int = 5000,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
) -> list[Finding]:
    """Every check that applies to ``mechanism``, on tables of ``n`` rows and ``m`` columns.

    A mechanism with a declared domain is audited on rows of that domain, with its columns.
    ``draws`` releases are made for the noise tests, a sixteenth as many one by one; a tenth too
    little noise is found from about 5000. ``make_rows`` builds rows as ``checked_rows`` does.
    """
    m = m if mechanism.domain is None else mechanism.domain.columns
    with quietly():
        design = mechanism.design(n, m)
        return [
            *_losses(mechanism),
            *_divergences(mechanism),
            _replay(mechanism, n, m, seed, make_rows),
            *_gap(design, seed),
            *_noise(mechanism, design, draws, seed),
            *fresh_findings(mechanism, design, seed),
            clipping_finding(mechanism, n, m, seed, make_rows),
        ]


def shift_claim(curve: Curve) -> float:
    """What ``worst_loss`` may reach: epsilon, or standard deviations of Gaussian output noise."""
    return math.sqrt(2.0 * curve.rho) if isinstance(curve, GaussianCurve) else curve.pure


def designs_over_ridges(mechanism: Mechanism, m: int) -> Iterator[Design]:
    """Designs over the whole range of regularization, where the budget allows one."""
    rows, center = CROWD_ROWS[mechanism.name], mechanism.center
    if center is not None:  # of as many numbers as these rows need
        center = tuple(itertools.islice(itertools.cycle(center), mechanism.loss.scores * m))
    for ridge in RIDGES:
        lam = ridge * mechanism.norm_bound**2 / rows
        try:
            yield replace(mechanism, regularization=lam, center=center).design(rows, m)
        except InfeasibleBudget:
            continue


def _losses(mechanism: Mechanism) -> list[Finding]:
    found = []
    signed = allows_opposite_rows(mechanism.loss)
    domain = mechanism.domain
    for design in designs_over_ridges(mechanism, 2 if domain is None else domain.columns):
        event = design.event
        if event.mechanism == "objective" and event.noise == "gaussian":
            return []  # unbounded: see the profile
        if not event.private and mechanism.insecure_seed is None:
            continue  # claims nothing
        loss = (
            worst_loss(design, signed=signed).loss if domain is None else worst_domain_loss(design)
        )
        claim = shift_claim(event.curves[0])
        sentence = (
            f"Largest exact privacy loss found, n Lam = {event.n * event.regularization:.4g}."
        )
        found.append(Finding("exact loss", loss, claim, sentence))
    return [max(found, key=_ratio)] if found else []


def _divergences(mechanism: Mechanism) -> list[Finding]:
    """Of Gaussian noise in the objective; in two columns where the output is then small enough.

    One column leaves two rows no freedom: either moves the gradient by half of what it could.
    """
    profile, renyi = [], []
    signed = allows_opposite_rows(mechanism.loss)
    columns = 2 // mechanism.loss.scores
    if mechanism.name != "objective" or mechanism.domain is not None or not columns:
        return []
    for design in list(designs_over_ridges(mechanism, columns))[1::2]:
        curve = design.event.curves[0]
        if not isinstance(curve, JacobianCurve | GaussianCurve):
            return []
        shift = design.risk.gradient_difference / design.main.scale
        k = design.risk.row_curvature / (design.n * design.risk.regularization)
        for pair in pairs(design, signed=signed)[::3]:
            both = densities(design, pair, reach=2.0)
            for epsilon in (0.5 * shift, shift + math.log1p(k)):
                delta = both.hockey_stick(epsilon)
                sentence = f"Delta by quadrature at epsilon = {epsilon:.3g}."
                least = delta.value - delta.error
                profile.append(Finding("profile", least, _delta(curve, epsilon), sentence))
            order = both.renyi(2.0)
            sentence = "Renyi divergence of order 2 by quadrature."
            claim = min(curve.renyi(2.0), 2.0 * curve.zcdp)
            renyi.append(Finding("Renyi", order.value - order.error, claim, sentence))
    return [max(part, key=_ratio) for part in (profile, renyi) if part]


def _delta(curve: JacobianCurve | GaussianCurve, epsilon: float) -> float:
    """The curve's profile; of a Gaussian mechanism ``Phi(D/2 - e/D) - exp(e) Phi(-D/2 - e/D)``."""
    if isinstance(curve, JacobianCurve):
        return curve.delta(epsilon)
    shift = math.sqrt(2.0 * curve.rho)
    near, far = (float(ndtr(sign * 0.5 * shift - epsilon / shift)) for sign in (1.0, -1.0))
    return near - math.exp(epsilon) * far


def _ratio(finding: Finding) -> float:
    return finding.measured / finding.allowed


def _replay(mechanism: Mechanism, n: int, m: int, seed: int, make_rows: MakeRows) -> Finding:
    measured, declared = worst_replay(mechanism, n, m, seed=seed, make_rows=make_rows)
    sentence = "Largest distance of neighbors' releases under the same random words."
    return Finding("replay", measured, declared, sentence)


def random_rows(design: Design, seed: int) -> WeightedTable:
    """A random admissible table."""
    risk, rng = design.risk, np.random.default_rng(seed)
    signed = allows_opposite_rows(risk.loss)
    x, y = random_table(rng, risk.loss, risk.norm_bound, design.n, design.m, signed=signed)
    x = x / 1.5
    if design.domain is not None:
        x = in_domain(x, design.domain, zero_rows=True)
    return WeightedTable(x, y, np.ones(design.n))


def _gap(design: Design, seed: int) -> list[Finding]:
    cost, charged = gap_price(design)
    distance = measured_gap(design, random_rows(design, seed), seed)
    return [
        Finding("gap charged", cost, charged, "What hiding the gap costs, and what is charged."),
        Finding("gap reached", distance, gap_bound(design), "Distance to the exact minimum."),
    ]


def _noise(mechanism: Mechanism, design: Design, draws: int, seed: int) -> list[Finding]:
    table = random_rows(design, seed)
    x, y = table.explicit(design.risk.loss)
    rows = checked_rows(x, y, **door(design))
    claimed = replace(design.main, scale=design.event.scale)
    many = release_many(mechanism, rows, design, draws, seed)
    singly = release_singly(mechanism, rows, design, max(draws // 16, 100), seed + 1)
    return [
        *check_noise(claimed, recovered_noise(design, table, many)),
        *check_noise(claimed, recovered_noise(design, table, singly), "one by one: "),
    ]


def fresh_findings(mechanism: Mechanism, design: Design, seed: int) -> list[Finding]:
    """No two runs share noise, and a seed is stamped."""
    stamped = mechanism.insecure_seed is None or not design.event.private
    sentence = "Whether a seed is stamped as not private (1: it is not)."
    findings = [Finding("seed stamped", float(not stamped), 0.0, sentence)]
    if design.event.private:
        x, y = random_rows(design, seed).explicit(design.risk.loss)
        rows = checked_rows(x, y, **door(design))
        values = [mechanism.run(rows).value for _ in range(2)]
        same = float((values[0] == values[1]).all())
        sentence = "Whether two runs released the same vector (1: they did)."
        findings.append(Finding("fresh noise", same, 0.0, sentence))
    return findings


def clipping_finding(mechanism: Trainer, n: int, m: int, seed: int, make_rows: MakeRows) -> Finding:
    """No row enters with a norm above the bound, or outside of the domain."""
    rng = np.random.default_rng(seed)
    x, y = random_table(rng, mechanism.loss, 5.0 * mechanism.norm_bound, n, m)
    rows = make_rows(x, mechanism.loss.targets(y), **door(mechanism))
    seen = np.concatenate([block.scores(np.eye(rows.m)) for block, _ in rows.blocks()])
    if mechanism.domain is not None:
        moved = in_domain(seen, mechanism.domain, zero_rows=True) != seen
        sentence = "Rows as the mechanism sees them that are not in the domain."
        return Finding("clipping", float(moved.any(axis=1).sum()), 0.0, sentence)
    norms = np.linalg.norm(seen, axis=1)
    sentence = "Largest norm of a row as the mechanism sees it."
    return Finding("clipping", float(norms.max()), mechanism.norm_bound, sentence)
