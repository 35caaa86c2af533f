"""A private forest of random trees (Fletcher and Islam 2017), as a peer library builds it.

Features and thresholds of every node are drawn without looking; each row goes to one tree. Of each
leaf the most frequent class is released by permute-and-flip, which is the largest of the counts
plus exponential noise (Ding et al. 2021). A replaced row changes two leaves of its tree, or two
counts of one leaf, so that each leaf has half of epsilon. Trees vote.
"""

from __future__ import annotations

import numpy as np

from .rival import Array, Codes, Promise, Rival, Task

TREES = (10, 30, 100)
DEPTHS = (4, 8)


class RandomTree:
    """Public random splits; ``leaves`` says in which leaf each row ends."""

    def __init__(self, task: Task, depth: int, rng: np.random.Generator) -> None:
        nodes = 2**depth - 1
        sizes = np.concatenate([np.full(b.width, b.size) for b, _ in task.domain.parts()])
        self.depth, self.columns = depth, rng.integers(len(sizes), size=nodes)
        share = rng.uniform(-1.0, 1.0, nodes)
        numbers = task.numbers[self.columns]
        self.cuts = np.where(numbers, share, 0.5) * sizes[self.columns]

    def leaves(self, x: Array) -> Codes:
        """The leaf of each row."""
        node, rows = np.zeros(len(x), dtype=int), np.arange(len(x))
        for _ in range(self.depth):
            right = x[rows, self.columns[node]] > self.cuts[node]
            node = 2 * node + 1 + right
        return np.asarray(node - (2**self.depth - 1))


def random_trees(task: Task, promise: Promise, rng: np.random.Generator) -> dict[str, Array]:
    """Shares of votes for every number of trees and depth."""
    out = {}
    for count in TREES:
        for depth in DEPTHS:
            votes = np.zeros((len(task.x_test), task.classes))
            parts = np.array_split(rng.permutation(len(task.y)), count)
            for rows in parts:
                tree = RandomTree(task, depth, rng)
                counts = np.zeros((2**depth, task.classes))
                np.add.at(counts, (tree.leaves(task.x[rows]), task.y[rows]), 1.0)
                noisy = counts + rng.exponential(2.0 / promise.epsilon, counts.shape)
                chosen = noisy.argmax(axis=1)[tree.leaves(task.x_test)]
                votes[np.arange(len(chosen)), chosen] += 1.0 / count
            out[f"{count} trees, depth {depth}"] = votes
    return out


RIVAL: Rival = random_trees
