"""Rows and losses as a file declares them: how long a row can be, and what its loss can do.

linear models       norm_bound B, and a constant column of ``constant`` B for an intercept:
                    R = B sqrt(1 + constant^2); files before ``constant`` had 1
rows at full length R = 1, the constant among them
feature maps        the map's own norm: 1 for random frequencies, the root of the kernel's bound
products of columns R = B^2 + (constant B)^2
declared domains    B the length of the longest row; the constant is a block of its own
weights of columns  B over the root of the smallest
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

from privet.certificate.balls import Ball, ball, ratio, total
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.loss_bounds import MARGINS, START, RowLoss
from privet.certificate.own_loss_facts import own_row_loss, smallest_weight
from privet.certificate.verdicts import Undecided

STATIONARY = ("gaussian", "laplacian", "matern")
FULL_LENGTH = ("unit", "whiten")
#: The losses that models with a choice have; a logistic one is in the model's name.
LOSSES = {
    "LinearSVC": ("huber", "smooth_hinge", "least_squares"),
    "KernelSVC": ("huber", "smooth_hinge"),
}
#: Monomials of as many columns, of as high a degree, are more than 10^37.
MOST_FACTORS = 64


@dataclass(frozen=True)
class DeclaredBlock:
    """Columns of a declared domain: numbers up to ``size``, or one category of that size."""

    width: int
    size: Ball
    hot: bool
    missing: bool = False

    @property
    def cells(self) -> int:
        """Categories, "none of them" counted where it is allowed."""
        return self.width + self.missing

    @property
    def longest(self) -> Ball:
        """The largest squared norm."""
        return self.size**2 * (1 if self.hot else self.width)


@dataclass(frozen=True)
class DeclaredRows:
    """What a mechanism sees of a table, by declarations."""

    loss: RowLoss
    norm: Ball  # R
    columns: int | None  # None where the file does not tell
    blocks: tuple[DeclaredBlock, ...] = ()  # of a declared domain, with the constant


def kernel_bound(record: Record | str) -> Ball:
    """``R^2`` of a kernel by its name and numbers."""
    name = record if isinstance(record, str) else record["name"]
    if name in (*STATIONARY, "spectrum"):
        return ball(1)
    if isinstance(record, str):
        raise Undecided(f"the kernel {name!r} is not known here")
    if name == "linear":
        return ball(record["norm_bound"]) ** 2
    if name == "polynomial":
        square = ball(record["norm_bound"]) ** 2
        return (ball(record["gamma"]) * square + ball(record["coef0"])) ** int(record["degree"])
    raise Undecided(f"the kernel {name!r} is not known here")


def map_norm(record: Record) -> Ball:
    """What the features of a declared map are clipped to."""
    if record.get("name") == "fourier":
        return ball(1)
    if record.get("name") == "landmarks":
        return kernel_bound(record["kernel"]).sqrt()
    raise Undecided("the feature map is not one that is known here, nor is its norm")


def declared_rows(facts: FileFacts) -> DeclaredRows:
    """Loss, norm and columns of the rows of a released fit."""
    if facts.kind == "answers":
        return _answers(facts)
    if facts.kind != "model":
        raise Undecided("the file does not keep the declarations of the fit")
    model = facts.header["model"]
    if model not in MODELS:
        raise Undecided(f"the model {model!r} is not known here")
    return MODELS[model](facts, facts.parameters)


def _weight(facts: FileFacts, p: Record) -> float:
    """The largest class weight; a class that is not named has one."""
    declared = p.get("class_weight")
    if declared is None:
        return 1.0
    named = [float(weight) for _, weight in declared]
    rest = [1.0] if len(named) < len(facts.header["classes"]["values"]) else []
    return max([*named, *rest])


def _constant(p: Record) -> Ball:
    """The intercept's column over the norm of the features."""
    return ball(p.get("constant", 1.0)) if p["fit_intercept"] else ball(0)


def _expect_one_shape(p: Record) -> None:
    """Each bound below is for rows as declared, in one of these ways and not in two.

    A domain and weights are about the columns as they are: columns that were scaled by released
    means are no longer within the one, nor weighed by the other.
    """
    prepared = p.get("standardize") not in (None, "auto")
    shapes = [p.get("domain"), (p.get("regularizer") or {}).get("weights"), p.get("features")]
    ways = [way for way in shapes if way is not None]
    full = p.get("standardize") in FULL_LENGTH
    if len(ways) > 1 or (ways and full) or (prepared and ways and ways != shapes[2:]):
        raise Undecided("domain, features, weights and scaled rows are not known here together")


