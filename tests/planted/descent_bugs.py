"""Planted bugs of private gradient descent; ``bugs.py`` lists them with the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privet._types import Targets
from privet.mechanisms.gradient import DescentDesign, GradientDescent
from privet.randomness import Randomness
from privet.rows import Block, Rows

Array = NDArray[np.float64]


class NoClip(GradientDescent):
    """Sums the rows' gradients as they are; the noise is for clipped ones."""

    def pull(self, rows: Rows, design: DescentDesign, point: Array) -> Array:
        """The sum without the clip."""
        loose = replace(design, schedule=replace(design.schedule, clip=1e9))
        return super().pull(rows, loose, point)


class LessDescentNoise(GradientDescent):
    """Draws with nine tenths of the scale that the event states."""

    def descend(
        self, rows: Rows, design: DescentDesign, randomness: Randomness
    ) -> Iterator[tuple[Array, Array]]:
        """As the real one, with less noise."""
        noise = replace(design.noise, scale=0.9 * design.noise.scale)
        return super().descend(rows, replace(design, noise=noise), randomness)


class UncountedStep(GradientDescent):
    """Makes one step more than the noise was calibrated for."""

    def design(self, n: int, m: int) -> DescentDesign:
        """The design of one step less, with a step more."""
        steps = super().design(n, m).schedule.steps
        found = GradientDescent.design(replace(self, steps=steps - 1), n, m)
        return replace(found, schedule=replace(found.schedule, steps=steps))


class ShortIntercept(GradientDescent):
    """Measures rows without their last column when it clips."""

    def pull(self, rows: Rows, design: DescentDesign, point: Array) -> Array:
        """The sum with gradients clipped by the norm of the other columns."""

        def kernel(block: Block, y: Targets) -> tuple[Array, ...]:
            slopes = self.loss.gradient(block.scores(point.reshape(self.loss.scores, -1)), y)
            others = block.scores(np.eye(design.m)[:-1])
            norms = np.linalg.norm(slopes, axis=1) * np.linalg.norm(others, axis=1)
            clip = design.schedule.clip
            return (block.pull(slopes * (clip / np.maximum(norms, clip))[:, None]).ravel(),)

        return rows.sum(kernel)[0]
