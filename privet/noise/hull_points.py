"""Uniform points of the hull of a domain's rows and their opposites, and their moments; exact.

Blocks of categories and the intercept agree in ``c = 1.v_j/s_j``. ``c`` is drawn first, then each
block given ``c``; both are mixtures of laws that are drawn without rejection. Derived in
``privet/mechanisms/domain_noise.proof.md``, step 5.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from privet._types import Array
from privet.domain import Box, Domain, OneHot
from privet.randomness import Randomness


def one_hot_blocks(domain: Domain) -> list[OneHot]:
    """The blocks of categories, in their order."""
    return [block for block in domain.blocks if isinstance(block, OneHot)]


class SectionTerms(NamedTuple):
    """``A_k(c) = sum_t coefficient_t c^power_t X^(k-1-power_t)`` with ``X = (1 - c)/2``.

    ``A_k(c)`` is the volume of ``{w in R^k : sum w = c, |w|_1 <= 1}`` for ``0 <= c <= 1``. A term
    has ``positive`` entries above zero, and a negative sum ``N`` with density ``N^(order-1)`` on
    [0, X]; ``order = k - 1 - power`` is 0 where no entry is negative.
    """

    logs: Array
    positive: Array
    power: Array
    order: Array


@lru_cache(maxsize=512)
def section_terms(k: int) -> SectionTerms:
    """All terms are positive: nothing cancels.

    With p entries above and q = k - p below zero the volume is ``C(k,p)/((p-1)!(q-1)!)`` times the
    integral of ``(c + N)^(p-1) N^(q-1)`` over [0, X], expanded by the binomial theorem.
    """
    rows = [(-gammaln(k), k, k - 1, 0)]
    for p in range(1, k):
        q = k - p
        choose = gammaln(k + 1) - gammaln(p + 1) - gammaln(q + 1) - gammaln(p) - gammaln(q)
        for i in range(p):
            log = choose + gammaln(p) - gammaln(i + 1) - gammaln(p - i) - math.log(q + i)
            rows.append((log, p, p - 1 - i, q + i))
    logs, positive, power, order = (np.array(column) for column in zip(*rows, strict=True))
    return SectionTerms(logs.astype(np.float64), positive, power, order)


@lru_cache(maxsize=128)
def common_weights(cells: tuple[int, ...]) -> Array:
    """Log-weights of ``c^(D-j) X^j`` in the product of all ``A_k``, times the Beta integral."""
    logs = np.zeros(1)
    for k in cells:
        terms = section_terms(k)
        own = np.array([logsumexp(terms.logs[terms.order == j]) for j in range(k)])
        out = np.full(len(logs) + k - 1, -np.inf)
        for shift, weight in enumerate(own):
            part = out[shift : shift + len(logs)]
            np.logaddexp(part, logs + weight, out=part)
        logs = out
    degree = len(logs) - 1
    j = np.arange(degree + 1)
    beta = gammaln(degree - j + 1) + gammaln(j + 1) - gammaln(degree + 2)
    return np.asarray(logs - j * math.log(2.0) + beta)


def draw_common(randomness: Randomness, count: int, cells: tuple[int, ...]) -> Array:
    """``|c|``, with density the product of all ``A_k``: a mixture of Beta laws."""
    weights = common_weights(cells)
    j = _chosen(randomness, np.broadcast_to(weights, (count, len(weights))))
    waits = np.cumsum(randomness.exponentials((count, len(weights) + 1)), axis=1)
    ahead = len(weights) - j  # Beta(D - j + 1, j + 1), D + 1 the number of weights
    return np.asarray(waits[np.arange(count), ahead - 1] / waits[:, -1])


def _chosen(randomness: Randomness, logs: Array) -> Array:
    """An index of each row with probability proportional to the exponential of its entry."""
    return np.asarray((logs - np.log(randomness.exponentials(logs.shape))).argmax(axis=1))


def draw_block(randomness: Randomness, c: Array, k: int) -> Array:
    """Uniform points of ``{sum w = c, |w|_1 <= 1}``: the term, then N, then two splits."""
    if k == 1:
        return c[:, None]
    terms, rest = section_terms(k), (1.0 - c) / 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = (
            terms.logs
            + np.where(terms.power > 0, terms.power * np.log(c)[:, None], 0.0)
            + np.where(terms.order > 0, terms.order * np.log(rest)[:, None], 0.0)
        )
    term = _chosen(randomness, logs)
    order = terms.order[term]
    waits = randomness.exponentials((len(c),))
    below = np.where(order > 0, rest * np.exp(-waits / np.maximum(order, 1)), 0.0)
    ranks = randomness.uniforms((len(c), k)).argsort(axis=1).argsort(axis=1)
    above = ranks < terms.positive[term][:, None]  # a subset of this size, each alike
    splits = randomness.exponentials((len(c), k))
    positive, negative = np.where(above, splits, 0.0), np.where(above, 0.0, splits)
    up = (c + below)[:, None] * positive / positive.sum(axis=1, keepdims=True)
    total = np.maximum(negative.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(up - below[:, None] * negative / total)


@lru_cache(maxsize=32)
def hull_moments(domain: Domain) -> Array:
    """``E u u^T``: ``E c^2/(k k')`` between blocks, within one from ``E sum_i w_i^2``."""
    hot = one_hot_blocks(domain)
    cells = tuple(block.cells for block in hot)
    nodes, weights = _unit_nodes(sum(cells) // 2 + 8)
    density = np.sum([_log_section(k, nodes) for k in cells], axis=0)
    weights = weights * np.exp(density - density.max())
    weights /= weights.sum()
    square = float(weights @ nodes**2)
    inside = {k: float(weights @ _mean_squares(k, nodes)) for k in set(cells)}
    means = np.concatenate(
        [
            np.zeros(block.width)
            if isinstance(block, Box)
            else np.full(block.width, block.size / block.cells)
            for block in domain.blocks
        ]
    )
    out = square * np.outer(means, means)
    for block, at in domain.parts():
        if isinstance(block, Box):
            out[at, at] = np.eye(block.width) * block.size**2 / 3.0
            continue
        k = block.cells
        same = inside[k] / k
        other = (square - inside[k]) / (k * (k - 1.0)) if k > 1 else 0.0
        out[at, at] = block.size**2 * (other + (same - other) * np.eye(block.width))
    out.flags.writeable = False
    return np.asarray(out)


def _unit_nodes(count: int) -> tuple[Array, Array]:
    """Gauss's nodes and weights on [0, 1], exact for polynomials of degree ``2 count - 1``."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _log_section(k: int, c: Array) -> Array:
    """``log A_k(c)``."""
    terms = section_terms(k)
    logs = terms.logs + np.outer(np.log(c), terms.power)
    return np.asarray(logsumexp(logs + np.outer(np.log((1.0 - c) / 2.0), terms.order), axis=1))


def _mean_squares(k: int, c: Array) -> Array:
    """``E[sum_i w_i^2 | c]``: ``2 P^2/(p + 1) + 2 N^2/(q + 1)`` in the mean over the terms.

    Given its term N has density ``N^(order-1)`` on [0, X], and ``P = c + N``.
    """
    terms, rest = section_terms(k), ((1.0 - c) / 2.0)[:, None]
    logs = terms.logs + np.outer(np.log(c), terms.power)
    logs = logs + np.outer(np.log(rest[:, 0]), terms.order)
    weights = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    first = rest * terms.order / (terms.order + 1.0)
    second = rest**2 * terms.order / (terms.order + 2.0)
    above = c[:, None] ** 2 + 2.0 * c[:, None] * first + second
    found = 2.0 * above / (terms.positive + 1.0) + 2.0 * second / (k - terms.positive + 1.0)
    return np.asarray((weights * found).sum(axis=1))
