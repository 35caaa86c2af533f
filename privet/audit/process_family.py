"""A process that has drawn noise, and its children: what each of them draws, as JSON.

``precision.process_finding`` runs this file in new processes and looks for repetitions.
"""

from __future__ import annotations

import json
import os

from privet.noise import NOISES
from privet.randomness import source

CHILDREN = 3


def _drawn() -> str:
    """Bytes of one release each of two laws."""
    draws = [NOISES[kind](1.0, 4).sample(source(None), 1) for kind in ("laplace", "gaussian")]
    return "".join(draw.tobytes().hex() for draw in draws)


def _family() -> list[str]:
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
