"""The numbers of a released minimizer, by output or by objective perturbation.

    output      S >= (D R/n + 2 gamma)/Lam, widened by the grid; scale >= S/eps, S/sqrt(2 rho)
    objective   the row's move; the privacy loss of noise and Jacobian; what pays for the gap

Written from ``output.proof.md``, ``objective.proof.md``, ``gaussian_objective.proof.md`` and
``gap.proof.md``; laws of noise are in ``noise_laws.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.certificate.balls import Ball, above, ball, below
from privet.certificate.center_length import center_number
from privet.certificate.declared_rows import DeclaredRows
from privet.certificate.file_facts import Record
from privet.certificate.loss_bounds import RESIDUALS
from privet.certificate.noise_laws import NoiseLaw, noise_law
from privet.certificate.one_gaussian import is_dominated
from privet.certificate.rounding import (
    coordinate_sd,
    gradient_floor,
    grid_number,
    minimizer_norm,
    noise_scale,
    norm_quantile,
    widened,
)
from privet.certificate.verdicts import (
    ROUNDED,
    Number,
    Undecided,
    at_least,
    at_most,
    equal,
    fact,
    left_open,
    stated,
)

#: The gap may widen a sensitivity by this share: more is not what these facts give.
WIDEST_GAP = 0.01
#: What a discrete Gaussian's profile may be off by in epsilon, for each coordinate.
DISCRETE = 1.5e-10


@dataclass(frozen=True)
class FitFacts:
    """One fit: its event, what is declared of its rows, and its grid."""

    release: str
    event: Record
    rows: DeclaredRows
    declared: Record
    grid: int | None
    constants: Record

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.event["n"])

    @property
    def m(self) -> int:
        """Columns, with the constant one."""
        return int(self.event["m"])

    @property
    def p(self) -> int:
        """Released numbers."""
        return self.rows.loss.scores * self.m

    @property
    def lam(self) -> Ball:
        """The regularization."""
        return ball(self.event["regularization"])

    @property
    def pulled(self) -> Ball:
        """``n Lam |c|``: the linear term of a ridge around ``c``."""
        return self.n * self.lam * ball(self.constants.get("center_norm", 0.0))

    @property
    def difference(self) -> Ball:
        """``D R``."""
        return self.rows.loss.difference * self.rows.norm

    @property
    def q(self) -> Ball:
        """``R^2/(n Lam)``."""
        return self.rows.norm**2 / (self.n * self.lam)


def fit_numbers(fit: FitFacts) -> Iterator[Number]:
    """Every number of a fit."""
    event = fit.event
    law = noise_law(event["noise"], fit.rows, event["scale"], fit.m)
    if fit.rows.columns is not None:
        told = "must match the released arrays plus the constant column"
        yield fact(fit.release, "columns", fit.m, fit.m == fit.rows.columns, told)
    for name, bound in fit.rows.loss.taken():
        yield stated(fit.release, name, bound, "its author's word: a file holds no code")
    yield from center_number(fit.release, fit.declared, fit.constants.get("center_norm", 0.0))
    yield _regularization(fit)
    if event["mechanism"] != "output":
        yield from _objective(fit, law)
    elif event["noise"] in ("laplace", "gaussian"):
        yield from _output(fit)
    else:
        raise Undecided(f"{event['noise']} noise on a minimizer is not known here")


def _regularization(fit: FitFacts) -> Number:
    """A declared one is never lowered."""
    declared, used = fit.declared.get("regularization"), fit.event["regularization"]
    if isinstance(declared, bool) or not isinstance(declared, int | float):
        return stated(
            fit.release,
            "regularization",
            used,
            "taken from the file as stated; the noise must fit it",
        )
    told = "must not be below the declared value"
    return at_least(fit.release, "regularization", used, ball(declared), told)


# -- output perturbation -------------------------------------------------------------------------


def _output(fit: FitFacts) -> Iterator[Number]:
    event, name = fit.event, fit.release
    claimed, noise = event["sensitivity"], event["noise"]
    floor = gradient_floor(fit.rows, fit.n, fit.m, fit.lam, fit.pulled)
    if "tolerance" not in fit.constants:
        raise Undecided("an older file does not keep how near to the minimum its fit came")
    gamma = ball(max(fit.constants["tolerance"], 0.0)) + floor  # no credit below zero
    needed = (fit.difference / fit.n + 2 * gamma) / fit.lam
    if noise == "gaussian":
        if fit.grid is None:
            raise Undecided("the file does not say which grid the noise is on")
        needed = widened(needed, fit.grid, fit.p)
    told = "(D R/n + 2 gamma)/Lam, gamma = tolerance plus rounding error"
    yield at_least(name, "sensitivity", claimed, needed, told, WIDEST_GAP)
    (curve,) = event["curves"]
    scale = noise_scale(noise, ball(claimed), curve)
    yield at_least(
        name, "noise scale", event["scale"], scale, "required by this sensitivity and curve"
    )
    if noise == "gaussian":
        yield slack_number(name, curve, fit.p)
    if fit.grid is None:
        return
    sd = coordinate_sd(noise, ball(event["scale"]), fit.p)
    largest = None
    if noise == "laplace":
        longest = minimizer_norm(fit.rows, fit.n, fit.lam, fit.pulled)
        largest = longest + norm_quantile(noise, ball(event["scale"]), fit.p)
    else:  # the grid was chosen before the sensitivity was widened by it
        sd = sd * needed_before(needed, fit.grid, fit.p) / needed
    yield grid_number(name, fit.grid, sd, largest)


def needed_before(needed: Ball, grid: int, p: int) -> Ball:
    """The sensitivity without the grid's widening."""
    return needed - ball(2) ** grid * ball(p).sqrt()