def _linear(facts: FileFacts, p: Record) -> DeclaredRows:
    _expect_one_shape(p)
    width = int(facts.header["n_features"])
    if p.get("standardize") in FULL_LENGTH:
        return DeclaredRows(_loss(facts, p, ball(0)), ball(1), width + bool(p["fit_intercept"]))
    bound, blocks = row_bound(p), declared_blocks(p.get("domain"))
    if p.get("features") is not None:
        bound, width = map_norm(p["features"]), int(facts.header["arrays"]["coef_"][1])
    constant = _constant(p)
    norm = bound * (1 + constant**2).sqrt()
    if blocks:
        width = sum(block.width for block in blocks)
        if p["fit_intercept"]:
            blocks = (*blocks, DeclaredBlock(1, constant * bound, hot=True))
    return DeclaredRows(_loss(facts, p, constant), norm, width + bool(p["fit_intercept"]), blocks)


def row_bound(p: Record) -> Ball:
    """The norm bound of the features: declared, or that of the declared domain."""
    blocks = declared_blocks(p.get("domain"))
    if blocks:  # rounded up by what the computed norm of a row of so many columns can be off by
        columns = sum(block.width for block in blocks)
        return total(block.longest for block in blocks).sqrt() * (
            1 + (columns + 16) * ball(2) ** -52
        )
    return ball(p["norm_bound"]) / ball(smallest_weight(p.get("regularizer"))).sqrt()


def declared_blocks(domain: Record | None) -> tuple[DeclaredBlock, ...]:
    """A declared domain as the file keeps it."""
    found = []
    for block in (domain or {}).get("blocks", []):
        if block["kind"] not in ("box", "one-hot"):
            raise Undecided(f"the block {block['kind']!r} of the domain is not known here")
        hot = block["kind"] == "one-hot"
        missing = bool(block.get("missing", False))
        # rows between two categories are in the same body, unless they may be in none
        if block.get("between", False) not in (False, True) or (missing and block.get("between")):
            raise Undecided("a block whose rows lie between categories is not declared like this")
        found.append(DeclaredBlock(int(block["width"]), ball(block["size"]), hot, missing))
    if domain is not None and not found:
        raise Undecided("a domain without blocks is not known here")
    return tuple(found)


def _expect_own_map(p: Record) -> None:
    """A map of rows has a norm of its own, which rows at full length would not keep."""
    if p.get("standardize") in FULL_LENGTH:
        raise Undecided("rows at full length before a map are not known here")


def _kernel(facts: FileFacts, p: Record) -> DeclaredRows:
    _expect_own_map(p)
    found = p.get("features")
    if found is None and "frequencies_" in facts.header["arrays"]:
        name = p["kernel"] if isinstance(p["kernel"], str) else p["kernel"]["name"]
        if name not in STATIONARY:
            raise Undecided(f"the kernel {name!r} has no frequencies")
    bound = kernel_bound(p["kernel"]).sqrt() if found is None else map_norm(found)
    constant = _constant(p)
    width = int(facts.header["arrays"]["coef_"][1]) + bool(p["fit_intercept"])
    return DeclaredRows(_loss(facts, p, constant), bound * (1 + constant**2).sqrt(), width)


def _loss(facts: FileFacts, p: Record, constant: Ball) -> RowLoss:
    """Logistic models have no parameter ``loss``; more than two classes have the joint losses."""
    if "target_bounds" in p:
        return _number_loss(facts.header["model"], p)
    classes = len(facts.header["classes"]["values"])
    weight = _weight(facts, p)
    name = "logistic" if facts.header["model"].endswith("LogisticRegression") else p["loss"]
    if name not in LOSSES.get(facts.header["model"], (name,)):
        raise Undecided(f"{facts.header['model']} has no loss {name!r}")
    if name == "least_squares":
        return _least_squares(p, classes)
    if classes == 2:
        _expect_margin(name)
        return RowLoss(name, 2, float(p.get("h", 0.5)), weight=weight)
    if name == "logistic":
        return RowLoss("softmax", classes, weight=weight)
    if name != "huber":
        raise Undecided(f"the loss {name!r} is not known here for {classes} classes")
    # files that do not name the constant were made before the tighter bound
    apart = "constant" if "constant" in p and constant > 0 else ""
    features = 1 / (1 + constant**2).sqrt()
    return RowLoss(
        "joint_huber", classes, float(p["h"]), weight=weight, apart=apart, features=features
    )


def _least_squares(p: Record, classes: int) -> RowLoss:
    """Two classes as the numbers -1 and 1, the ends of an interval of targets."""
    if classes != 2 or p.get("class_weight") is not None:
        raise Undecided("least squares are known here for two classes without weights")
    return RowLoss("huber_residual", h=float(p["h"]))


