"""Intervals that are one release with their fit, changed in several places that fit each other.

Such a file holds the fit's event and the law of its noise, but not its declarations. What it says
of the fit must be what the matrices rely on: none of these is accepted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import Box, LogisticRegression, OneHot, PureDP, confidence_intervals, fit_with_intervals
from tests.certificate.mutants import Parsed, accepted, parsed
from tests.certificate.test_forged import opened
from tests.laws.releases.registry import quiet

Forge = Callable[[dict[str, Any]], None]


def gap(size: Any) -> Forge:
    """A distance to the minimum that nothing hides, or whose price is turned round."""
    return lambda header: header["fit_noise"].update(gap_sd=size)


def weights(header: dict[str, Any]) -> None:
    """A row of one class pushes the fit a hundred times as far as the theorem says."""
    header["guarantee"]["constants"]["loss"]["weights"] = [1.0, 100.0]
    header["guarantee"]["assumptions"].append("the class weights")


def sensitivity(header: dict[str, Any]) -> None:
    """The same in the whole and in the fit."""
    event = header["guarantee"]["event"]
    for each in (event, event["parts"][0]):
        each["sensitivity"] /= 10.0


def finer(header: dict[str, Any]) -> None:
    """A release that was hardly rounded lies nearer to its minimum."""
    promise = header["guarantee"]
    before, exponent = promise["numerics"].split("release rounded to the grid 2^-")
    told, rest = exponent.split(";", 1)
    promise["numerics"] = f"{before}release rounded to the grid 2^-{int(told) + 4};{rest}"


def wider(header: dict[str, Any]) -> None:
    """The domain of the fit's noise, but not the norm bound of its rows."""
    header["fit_noise"]["main"]["domain"]["blocks"][0]["size"] *= 1.1


def renamed(header: dict[str, Any]) -> None:
    header["guarantee"]["event"]["mechanism"] = "intervals, at no cost"


FORGED: dict[str, Forge] = {
    "another mechanism of the whole": renamed,
    "no gap": gap(0.0),
    "a gap below zero": gap(-1e-7),
    "a gap below rounding": gap(1e-12),
    "a gap in words": gap("1e-7"),
    "class weights": weights,
    "a smaller sensitivity": sensitivity,
    "a finer grid": finer,
}


def forged(file: Parsed, forge: Forge) -> Parsed:
    lines = copy.deepcopy(file.lines)
    forge(lines[0])
    return Parsed(lines, file.body, file.binary)


@pytest.mark.parametrize("name", FORGED)
def test_what_is_said_of_the_fit_is_what_the_matrices_rely_on(name: str) -> None:
    assert not accepted(forged(opened("intervals beside a fit"), FORGED[name]))


@pytest.mark.parametrize("noise", ["product", "hull", "grouped"])
@pytest.mark.parametrize("beside", [True, False])
def test_the_domain_of_the_noise_is_that_of_the_rows(
    noise: Any, beside: bool, tmp_path: Path
) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "i"
    first, second = rng.uniform(-0.6, 0.6, 900), rng.integers(0, 2, 900)
    x, y = np.column_stack([first, 0.05 * np.eye(2)[second]]), (first > 0.0).astype(int)
    domain = [Box(1, 0.6), OneHot(2, 0.05)]
    model = LogisticRegression(PureDP(3.0), regularization=0.05, domain=domain, noise=noise)
    with quiet():
        if beside:
            _, found = fit_with_intervals(model, x, y, budget=PureDP(8.0), share=0.7)
        else:
            found = confidence_intervals(model.fit(x, y), x, y, budget=PureDP(50.0))
        found.save(path)
    honest = parsed(path.read_bytes())
    assert accepted(honest)
    assert not accepted(forged(honest, wider))
