"""Changes of a file that ``verify`` accepts, and why none of them makes a promise too good.

Each entry is a pattern of places, a pattern of what was done there, and the reason. A change that
is accepted and is not here is a finding.
"""

from __future__ import annotations

import re

from tests.certificate.mutants import Mutant

RELEASED = "released numbers and what is computed from them: public whatever they are"
WORDS = "names, labels, dates, citations: no number of the promise depends on them"
PUBLIC = "a public choice that no bound depends on, here or for this loss, kernel or domain"
DEFAULT = "left out, it means what it meant: null, or chosen by the public rule"
AUTO = "declares less: what was used is stated in the event, and was compared with the noise"
MORE = "tells of a larger loss, of more noise, or of fewer things that the noise pays for"
ROOM = "within the hundredth that the distance to the exact minimum may take"
PROVED = "another number that the other numbers prove: the second computation has just done so"
LAW = "another law that has the claim at this scale: the second computation has just proved it"
DIGITS = "differs by a billionth, which the enclosures leave for the arithmetic of a release"
OTHER = "the facts of another release, which fit each other: a ledger tells them apart"

ANY = "(?!added|array|a part|one part|parts).*"
CHANGED = "halved|doubled|negative|next|flipped|reversed|other text|swapped"
HARMLESS: list[tuple[str, str, str]] = [
    (
        r"(answers|points|weights|queries|marked|state|counts|measures|theta|directions)\b.*",
        ANY,
        RELEASED,
    ),
    (r"(table|stretch|matrices\.(hessian|covariance)|fit_noise|resumed)\b.*", ANY, RELEASED),
    (r"classes\b.*|declarations\.classes\b.*|parameters\.classes\b.*", ANY, WORDS),
    (r"(identity|place|sha256|seed|joint|level|target|construction|units\.\*)", ANY, WORDS),
    (r"geometry\.(classes|columns|given|inputs|kind|mapped|scores|steps)\b.*", ANY, WORDS),
    (r"guarantee\.(receipt|released)|parameters\.dataset|parameters\.public_rows\..*", ANY, WORDS),
    (r"guarantee\.(event|constants\.fit)\.theorem", "swapped", WORDS),
    (r"guarantee\.assumptions(\.\*)?", "reversed|swapped", WORDS),
    (r"parameters\.loss\.(name|link)|parameters\.regularizer\.name", ANY, WORDS),
    (r"parameters\.\w+", "left out", DEFAULT),
    (r"parameters\.loss\.(difference_bound|largest_constant)", "left out|no longer null", DEFAULT),
    (r"parameters\.features|guarantee\.constants(\.tolerance)?", "left out", DEFAULT),
    (
        r"declarations\.(regularization|h)|kernel\.gamma|declarations\.kernel\.gamma",
        "left out",
        DEFAULT,
    ),
    (r"guarantee\.constants\.loss\.h", "left out", DEFAULT),
    (r"version", "halved", DEFAULT),
    (
        r"(parameters|declarations)\.(regularization|mechanism|noise)",
        "halved|other text|swapped",
        AUTO,
    ),
    # accepted only up to the ridge that the event states: a small declared one was raised to that
    (r"parameters\.regularization", "doubled", AUTO),
    (r"parameters\.standardize", "swapped", AUTO),
    (r"(parameters|declarations)\.(failure_probability|queries)", ANY, PUBLIC),
    (r"(declarations\.)?kernel(\.gamma|\.name)?", "halved|doubled|swapped", PUBLIC),
    (r"parameters\.(gamma|nu|orthogonal|n_frequencies|public_points|centers)\b.*", ANY, PUBLIC),
    (
        r"(parameters|declarations)\.(h|margin|knee|constant|norm_bound)",
        "halved|doubled|swapped|no.*",
        PUBLIC,
    ),
    (
        r"parameters\.(center|class_weight|column_bounds|regularizer\.weights)\b.*",
        f"{CHANGED}|an item less",
        PUBLIC,
    ),
    (r"parameters\.domain\b.*", "left out|flipped|reversed|swapped|halved|doubled", PUBLIC),
    (r"(parameters|declarations)\.loss", "swapped", PUBLIC),
    (
        r"parameters\.loss\.(curvature_bound|rank)",
        "halved|swapped",
        "its author's word, shown as taken",
    ),
    (r"guarantee\.constants\.(step|gamma)", CHANGED + "|left out", PUBLIC),
    (r"guarantee\.event\.(m|regularization)", CHANGED, PUBLIC),
    (r"guarantee\.event(\.parts\.\*)?\.claim\.(epsilon|rho|mu|delta)", "doubled|swapped", MORE),
    (r"guarantee\.event\.claim\.delta", "halved", "not needed where pure losses keep the claim"),
    (r"guarantee\.event(\.parts\.\*)?\.scale", "doubled|swapped", MORE),
    (r"guarantee\.event\.(parts\.\*\.)?curves\.\*\.slack", "doubled|swapped", MORE),
    (r"guarantee\.constants\.(answer_scale|gap_scale)", "doubled|swapped", MORE),
    (r"guarantee\.constants\.(epochs|rounds|point_epsilon)", "halved|swapped", MORE),
    (r"guarantee\.constants\.(tolerance|center_norm)", "halved|swapped|left out", ROOM),
    (r"guarantee\.event\.n", "next", ROOM),
    (r"guarantee\.event(\.parts\.\*)?\.(claim|curves|curves\.\*)(\.\w+)?", "swapped", PROVED),
    (r"guarantee|guarantee\.(event|constants)|parameters", "swapped", OTHER),
    (r"guarantee\.event\.noise", "swapped for (laplace|exponential)", LAW),
    (r"guarantee\.event\.sensitivity", "swapped, nearly equal", DIGITS),
    (r"guarantee\.event\.sensitivity", "swapped, within a hundredth", ROOM),
    # both have the Huber loss with the declared knee
    (r"model", "swapped for LinearRegression", PUBLIC),
]
_KNOWN = [(re.compile(where), re.compile(how), why) for where, how, why in HARMLESS]


def why_harmless(mutant: Mutant) -> str | None:
    """Why an accepted change is none that matters; None where it is a finding."""
    for where, how, why in _KNOWN:
        done = how.fullmatch(mutant.how) or (mutant.told and how.fullmatch(mutant.told))
        if where.fullmatch(mutant.where) and done:
            return why
    return None
