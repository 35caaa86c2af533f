"""What a model file holds, against what its declarations say that it holds.

mechanism, noise   those of the model's class, and those declared
parts              one fit, and one part for each stage that the declarations ask for
arrays             those of the fit, of its stages and of its public map, in their shapes
intercept          a number of the declarations where no constant column pays for it
labels             different from each other, weights for classes that exist, each named once
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from privet.certificate.declared_rows import FULL_LENGTH
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.promised_unit import declared_schema
from privet.certificate.stages import Shapes, declared_stages
from privet.certificate.verdicts import Number, Undecided, agreed, fact

MINIMIZERS = ("output", "objective")
TRAINERS = (*MINIMIZERS, "gradient")
#: The mechanisms of each model.
MECHANISMS: dict[str, tuple[str, ...]] = {
    "LogisticRegression": (*TRAINERS, "means"),
    "LinearSVC": TRAINERS,
    "KernelLogisticRegression": MINIMIZERS,
    "KernelSVC": MINIMIZERS,
    "KernelHuberRegressor": MINIMIZERS,
    "LargeMarginGaussian": MINIMIZERS,
    "LinearRegression": (*TRAINERS, "statistics"),
    "HuberRegressor": TRAINERS,
    "PoissonRegressor": TRAINERS,
    "PrivateERM": TRAINERS,
}
WORDS = {
    "objective": "objective perturbation",
    "statistics": "noisy second moments",
    "output": "output perturbation",
    "gradient": "private gradient descent",
    "means": "noisy class means",
}
#: A Poisson regression starts from this share of the largest rate.
START = 0.25
ROUNDED = 1e-9


def fit_contents(facts: FileFacts) -> Iterator[Number]:
    """The event of a fit: its mechanism, its noise and its parts."""
    model, p = facts.header["model"], facts.parameters
    if model not in MECHANISMS:
        raise Undecided(f"the model {model!r} is not known here")
    fit, *others = facts.event.get("parts") or [facts.event]
    declared = p.get("mechanism", "auto")
    right = fit["mechanism"] in MECHANISMS[model] and declared in ("auto", fit["mechanism"])
    told = f"must be one of {model}, and the declared one"
    yield agreed("fit", "mechanism", right, told)
    right = p.get("noise", "auto") in ("auto", fit["noise"])
    yield agreed("fit", "noise", right, "must be the declared noise")
    stages = declared_stages(facts)
    name = fit["mechanism"]
    if stages:
        after = " and ".join(stage.name for stage in stages)
        name = f"{WORDS.get(name, name)} after {after}"
    right = [part["mechanism"] for part in others] == ["moments"] * len(stages)
    right = right and facts.event["mechanism"] == name
    told = "the event must have the fit and a part for each stage that is declared, in order"
    yield fact("fit", "parts", 1 + len(others), right, told)
    for stage, part in zip(stages, others, strict=False):
        rounds = len(part["curves"])
        told = f"{stage.name} takes {stage.rounds} of them, each with a curve of its own"
        yield fact("fit", "rounds", rounds, rounds == stage.rounds, told)


def array_contents(facts: FileFacts) -> Iterator[Number]:
    """The arrays of a model, and the numbers in them that nothing pays for."""
    shape = _coefficients(facts)
    wanted: Shapes = {"coef_": [shape.rows, shape.columns], "intercept_": [shape.rows]}
    for stage in declared_stages(facts):
        wanted |= stage.arrays
    p = facts.parameters
    if p.get("standardize") == "whiten":  # by public rows too
        wanted["whitening_"] = [shape.columns, shape.columns]
    wanted |= _map_arrays(facts, shape.columns)
    held = facts.header["arrays"]
    told = "must be those of the fit, of its stages and of its public map, in their shapes"
    yield fact("file", "arrays", len(held), held == wanted, told)
    told = "must be of these columns, and have as many features as there are coefficients"
    yield agreed("file", "feature map", _is_of_these(facts, shape.columns), told)
    told = "must be as many as the arrays have"
    count = sum(math.prod(sizes) for sizes in held.values())
    yield fact("file", "released numbers", facts.numbers, facts.numbers == count, told)
    if shape.rows > 1 and facts.header["model"] != "PrivateERM":
        told = (
            "scores of classes add up to zero: one of them is not drawn but follows from the rest"
        )
        yield agreed("file", "scores", _adds_up_to_zero(facts, shape.rows), told)
    if not shape.constant:
        expected = _public_intercept(facts)
        room = ROUNDED * (1.0 + abs(expected))
        right = all(abs(each - expected) <= room for each in facts.arrays["intercept_"])
        told = "without a constant column nothing pays for an intercept"
        yield agreed("file", "intercept", right, told)


def _adds_up_to_zero(facts: FileFacts, rows: int) -> bool:
    """Whether the rows of coefficients, and the intercepts, cancel in every column."""
    for numbers in (facts.arrays["coef_"], facts.arrays["intercept_"]):
        width = len(numbers) // rows
        room = ROUNDED * max(map(abs, numbers), default=0.0)
        if any(abs(math.fsum(numbers[j::width])) > room for j in range(width)):
            return False
    return True


@dataclass(frozen=True)
class CoefficientShape:
    """Rows and columns of ``coef_``, and whether a constant column is behind the intercept."""

    rows: int
    columns: int
    constant: bool


def _coefficients(facts: FileFacts) -> CoefficientShape:
    p, model, d = facts.parameters, facts.header["model"], int(facts.header["n_features"])
    classes = len(facts.header["classes"]["values"])
    held = facts.header["arrays"]["coef_"][-1]
    if model == "LargeMarginGaussian":
        parts = classes * int(p["components"])
        widths = {"full": (d + 1) * (d + 2) // 2, "diagonal": 2 * d + 1, "spherical": d + 2}
        return CoefficientShape(1 if parts == 2 else parts, widths[p["covariance"]], False)
    rows = 1 if classes == 2 else classes
    if "target_bounds" in p:
        rows = int(p["loss"]["scores"]) if model == "PrivateERM" else 1
    if p.get("standardize") in FULL_LENGTH:
        return CoefficientShape(rows, d + bool(p["fit_intercept"]), False)
    columns = d if p.get("features") is None and "kernel" not in p else held
    return CoefficientShape(rows, columns, bool(p["fit_intercept"]))


def _map_arrays(facts: FileFacts, columns: int) -> Shapes:
    """A public map's own array, where the model keeps one; its size is that of the features."""
    p, held = facts.parameters, facts.header["arrays"]
    if "kernel" not in p or p.get("features") is not None:
        return {}
    points = p.get("public_points")
    if points is None:
        return {"frequencies_": [columns // 2, int(facts.header["n_features"])]}
    kept = held.get("whitener_", [])
    return {"whitener_": [len(points), columns if kept[1:] == [columns] else -1]}


def _is_of_these(facts: FileFacts, columns: int) -> bool:
    """Whether a declared map is one of the table's columns to the features of the scores."""
    found, d = facts.parameters.get("features"), int(facts.header["n_features"])
    if found is None:
        return True
    if found["name"] == "fourier":
        rows = found["frequencies_"]
        return columns == 2 * len(rows) and all(len(row) == d for row in rows)
    points, rows = found["public_points"], found["whitener_"]
    right = len(rows) == len(points) and all(len(row) == columns for row in rows)
    return right and all(len(point) == d for point in points if isinstance(point, list))


def _public_intercept(facts: FileFacts) -> float:
    """What a prediction is where all features are zero."""
    model, p = facts.header["model"], facts.parameters
    if model in ("LinearRegression", "HuberRegressor", "KernelHuberRegressor"):
        low, high = map(float, p["target_bounds"])
        return low / 2.0 + high / 2.0
    if model == "PoissonRegressor":
        return math.log(START * p["target_bounds"][1])
    return 0.0


def preparation_contents(facts: FileFacts) -> Iterator[Number]:
    """How rows are prepared, and the ranges of columns where means of them are released."""
    p, d = facts.parameters, int(facts.header["n_features"])
    way, bounds = p.get("standardize"), p.get("column_bounds")
    if p.get("calibration") not in (None, "exact", "wang2018", "chaudhuri2011"):
        raise Undecided(f"the calibration {p['calibration']!r} is not known here")
    if not isinstance(p.get("features"), dict | None) or not isinstance(
        p.get("centers"), list | None
    ):
        raise Undecided("a map or centers that are no such thing are not known here")
    if way not in (None, "auto", "private", *FULL_LENGTH):
        raise Undecided(f"the preparation {way!r} is not known here")
    right = (bounds is not None) == (way == "private")
    if right and bounds is not None:
        low, high = ([end] * d if not isinstance(end, list) else end for end in bounds)
        right = len(low) == len(high) == d
        right = right and all(a < b for a, b in zip(low, high, strict=True))
    told = "column bounds must be declared for private standardization, and only for it"
    yield agreed("file", "preparation", right, told)


def label_contents(facts: FileFacts) -> Iterator[Number]:
    """Classes, class weights, weights of the ridge, a center: as many as there must be."""
    p, values = facts.parameters, facts.header["classes"]["values"]
    right = len(values) >= 2 and _different(values)
    declared = p.get("classes")
    if declared is not None and not isinstance(declared, str):
        right = right and sorted(map(str, declared["values"])) == sorted(map(str, values))
    if "target_bounds" in p:
        right = right and values == p["target_bounds"]
    named = declared_schema(facts).get("label", {}).get("classes", values)
    right = right and (set(named) == set(values) or {*map(str, named)} == {*map(str, values)})
    told = "must be different from each other, and those declared"
    yield fact("file", "classes", len(values), right, told)
    yield from _weights(p, values)
    d, names = int(facts.header["n_features"]), facts.header["feature_names"]
    right = len(names) in (0, d) and _different(names)
    for each in ("domain", "column_weights", "regularizer"):
        right = right and _width(p, each) in (None, d)
    points = p.get("public_points") or ()
    right = right and all(len(point) == d for point in points if isinstance(point, list))
    center = p.get("center")
    if center is not None:
        rows = facts.header["arrays"]["intercept_"][0]
        coef, offsets = center
        right = right and len(coef) == len(offsets) == rows and all(len(r) == d for r in coef)
    told = "names, weights, domain and center must be for the columns of the table"
    yield fact("file", "columns", d, right, told)


def _weights(p: Record, values: list[object]) -> Iterator[Number]:
    """Each class has one weight at most, and each weight a class."""
    given = p.get("class_weight")
    if given is None:
        return
    labels = [label for label, _ in given]
    right = _different(labels) and set(labels) <= set(values)
    right = right and all(weight > 0.0 for _, weight in given)
    told = "must name classes of the file, each once, with positive weights"
    yield fact("file", "class weights", len(given), right, told)


def _different(values: list[object]) -> bool:
    return len(set(values)) == len(values)


def _width(p: Record, name: str) -> int | None:
    """For how many columns something is declared; None where it is not."""
    value = p.get(name)
    if value is None:
        return None
    if name == "domain":
        return sum(int(block["width"]) for block in value["blocks"])
    if name == "regularizer":
        weights = value.get("weights")
        return None if weights is None else len(weights)
    return len(value)