def _expect_margin(name: str) -> None:
    """Losses of residuals have smaller bounds, which classes do not keep."""
    if name not in MARGINS:
        raise Undecided(f"the loss {name!r} is not known here for two classes")


def _number_loss(model: str, p: Record) -> RowLoss:
    """The loss of a regression: a target within declared bounds."""
    low, high = (float(end) for end in p["target_bounds"])
    if not low < high:
        raise Undecided("the target's bounds are not an interval")
    if model == "PrivateERM":
        return own_row_loss(p["loss"], low, high)
    if model == "PoissonRegressor":
        if low != 0.0:  # a rate of at most one and a share of the largest count differ by one
            raise Undecided("the counts of a Poisson regression begin at zero")
        return RowLoss("poisson_rate")
    knee = p.get("knee")
    return RowLoss("huber_residual", h=0.5 if knee is None else knee / (high / 2.0 - low / 2.0))


def _products(facts: FileFacts, p: Record) -> DeclaredRows:
    """Products of a row's entries and a constant."""
    _expect_own_map(p)
    if p.get("features") is not None:
        raise Undecided("products of the columns of another map are not known here")
    square = ball(p["norm_bound"]) ** 2
    norm = square * (1 + ball(p["constant"]) ** 2)
    d, shape = int(facts.header["n_features"]), p["covariance"]
    columns = {"full": (d + 1) * (d + 2) // 2, "diagonal": 2 * d + 1, "spherical": d + 2}
    parts = len(facts.header["classes"]["values"]) * int(p["components"])
    weight = _weight(facts, p)
    if p["loss"] not in ("softmax", "huber"):
        raise Undecided(f"the loss {p['loss']!r} is not known here")
    if p["loss"] == "softmax":
        loss = RowLoss("softmax", parts, weight=weight)
    else:
        apart = "" if shape == "diagonal" else "lifted"
        loss = RowLoss(
            "joint_huber", parts, float(p["h"]), float(p["margin"]), weight=weight, apart=apart
        )
    return DeclaredRows(loss, norm, columns[shape])


def _answers(facts: FileFacts) -> DeclaredRows:
    """A margin loss on the features of a kernel."""
    p = facts.parameters
    kernel = facts.header.get("kernel", p.get("kernel"))
    if kernel is None:
        raise Undecided("the file does not name its kernel")
    _expect_margin(p["loss"])
    loss = RowLoss(p["loss"], 2, float(p["h"]))
    columns = None
    if p.get("mechanism") == "span":
        columns = next((len(line["points"]) for line in facts.lines if "points" in line), None)
    elif kernel["name"] in ("linear", "polynomial"):
        columns = _explicit(kernel, int(p.get("columns") or facts.header["columns"]))
    return DeclaredRows(loss, kernel_bound(kernel).sqrt(), columns)


def _explicit(kernel: Record, columns: int) -> int:
    """Features of a kernel that has few: monomials, those of one degree where ``coef0`` is zero."""
    if kernel["name"] == "linear":
        return columns
    degree = int(kernel["degree"])
    if min(columns, degree) > MOST_FACTORS:
        raise Undecided("the kernel has more features than any release")
    return comb(columns + degree - (kernel["coef0"] == 0.0), degree)


def recorded_loss(record: Record) -> RowLoss:
    """A loss as a file of intervals keeps it."""
    numbers = {name: float(record[name]) for name in ("h", "margin") if name in record}
    weight = max(record.get("weights", [1.0]))
    classes, opposite = int(record.get("n_classes", 2)), float(record.get("opposite", 1.0))
    apart = "lifted" if record.get("lifted") else "constant" if opposite < 1.0 else ""
    if "middle" in record and ball(record["middle"]) != ratio(*START):
        raise Undecided("a Poisson regression that starts from another rate is not known here")
    return RowLoss(
        record["name"], classes, weight=weight, apart=apart, features=ball(opposite), **numbers
    )


#: How the rows of each model are declared; a model that is not here is undecided.
MODELS: dict[str, Callable[[FileFacts, Record], DeclaredRows]] = {
    "LogisticRegression": _linear,
    "LinearSVC": _linear,
    "KernelLogisticRegression": _kernel,
    "KernelSVC": _kernel,
    "KernelHuberRegressor": _kernel,
    "LargeMarginGaussian": _products,
    "LinearRegression": _linear,
    "HuberRegressor": _linear,
    "PoissonRegressor": _linear,
    "PrivateERM": _linear,
}
