"""Everything that Privet attacks itself with, in one run: what ``privet audit`` shows.

    mechanisms    the whole battery, for every mechanism, law of noise and loss
    releases      replayed sensitivity of models, pipelines, searches, intervals, evaluations,
                  answers from kernels and means; the noise of intervals, evaluations, answers,
                  means and choices
    boxes         certified lower bounds on epsilon from releases alone
    probes        last bits, and noise of other processes

An audit can refute a promise and never prove it; each number is beside what it may be at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from privet.audit.answer_noise import answer_noises
from privet.audit.answer_replay import replayed_answers
from privet.audit.attacks import Finding, Pair, allows_opposite_rows
from privet.audit.battery import CROWD_ROWS, audit_mechanism, designs_over_ridges, shift_claim
from privet.audit.black_box import WatchedBound
from privet.audit.cases import AuditCase, audit_cases
from privet.audit.choice_noise import partition_noises, stopping_noises
from privet.audit.descent_replay import audit_descent
from privet.audit.doors import BOXES, EPSILON, through_fit, through_many_draws
from privet.audit.exact import Worst, worst_loss
from privet.audit.means_replay import audit_means
from privet.audit.measure_replay import replayed_evaluation, replayed_intervals, replayed_moments
from privet.audit.precision import precision_findings, process_finding
from privet.audit.release_replay import MODELS, SEARCHES, replayed_model, replayed_search
from privet.audit.statistics_replay import audit_statistics, unsolved
from privet.errors import DeclarationError, quietly
from privet.mechanisms import (
    ClassMeans,
    Design,
    GradientDescent,
    Mechanism,
    RidgeStatistics,
    Trainer,
)

#: checks of the battery that compare an exact divergence with the budget
EXACT = ("exact loss", "profile", "Renyi", "transcript")
Tell = Callable[[str], None]
Watch = Callable[[WatchedBound], None]


@dataclass(frozen=True)
class Effort:
    """How long an audit may take."""

    draws: int  # releases behind each test of noise
    bits: int  # releases behind each test of last bits
    box: int  # most releases a side through the many-draws door
    fits: int  # most fits a side
    enough: float  # share of epsilon at which a box has shown enough


FULL = Effort(draws=5000, bits=5000, box=400_000, fits=6000, enough=0.95)
SHORT = Effort(draws=1000, bits=1000, box=100_000, fits=250, enough=0.88)


def _answers() -> Iterator[Finding]:
    yield from replayed_answers()
    yield from answer_noises()


#: Releases that are replayed by a name of their own, beside models and searches.
REPLAYS: dict[str, Callable[[], Iterable[Finding]]] = {
    "intervals": replayed_intervals,
    "evaluation": replayed_evaluation,
    "means": replayed_moments,
    "answers": _answers,
}
#: The noise of searches, by the names under which these are replayed.
CHOICES: dict[str, Callable[[], Iterable[Finding]]] = {
    "PartitionSearch": partition_noises,
    "RandomStoppingSearch": stopping_noises,
}


@dataclass(frozen=True)
class CaseAudited:
    """What the battery found about one mechanism with one noise and one loss."""

    case: AuditCase
    findings: tuple[Finding, ...]

    def share(self, *checks: str) -> float | None:
        """The largest measured over allowed of these checks; None where none applies."""
        shares = [one.measured / one.allowed for one in self.findings if one.check in checks]
        return max(shares, default=None)

    @property
    def surprise(self) -> float:
        """The least probable test of noise, in powers of ten."""
        return max((one.measured for one in self.findings if one.random), default=0.0)

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return all(one.passed for one in self.findings)


@dataclass(frozen=True)
class BoxAudited:
    """What was certified of a black box that claims ``epsilon``."""

    name: str
    bound: WatchedBound
    epsilon: float

    @property
    def passed(self) -> bool:
        """A bound above the claim would refute it, with the bound's confidence."""
        return self.bound.epsilon <= self.epsilon


@dataclass(frozen=True)
class AuditWitness:
    """The neighbors that an exact attack found worst, for drawing."""

    case: AuditCase
    design: Design
    worst: Worst
    claim: float

    @property
    def pair(self) -> Pair:
        """The two tables and the output at which they differ most."""
        return self.worst.pair


