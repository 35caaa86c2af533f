"""How much may be asked: bytes, rows, requests a minute, requests at once.

Every limit is public and none depends on a row. Rates are counted for each token in each worker, so
several workers together admit up to as many times more. All who ask without a token share one rate:
behind a server that speaks TLS all come from its address, and what it says of theirs anybody could
write, so a limit by address is for that server to keep.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from privet._checks import number_between


@dataclass(frozen=True)
class ServiceLimits:
    """ServiceLimits of one service."""

    body: int = 4 << 20
    rows: int = 10_000
    per_minute: float = 6_000.0
    at_once: int = 64
    seconds: float = 30.0  # for a body to arrive

    def __post_init__(self) -> None:
        number_between("body", self.body, 1_000, 1 << 30)
        number_between("rows", self.rows, 1, 1_000_000)
        number_between("per_minute", self.per_minute, 1, 1e9)
        number_between("at_once", self.at_once, 1, 10_000)
        number_between("seconds", self.seconds, 0.1, 3_600)


@dataclass
class _Bucket:
    left: float
    seen: float


@dataclass
class RateLimit:
    """A bucket for each token: full at first, a minute fills it again."""

    per_minute: float
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, _Bucket] = field(default_factory=dict)

    def wait(self, name: str) -> float:
        """Take one; 0.0, or after how many seconds there will be one."""
        now = self.clock()
        bucket = self._buckets.setdefault(name, _Bucket(self.per_minute, now))
        refill = (now - bucket.seen) * self.per_minute / 60.0
        bucket.left, bucket.seen = min(self.per_minute, bucket.left + refill), now
        if bucket.left >= 1.0:
            bucket.left -= 1.0
            return 0.0
        return (1.0 - bucket.left) * 60.0 / self.per_minute
