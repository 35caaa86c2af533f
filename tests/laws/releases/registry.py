"""The list of releases, and what an entry of it is.

A release is a function of the seed (None: the operating system's source, as in earnest). It returns
what was published, the event that covers it, and the draws that this event claims.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import ZCDP, ApproxDP, PureDP
from privet.errors import PrivetWarning, quietly
from privet.mechanisms import Design, Draw
from privet.mechanisms.release import draw as drawn
from privet.privacy import Event

Array = NDArray[np.float64]
Words = list[NDArray[np.uint64]]
ROWS = 400
PURE, ROOT, APPROX = PureDP(1.5), ZCDP(0.4), ApproxDP(1.5, 1e-6)


Claim = Callable[[Words], list[Draw]]


@dataclass(frozen=True)
class Published:
    """What went out: numbers by name, the event that covers them, and the draws it claims.

    ``words`` says how many words may be read apart from noise, call by call (the order of the rows,
    the number of runs ...), for given ones; None where public features were drawn.
    """

    event: Event
    numbers: dict[str, Array]
    claim: Claim
    words: Callable[[Words], list[int]] | None

    #: of the numbers, those that the noise is added to: they move in proportion to it
    linear: tuple[str, ...] = ()
    #: what can be written to a file: a model, intervals, an evaluation, answers
    released: tuple[Any, ...] = ()


Run = Callable[[int | None], Published]
RELEASES: dict[str, Run] = {}
#: Those of which nothing is written to a file that a certificate could read.
UNWRITTEN: set[str] = set()


@contextmanager
def quiet() -> Iterator[None]:
    """Advice about tables this small is not the point here."""
    with quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivetWarning)
        yield


def release(name: str, written: bool = True) -> Callable[[Run], Run]:
    """Enter a release into the list; ``written`` says whether files hold what it publishes."""

    def enter(run: Run) -> Run:
        assert name not in RELEASES, name
        RELEASES[name] = quiet()(run)
        if not written:
            UNWRITTEN.add(name)
        return run

    return enter


def published(
    event: Event,
    numbers: dict[str, Any],
    claim: Claim | Sequence[Draw],
    words: Callable[[Words], list[int]] | Sequence[int] | None = (),
    linear: tuple[str, ...] = (),
    released: tuple[Any, ...] = (),
) -> Published:
    """Numbers as arrays; draws and words as functions of the words that were read."""
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in numbers.items()}
    draws = claim if callable(claim) else lambda _: list(claim)
    read = words if words is None or callable(words) else lambda _: list(words)
    return Published(event, arrays, draws, read, linear, released)


def added(event: Event, dimension: int, count: int = 1) -> Draw:
    """The event's noise, added to a value: exact where it is Gaussian."""
    return Draw(event.noise, event.scale, dimension, count, exact=event.noise == "gaussian")


def fitted(design: Design) -> list[Draw]:
    """The draws of a fit: the noise that the event claims, and what pays for the gap."""
    main, *gap = design.draws
    assert (main.kind, main.scale) == (design.event.noise, design.event.scale)
    assert main == drawn(design.main)
    assert gap == ([] if design.gap is None else [drawn(design.gap)])
    return [main, *gap]


def people(classes: int = 2, n: int = ROWS) -> tuple[Array, NDArray[np.int_]]:
    """Made-up rows in the unit ball, whose labels can be learned."""
    rng = np.random.default_rng(classes)
    truth = rng.normal(size=(3, classes))
    x = rng.uniform(-0.55, 0.55, (n, 3))
    scores = x @ truth + 0.2 * rng.normal(size=(n, classes))
    return x, scores.argmax(axis=1)


def public_points(count: int = 6) -> Array:
    """Points of nobody."""
    return np.random.default_rng(5).uniform(-0.5, 0.5, (count, 3))