def slack_number(release: str, curve: Record, p: int, most: float | None = None) -> Number:
    """What the discreteness of Gaussian noise may cost in epsilon, ``1.5e-10`` a coordinate."""
    needed = ball(DISCRETE) * p
    told = "what the grid can cost in epsilon, over all released numbers"
    return at_least(release, "slack of discrete noise", curve["slack"], needed, told, most)


# -- objective perturbation ----------------------------------------------------------------------


def _objective(fit: FitFacts, law: NoiseLaw) -> Iterator[Number]:
    event, name = fit.event, fit.release
    told = "the most that one replaced row can move the noise, in its own norm"
    yield at_least(name, "sensitivity", event["sensitivity"], law.difference, told, 1e-9)
    main, *gap = event["curves"]
    if event["noise"] == "gaussian":
        yield from _gaussian_noise(fit, main)
    else:
        yield from _pure_noise(fit, law, main)
    yield from _gap(fit, law, gap)
    if fit.grid is not None:
        yield objective_grid(fit, law, fit.grid)


def _pure_noise(fit: FitFacts, law: NoiseLaw, main: Record) -> Iterator[Number]:
    """The privacy loss of the noise that the file states, at its regularization."""
    if main["kind"] != "pure":
        raise Undecided(f"{fit.event['noise']} noise without a pure curve")
    jacobian = fit.rows.loss.log_determinant(fit.q)
    told = "log-determinant of one row, shown for information"
    yield Number(fit.release, "Jacobian term", None, below(jacobian), above(jacobian), None, told)
    told = "privacy loss of noise and Jacobian together, at the stated scale"
    yield at_most(fit.release, "loss of the noise", main["loss"], law.cost(fit.q), told)


def _gaussian_noise(fit: FitFacts, main: Record) -> Iterator[Number]:
    """The curve's shift and curvature are those of the facts."""
    if main["kind"] == "gaussian":
        yield from _dominated(fit, main)
        return
    if main["kind"] not in ("objective_gaussian", "objective_gaussian_at_k"):
        raise Undecided(f"the curve {main['kind']!r} is not known here for objective perturbation")
    loss, name = fit.rows.loss, fit.release
    yield fact(
        name,
        "family of the loss",
        main["classes"],
        main["family"] in _families(loss.name) and main["classes"] == loss.classes,
        f"the curve says {main['family']}, the file declares {loss.name}",
    )
    k = loss.curvature * fit.q
    yield equal(name, "Jacobian term", main["k"], k, "k = c R^2/(n Lam)")
    needed = fit.difference / ball(main["shift"])
    yield at_least(name, "noise scale", fit.event["scale"], needed, "D R over the curve's shift")


