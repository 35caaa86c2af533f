"""Memory for what a thread computes and forgets, block after block.

Workers of a cluster may be told to return memory to the system at once, as Dask's are: a new array
for each block then costs as much in page faults as the arithmetic on it. What is written here is
read in the same function and never handed on.
"""

from __future__ import annotations

import math
from threading import local
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Bytes that a thread keeps; a larger array is made anew.
MOST_BYTES = 1 << 23


class _Kept(local):
    """A buffer of each thread."""

    def __init__(self) -> None:
        self.buffer = np.empty(0, dtype=np.uint8)


_KEPT = _Kept()


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array to write on, with anything in it; this thread's next call hands it out again."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size > MOST_BYTES:
        return np.empty(shape, dtype=dtype)
    if len(_KEPT.buffer) < size:
        _KEPT.buffer = np.empty(size, dtype=np.uint8)
    return _KEPT.buffer[:size].view(dtype).reshape(shape)
