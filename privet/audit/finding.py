"""What a check found: one number, what it may be at most, and a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Probability that one statistical check rejects a right sampler.
FALSE_ALARM = 1e-6
# Two ways to compute the same number may differ by this much, relatively.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Finding:
    """The result of one check: ``measured`` must not exceed ``allowed``."""

    check: str
    measured: float
    allowed: float
    sentence: str
    random: bool = False  # whether `measured` depends on random draws

    @property
    def passed(self) -> bool:
        """Whether the check found nothing wrong; a number that is not one never passes."""
        return self.measured <= self.allowed * (1.0 + ROUNDING)

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return f"{verdict}  {self.check}: {self.measured:.4g} (at most {self.allowed:.4g})"


def surprise(check: str, p_value: float, sentence: str) -> Finding:
    """A statistical check: how improbable the draws are under the claim, in powers of ten."""
    measured = math.inf if p_value <= 0.0 else -math.log10(min(p_value, 1.0))
    return Finding(check, measured, -math.log10(FALSE_ALARM), sentence, random=True)
