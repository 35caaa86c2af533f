"""Docstrings of public objects are a reference: numpydoc reads them, and what they list exists.

Every object that a user is told to import has a docstring whose parameters are those of its
signature, each by its own name, and which says what is returned. The lists of what is left shrink:
an entry that is no longer needed fails too.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

from privet import LargeMarginGaussian, LinearSVC, LogisticRegression, evaluate
from privet.evaluation import choose_threshold
from privet.kernels import KernelLogisticRegression, KernelSVC
from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch

ROOMS = (
    "privet",
    "privet.errors",
    "privet.evaluation",
    "privet.inference",
    "privet.kernels",
    "privet.planning",
    "privet.report",
    "privet.statement",
    "privet.tuning",
)
#: No docstring, parameters that are not documented or not there, nothing said of what is returned.
CODES = {"GL08", "PR01", "PR02", "RT01"}

#: Objects whose docstrings numpydoc cannot read as a reference yet.
OBJECTS_LEFT = {
    "privet.Categorical",
    "privet.Label",
    "privet.Ledger",
    "privet.Numeric",
    "privet.Schema",
    "privet.kernels.Transcript",
    "privet.kernels.features_from_json",
    "privet.kernels.kernel_from_json",
}
#: Classes with a public method of which that is true.
METHODS_LEFT = {
    "privet.ApproxDP",
    "privet.GDP",
    "privet.Categorical",
    "privet.Label",
    "privet.LargeMarginGaussian",
    "privet.Ledger",
    "privet.Numeric",
    "privet.PureDP",
    "privet.Schema",
    "privet.ZCDP",
    "privet.kernels.Gaussian",
    "privet.kernels.InteractivePredictor",
    "privet.kernels.Kernel",
    "privet.kernels.Laplacian",
    "privet.kernels.Linear",
    "privet.kernels.Matern",
    "privet.kernels.NonInteractiveClassifier",
    "privet.kernels.Polynomial",
    "privet.kernels.PublicNystroem",
    "privet.kernels.RandomFourierFeatures",
    "privet.kernels.SemiInteractiveClassifier",
    "privet.kernels.Spectrum",
    "privet.kernels.SuppliedKernel",
    "privet.kernels.Transcript",
}


def public() -> dict[str, Any]:
    """Exported classes and functions by the address that a user imports."""
    found = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        own = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", None) == room
        ]
        for name in getattr(module, "__all__", own):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{room}.{name}"] = value
    return found


def methods(address: str, value: type) -> list[str]:
    """Public methods and properties that Privet defines."""
    names = []
    for name, member in inspect.getmembers(value):
        function = member.fget if isinstance(member, property) else member
        known = inspect.isfunction(function) or inspect.ismethod(function)
        if known and not name.startswith("_") and function.__module__.startswith("privet"):
            names.append(f"{address}.{name}")
    return names


def wrong(address: str, value: Any = None) -> set[str]:
    """What is wrong with a docstring; a dataclass may list its fields as attributes."""
    codes = {code for code, _ in validate(address)["errors"]} & CODES
    if "PR01" in codes and dataclasses.is_dataclass(value) and isinstance(value, type):
        fields = {field.name for field in dataclasses.fields(value) if field.init}
        codes -= {"PR01"} if fields <= set(attributes(value)) else set()
    return codes


def attributes(value: type) -> list[str]:
    """The names under the heading Attributes."""
    entries = get_doc_object(value)["Attributes"]
    return [name.strip() for entry in entries for name in entry.name.split(",")]


CLASSES = {address: value for address, value in public().items() if inspect.isclass(value)}


@pytest.mark.parametrize("address", public())
def test_an_exported_object_is_documented(address: str) -> None:
    found = wrong(address, public()[address])
    assert bool(found) == (address in OBJECTS_LEFT), found


@pytest.mark.parametrize("address", CLASSES)
def test_the_methods_of_an_exported_class_are_documented(address: str) -> None:
    found = [method for method in methods(address, CLASSES[address]) if wrong(method)]
    assert bool(found) == (address in METHODS_LEFT), found


def test_nothing_is_left_that_is_not_there() -> None:
    assert set(public()) >= OBJECTS_LEFT
    assert set(CLASSES) >= METHODS_LEFT


# -- what is listed exists ---------------------------------------------------------------------


def rows(n: int = 1500) -> tuple[Any, Any]:
    """Two classes that a plane separates well."""
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(n, 2))
    return x, (x[:, 0] > 0.0).astype(int)


def candidates() -> list[dict[str, Any]]:
    """Two candidates that differ in more than the regularization."""
    return [{"regularization": 0.01}, {"regularization": 0.1, "norm_bound": 0.9}]


def fitted(kind: Any) -> Any:
    """A fitted estimator of this kind."""
    x, y = rows()
    if kind in (PartitionSearch, RandomStoppingSearch, PublicSearch):
        held = {"validation": rows(200)} if kind is PublicSearch else {}
        return kind(LogisticRegression(classes=[0, 1]), candidates(), 2.0, **held).fit(x, y)
    # centers and scales are released where they are asked for
    given: dict[str, Any] = {"standardize": "private", "column_bounds": (-0.5, 0.5)}
    if kind in (KernelSVC, KernelLogisticRegression):
        given = {"gamma": 1.0}
    return kind(20.0, classes=[0, 1], **given).fit(pd.DataFrame(x, columns=["a", "b"]), y)


FITTED = (
    LogisticRegression,
    LinearSVC,
    LargeMarginGaussian,
    KernelSVC,
    KernelLogisticRegression,
    PartitionSearch,
    RandomStoppingSearch,
    PublicSearch,
)


#: Only a model that ``fit_table`` made carries a schema (``tests/models/test_fit_table.py``), and
#: only ``standardize="whiten"`` releases a matrix (``tests/models/test_whiten.py``).
IF_ASKED = ("schema_", "whitening_")
#: Estimators whose attributes are not listed one by one, or not in a section of their own.
ATTRIBUTES_LEFT = ("LargeMarginGaussian", "KernelSVC", "KernelLogisticRegression")


@pytest.mark.parametrize("kind", FITTED, ids=lambda kind: kind.__name__)
def test_the_attributes_of_a_fitted_estimator_exist(kind: Any) -> None:
    model, listed = fitted(kind), attributes(kind)
    missing = [name for name in listed if not hasattr(model, name) and name not in IF_ASKED]
    wrong = missing or "guarantee_" not in listed
    assert bool(wrong) == (kind.__name__ in ATTRIBUTES_LEFT), missing


def test_the_attributes_of_results_exist() -> None:
    model, (x, y) = LogisticRegression(2.0, classes=[0, 1]).fit(*rows(1600)), rows()
    results = (
        evaluate(model, x, y, budget=1.0),
        evaluate(model, x, y, budget=1.0).accuracy,
        choose_threshold(model, x, y, budget=1.0, candidates=[0.0]),
    )
    for result in results:
        listed = attributes(type(result))
        assert listed
        assert [name for name in listed if not hasattr(result, name)] == []
