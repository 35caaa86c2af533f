"""What a file says of its arithmetic and of its theorems: the words of its mechanisms, no others.

The noise of each mechanism is exact on its grid, or a floating-point sample that is rounded to it;
a file says which, with the grid, and that a minimizer must converge where there is one. A citation
is that of the mechanism. Both are closed lists: what is left out or turned round is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.search_numbers import is_search
from privet.certificate.stages import declared_stages
from privet.certificate.verdicts import Number, Undecided, agreed, left_open

IDEAL = "idealized numerics: floating-point"
CONVERGES = "; conditional on convergence of the minimizer"
GAUSSIAN, LAPLACE = (
    "exact discrete Gaussian on the grid 2^{}",
    "exact discrete Laplace on the grid 2^{}",
)
SPHERICAL = f"{IDEAL} spherical Laplace rounded to the grid 2^{{}}"
COMPARED = f"{IDEAL} comparisons with Laplace noise; released values on the grid 2^{{}}"
EXACT_ANSWERS = " (Gaussian ones: exact discrete noise)"
POINTS = f"{IDEAL} draws of points; answers on the grid 2^{{}}{CONVERGES}"
_BOTH = {"gaussian": GAUSSIAN, "laplace": SPHERICAL}
#: By mechanism, and by noise where it is not in the words ("").
ARITHMETIC: dict[str, dict[str, str]] = {
    "objective": {
        "": f"{IDEAL} {{noise}} noise, release rounded to the grid 2^{{}}{CONVERGES}",
    },
    "output": {noise: f"{words}{CONVERGES}" for noise, words in _BOTH.items()},
    "gradient": _BOTH,
    "statistics": _BOTH,
    "moments": _BOTH,
    "means": {"": f"{IDEAL} {{noise}} noise, noisy sums rounded to the grid 2^{{}}"},
    "matrix": {
        "gaussian": f"{GAUSSIAN} of the sensitivity",
        "": f"{IDEAL} {{noise}} noise rounded to the grid 2^{{}} of the sensitivity",
    },
    "matrix_beside_fit": {
        "": f"{IDEAL} {{noise}} noise rounded to the grid 2^{{}} of the sensitivity",
    },
    "histogram": {"gaussian": GAUSSIAN, "laplace": LAPLACE},
    "function": {
        "": f"{IDEAL} Gaussian process, each answer rounded to the grid 2^{{}}{CONVERGES}",
    },
    "projection": {
        "gaussian": f"{GAUSSIAN}{CONVERGES}",
        "laplace": f"{IDEAL} Laplace rounded to 2^{{}}{CONVERGES}",
    },
    "sparse_vector": {
        "laplace": f"{COMPARED}{CONVERGES}",
        "laplace and gaussian": f"{COMPARED}{EXACT_ANSWERS}{CONVERGES}",
    },
    "distinguishing": {"": POINTS},
}
_PROOFS = "privet/mechanisms"
_OUTPUT = "Chaudhuri, Monteleoni and Sarwate 2011, Theorem 6 and Corollary 8"
_DOMAIN = (
    "privet/mechanisms/domain_noise.proof.md (K-norm noise: Hardt and Talwar 2010; in the "
    "objective: Awan and Slavkovic 2020)"
)
_SPHERE = (
    "privet/mechanisms/objective.proof.md (refines Chaudhuri et al. 2011, Theorem 9)",
    "Wang, Kifer and Lee 2018, Theorem 1",
    "Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9",
)
#: By mechanism, and by noise where each has its own.
THEOREMS: dict[str, dict[str, tuple[str, ...]]] = {
    "objective": {
        "laplace": _SPHERE,
        "gaussian": ("privet/mechanisms/gaussian_objective.proof.md",),
        "matrix laplace": ("privet/mechanisms/matrix_noise.proof.md",),
        "": (_DOMAIN,),
    },
    "output": {"": (_OUTPUT,)},
    "gradient": {
        "": ("privet/mechanisms/gradient.proof.md (Dong, Roth and Su 2022, Corollary 3.3)",)
    },
    "statistics": {
        "": ("privet/mechanisms/statistics.proof.md (Gaussian and Laplace mechanisms)",)
    },
    "means": {"": ("privet/mechanisms/means.proof.md (K-norm noise: Hardt and Talwar 2010)",)},
    "moments": {"": ("privet/mechanisms/moments.proof.md (Laplace and Gaussian mechanisms)",)},
    "matrix": {
        "cone laplace": (
            f"{_PROOFS}/cone_noise.proof.md, sensitivity by {_PROOFS}/matrix.proof.md",
        ),
        "": (
            "Wang, Kifer and Lee 2018, Lemma 1, sensitivity by privet/mechanisms/matrix.proof.md",
        ),
    },
    "matrix_beside_fit": {"": (f"{_PROOFS}/matrix_beside.proof.md",)},
    "histogram": {
        "laplace": ("Dwork, McSherry, Nissim and Smith 2006, Proposition 1",),
        "gaussian": (
            "Canonne, Kamath and Steinke 2020, Theorem 4; Balle and Wang 2018, Theorem 8",
        ),
    },
    "function": {"": ("Hall, Rinaldo and Wasserman 2013, Proposition 7 and Corollary 9",)},
    "projection": {
        "": ("Hall, Rinaldo and Wasserman 2013, Proposition 7", "Jain and Thakurta 2013, Theorem 4")
    },
    "sparse_vector": {
        "": (
            "Dwork and Roth 2014, Theorems 3.23 and 3.25; after Jain and Thakurta 2013, "
            "Algorithm 1",
        )
    },
    "distinguishing": {
        "": ("Jain and Thakurta 2013, Theorem 7; McSherry and Talwar 2007; Cesar and Rogers 2021",)
    },
    "partition search": {
        "": ("Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 4 and its theorem",)
    },
    "random stopping search": {"": ("Papernot and Steinke 2022, Theorem 2 and Corollary 3",)},
    "search with public validation": {
        "": ("the fits' own theorems; composition (Dwork et al. 2006; Bun and Steinke 2016)",)
    },
}
#: What a citation may be about: some losses have gradients that cannot be opposite.
_ABOUT = re.compile(
    r"features with non-negative inner products \(declared\)"
    r"|rows with a constant column of 0?\.?[0-9]+(e-[0-9]+)? of their norm"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
NO_DATE = "0000-00-00"  # older files have none


def word_numbers(facts: FileFacts) -> Iterator[Number]:
    """Arithmetic, theorems and date in the words that they have; the declared budget is there."""
    arithmetic = _arithmetic(facts)
    if facts.guarantee["numerics"] == arithmetic:
        yield agreed("total", "numerics", True, "in the words of its mechanisms, with their grids")
    else:
        yield left_open("total", "numerics", f"the words on arithmetic would be {arithmetic!r}")
    if not all(_is_cited(facts, event) for event in _events(facts)):
        yield left_open("total", "theorem", "a citation that is not known here")
    if not _DATE.fullmatch(str(facts.guarantee.get("released") or NO_DATE)):
        yield left_open("total", "date", "the day of the release is no date")
    if facts.kind in ("model", "answers") and _budget(facts) is None:
        yield left_open("total", "budget", "the file does not keep the declared budget")


def _budget(facts: FileFacts) -> Any:
    return facts.parameters.get("budget", facts.header.get("budget"))


def _released(facts: FileFacts) -> Record:
    """What the words on arithmetic are about: of a search, the fit that it chose."""
    return facts.constants.get("fit", facts.event) if is_search(facts.event) else facts.event


def _arithmetic(facts: FileFacts) -> str:
    """Stages, then the fit; matrices, then the fit; of an evaluation's tables the first one."""
    event = _released(facts)
    first, *later = event.get("parts") or [event]
    words = [_words(first)]
    if facts.kind == "model":
        stages = zip(declared_stages(facts), later, strict=False)
        words = [*(f"{stage.name}: {_words(part)}" for stage, part in stages), *words]
    elif facts.kind == "intervals":  # with the fit whose noise they share
        words = [*map(_words, later), *words]
    whole = "; ".join(words)
    if whole.count("{}") != len(facts.grids):
        raise Undecided("the file does not say the grid of each of its parts")
    return whole.format(*facts.grids)


def _words(part: Record) -> str:
    noise, of = part["noise"], ARITHMETIC.get(part["mechanism"], {})
    words = of.get(noise, of.get(""))
    if words is None:
        raise Undecided(f"the arithmetic of {part['mechanism']!r} is not known here")
    return words.replace("{noise}", str(noise))


def _events(facts: FileFacts) -> Iterator[Record]:
    """Each single release; the whole repeats the theorems of its parts."""
    for event in (facts.event, facts.constants.get("fit", facts.event)):
        yield from event.get("parts") or [event]


def _is_cited(facts: FileFacts, event: Record) -> bool:
    of = THEOREMS.get(event["mechanism"], {})
    theorem, _, about = str(event["theorem"]).partition("; for ")
    own = (facts.parameters.get("loss") or {}) if facts.header.get("model") == "PrivateERM" else {}
    word = (
        f"the loss {own.get('name')!r}, whose bounds are its author's word "
        "(privet/models/private_erm.proof.md)"
    )
    right = not about or bool(_ABOUT.fullmatch(about)) or (bool(own) and about == word)
    return theorem in of.get(event["noise"], of.get("", ())) and right