@dataclass
class AuditResult:
    """All that was found, and how long it took."""

    cases: list[CaseAudited] = field(default_factory=list)
    replays: list[Finding] = field(default_factory=list)
    boxes: list[BoxAudited] = field(default_factory=list)
    probes: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether no attack succeeded."""
        parts: tuple[Iterable[Any], ...] = (self.cases, self.replays, self.boxes, self.probes)
        return all(one.passed for part in parts for one in part)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "passed": self.passed,
            "seconds": round(self.seconds, 1),
            "mechanisms": [
                {
                    **dict(zip(NAMES, one.case.names, strict=True)),
                    "exact": one.share(*EXACT),
                    "replay": one.share("replay"),
                    "gap": one.share("gap charged", "gap reached"),
                    "noise_surprise": one.surprise,
                    "passed": one.passed,
                }
                for one in self.cases
            ],
            "replays": [_finding(one) for one in self.replays],
            "black_boxes": [
                {
                    "name": one.name,
                    "epsilon": one.epsilon,
                    "certified": one.bound.epsilon,
                    "confidence": one.bound.confidence,
                    "draws": one.bound.draws,
                    "passed": one.passed,
                }
                for one in self.boxes
            ],
            "probes": [_finding(one) for one in self.probes],
        }


NAMES = ("mechanism", "noise", "loss", "budget")


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "check": one.check,
        "what": one.sentence,
        "measured": one.measured,
        "allowed": one.allowed,
        "passed": one.passed,
    }


def subjects() -> list[str]:
    """What can be audited by name: mechanisms, and models."""
    mechanisms = dict.fromkeys(case.mechanism.name for case in audit_cases())
    models = dict.fromkeys(name.partition(",")[0] for name in (*MODELS, *SEARCHES))
    return list(dict.fromkeys(["all", *mechanisms, *models, *REPLAYS]))  # "means" are of both


def run_audit(
    what: str = "all", *, quick: bool = False, tell: Tell = lambda told: None
) -> AuditResult:
    """Attack ``what``, or everything; ``tell`` hears what is being done."""
    if what not in subjects():
        raise DeclarationError(
            f"{what!r} cannot be audited. Choose one of {', '.join(subjects())}."
        )
    start, result, effort = time.monotonic(), AuditResult(), SHORT if quick else FULL
    for case in audit_cases(what, quick=quick):
        tell(f"{case}")
        found, probes = _audited(case.mechanism, effort)
        result.cases.append(CaseAudited(case, tuple(found)))
        result.probes += probes
    for name, replay in _replays(what):
        tell(f"replay of {name}")
        result.replays += replay()
    for name, box in _boxes(what, effort):
        tell(f"black box: {name}")

        def watch(bound: WatchedBound, name: str = name) -> None:
            tell(f"black box: {name}, at least {bound.epsilon:.3f} from {bound.draws:,} draws")

        result.boxes.append(BoxAudited(name, box(watch), EPSILON))
    if what == "all":
        tell("noise of other processes")
        result.probes.append(process_finding())
    result.seconds = time.monotonic() - start
    return result


def _audited(mechanism: Trainer, effort: Effort) -> tuple[list[Finding], list[Finding]]:
    """What the checks of a mechanism found, and the probes of its last bits."""
    if isinstance(mechanism, RidgeStatistics):
        found = audit_statistics(mechanism, draws=effort.draws)
        return found, precision_findings(unsolved(mechanism), effort.bits)
    if isinstance(mechanism, Mechanism):
        found = audit_mechanism(mechanism, draws=effort.draws)
        return found, precision_findings(mechanism, effort.bits)
    if isinstance(mechanism, GradientDescent):
        with quietly():
            return audit_descent(mechanism, draws=effort.draws), []
    if isinstance(mechanism, ClassMeans):
        found = audit_means(mechanism, draws=effort.draws)
        return found, precision_findings(mechanism, effort.bits)
    raise TypeError(f"No attack is known on {mechanism.name!r}: add one to privet/audit.")


def _replays(what: str) -> Iterator[tuple[str, Callable[[], Iterable[Finding]]]]:
    for name in MODELS:
        if what in ("all", name.partition(",")[0]):
            yield name, partial(_one, replayed_model, name)
    for name in SEARCHES:
        if what in ("all", name):
            yield name, partial(_search, name)
    for name, replay in REPLAYS.items():
        if what in ("all", name):
            yield name, replay


def _search(name: str) -> Iterator[Finding]:
    yield replayed_search(name)
    if name in CHOICES:
        yield from CHOICES[name]()


def _one(replay: Callable[[str], Finding], name: str) -> list[Finding]:
    return [replay(name)]


def _boxes(what: str, effort: Effort) -> Iterator[tuple[str, Callable[[Watch], WatchedBound]]]:
    for name in BOXES:
        if what in ("all", name.partition(",")[0]):
            yield (
                f"{name}, many draws",
                partial(through_many_draws, name, effort.box, effort.enough),
            )
    if what in ("all", "LinearSVC"):
        yield "LinearSVC.fit", partial(through_fit, effort.fits, effort.enough)


def witnesses(result: AuditResult) -> list[AuditWitness]:
    """The worst neighbors in two columns of what has one score and a pure budget."""
    found = []
    for one in result.cases:
        mechanism = one.case.mechanism
        if not isinstance(mechanism, Mechanism) or mechanism.name not in CROWD_ROWS:
            continue
        if mechanism.loss.scores != 1 or one.case.kind != "laplace":
            continue
        if mechanism.budget.allows_gaussian:
            continue  # the same noise as under a pure budget
        with quietly():
            signed = allows_opposite_rows(mechanism.loss)
            tried = [
                AuditWitness(
                    one.case,
                    design,
                    worst_loss(design, signed=signed),
                    shift_claim(design.event.curves[0]),
                )
                for design in designs_over_ridges(mechanism, 2)
            ]
        found.append(max(tried, key=lambda each: each.worst.loss / each.claim))
    return found
