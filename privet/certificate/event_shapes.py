"""Which mechanism has which noise, and which noise which curves; what is not here has no theorem.

A curve has numbers of several calculi. A noise is tied to one of them, so each noise has its own
kind of curve: under another kind a file could claim one number and use the other.

    output, moments, counts ...   Laplace: pure            Gaussian: gaussian
    objective                     the noise's own, and one more that pays for the gap
    answers of two noises         pure, or concentrated without a pure epsilon
"""

from __future__ import annotations

from collections.abc import Iterator

from privet.certificate.curve_costs import CURVES
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.known_keys import EVENT
from privet.certificate.verdicts import Number, Undecided, agreed

Kinds = tuple[str, ...]
PURE, GAUSSIAN, CONCENTRATED = ("pure",), ("gaussian",), ("concentrated",)
ONE_QUERY: dict[str, tuple[Kinds, ...]] = {"laplace": (PURE,), "gaussian": (GAUSSIAN,)}
GAPS = ("pure", "gaussian")
JACOBIANS = ("objective_gaussian", "objective_gaussian_at_k")
SHAPED = ("laplace", "product", "hull", "grouped", "matrix laplace", "class product")
CURVES_OF: dict[str, dict[str, tuple[Kinds, ...]]] = {
    "output": ONE_QUERY,
    "objective": {
        **{noise: tuple(("pure", gap) for gap in GAPS) for noise in SHAPED},
        "gaussian": tuple((main, gap) for main in ("gaussian", *JACOBIANS) for gap in GAPS),
    },
    "gradient": {"gaussian": (GAUSSIAN,)},
    "statistics": ONE_QUERY,
    "means": {"class laplace": (PURE,), "class hull": (PURE,)},
    "histogram": ONE_QUERY,
    "moments": ONE_QUERY,  # as many times as there are rounds
    "matrix": {**ONE_QUERY, "cone laplace": (PURE,)},
    "matrix_beside_fit": {"cone laplace": (PURE,)},
    "function": {"gaussian": (GAUSSIAN,)},
    "projection": ONE_QUERY,
    "sparse_vector": {"laplace": (PURE,), "laplace and gaussian": (CONCENTRATED,)},
    "distinguishing": {
        "exponential-mechanism and laplace": (PURE,),
        "exponential-mechanism and gaussian": (CONCENTRATED,),
    },
    "partition search": {
        "permute-and-flip": (PURE,),
        "exponential": (PURE, CONCENTRATED, GAUSSIAN),
    },
    "random stopping search": {
        "discrete laplace": (PURE,),
        "discrete gaussian": (("random_stopping",),),
    },
    "search with public validation": {"the models' own": (PURE, CONCENTRATED, GAUSSIAN)},
}
#: Mechanisms whose events have a regularization; others write 0.
FITTED = ("output", "objective", "gradient", "statistics", "matrix", "matrix_beside_fit")
REGULARIZED = (*FITTED, "function", "projection", "sparse_vector", "distinguishing")
#: Texts and other objects have no columns; nor need there be rows that validate a search.
OF_OBJECTS = ("function", "sparse_vector", "distinguishing")
ALONE, SEVERAL = 1, 2
DESCRIBED = ("scale", "sensitivity", "share", "n", "m", "regularization")


def shape_numbers(release: str, event: Record) -> Iterator[Number]:
    """Noise, curves and fields of the event of one release."""
    mechanism, noise = event["mechanism"], event["noise"]
    if mechanism not in CURVES_OF:
        raise Undecided(f"the mechanism {mechanism!r} is not known here")
    if noise not in CURVES_OF[mechanism]:
        raise Undecided(f"{noise} noise of {mechanism!r} is not known here")
    kinds = tuple(curve.get("kind") for curve in event["curves"])
    for kind in kinds:
        if kind not in CURVES:
            raise Undecided(f"the curve {kind!r} is not known here")
    alike = kinds[:1] if mechanism == "moments" and len(set(kinds)) == 1 else kinds
    idle = [curve["loss"] for curve in event["curves"] if curve["kind"] == "concentrated"]
    right = alike in CURVES_OF[mechanism][noise] and not any(idle)
    yield agreed(release, "curves", right, f"must be those of {noise} noise for this mechanism")
    missing = [name for name in EVENT if name not in event]
    yield agreed(release, "fields", not missing and _are_fields(event), FIELDS)


FIELDS = "must be those of this mechanism: version, rows, columns, scale and regularization"


def _are_fields(event: Record) -> bool:
    mechanism, n, m = event["mechanism"], event["n"], event["m"]
    none = mechanism in OF_OBJECTS or mechanism.endswith(("search", "validation"))
    whole = type(n) is type(m) is int and n >= 1 and m >= (0 if none else 1)
    drawn = (event["scale"] > 0.0) == (event["noise"] != "the models' own")
    ridge = (event["regularization"] > 0.0) == (mechanism in REGULARIZED)
    return whole and drawn and ridge and event["version"] == ALONE


def whole_numbers(facts: FileFacts) -> Iterator[Number]:
    """Whether the whole repeats its parts, and whether it says that it is private."""
    event, parts = facts.event, facts.event.get("parts", [])
    for each in (event, *parts):
        right = each["private"] is (each["why_not_private"] == "")
        yield agreed("total", "private", right, "must be said exactly where no reason is against")
    seeded = facts.parameters.get("insecure_seed") is not None
    if seeded:
        told = "the noise was seeded, which protects nothing"
        yield agreed("total", "seed", not event["private"], told)
    if parts:
        right = event["version"] == SEVERAL and all(
            event[name] == joint.join(dict.fromkeys(part[name] for part in parts if part[name]))
            for name, joint in (("noise", " and "), ("theorem", "; "))
        )
        right = right and all(event[name] == parts[0][name] for name in DESCRIBED)
        right = right and event["private"] in (False, all(part["private"] for part in parts))
        told = "must repeat the noises and theorems of its parts, and the numbers of the first"
        yield agreed("total", "parts", right, told)
