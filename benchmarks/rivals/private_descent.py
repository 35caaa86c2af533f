"""Private gradient descent: full batch, clipped gradients, noisy steps, averaged iterates.

With Gaussian noise all steps together are one Gaussian mechanism (Dong, Roth and Su 2022): a clip
``c`` and ``T`` steps need standard deviation ``2 c sqrt(T)/mu`` on the sum. Under pure epsilon each
step has spherical Laplace noise for ``epsilon/T``. Logistic loss, softmax for many classes.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from .rival import Array, Promise, Rival, Task, on_sphere, softmax, two_sided

STEPS, PURE_STEPS = (10, 40), (3, 10)
CLIPS = (0.3, 1.0)
RATES = (0.5, 2.0, 8.0, 32.0)


def _noise(
    promise: Promise, steps: int, clips: Array, size: int, rng: np.random.Generator
) -> Array:
    """Noise on the sum of gradients, (size, settings)."""
    if promise.delta > 0.0:
        scales = 2.0 * clips * math.sqrt(steps) / promise.mu
        return np.asarray(rng.standard_normal((size, len(clips))) * scales)
    lengths = rng.gamma(size, 2.0 * steps / promise.epsilon, len(clips))
    return np.asarray(on_sphere(rng, len(clips), size) * lengths * clips)


def _descended(task: Task, promise: Promise, steps: int, rng: np.random.Generator) -> Array:
    """Averaged parameters, (columns, settings, scores); all settings of one number of steps."""
    x = task.sides[: len(task.x)].astype(np.float32)
    settings = np.array(list(product(CLIPS, RATES)))
    clips, rates = settings[:, 0], settings[:, 1] / settings[:, 0]
    n, d = x.shape
    scores = 1 if task.classes == 2 else task.classes
    lengths = np.linalg.norm(x, axis=1)[:, None]
    targets = task.y[:, None] if scores == 1 else np.eye(scores, dtype=np.float32)[task.y]
    theta = np.zeros((d, len(settings), scores), dtype=np.float32)
    total = np.zeros_like(theta)
    for step in range(steps):
        found = (x @ theta.reshape(d, -1)).reshape(n, len(settings), scores)
        chance = 1.0 / (1.0 + np.exp(-found)) if scores == 1 else softmax(found)
        pull = chance - targets[:, None, :]
        norms = np.linalg.norm(pull, axis=2) * lengths
        pull *= np.minimum(1.0, clips / np.maximum(norms, 1e-12))[:, :, None]
        gradient = x.T @ pull.reshape(n, -1).astype(np.float32)
        noise = _noise(promise, steps, clips, d * scores, rng)
        shaped = noise.reshape(d, scores, len(settings)).transpose(0, 2, 1)
        change = gradient.reshape(theta.shape) + shaped
        theta = theta - (change * rates[None, :, None] / n).astype(np.float32)
        total += theta if step >= steps // 2 else 0.0
    return np.asarray(total / (steps - steps // 2))


def private_descent(task: Task, promise: Promise, rng: np.random.Generator) -> dict[str, Array]:
    """Predictions for every number of steps, clip and rate."""
    out = {}
    test = task.sides[len(task.x) :]
    for steps in STEPS if promise.delta > 0.0 else PURE_STEPS:
        theta = _descended(task, promise, steps, rng)
        for place, (clip, rate) in enumerate(product(CLIPS, RATES)):
            found = test @ theta[:, place]
            chance = two_sided(found[:, 0]) if task.classes == 2 else softmax(found)
            out[f"{steps} steps, clip {clip:g}, rate {rate:g}"] = chance
    return out


RIVAL: Rival = private_descent
