"""A mistake in noisy second moments, planted; see ``tests/planted/bugs.py``."""

from __future__ import annotations

from dataclasses import replace

from privet.mechanisms import RidgeStatistics
from privet.mechanisms.statistics import StatisticsDesign


class OneMoment(RidgeStatistics):
    """Takes one row's moments for the difference of two: ``1/n`` where it is ``sqrt2/n``."""

    def design_with(self, kind: str, n: int, m: int) -> StatisticsDesign:
        """The design with that sensitivity, and the noise for it."""
        design = super().design_with(kind, n, m)
        less = 0.5**0.5
        main = replace(design.main, scale=less * design.main.scale)
        sensitivity = less * design.event.sensitivity
        event = replace(design.event, scale=main.scale, sensitivity=sensitivity)
        return replace(design, main=main, event=event)
