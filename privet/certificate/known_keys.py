"""Which keys a file may hold: closed lists, so that nothing in a file is left unread.

A key that is not in them was written by a version that is not known here, or by somebody else. It
may change what the numbers beside it mean, so the file is not decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from privet.certificate.file_facts import NEIGHBORS, FileFacts, Record
from privet.certificate.promised_unit import declared_schema

#: What may be behind a key: a plain value, lists of plain values, numbers (where a text could tell
#: anything), a record, a list of records, or one of these that depends on the record itself;
#: ANY is compared elsewhere, key by key.
PLAIN, VALUES, ANY = "plain", "values", "any"
NUMBER, NUMBERS, ROWS = "number", "numbers", "rows"  # one, a list of them, a list of such lists
DEPTHS = {NUMBER: 0, NUMBERS: 1, ROWS: 2}
Shape = Any


def _record(names: str, **inner: Shape) -> dict[str, Shape]:
    return {**dict.fromkeys(names.split(), PLAIN), **inner}


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _lists(names: str) -> dict[str, Shape]:
    return dict.fromkeys(names.split(), NUMBERS)


def _by(key: str, shapes: dict[str, Shape]) -> Callable[[Record], Shape]:
    """The shape that one key of the record names; an unknown name has no keys but that one."""
    return lambda record: shapes.get(str(record.get(key)), {key: PLAIN})


BUDGET = _by(
    "kind",
    {
        "pure": _record("kind epsilon"),
        "approx": _record("kind epsilon delta"),
        "zcdp": _record("kind rho"),
        "gdp": _record("kind mu"),
    },
)
JACOBIAN = _record("kind family classes shift k")
CURVE = _by(
    "kind",
    {
        "pure": _record("kind loss"),
        "gaussian": _record("kind rho slack"),
        "concentrated": _record("kind rho loss"),
        "objective_gaussian": JACOBIAN,
        "objective_gaussian_at_k": JACOBIAN,
        "random_stopping": _record("kind eta gamma rho"),
    },
)
EVENT = _record(
    "mechanism noise scale sensitivity n theorem why_not_private m share regularization private "
    "version",
    claim=BUDGET,
    curves=[CURVE],
)
WHOLE = {**EVENT, "parts": [EVENT]}
GUARANTEE = _record(
    f"numerics {NEIGHBORS} unit group released",
    assumptions=VALUES,
    event=WHOLE,
    receipt=_record("dataset sequence head"),
    constants=ANY,  # by what was released, below
)

# -- constants -------------------------------------------------------------------------------------

FIT = _record("tolerance gap_scale center_norm")
LOSS = _record("name h margin middle n_classes opposite lifted", weights=VALUES)
CONSTANTS: dict[str, Shape] = {
    "output": FIT,
    "objective": FIT,
    "statistics": FIT,
    "gradient": _record("steps step clip radius center_norm"),
    "means": {},
    "sparse_vector": _record("epochs answer_scale"),
    "distinguishing": _record("rounds point_epsilon"),
    "matrix": _record("norm_bound", loss=LOSS),
}
SEARCH = _record("candidates eta gamma", fit=WHOLE)

# -- declarations ----------------------------------------------------------------------------------

KERNEL = _record("name gamma nu norm_bound degree coef0 length")
LABELS = _record("dtype", values=VALUES)
MAP = _record(
    "name n_components n_features_in_",
    parameters=_record("n_frequencies gamma kernel nu orthogonal insecure_seed"),
    kernel=KERNEL,
    public_points=VALUES,
    frequencies_=ROWS,
    whitener_=ROWS,
)
OWN_LOSS = _record(
    "name link scores rank gradient_bound curvature_bound difference_bound largest_constant"
)
DECLARED: dict[str, Shape] = _record(
    "calibration components constant covariance dataset fit_intercept gamma h insecure_seed knee "
    "margin mechanism n_frequencies noise norm_bound nu orthogonal regularization standardize",
    budget=BUDGET,
    center=VALUES,
    centers=VALUES,
    class_weight=VALUES,
    classes=LABELS,
    column_bounds=VALUES,
    column_weights=VALUES,
    domain={"blocks": [_record("kind width size missing between")]},
    features=MAP,
    kernel=KERNEL,
    loss=OWN_LOSS,
    public_points=VALUES,
    public_rows=_record("rows sha256"),
    regularizer=_record("name", weights=VALUES),
    target_bounds=VALUES,
)
#: of every linear model, and what each has beside that
LINEAR = (
    "budget column_bounds constant dataset features fit_intercept insecure_seed mechanism noise "
    "regularization standardize"
)
_CLASSIFIER = "calibration class_weight classes"
_COLUMNS = "norm_bound domain"
_KERNELS = "column_weights gamma kernel n_frequencies nu orthogonal public_points"
PARAMETERS = {
    name: frozenset(f"{LINEAR} {own}".split())
    for name, own in {
        "LogisticRegression": f"{_CLASSIFIER} {_COLUMNS} center public_rows",
        "LinearSVC": f"{_CLASSIFIER} {_COLUMNS} center public_rows h loss",
        "KernelLogisticRegression": f"{_CLASSIFIER} {_KERNELS}",
        "KernelSVC": f"{_CLASSIFIER} {_KERNELS} h loss",
        "KernelHuberRegressor": f"{_KERNELS} target_bounds knee",
        "LinearRegression": f"{_COLUMNS} target_bounds knee",
        "HuberRegressor": f"{_COLUMNS} target_bounds knee",
        "PoissonRegressor": f"{_COLUMNS} target_bounds",
        "PrivateERM": f"{_COLUMNS} target_bounds loss regularizer",
        "LargeMarginGaussian": f"{_CLASSIFIER} norm_bound centers components covariance h loss "
        "margin",
    }.items()
}

# -- files -----------------------------------------------------------------------------------------

NOISE = _record("kind scale dimension side rows classes", domain=DECLARED["domain"])
ANSWERS = _record("format model columns", guarantee=GUARANTEE, budget=BUDGET, classes=VALUES)
EXPANSION = {**ANSWERS, "kernel": KERNEL}
HEADERS: dict[str, Shape] = {
    "model": _record(
        "model n_features schema",
        guarantee=GUARANTEE,
        parameters=DECLARED,
        classes=LABELS,
        feature_names=VALUES,
        arrays=ANY,  # compared with those that the declarations ask for
        steps=_record("schema columns name", steps=ANY),  # by their own list, below
    ),
    "evaluation": _record(
        "sha256 sha256_of_model format version n level on_training_rows",
        guarantee=GUARANTEE,
        classes=VALUES,
        measures=[_record("measure of", estimate=NUMBER, lower=NUMBER, upper=NUMBER)],
        counts=ANY,  # compared with the parts of the event
    ),
    "intervals": _record(
        "sha256 format level joint target construction regularization n seed",
        guarantee=GUARANTEE,
        table={
            "name": VALUES,
            "unit": VALUES,
            **_lists("estimate std_error z p_value lower upper"),
        },
        units=VALUES,
        directions=ROWS,
        **_lists("stretch theta"),
        fit_noise=_record("mechanism gap_sd", main=NOISE),
        matrices=_record("eta sensitivity", noise=NOISE, **_lists("hessian covariance")),
        geometry=_record(
            "bound intercept constant kind inputs given mapped",
            scores=VALUES,
            columns=VALUES,
            classes=VALUES,
            steps=VALUES,
        ),
    ),
    "answers": _by(
        "model",
        {
            "InteractivePredictor": _record(
                "format model identity place",
                guarantee=GUARANTEE,
                declarations=_record(
                    "columns failure_probability h loss mechanism queries regularization",
                    budget=BUDGET,
                    classes=VALUES,
                    kernel=KERNEL,
                ),
            ),
            "SemiInteractiveClassifier": {
                **EXPANSION,
                "parameters": _record("h loss mechanism regularization"),
            },
            "NonInteractiveClassifier": {
                **EXPANSION,
                "parameters": _record("failure_probability h loss regularization"),
            },
        },
    ),
}
#: Of a column a schema may say all of this, whatever it is of.
COLUMN = _record("low high log missing from_data knots other", categories=VALUES)
SCHEMA = _record(
    "rows",
    file=_record("separator encoding decimal"),
    look=_record("cells labels"),
    label=_record("name low high missing from_data", classes=VALUES),
    person=_record("column most_rows"),
    columns=ANY,  # by their names, each as above
)
#: Public maps of single rows before a model, and their parameters: nothing else may be kept.
STEPS = {
    "Normalizer": _record("norm"),
    "Binarizer": _record("threshold"),
    "PolynomialFeatures": _record("degree interaction_only include_bias"),
    "numpy": _record("function"),
}
#: Functions of numpy that take each number by itself.
ELEMENTWISE = _words(
    "absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_count cbrt ceil conjugate cos "
    "cosh deg2rad degrees exp exp2 expm1 fabs floor invert isfinite isinf isnan isnat log log10 "
    "log1p log2 logical_not negative positive rad2deg radians reciprocal rint sign signbit sin "
    "sinh spacing sqrt square tan tanh trunc"
)
#: A line behind the first of a file of answers.
LINE = _record(
    "resumed count",
    points=VALUES,
    marked=VALUES,
    queries=VALUES,
    state=_record("spent epochs", vector=NUMBERS),
    **_lists("weights answers"),
)


def unknown_keys(facts: FileFacts) -> Iterator[str]:
    """Every key of a file that is not known here, by its place."""
    yield from _strays(facts.header, HEADERS[facts.kind], "")
    for line in facts.lines:
        yield from _strays(line, LINE, "line")
    for name, kind, kept in (facts.header.get("steps") or {}).get("steps", ()):
        known = isinstance(name, str) and kind in STEPS and set(kept) == set(STEPS[kind])
        known = known and (kind != "numpy" or kept["function"] in ELEMENTWISE)
        yield from _strays(kept, STEPS[kind], "steps") if known else ("steps",)
    yield from _strays(facts.constants, _constants(facts), "constants")
    if facts.kind == "model":
        schema = declared_schema(facts)
        yield from _strays(schema, SCHEMA, "schema")
        for column in schema.get("columns", {}).values():
            yield from _strays(column, COLUMN, "schema.columns")
            yield from () if isinstance(column, dict) else ("schema.columns",)
    if facts.kind == "model" and facts.header["model"] in PARAMETERS:
        own = PARAMETERS[facts.header["model"]]
        yield from (f"parameters.{name}" for name in sorted(set(facts.parameters) - own))


def _constants(facts: FileFacts) -> Shape:
    """Of the fit, which is the first part; of a search, of the fit that it chose too."""
    event = facts.event
    if facts.kind == "intervals":
        return CONSTANTS["matrix"]
    if "search" in event["mechanism"] and "parts" not in event:
        return {**SEARCH, **FIT, **CONSTANTS["gradient"]}
    first = (event.get("parts") or [event])[0]
    return CONSTANTS.get(first["mechanism"], {})


def _strays(value: Any, shape: Shape, where: str) -> Iterator[str]:
    if callable(shape):
        shape = shape(value) if isinstance(value, dict) else PLAIN
    if value is None or shape == ANY:
        return
    if isinstance(shape, list):
        for one in value if isinstance(value, list) else ():
            yield from _strays(one, shape[0], where)
    elif isinstance(shape, dict) and isinstance(value, dict):
        for key, inner in value.items():
            place = f"{where}.{key}" if where else key
            if key not in shape:
                yield place
            else:
                yield from _strays(inner, shape[key], place)
    elif shape == VALUES:
        yield from (where for one in _flat(value) if isinstance(one, dict))
    elif isinstance(shape, str) and shape in DEPTHS:
        yield from () if _is_numbers(value, DEPTHS[shape]) else (where,)
    elif isinstance(value, dict | list) and shape == PLAIN:
        yield where


def is_number(value: Any) -> bool:
    """Whether a leaf is a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numbers(value: Any, depth: int) -> bool:
    """Numbers in lists of this depth; null where one cannot be told."""
    if depth:
        return isinstance(value, list) and all(_is_numbers(one, depth - 1) for one in value)
    return value is None or is_number(value)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    else:
        yield value
