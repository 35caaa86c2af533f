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

import numpy as np
from scipy import stats

from privet._types import Array
from privet.audit.attacks import Finding, surprise
from privet.audit.replay import door
from privet.errors import quietly
from privet.mechanisms import Mechanism
from privet.noise import NOISES
from privet.randomness import source
from privet.rows import checked_rows

ROWS, BITS = 20, 6
EACH = 50  # numbers for each pattern of bits, so that the test's probabilities hold
CHILDREN = 3


def precision_findings(mechanism: Mechanism, draws: int) -> list[Finding]:
    """Grid and last bits of a mechanism's releases from two neighbors."""
    columns = 2 if mechanism.domain is None else mechanism.domain.columns
    with quietly():
        design = mechanism.design(ROWS, columns)
        sides = []
        for sign in (1.0, -1.0):
            x = np.zeros((ROWS, columns))
            x[0, 0] = sign * mechanism.norm_bound
            rows = checked_rows(x, mechanism.loss.targets(np.zeros(ROWS, int)), **door(mechanism))
            released = mechanism.perturb_many(rows, design, source(None), draws)
            sides.append(np.ldexp(released, -design.exponent))
    off = sum(int((side != np.rint(side)).sum()) for side in sides)
    told = "Released numbers that are not on the public grid."
    return [Finding("grid", float(off), 0.0, told), _last_bits(*sides)]


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
    told = f"The last {bits} bits of the steps, against fair coins and between neighbors."
    return surprise("last bits", min(1.0, 3.0 * min(values)), told)


def process_finding() -> Finding:
    """Releases of forked children and of new processes: how many are repeated."""
    found: list[str] = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "privet.audit.precision"],
            capture_output=True,
            text=True,
            check=True,
        )
        found += json.loads(done.stdout)
    repeated = len(found) - len(set(found))
    told = f"Repeated releases among {len(found)} of forked children and new processes."
    return Finding("processes", float(repeated), 0.0, told)


def _drawn() -> str:
    """Bytes of one release each of two laws."""
    draws = [NOISES[kind](1.0, 4).sample(source(None), 1) for kind in ("laplace", "gaussian")]
    return "".join(draw.tobytes().hex() for draw in draws)


def _family() -> list[str]:
    """A process that has drawn, and its children."""
    found = [_drawn()]
    for _ in range(CHILDREN if hasattr(os, "fork") else 0):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, _drawn().encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            found.append(pipe.read())
        os.wait()
    return [*found, _drawn()]


if __name__ == "__main__":
    print(json.dumps(_family()))