def _dominated(fit: FitFacts, main: Record) -> Iterator[Number]:
    """The whole profile is below that of one Gaussian mechanism, the main share of the claim."""
    loss, name = fit.rows.loss, fit.release
    if loss.classes != 2 or loss.name in RESIDUALS:
        raise Undecided("no theorem puts this loss inside one Gaussian mechanism")
    whole = _gaussian_rho(fit.event["claim"])
    if whole is not None:
        told = "must be the main share of the claim"
        yield equal(name, "rho of the noise", main["rho"], ball(fit.event["share"]) * whole, told)
    shift, k = fit.difference / ball(fit.event["scale"]), loss.curvature * fit.q
    mu = (2 * ball(main["rho"])).sqrt() * (1 + ball(ROUNDED))
    logistic = loss.name in ("logistic", "softmax")
    told = "at this scale the privacy profile stays below that of the Gaussian mechanism"
    right = is_dominated(mu, shift, k, logistic=logistic)
    if not right:
        told = "at this scale the profile is not shown to stay below the Gaussian mechanism's"
    yield fact(name, "noise scale", fit.event["scale"], right, told)


def _gaussian_rho(claim: Record) -> Ball | None:
    """The rho of a claim that is one of rho or of mu."""
    if "mu" in claim:
        return ball(claim["mu"]) ** 2 / 2
    return ball(claim["rho"]) if "rho" in claim else None


def _families(loss: str) -> tuple[str, ...]:
    """The theorems that cover a loss; that of all margin losses covers logistic loss too."""
    known = {"logistic": ("logistic", "margin"), "softmax": ("softmax",)}
    known |= dict.fromkeys(RESIDUALS, ("residual",))
    return known.get(loss, ("joint_huber",) if loss == "joint_huber" else ("margin",))


def _gap(fit: FitFacts, law: NoiseLaw, gap: list[Record]) -> Iterator[Number]:
    """A share of the claim pays for the distance to the exact minimum."""
    event, name = fit.event, fit.release
    if len(gap) != 1:
        told = "no budget is set aside for the distance from the exact minimum"
        yield fact(name, "price of the gap", event["share"], False, told)
        return
    (price,), claim = gap, event["claim"]
    paid = price.get("loss" if "epsilon" in claim else "rho")
    if paid is None or not paid > 0.0:
        raise Undecided(f"the curve {price['kind']!r} is not known here for the gap")
    rho = _gaussian_rho(claim)
    left = 1 - ball(paid) / (ball(claim["epsilon"]) if rho is None else rho)
    yield equal(
        name,
        "price of the gap",
        event["share"],
        left,
        "the share of the budget left for the main noise",
    )
    yield _gap_noise(fit, law, price)


def _gap_noise(fit: FitFacts, law: NoiseLaw, price: Record) -> Number:
    """Scale ``2 gamma/Lam`` over its price, ``gamma`` the tolerance and what rounding can do."""
    floor = gradient_floor(fit.rows, fit.n, fit.m, fit.lam, law.norm + fit.pulled)
    kind = "gaussian" if price["kind"] == "gaussian" else "laplace"
    if not {"gap_scale", "tolerance"} <= set(fit.constants):
        told = "an older file does not keep the noise that was used, nor the tolerance"
        return left_open(fit.release, "noise for the gap", told)
    gamma = ball(max(fit.constants["tolerance"], 0.0)) + floor
    needed = noise_scale(kind, 2 * gamma / fit.lam, price)
    told = "must hide the remaining distance to the exact minimum, 2 gamma/Lam"
    return at_least(
        fit.release, "noise for the gap", fit.constants["gap_scale"], needed, told, WIDEST_GAP
    )


def objective_grid(fit: FitFacts, law: NoiseLaw, grid: int) -> Number:
    """Fine against the least that one coordinate of the noise does to the release."""
    curved = fit.rows.loss.curvature * fit.rows.norm**2
    response = 1 / (fit.n * (fit.lam + curved / fit.m))
    longest = minimizer_norm(fit.rows, fit.n, fit.lam, law.norm + fit.pulled)
    # the noise for the gap is far smaller than the minimizer's bound and moves no power of two
    return grid_number(fit.release, grid, law.least_sd * response, longest)
