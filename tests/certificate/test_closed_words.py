"""Words of a promise: a closed list, called for by the declarations, with their numbers, whole."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from privet.certificate.balls import ball, precision
from privet.certificate.loss_bounds import RowLoss
from privet.certificate.pair_bounds import joint_bound
from tests.certificate.mutants import Parsed, accepted, changed
from tests.certificate.test_forged import opened
from tests.certificate.test_sentences import ASSUMPTIONS, PROMISE

MORE = [
    "\u0435psilon = 0.01",  # a Cyrillic letter
    "\U0001d700 = 0.01",
    "ep\u00adsilon = 0.01",
    "epsilon, 0.01",
    "the privacy loss of every row is at most one part in a million",
    "no row can be told apart at all",
    "each row's features, clipped to norm 0.001",
    "the number of rows and columns",  # a second time
    "the sums over the 4,000,000 rows, which were read by one machine, read in parts: every pass "
    "over the table or a part of it counted the rows and compared a keyed digest of their cells, "
    "in their order, with the first pass, which misses a change with a probability below 2^-64",
]


@pytest.mark.parametrize("words", MORE)
def test_no_sentence_but_those_of_the_declarations(words: str) -> None:
    file = opened("logistic objective pure")
    told = file.lines[0]["guarantee"]["assumptions"]
    assert not accepted(changed(file, ASSUMPTIONS, [*told, words]))


def test_the_sentence_on_parts_has_the_rows_of_the_event() -> None:
    file = opened("logistic objective pure")
    told = file.lines[0]["guarantee"]["assumptions"]
    assert accepted(changed(file, ASSUMPTIONS, [*told, MORE[-1].replace("4,000,000", "400")]))


@pytest.mark.parametrize("words", [*MORE, "another theorem"])
def test_no_theorem_but_that_of_the_mechanism(words: str) -> None:
    file = opened("logistic objective pure")
    assert not accepted(changed(file, (*PROMISE, "event", "theorem"), words))


def turned(old: str, new: str) -> Callable[[str], str]:
    return lambda words: words.replace(old, new)


@pytest.mark.parametrize(
    ("release", "turn"),
    [
        ("public zcdp", turned("the validation rows", "it is not true of the validation rows")),
        ("logistic centered objective", turned("as asserted by the user", "as was proved")),
        ("logistic objective pure", turned("the number of rows and columns", "the number of rows")),
        ("logistic objective pure", turned("the coding of the two classes", "no coding of")),
        ("kernel svc", turned("16 random features", "4 random features")),
        ("kernel svc", turned("Gaussian(", "Laplacian(")),
        ("logistic hull pure", turned("3 columns", "2 columns")),
        ("sparse pure", turned("at most 1", "at most 0.01")),
    ],
)
def test_no_sentence_is_turned_round(release: str, turn: Callable[[str], str]) -> None:
    file = opened(release)
    told = file.lines[0]["guarantee"]["assumptions"]
    forged = [turn(each) for each in told]
    assert forged != told
    assert not accepted(changed(file, ASSUMPTIONS, forged))


@pytest.mark.parametrize(
    "words",
    [
        "released values on the grid 2^-24",
        "exact discrete Gaussian on the grid 2^-24",
        "idealized numerics: floating-point laplace noise, release rounded to the grid 2^-24",
        "idealized numerics: floating-point gaussian noise, release rounded to the grid 2^-24; "
        "conditional on convergence of the minimizer",
    ],
)
def test_what_is_idealized_is_said_in_full(words: str) -> None:
    file = opened("logistic objective pure")
    assert "2^-24" in file.lines[0]["guarantee"]["numerics"]
    assert not accepted(changed(file, (*PROMISE, "numerics"), words))


@pytest.mark.parametrize(
    "schema",
    [
        "a = [1, 2, 3]\n",
        'rows = "scaled"\n[label]\nname = "x"\nclasses = [0, 1]\npromise = "nothing is lost"\n',
        '[label]\nname = "x"\nclasses = [0, 1]\n[columns.a]\nlow = 0\nhigh = 1\nmean = 0.25\n',
    ],
)
def test_a_schema_holds_what_schemas_hold(schema: str) -> None:
    file = opened("logistic objective pure")
    told = [
        *file.lines[0]["guarantee"]["assumptions"],
        "the schema: bounds, categories and classes of 1 columns and the label, named without "
        "looking at the rows",
    ]
    assert not accepted(changed(changed(file, (0, "schema"), schema), ASSUMPTIONS, told))


def test_estimates_are_of_the_parameters_whose_unit_they_have() -> None:
    """The unit of the matrices is smaller at shorter parameters."""
    file = opened("intervals zcdp")
    header = copy.deepcopy(file.lines[0])
    R = header["guarantee"]["constants"]["norm_bound"]
    with precision():
        bound = joint_bound(RowLoss("logistic"), ball(header["matrices"]["eta"]), ball(0))
        unit = 2.0**0.5 * R**2 * float(bound.mid()) / header["n"]
    assert unit < header["matrices"]["sensitivity"]
    header["matrices"]["sensitivity"] = 1.0000001 * unit
    header["theta"] = [0.0] * len(header["theta"])
    assert not accepted(Parsed([header], b"", False))
    header["table"]["estimate"] = [0.0] * len(header["table"]["estimate"])
    assert accepted(Parsed([header], b"", False))  # the facts of another release


def test_a_map_is_of_the_tables_columns() -> None:
    """Its features have norm 1 whatever the rows' bound is."""
    file = opened("logistic objective pure")
    rows = [[0.5, 0.25, 0.125], [0.5, 0.25, 0.25]]
    for frequencies in (rows, [row[:2] for row in rows], []):
        found = {"name": "fourier", "n_features_in_": 3, "frequencies_": frequencies}
        forged = changed(file, (0, "parameters", "features"), {**found, "parameters": {}})
        words = "the feature map (3 features, clipped to Euclidean norm 1), made without the rows "
        told = [
            words + "as asserted by the user" if "Euclid" in each else each
            for each in file.lines[0]["guarantee"]["assumptions"]
        ]
        assert not accepted(changed(forged, ASSUMPTIONS, told))


def test_the_selection_of_a_partition_search_has_rows_of_its_own() -> None:
    """Fit and selection have the whole budget each."""
    file = opened("partition pure")
    event = file.lines[0]["guarantee"]["event"]
    rows = {"m": 0, "n": event["n"] - event["m"]}
    assert not accepted(changed(file, (*PROMISE, "event"), {**event, **rows}))


@pytest.mark.parametrize("release", ["svc output pure", "kernel svc"])
def test_a_model_has_the_losses_that_it_has(release: str) -> None:
    """Logistic loss has the same slope and half of the curvature."""
    file = changed(opened(release), (0, "parameters", "loss"), "logistic")
    assert not accepted(file)
