"""One thread for linear algebra on blocks.

A block fits the cache, so a product with it takes microseconds: less than waking a second BLAS
thread and waiting for it. On a busy machine the waiting made a fit twenty times slower. Engines
that work on several blocks at once have a thread of their own for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
T = TypeVar("T")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: once is enough


def one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Run ``function`` with BLAS held to one thread."""

    @wraps(function)
    def held(*args: P.args, **kwargs: P.kwargs) -> T:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return held
