"""Whether a private choice is as random as its event states.

Of two candidates the better one is ahead by the stated scale ``s`` of the noise. It is chosen with

    exponential mechanism    e/(1 + e)         its odds are exp(ahead/s)
    permute-and-flip         1 - 1/(2 e)       the other one with exp(-ahead/s)/2

so that the share of choices tells by how many scales it was ahead. The square of that number is the
stated mean square of the noise over the one found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from privet.audit.attacks import Finding
from privet.audit.stated_noise import LEAST, independent_square, noise_finding
from privet.errors import quietly
from privet.mechanisms.search import DisjointParts, RandomStopping
from privet.privacy import ZCDP, PureDP
from privet.randomness import source

CHOICES = 4000
#: So little that one mistake is a small step of the noise.
LITTLE = (PureDP(0.02), ZCDP(0.02**2 / 8.0))
ROWS, RUNS = 4000, 12


def choice_finding(
    chosen: Callable[[], int], noise: str, told: str, choices: int = CHOICES
) -> Finding:
    """By how many scales candidate 0, ahead by one, seems to be ahead."""
    behind = sum(chosen() != 0 for _ in range(choices)) / choices
    if behind == 0.0:
        return Finding("noise", math.inf, 1.0 / LEAST, told, random=True)
    odds = 2.0 * behind if noise == "permute-and-flip" else behind / (1.0 - behind)
    ahead = max(-math.log(odds), 0.0) if odds < math.inf else 0.0
    return Finding("noise", ahead**2, 1.0 / LEAST, told, random=True)


def partition_noises() -> Iterator[Finding]:
    """The choice among the models of parts."""
    drawn = source(None)
    with quietly():
        for budget in LITTLE:
            design = DisjointParts(budget, 2, None, ROWS // 4).design(ROWS)
            mistakes = [0, round(design.event.scale)]
            noise = design.event.noise
            told = f"PartitionSearch, the choice, {noise}."
            yield choice_finding(partial(design.choose, mistakes, drawn), noise, told)


def stopping_noises() -> Iterator[Finding]:
    """The count of mistakes of each run."""
    drawn = source(None)
    with quietly():
        for budget in LITTLE:
            design = RandomStopping(budget, 2, None, validation=ROWS // 4).design(ROWS)
            kind = design.event.noise.removeprefix("discrete ")
            square = independent_square(kind, design.event.scale, RUNS)
            told = f"RandomStoppingSearch, the scores, {design.event.noise}."
            yield noise_finding(partial(design.scores, [ROWS // 8] * RUNS, drawn), square, told)
