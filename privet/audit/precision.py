"""Probes of what proofs idealize: the last bits of released numbers, and noise of other processes.

grid          every released number is a whole number of steps of the public grid
last bits     the lowest bits of the steps are as often 0 as 1, from either of two neighbors,
              and their pattern does not tell the neighbors apart
processes     children of a process that has drawn before, and new processes, share no noise
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from privet._types import Array
from privet.audit.attacks import Finding, surprise
from privet.audit.replay import door
from privet.errors import quietly
from privet.mechanisms import ClassMeans, Mechanism
from privet.randomness import source
from privet.rows import Rows, checked_rows

ROWS, BITS = 20, 6
EACH = 50  # numbers for each pattern of bits, so that the test's probabilities hold
#: Run by its path: a small program that imports no more than it draws with.
FAMILY = str(Path(__file__).with_name("process_family.py"))


def precision_findings(mechanism: Mechanism | ClassMeans, draws: int) -> list[Finding]:
    """Grid and last bits of a mechanism's releases from two neighbors."""
    columns = 2 if mechanism.domain is None else mechanism.domain.columns
    with quietly():
        design = mechanism.design(ROWS, columns)
        sides = []
        for sign in (1.0, -1.0):
            x = np.zeros((ROWS, columns))
            x[0, 0] = sign * mechanism.norm_bound
            rows = checked_rows(x, mechanism.loss.targets(np.zeros(ROWS, int)), **door(mechanism))
            released = _released(mechanism, rows, design, draws)
            sides.append(np.ldexp(released, -design.exponent))
    off = sum(int((side != np.rint(side)).sum()) for side in sides)
    told = "Released numbers that are not on the public grid."
    return [Finding("grid", float(off), 0.0, told), _last_bits(*sides)]


def _released(mechanism: Mechanism | ClassMeans, rows: Rows, design: Any, draws: int) -> Array:
    """What is rounded to the grid: the parameters, or the sums that they are computed from."""
    if isinstance(mechanism, ClassMeans):
        return mechanism.noisy_sums(rows, design, source(None), draws)
    return mechanism.perturb_many(rows, design, source(None), draws)


def _last_bits(first: Array, second: Array) -> Finding:
    """Both neighbors' last bits are uniform, and alike."""
    bits = min(BITS, int(math.log2(first.size / EACH)))
    cells = 1 << bits
    counts = [
        np.bincount((np.ravel(side).astype(np.int64) & (cells - 1)), minlength=cells)
        for side in (first, second)
    ]
    values = [float(stats.chisquare(count).pvalue) for count in counts]
    seen = np.array(counts)
    values.append(float(stats.chi2_contingency(seen[:, seen.sum(axis=0) > 0]).pvalue))
    told = f"Last {bits} bits against fair coin flips and between neighbors, -log10 p."
    return surprise("last bits", min(1.0, 3.0 * min(values)), told)


def process_finding() -> Finding:
    """Releases of forked children and of new processes: how many are repeated."""
    root = str(Path(__file__).parents[2])  # where this very package is, installed or not
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-P", FAMILY],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        for _ in range(2)
    ]
    found = [release for one in started for release in json.loads(one.communicate()[0])]
    repeated = len(found) - len(set(found))
    told = f"Repeated releases among {len(found)} from forked children and new processes."
    return Finding("processes", float(repeated), 0.0, told)
