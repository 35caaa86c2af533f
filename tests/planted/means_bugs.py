"""Mistakes in noisy sums by class, planted; ``bugs.py`` lists them with the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.mechanisms.means import ClassMeans, MeansDesign
from privet.noise import ClassHull, ClassLaplace
from privet.privacy.event import not_private
from privet.randomness import Randomness
from privet.rows import Rows


class OneClassMoves(ClassMeans):
    """Takes a replaced row to move one sum by its own length: ``R`` where it is ``2 R``."""

    def sensitivity(self, n: int) -> float:
        """Half of it."""
        return 0.5 * super().sensitivity(n)


class SharedNoise(ClassMeans):
    """Adds one draw to the sums of all classes: their differences have no noise."""

    def noisy_sums(
        self, rows: Rows, design: MeansDesign, randomness: Randomness, k: int = 1
    ) -> Any:
        """The first class's noise everywhere."""
        exact, noisy = self.query(rows), super().noisy_sums(rows, design, randomness, k)
        return exact + np.repeat(noisy[:, :1] - exact[:1], self.loss.classes, axis=1)


class NarrowBlocks(ClassMeans):
    """Noise in the shape of a domain of nine tenths of the declared sizes."""

    def law(self, scale: float, m: int) -> ClassLaplace | ClassHull:
        """The hull of smaller rows."""
        assert self.domain is not None
        classes = self.loss.classes
        return ClassHull(scale, classes * m, classes, self.domain.scaled(0.9))


class UnstampedMeans(ClassMeans):
    """Draws from a seed while the event says private."""

    def design(self, n: int, m: int) -> MeansDesign:
        """Without the stamp."""
        found = super().design(n, m)
        object.__setattr__(found.event, "why_not_private", not_private(None))
        return found
