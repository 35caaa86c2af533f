"""What files of evaluations, intervals and answers hold, against what their events paid for.

evaluation   a table of counts for each histogram of the event and a histogram for each table;
             measures that these tables can say
intervals    as many numbers in each list as there are parameters
answers      the mechanism that was declared, no more answers than it paid for
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from privet.certificate.balls import total
from privet.certificate.declared_rows import declared_blocks, recorded_loss
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.known_keys import is_number
from privet.certificate.loss_bounds import RESIDUALS
from privet.certificate.verdicts import ROUNDED, Number, Undecided, agreed, fact

# -- evaluations -----------------------------------------------------------------------------------

RATES = ("selection rate", "true positive rate", "false positive rate")
COUNTED = {
    "accuracy": ("confusion", "correct"),
    "confusion rate": ("confusion",),
    "precision": ("confusion",),
    "AUC": ("ranks", "scores"),
    "observed frequency": ("ranks", "calibration"),
    "calibration error": ("ranks", "calibration"),
    **dict.fromkeys(RATES, ("groups",)),
}
ALL, GROUP, TOLD_AS = "all rows", "group ", " predicted as "
TENTHS = {f"probability {tenth / 10:.1f} to {(tenth + 1) / 10:.1f}" for tenth in range(10)}
OF_LABELS = {"precision": "predicted ", "AUC": "class "}
ERRORS = ("mean absolute error", "RMSE", "R^2")


def table_shape(table: Any) -> tuple[int, ...]:
    """Sizes of nested lists; refused where they are not all alike."""
    if not isinstance(table, list):
        return ()
    (inner,) = {table_shape(each) for each in table}
    return (len(table), *inner)


def _cells(table: Any) -> Iterator[Any]:
    """What nested lists hold."""
    if isinstance(table, list):
        for each in table:
            yield from _cells(each)
    else:
        yield table


def touched_cells(name: str, shape: tuple[int, ...]) -> int:
    """In how many cells of a table a row is: one for each class that scores are counted for."""
    return shape[0] if name == "scores" else 1


def evaluation_contents(facts: FileFacts) -> Iterator[Number]:
    """Tables and parts of an evaluation, each the other's."""
    counts, event = facts.header["counts"], facts.event
    parts = event.get("parts") or [event]
    classes = facts.header["classes"]
    told = "must be different from each other, two at least"
    right = len(classes) >= 2 and len(set(map(str, classes))) == len(classes)
    yield fact("file", "classes", len(classes), right, told)
    shapes = {name: table_shape(table) for name, table in counts.items()}
    known = all(map(is_number, _cells(list(counts.values()))))
    known = known and all(_is_table(name, shape, len(classes)) for name, shape in shapes.items())
    cells = sorted(math.prod(shape) for shape in shapes.values())
    counted = [int(part["m"]) for part in parts if part["mechanism"] == "histogram"]
    means = [part for part in parts if part["mechanism"] == "moments"]
    errors = any(each["measure"] in ERRORS for each in facts.header["measures"])
    right = sorted(counted) == cells and len(counted) + len(means) == len(parts)
    right = right and [len(part["curves"]) for part in means] == [1] * (errors or not counts)
    right = right and (len(parts) == 1 or event["mechanism"] == "evaluation")
    told = "every table must have its part of the event, and every part its table"
    yield fact("file", "tables", len(counts), known and right, told)
    told = "every measure must be one that a table of the file can say"
    measures = facts.header["measures"]
    labels = set(map(str, classes))
    said = all(_is_said(each, shapes, labels) for each in measures)
    told_of = [(each["measure"], each["of"]) for each in measures]
    groups = {of for _, of in told_of if of.startswith(GROUP)}
    said = said and len(set(told_of)) == len(told_of)  # a second value would come from elsewhere
    said = said and len(groups) <= shapes.get("groups", (0,))[0]
    yield fact("file", "measures", len(measures), said, told)


def _is_table(name: str, shape: tuple[int, ...], classes: int) -> bool:
    """Whether a table has the shape of its name."""
    two = classes == 2
    if name in ("correct", "confusion"):
        return shape == ((1,) if name == "correct" else (classes, classes))
    if name == "groups":
        return shape[1:] == ((2, 2) if two else (2,))
    if name in ("ranks", "calibration"):
        return len(shape) == 2 and shape[0] == 2
    if name == "residuals":
        return len(shape) == 1
    if name == "scores":
        return len(shape) == 3 and shape[:2] == (1 if two else classes, 2)
    raise Undecided(f"the table {name!r} is not known here")


