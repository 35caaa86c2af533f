"""Noise of means, matrices and counts that is not what the event says is found by an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privet.audit.answer_noise import answer_noises, sparse_vector_noises
from privet.audit.answer_replay import MUCH
from privet.audit.attacks import Finding
from privet.audit.choice_noise import partition_noises, stopping_noises
from privet.audit.full_audit import REPLAYS
from privet.audit.stated_noise import (
    cone_square,
    independent_square,
    noise_finding,
    spherical_square,
)
from privet.errors import quietly
from privet.mechanisms import (
    counts,
    distinguishing,
    matrix,
    moments,
    projection,
    selection,
    sparse_vector,
)
from privet.mechanisms.sparse_vector import SparseVectorAnswers, SparseVectorDesign
from privet.noise import NOISES, ConeLaplace, GaussianNoise, Laplace
from privet.randomness import InsecureSeed


def halved(add: Callable[..., Any]) -> Callable[..., Any]:
    """The same values with half of the noise that is added to them."""
    return lambda values, *rest: (values + add(values, *rest)) / 2.0


def noises(name: str) -> Iterator[Finding]:
    return (one for one in REPLAYS[name]() if one.check == "noise")


@pytest.mark.parametrize("name", ["evaluation", "means", "intervals"])
def test_half_the_noise_of_what_is_measured_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (moments, matrix):
        monkeypatch.setattr(module, "add_noise", halved(module.add_noise))
    for kind in ("add_discrete_laplace", "add_discrete_gaussian"):
        monkeypatch.setattr(counts, kind, halved(getattr(counts, kind)))
    found = list(noises(name))
    assert found
    assert not any(one.passed for one in found)


def narrow(law: Any) -> Any:
    """The same law at half its scale."""
    return replace(law, scale=law.scale / 2.0)


def test_half_the_noise_of_answers_and_choices_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (projection, distinguishing, sparse_vector):
        monkeypatch.setattr(module, "add_noise", halved(module.add_noise))
    for name in ("level", "comparison"):
        half_of(name)(monkeypatch)
    for module in (selection, distinguishing):
        choose = module.noisy_max
        monkeypatch.setattr(
            module, "noisy_max", lambda v, law, drawn, it=choose: it(v, narrow(law), drawn)
        )
    for kind in ("add_discrete_laplace", "add_discrete_gaussian"):
        monkeypatch.setattr(counts, kind, halved(getattr(counts, kind)))
    found = [*answer_noises(), *partition_noises(), *stopping_noises()]
    assert [one.sentence for one in found if one.passed] == ["answers, function."]


def kept_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of the first threshold serves all epochs."""
    release = SparseVectorAnswers.release

    def keep(running: SparseVectorAnswers, *args: Any) -> float:
        level = running._level
        value = release(running, *args)
        running._level = level
        return value

    monkeypatch.setattr(SparseVectorAnswers, "release", keep)


def kept_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """One noise for all comparisons of an epoch."""

    def ask(running: SparseVectorAnswers, error: float, randomness: Any) -> bool:
        if running._level is None:
            running.kept = running.design.comparison.sample(randomness, 1)[0, 0]
            running._level = (
                running.design.threshold + running.design.level.sample(randomness, 1)[0, 0]
            )
        return bool(error + running.kept >= running._level)

    monkeypatch.setattr(SparseVectorAnswers, "ask", ask)


def half_of(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Half of the noise of thresholds or of comparisons."""
    law = getattr(SparseVectorDesign, name).fget

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(SparseVectorDesign, name, property(lambda it: narrow(law(it))))

    return plant


def half_corrections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_vector, "add_noise", halved(sparse_vector.add_noise))


@pytest.mark.parametrize(
    ("plant", "seen"),
    [
        (half_of("level"), "thresholds"),
        (kept_threshold, "thresholds"),
        (half_of("comparison"), "comparisons"),
        (kept_comparison, "comparisons"),
        (half_corrections, "corrections"),
    ],
    ids=["half thresholds", "one threshold", "half comparisons", "one comparison", "corrections"],
)
def test_a_sparse_vectors_noise_is_that_which_is_stated(
    plant: Callable[[pytest.MonkeyPatch], None], seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with quietly():
        honest = list(sparse_vector_noises(MUCH))
        plant(monkeypatch)
        found = list(sparse_vector_noises(MUCH))
    assert all(one.passed for one in honest)
    assert [one.sentence.split(", ")[-1] for one in found if not one.passed] == [f"{seen}."]


def test_noise_that_is_forgotten_or_used_again_is_seen() -> None:
    assert not noise_finding(lambda: np.ones(3), 1.0, "").passed


@pytest.mark.parametrize(
    ("noise", "square"),
    [
        (NOISES["laplace"](2.0, 5), spherical_square("laplace", 2.0, 5)),
        (GaussianNoise(2.0, 5), spherical_square("gaussian", 2.0, 5)),
        (ConeLaplace(2.0, 12, 3), cone_square(2.0, 3)),
        (Laplace(2.0, 1), independent_square("laplace", 2.0, 1)),
        (GaussianNoise(2.0, 1), independent_square("gaussian", 2.0, 1)),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
def test_stated_squares_are_those_of_the_laws(noise: Any, square: float) -> None:
    drawn = noise.sample(InsecureSeed(0), 20_000).reshape(20_000, -1)
    assert (drawn**2).sum(axis=1).mean() == pytest.approx(square, rel=0.1)
