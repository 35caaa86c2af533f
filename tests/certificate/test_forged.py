"""Files that a referee forged, each a promise that is too good: none of them is accepted.

Whoever forges a file changes everything that is compared: what is dropped here is dropped with its
curves, the claim and the declared budget are lowered with it, and the arrays stay, since they are
what the forger wants to give away.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import LogisticRegression, PureDP, fit_table
from privet.schema import Label, Numeric, Person, Schema
from tests.certificate.mutants import Parsed, accepted, changed, found_at, parsed, with_event
from tests.certificate.released import files
from tests.laws.releases.registry import quiet

EVENT = (0, "guarantee", "event")


def opened(name: str) -> Parsed:
    """The last file of a release; an honest one is accepted."""
    found = parsed(files(name)[-1].read_bytes())
    assert accepted(found)
    return found


def persons(tmp_path: Path) -> Parsed:
    """A model for persons with four rows each."""
    rng = np.random.default_rng(0)
    table = {
        "who": [str(i // 4) for i in range(400)],
        "age": rng.uniform(0.0, 100.0, 400).tolist(),
        "ill": rng.integers(0, 2, 400).tolist(),
    }
    schema = Schema({"age": Numeric(0, 100)}, Label("ill", [0, 1]), Person("who", 4))
    with quiet():
        fit_table(LogisticRegression(PureDP(4.0)), schema, table).save(tmp_path / "m")
    return parsed((tmp_path / "m").read_bytes())


def test_rows_of_a_person_are_those_of_the_schema(tmp_path: Path) -> None:
    honest = persons(tmp_path)
    assert accepted(honest)
    promise = honest.lines[0]["guarantee"]
    assert promise["group"] == 4
    for change in (
        {"group": 1},
        {"group": 2},
        {"group": 1, "unit": "one row of the training table"},
        {
            "group": 1,
            "unit": "one row of the training table",
            "neighbours": "tables of the same public size that differ in one row (replace one)",
        },
        {"neighbours": "tables of the same public size that differ in one row (replace one)"},
        {"unit": promise["unit"].replace("4 rows", "40 rows")},
        {"assumptions": [each.replace("= 4", "= 1") for each in promise["assumptions"]]},
    ):
        assert not accepted(changed(honest, (0, "guarantee"), {**promise, **change})), change


def only(part: int) -> Callable[[Parsed], Parsed]:
    """The event is one part, and that is all that the file says it costs."""

    def forge(file: Parsed) -> Parsed:
        promise = file.lines[0]["guarantee"]
        made = with_event(file, promise["event"]["parts"][part])
        stage, fit = promise["numerics"].split("; ", 1)
        made.lines[0]["guarantee"]["numerics"] = (fit, stage)[part]
        return made

    return forge


def mechanism_of_another_class(file: Parsed) -> Parsed:
    """Noisy second moments under the name of a classifier."""
    donor = opened("linear statistics zcdp").lines[0]["guarantee"]
    made = with_event(file, donor["event"])
    made.lines[0]["guarantee"]["numerics"] = donor["numerics"]
    made.lines[0]["parameters"]["mechanism"] = "statistics"
    return made


def fewer_rounds(file: Parsed) -> Parsed:
    """One round of centers paid, three released."""
    event = copy.deepcopy(file.lines[0]["guarantee"]["event"])
    centers = event["parts"][-1]
    rho = centers["curves"][0]["rho"]
    saved = (len(centers["curves"]) - 1) * rho
    centers["curves"] = centers["curves"][:1]
    centers["claim"]["rho"] = rho
    event["curves"] = [curve for part in event["parts"] for curve in part["curves"]]
    event["claim"]["rho"] -= saved
    return with_event(file, event)


def without_a_table(place: int, *, table: bool) -> Callable[[Parsed], Parsed]:
    """An evaluation that pays for all tables but one; ``table``: it is left out too."""

    def forge(file: Parsed) -> Parsed:
        parts = file.lines[0]["guarantee"]["event"]["parts"]
        (rest,) = (part for other, part in enumerate(parts) if other != place)
        made = with_event(file, rest)
        if table:
            counts = made.lines[0]["counts"]
            del counts[list(counts)[place]]
        return made

    return forge


def lower_eta(file: Parsed) -> Parsed:
    """The price of another law of the number of runs."""
    made = copy.deepcopy(file)
    promise = made.lines[0]["guarantee"]
    event, run = promise["event"], made.lines[0]["parameters"]["budget"]["epsilon"]
    event["curves"] = [{"kind": "pure", "loss": 2.0 * run}]
    event["claim"] = {"kind": "pure", "epsilon": 2.0 * run}
    promise["constants"]["eta"] = 0.5
    return made


def one_candidate(file: Parsed) -> Parsed:
    """A public search that pays for one fit of its three."""
    made = copy.deepcopy(file)
    part = made.lines[0]["parameters"]["budget"]
    event = made.lines[0]["guarantee"]["event"]
    event["claim"] = dict(part)
    event["curves"] = [{"kind": "concentrated", "rho": part["rho"], "loss": 0.0}]
    return made


def placed(place: tuple[Any, ...], value: Any) -> Callable[[Parsed], Parsed]:
    return lambda file: changed(file, place, value)


def scaled_noise(place: tuple[Any, ...], value: Any, factor: float) -> Callable[[Parsed], Parsed]:
    """Another declaration, with sensitivity and noise that fit it."""

    def forge(file: Parsed) -> Parsed:
        made = changed(file, place, value)
        event = made.lines[0]["guarantee"]["event"]
        for name in ("scale", "sensitivity"):
            event[name] *= factor
        event["m"] -= place[-1] == "fit_intercept"
        return made

    return forge


def pure_under_another_curve(file: Parsed) -> Parsed:
    """Comparisons of a pure epsilon, under a curve whose rho is tied to nothing."""
    event = copy.deepcopy(file.lines[0]["guarantee"]["event"])
    (curve,) = event["curves"]
    event["curves"] = [{"kind": "concentrated", "rho": 1e-4, "loss": curve["loss"]}]
    event["claim"] = {"kind": "zcdp", "rho": 1e-4}
    made = changed(file, EVENT, event)
    made.lines[0]["declarations"]["budget"] = event["claim"]
    return made


def called_exact(file: Parsed) -> Parsed:
    place = (0, "guarantee", "numerics")
    words = file.lines[0]["guarantee"]["numerics"]
    return changed(file, place, words.replace("floating-point laplace", "exact discrete Laplace"))


def finer(file: Parsed, steps: int) -> Parsed:
    """The grid that belongs to less noise."""
    words = file.lines[0]["guarantee"]["numerics"]
    told = re.sub(r"2\^-(\d+)", lambda found: f"2^-{int(found[1]) + steps}", words)
    return changed(file, (0, "guarantee", "numerics"), told)


def fitted_on_validation_rows(file: Parsed) -> Parsed:
    """Fit and count have the whole budget of a run each, which only disjoint rows allow."""
    rows = file.lines[0]["guarantee"]["event"]["n"]
    made = finer(changed(file, (*CONSTANTS, "fit", "n"), rows), 1)
    made.lines[0]["guarantee"]["constants"]["gap_scale"] *= 1.001
    return made


def loss_of_a_residual(file: Parsed) -> Parsed:
    """Classes under a loss whose bound is as small as one likes."""
    made = finer(scaled_noise((*PARAMETERS, "h"), 0.01, 0.01000005)(file), 7)
    made.lines[0]["parameters"]["loss"] = "huber_residual"
    return made


def two_schemas(file: Parsed) -> Parsed:
    """A schema without persons beside the one of the steps."""
    made = copy.deepcopy(file)
    inner = '[person]\ncolumn = "who"\nmost_rows = 4\n'
    made.lines[0]["schema"] = ""
    made.lines[0]["steps"] = {"schema": inner}
    return made


def two_grids(file: Parsed) -> Parsed:
    """A second grid in the sentence, so that no grid belongs to a part and none is compared."""
    words = file.lines[0]["guarantee"]["numerics"]
    told = re.sub(r"2\^-(\d+)", r"2^-\1 or 2^-60", words)
    return changed(file, (0, "guarantee", "numerics"), told)


def private_centers(file: Parsed) -> Parsed:
    """Centers that rows placed, declared as public ones that nothing pays for."""
    made = only(0)(file)
    held = made.lines[0]["arrays"].pop("centers_")
    classes, components, columns = held
    size = 8 * classes * components * columns
    made.lines[0]["parameters"]["centers"] = [[[0.25] * columns] * components] * classes
    return Parsed(made.lines, made.body[:-size], True)


def cheaper_chosen_fit(file: Parsed) -> Parsed:
    """The curves of the chosen fit alone, each at nine tenths."""
    place = (*CONSTANTS, "fit", "curves")
    curves = copy.deepcopy(file.lines[0]["guarantee"]["constants"]["fit"]["curves"])
    for curve in curves:
        for name in {"loss", "rho", "shift"} & set(curve):
            curve[name] *= 0.9
    return changed(file, place, curves)


def learned_step(kept: Any) -> Callable[[Parsed], Parsed]:
    """A step that learned something of the rows, which nothing pays for."""

    def forge(file: Parsed) -> Parsed:
        steps = {"schema": None, "steps": [["first", *kept]], "columns": 3, "name": "model"}
        return changed(file, (0, "steps"), steps)

    return forge


def in_words(file: Parsed) -> Parsed:
    place = (*EVENT, "curves", 0, "loss")
    return changed(file, place, repr(found_at(file.lines, place)))


PARAMETERS = (0, "parameters")
CONSTANTS = (0, "guarantee", "constants")
FORGED: dict[str, tuple[str, Callable[[Parsed], Parsed]]] = {
    "only the moments are paid": ("logistic standardized zcdp", only(1)),
    "only the whitening is paid": ("logistic whitened zcdp", only(1)),
    "only the centers are paid": ("gaussian mixture zcdp", only(1)),
    "the moments are not paid": ("logistic standardized zcdp", only(0)),
    "the whitening is not paid": ("svc whitened", only(0)),
    "the centers are not paid": ("gaussian mixture pure", only(0)),
    "a mechanism of another class": ("logistic output gaussian zcdp", mechanism_of_another_class),
    "one round of three": ("gaussian mixture zcdp", fewer_rounds),
    "a table without its part": ("evaluate zcdp", without_a_table(1, table=False)),
    "the first table without its part": ("evaluate zcdp", without_a_table(0, table=False)),
    "measures without their table": ("evaluate zcdp", without_a_table(1, table=True)),
    "groups without their table": ("evaluate groups", without_a_table(1, table=True)),
    "another eta": ("stopping pure", lower_eta),
    "eta below its range": ("stopping zcdp", placed((*EVENT, "curves", 0, "eta"), -5.0)),
    "gamma above its range": ("stopping zcdp", placed((*EVENT, "curves", 0, "gamma"), 2.0)),
    "one candidate of three": ("public zcdp", one_candidate),
    "a class weighed twice": (
        "logistic weighted",
        scaled_noise((*PARAMETERS, "class_weight"), [[0, 1.0], [0, 1.0]], 1.0 / 3.0),
    ),
    "weights of the ridge for more columns": (
        "own output weighted",
        placed((*PARAMETERS, "regularizer", "weights"), [1.0, 4.0, 0.5, 9.0]),
    ),
    "weights of the ridge for fewer columns": (
        "own output weighted",
        scaled_noise((*PARAMETERS, "regularizer", "weights"), [1.0, 4.0], 1.001 * 0.5**0.5),
    ),
    "an intercept that nothing pays for": (
        "logistic output pure",
        scaled_noise((*PARAMETERS, "fit_intercept"), False, 1.0001 * 1.25**-0.5),
    ),
    "a pure loss under another curve": ("sparse pure", pure_under_another_curve),
    "a negative scale of answers": ("sparse pure", placed((*CONSTANTS, "answer_scale"), -1.0)),
    "a negative scale of a choice": ("partition pure", placed((*EVENT, "scale"), -1.0)),
    "a negative norm": ("logistic output pure", placed((*PARAMETERS, "norm_bound"), -1.0)),
    "no declared budget": ("logistic objective pure", placed((*PARAMETERS, "budget"), None)),
    "more points than rounds": ("net pure", placed((*CONSTANTS, "rounds"), 2)),
    "no grid": ("logistic objective pure", placed((0, "guarantee", "numerics"), "exact")),
    "noise that is called exact": (
        "logistic objective pure",
        called_exact,
    ),
    "a chosen fit that is not private": (
        "stopping pure",
        placed((*CONSTANTS, "fit", "why_not_private"), "the noise was seeded"),
    ),
    "a fit on the rows that validate": ("stopping pure", fitted_on_validation_rows),
    "a loss of residuals for classes": ("svc output pure", loss_of_a_residual),
    "a kernel without frequencies": (
        "kernel svc",
        placed(
            (*PARAMETERS, "kernel"),
            {"name": "polynomial", "norm_bound": 1.0, "gamma": 1.0, "coef0": 0.0, "degree": 1},
        ),
    ),
    "two grids in one clause": ("logistic objective pure", two_grids),
    "private centers under the name of public ones": ("gaussian mixture pure", private_centers),
    "curves of the chosen fit, pure": ("stopping pure", cheaper_chosen_fit),
    "curves of the chosen fit, zcdp": ("public zcdp", cheaper_chosen_fit),
    "curves of the chosen fit of a part": ("partition pure", cheaper_chosen_fit),
    "a step that learned means": (
        "logistic objective pure",
        learned_step(["StandardScaler", {"mean_": [0.1, 0.2, 0.3]}]),
    ),
    "a known step that keeps a list": (
        "logistic objective pure",
        learned_step(["Normalizer", {"norm": [0.1, 0.2, 0.3]}]),
    ),
    "a loss in words": ("logistic objective pure", in_words),
    "a function of all rows": (
        "logistic objective pure",
        learned_step(["numpy", {"function": "cumsum"}]),
    ),
    "two schemas": ("logistic objective pure", two_schemas),
    "answers under another name": ("function zcdp", placed((0, "format"), "privet-intervals-2")),
    "a seed that nobody mentions": (
        "logistic objective pure",
        placed((*PARAMETERS, "insecure_seed"), 7),
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_no_forged_file_is_accepted(name: str) -> None:
    release, forge = FORGED[name]
    assert not accepted(forge(opened(release)))


def test_an_evaluation_is_of_the_unit_that_it_says(tmp_path: Path) -> None:
    honest = opened("evaluate pure")
    promise = honest.lines[0]["guarantee"]
    for change in ({"group": 3}, {"unit": "one row of the training table"}, {"unit": "one house"}):
        assert not accepted(changed(honest, (0, "guarantee"), {**promise, **change})), change


def test_a_step_that_learns_nothing_is_accepted() -> None:
    """What makes the two above refused is what they keep, not that there is a step."""
    assert accepted(learned_step(["Normalizer", {"norm": "l2"}])(opened("logistic objective pure")))