def _is_said(measure: Record, shapes: dict[str, tuple[int, ...]], labels: set[str]) -> bool:
    """Whether a table of the file has this measure, of what it is said to be a measure of."""
    name, of = measure["measure"], measure["of"]
    if name in ERRORS:  # read from means, which have no table
        return set(shapes) <= {"residuals"} and of == ALL
    if name not in COUNTED:
        raise Undecided(f"the measure {name!r} is not known here")
    if of.startswith(GROUP) and name in ("accuracy", *RATES):
        return "groups" in shapes
    return any(table in shapes for table in COUNTED[name]) and _is_whole(name, of, labels)


def _is_whole(name: str, of: str, labels: set[str]) -> bool:
    """Whether a measure that is not of a group can be of this."""
    if name == "confusion rate":
        words = of.split(TOLD_AS, 16)  # a label may hold these words too
        ends = ((TOLD_AS.join(words[:i]), TOLD_AS.join(words[i:])) for i in range(1, len(words)))
        return any(true in labels and told in labels for true, told in ends)
    if name in OF_LABELS:
        return of.startswith(OF_LABELS[name]) and of.removeprefix(OF_LABELS[name]) in labels
    if name == "observed frequency":
        return of in TENTHS
    return of == {"accuracy": ALL, "calibration error": "all bins"}.get(name)


# -- intervals -------------------------------------------------------------------------------------

LOG_ODDS = ("logistic", "softmax")
ROUNDED_SUM = 1e-9
#: What a fit and its matrices are called as one release.
TOGETHER = "fit with confidence intervals"


def interval_contents(facts: FileFacts) -> Iterator[Number]:
    """Lists of a file of intervals: each as long as there are parameters or directions."""
    header = facts.header
    side, layout, rows = len(header["theta"]), header["geometry"], len(header["directions"])
    lists = [*header["table"].values(), header["units"], header["stretch"]]
    right = all(len(each) == rows for each in lists)
    right = right and all(len(each) == side for each in header["directions"])
    together = "parts" not in facts.event or facts.event["mechanism"] == TOGETHER
    yield agreed("file", "mechanism", together, f"of a fit and its matrices it is {TOGETHER}")
    half = side * (side + 1) // 2
    right = right and all(len(header["matrices"][n]) == half for n in ("hessian", "covariance"))
    told = "must have a number for each parameter, direction or entry"
    yield fact("file", "lists", len(lists), right, told)
    width = len(layout["columns"]) + bool(layout["intercept"])
    theta, table = header["theta"], header["table"]
    right = all(map(_is_of, header["directions"], [theta] * rows, table["estimate"]))
    told = "must be the directions' values at the released parameters, whose unit they have"
    yield agreed("file", "estimates", right, told)
    told = "must be the named ones, and a constant"
    yield fact("file", "columns", width, width == int(facts.event["m"]), told)
    loss = facts.constants.get("loss")
    if loss is None:
        return  # an older file: its unit is said to be open
    classes = 0 if loss["name"] in RESIDUALS else int(loss.get("n_classes", 2))
    weights = loss.get("weights", [1.0] * classes)
    right = len(weights) == classes == len(layout["classes"]) and all(w > 0.0 for w in weights)
    right = right and (loss["name"] in LOG_ODDS) == (layout["kind"] == "log-odds")
    column = layout.get("constant", layout["bound"]) if layout["intercept"] else 0.0
    longest = math.hypot(layout["bound"], column)
    right = right and math.isclose(longest, facts.constants["norm_bound"], rel_tol=ROUNDED)
    of_noise = _domain_norm(header["fit_noise"]["main"])
    right = right and all(math.isclose(longest, each, rel_tol=ROUNDED_SUM) for each in of_noise)
    right = right and header["matrices"]["eta"] > 0.0
    right = right and recorded_loss(loss).scores == len(layout["scores"][0])
    told = "the loss must be for the classes, the scores and the rows that the file names"
    yield fact("file", "classes", classes, right, told)


def _domain_norm(noise: Record) -> Iterator[float]:
    """The longest row of the domain that a fit's noise was drawn for, with its constant."""
    if blocks := declared_blocks(noise.get("domain")):
        yield math.sqrt(float(total(block.longest for block in blocks)))


def _is_of(direction: list[float], theta: list[float], estimate: float) -> bool:
    """Whether an estimate is the inner product, but for rounding."""
    products = [a * b for a, b in zip(direction, theta, strict=False)]
    return abs(math.fsum(products) - estimate) <= ROUNDED_SUM * (
        1.0 + math.fsum(map(abs, products))
    )


# -- answers ---------------------------------------------------------------------------------------

