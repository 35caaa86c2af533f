"""Regularized logistic regression with noise, as peer libraries have it (Chaudhuri et al. 2011).

Algorithm 1 adds spherical noise to the minimizer, Algorithm 2 to the objective. Many classes are
one against the rest, each with ``epsilon/C``. The distance to the exact minimum is not paid for, in
the rival's favor.
"""

from __future__ import annotations

import math

import numpy as np

from .rival import Array, Promise, Rival, Task, on_sphere, two_sided

REGULARIZATIONS = (1e-3, 1e-2, 1e-1)
ITERATIONS = 100


def _minimized(x: Array, targets: Array, lam: Array, linear: Array) -> Array:
    """Minimizers of mean logistic loss + ``lam |w|^2/2 + linear.w/n``, one column each."""
    n = len(x)
    steep = 0.25 + lam
    slow = (np.sqrt(steep) - np.sqrt(lam)) / (np.sqrt(steep) + np.sqrt(lam))
    x = x.astype(np.float32)
    theta = ahead = np.zeros((x.shape[1], targets.shape[1]))
    for _ in range(ITERATIONS):  # Nesterov's method for strongly convex functions
        margin = targets * (x @ ahead.astype(np.float32))
        pull = (-targets / (1.0 + np.exp(margin))).astype(np.float32)
        gradient = x.T @ pull / n + lam * ahead + linear / n
        new = ahead - gradient / steep
        theta, ahead = new, new + slow * (new - theta)
    return theta


def _calibrated(epsilon: float, lam: float, n: int) -> tuple[float, float]:
    """Epsilon left for the noise and the regularization that goes with it (Algorithm 2)."""
    c = 0.25
    left = epsilon - math.log(1.0 + 2.0 * c / (n * lam) + (c / (n * lam)) ** 2)
    if left > 0.0:
        return left, lam
    return epsilon / 2.0, c / (n * (math.exp(epsilon / 4.0) - 1.0))


def perturbed_logistic(task: Task, promise: Promise, rng: np.random.Generator) -> dict[str, Array]:
    """Both algorithms at every regularization."""
    sides = task.sides
    if not task.domain.has_constant:
        sides = sides / math.sqrt(1.25)  # rows and constant in the unit ball
    x, test = sides[: len(task.x)], sides[len(task.x) :]
    problems = [1] if task.classes == 2 else list(range(task.classes))
    signs = np.stack([np.where(task.y == c, 1.0, -1.0) for c in problems], axis=1)
    epsilon, (n, d), out = promise.epsilon / len(problems), x.shape, {}
    for kind in ("objective", "output"):
        for lam in REGULARIZATIONS if task.classes == 2 else REGULARIZATIONS[1:]:
            left, used = _calibrated(epsilon, lam, n) if kind == "objective" else (epsilon, lam)
            scale = 2.0 / left if kind == "objective" else 2.0 / (n * lam * epsilon)
            b = on_sphere(rng, len(problems), d) * rng.gamma(d, scale, len(problems))
            inside = b if kind == "objective" else np.zeros_like(b)
            theta = _minimized(x, signs, np.full(len(problems), used), inside)
            found = test @ (theta if kind == "objective" else theta + b)
            if task.classes == 2:
                chance = two_sided(found[:, 0])
            else:  # one against the rest, as the peer library normalizes it
                chance = 1.0 / (1.0 + np.exp(-found))
                chance = chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
            out[f"{kind}, {lam:g}"] = chance
    return out


RIVAL: Rival = perturbed_logistic
