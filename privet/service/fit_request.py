"""A request to train: a table by its file's name, a budget, a model. Checked before it is a job.

Nothing here reads a table. What is refused here is refused for what was sent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from privet._checks import is_number
from privet._model_names import MODELS, model_class
from privet.errors import DeclarationError
from privet.privacy.budget import GDP, ZCDP, ApproxDP, Budget, PureDP
from privet.schema import Schema
from privet.schema.cells import Value, text_of
from privet.schema.columns import Numeric
from privet.service.refusals import Refusal, without_values
from privet.service.served_model import PLAIN_NAME

ENDINGS = (".csv", ".parquet")
BUDGETS: dict[tuple[str, ...], type[Budget]] = {
    ("epsilon",): PureDP,
    ("delta", "epsilon"): ApproxDP,
    ("rho",): ZCDP,
    ("mu",): GDP,
}
#: What may be said of a model: the parameter's name, and what it may be. Each is a declaration of
#: the model's own, so none can name a file, a seed or another ledger.
OPTIONS: dict[str, tuple[str, tuple[type, ...]]] = {
    "mechanism": ("mechanism", (str,)),
    "noise": ("noise", (str,)),
    "regularization": ("regularization", (int, float)),
    "standardize": ("standardize", (str, type(None))),
    "gamma": ("gamma", (int, float)),
    "frequencies": ("n_frequencies", (int,)),
    "class_weight": ("class_weight", (dict,)),
    "loss": ("loss", (str,)),
    "knee": ("knee", (int, float)),
}
#: A kernel's frequencies: what a job holds grows with their square.
MOST_FREQUENCIES = 5_000
FIELDS = frozenset({"name", "table", "budget", "model", "schema", "options"})
LONGEST_SCHEMA = 1 << 20
#: Least and most of each number in an option. Nobody needs more, and far beyond a minimizer takes
#: hours: what a number may be follows from no row, so it is refused before anything is charged.
BETWEEN = {
    "regularization": (1e-12, 1e6),
    "gamma": (1e-9, 1e9),
    "frequencies": (1, MOST_FREQUENCIES),
    "class_weight": (1e-6, 1e6),
    "knee": (1e-30, 1e30),
}
#: Bounds of a column, and the distance between them: beyond, doubles overflow or are denormal.
LARGEST_BOUND, LEAST_DISTANCE = 1e30, 1e-30


@dataclass(frozen=True)
class FitRequest:
    """What is to be trained on what, and called how."""

    name: str
    table: str
    budget: dict[str, float]
    model: str = "logistic"
    schema: str | None = None  # TOML; None: the one that lies beside the table
    options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        _refuse_unless(_plain(self.name), "name", "a plain name: letters, digits, '-', '_', '.'")
        named = _plain(self.table) and self.table.endswith(ENDINGS)
        _refuse_unless(named, "table", "the name of a .csv or .parquet file, without a folder")
        known = isinstance(self.model, str) and self.model in MODELS
        _refuse_unless(known, "model", f"one of {', '.join(MODELS)}")
        schema = self.schema is None or (
            isinstance(self.schema, str) and "\n" in self.schema.strip()
        )
        _refuse_unless(schema, "schema", "the text of a schema's TOML file, or left out")
        _refuse_unless(len(self.schema or "") <= LONGEST_SCHEMA, "schema", "at most 1 MB")
        self._check_options()
        asked_budget(self.budget)

    def _check_options(self) -> None:
        given = self.options
        _refuse_unless(given is None or isinstance(given, dict), "options", "an object")
        for name, value in (given or {}).items():
            _refuse_unless(name in OPTIONS, "options", f"an object with {', '.join(OPTIONS)}")
            kinds = OPTIONS[name][1]
            right = isinstance(value, kinds) and not isinstance(value, bool)
            told = " or ".join("null" if k is type(None) else k.__name__ for k in kinds)
            _refuse_unless(right, f"options.{name}", f"of the type {told}")
            numbers = list(value.values()) if isinstance(value, dict) else [value]
            if name in BETWEEN:
                _refuse_beyond(name, numbers)

    @property
    def dataset(self) -> str:
        """The account that a table is charged to: its file's name without the ending.

        The operator binds rows to an account by this; who asks cannot choose a fuller one.
        """
        return self.table.rpartition(".")[0]

    def unfitted(self, schema: Schema, **account: Any) -> Any:
        """The model that is asked for, on a table of this schema."""
        named = {OPTIONS[name][0]: value for name, value in (self.options or {}).items()}
        if named.get("standardize") == "none":
            named["standardize"] = None
        if "class_weight" in named:
            named["class_weight"] = _by_class(named["class_weight"], schema)
        try:
            return model_class(self.model)(asked_budget(self.budget), **named, **account)
        except TypeError:  # a parameter that this model does not have
            raise DeclarationError(
                f"The model {self.model!r} does not have all of these options."
            ) from None

    def to_json(self) -> dict[str, Any]:
        """For the job's record."""
        return asdict(self)


def asked_budget(told: Any) -> Budget:
    """``{"epsilon": 1}``, with ``delta`` or not, ``{"rho": 0.5}`` or ``{"mu": 1}``."""
    kind = BUDGETS.get(tuple(sorted(told))) if isinstance(told, dict) else None
    _refuse_unless(kind is not None, "budget", "an object with epsilon (and delta), rho or mu")
    assert kind is not None
    try:
        return kind(**told)
    except DeclarationError as error:  # it repeats the number, and the field's name is enough
        raise Refusal(422, "fit", without_values(str(error))) from None


def refuse_extreme(schema: Schema) -> None:
    """Refuse a schema with bounds that no table needs and that no arithmetic is made for."""
    declared = [
        (each.low, each.high) for each in schema.columns.values() if isinstance(each, Numeric)
    ]
    if schema.target_bounds is not None:
        declared.append(schema.target_bounds)
    for low, high in declared:
        wide = max(abs(low), abs(high)) <= LARGEST_BOUND and high - low >= LEAST_DISTANCE
        expected = f"{LARGEST_BOUND:g} at most, and {LEAST_DISTANCE:g} apart at least"
        _refuse_unless(wide, "schema", f"one whose low and high are {expected}")


def _refuse_beyond(name: str, values: list[Any]) -> None:
    """Refuse what is no number between the ends for this option."""
    least, most = BETWEEN[name]
    right = all(is_number(each) and least <= each <= most for each in values)
    what = "numbers by the classes' names, each" if name == "class_weight" else "a number"
    _refuse_unless(right, f"options.{name}", f"{what} between {least:g} and {most:g}")


def _by_class(weights: dict[str, float], schema: Schema) -> dict[Value, float]:
    """Weights by the classes themselves: JSON has texts in the place of numbers and booleans."""
    known = {text_of(label): label for label in schema.classes or ()}
    named = weights.keys() <= known.keys()
    _refuse_unless(named, "options.class_weight", "weights of classes that the schema declares")
    return {known[name]: weight for name, weight in weights.items()}


def fit_request(body: dict[str, Any]) -> FitRequest:
    """The request of a body; refused with the name of the field that is wrong."""
    for name in ("name", "table", "budget"):
        _refuse_unless(name in body, name, "given")
    return FitRequest(**body)


def _plain(value: Any) -> bool:
    return isinstance(value, str) and PLAIN_NAME.fullmatch(value) is not None


def _refuse_unless(right: Any, field: str, expected: str) -> None:
    if not right:
        raise Refusal(422, "fit", f"The field {field!r} must be {expected}.")