#: Declared ways of answering, and the mechanisms of their events.
ANSWERED: dict[str, dict[str, tuple[str, ...]]] = {
    "InteractivePredictor": {
        "function": ("function", "output"),
        "sparse_vector": ("sparse_vector",),
    },
    "SemiInteractiveClassifier": {
        "span": ("objective",),
        "kernel_noise": ("projection",),
        "tddl": ("projection",),
    },
    "NonInteractiveClassifier": {"": ("distinguishing",)},
}
#: How often the rows may be taken again: the sensitivity is for this many minimizers.
RESUMED = 64


def answer_contents(facts: FileFacts) -> Iterator[Number]:
    """Mechanism, points and answers of a file, no more of them than were paid for."""
    model, mechanism = facts.header["model"], facts.event["mechanism"]
    ways = ANSWERED.get(model)
    declared = facts.parameters.get("mechanism", "")
    if ways is None or declared not in ways:
        raise Undecided(f"the answers of {model!r} by {declared!r} are not known here")
    right = mechanism in ways[declared] and "parts" not in facts.event
    if mechanism == "output":  # one vector answers everything where features are the columns
        right = right and facts.parameters["kernel"]["name"] in ("linear", "polynomial")
    yield agreed("file", "mechanism", right, f"must be that of {model}, and the declared one")
    classes = facts.header.get("classes") or facts.parameters["classes"]
    right = len(classes) == 2 and classes[0] != classes[1]
    yield fact("file", "classes", len(classes), right, "must be two, different from each other")
    if model == "InteractivePredictor":
        yield from _transcript(facts, mechanism)
    else:
        yield from _expansion(facts, mechanism)


BATCH = {"queries", "answers", "marked"}


def _transcript(facts: FileFacts, mechanism: str) -> Iterator[Number]:
    batches = [line for line in facts.lines if set(line) >= BATCH]
    told = "a line must hold queries with their answers, or the counters of the mechanism"
    right = all(
        set(line) <= ({*BATCH, "state", "count"} if set(line) >= BATCH else {"state", "resumed"})
        for line in facts.lines
    )
    yield agreed("file", "lines", right, told)
    yield from _batches(facts, batches)
    states = [line["state"] for line in facts.lines if "state" in line]
    vectors = [state["vector"] for state in states if "vector" in state]
    right = all(len(each) == int(facts.event["m"]) for each in vectors)
    right = right and bool(vectors) <= (mechanism == "output")
    right = right and all(each == vectors[0] for each in vectors)  # one was drawn and paid for
    yield agreed("file", "vector", right, "must be the one that was paid for, of its length")
    if mechanism == "sparse_vector" and "epochs" in facts.constants:
        told = "no more answers may be corrected than there are paid epochs"
        used = max([0, *(int(state.get("epochs", 0)) for state in states)])
        corrected = sum(map(bool, (mark for line in batches for mark in line["marked"])))
        most = int(facts.constants["epochs"])
        yield fact("file", "epochs", used, max(used, corrected) <= most, told)
    resumed = max([0, *(int(line["resumed"]) for line in facts.lines if "resumed" in line)])
    told = "the minimizer may be found again this often"
    yield fact("file", "resumed", resumed, resumed <= RESUMED, told)


def _batches(facts: FileFacts, batches: list[Record]) -> Iterator[Number]:
    """Queries of one shape, one answer and one mark each, and no second noise for any of them."""
    columns, given = facts.parameters["columns"], dict[Any, float]()
    alike, once = True, True
    for line in batches:
        queries, answers, marked = (line[name] for name in ("queries", "answers", "marked"))
        alike = alike and len(answers) == len(queries) == len(marked)
        alike = alike and all(mark is True or mark is False for mark in marked)
        alike = alike and all(map(is_number, answers))
        for query, answer in zip(queries, answers, strict=False):
            if isinstance(query, list):
                alike = alike and len(query) == columns and all(map(is_number, query))
                query = tuple(query)  # equal numbers are one query: zero has no sign
            once = once and given.setdefault(query, answer) == answer
    yield agreed("file", "answers", alike, "each query must have one answer, marked or not")
    told = (
        "a query that is asked again must have the answer that it had: a second noise is not paid"
    )
    yield agreed("file", "repeated queries", once, told)


def _expansion(facts: FileFacts, mechanism: str) -> Iterator[Number]:
    (line,) = facts.lines
    points, weights = line["points"], line["weights"]
    columns = facts.header["columns"]
    right = set(line) == {"points", "weights"} and len(points) == len(weights)
    if all(isinstance(point, list) for point in points):
        right = right and all(len(point) == columns for point in points)
    told = "each point must have its weight, and all columns"
    yield fact("file", "points", len(points), right, told)
    if mechanism == "distinguishing" and "rounds" in facts.constants:
        most = int(facts.constants["rounds"])
        told = "no more points may be released than there are paid rounds"
        yield fact("file", "rounds", len(points), len(points) <= most, told)
