"""The page: headline, pictures and the sections of the statement, in one HTML file.

What was released beside a model, as sections of its page: private intervals, an evaluation.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline

from privet._version import __version__
from privet.errors import DataError, DeclarationError
from privet.evaluation import Evaluation
from privet.evaluation.released_evaluation import ERRORS, TRAINING, Measure
from privet.evaluation.residual_counts import RESIDUALS, residual_edges
from privet.inference import Intervals
from privet.models import PrivateLinearClassifier, PrivateLinearRegressor, Released
from privet.models.model_display import trained
from privet.models.row_wise import Promised, last_of
from privet.privacy.attacker import attacker_accuracy, posterior, sure_odds
from privet.privacy.compose import Composition
from privet.privacy.guarantee import Guarantee
from privet.report.pictures import COLORS, Picture, axes_of, drawn, inline, noise_words
from privet.report.released_numbers import ReportedModel
from privet.schema import Schema
from privet.statement import File, RecomputedNumber, in_words, statement_facts
from privet.statement.facts import at_most, percent, say
from privet.statement.promise import kind, rarely
from privet.statement.second_computation import convictions
from privet.statement.writers import rendered, write_page

# The histogram of a regression's residuals, from the counts that an evaluation released.


def residual_picture(evaluation: Evaluation) -> Picture | None:
    """Noisy counts in their bins; None where none were released."""
    counts = evaluation.counts.get(RESIDUALS)
    if counts is None:
        return None
    edges = residual_edges(evaluation.measures, evaluation.classes)
    inner = edges[1:-1]
    step = float(inner[1] - inner[0])
    # the outermost bins are open: they are drawn as wide as the others
    places = np.append(inner - step / 2.0, inner[-1] + step / 2.0)
    with axes_of(3.0) as (figure, axes):
        heights = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
        axes.bar(places, heights, width=0.92 * step, color=COLORS["accent"], linewidth=0)
        axes.axvline(0.0, color=COLORS["muted"], linewidth=0.8)
        axes.set(xlabel="target less prediction, in the target's units", ylabel="rows, with noise")
        svg = inline(figure, "residuals", "Histogram of the residuals, counts with noise")
    event = evaluation.guarantee.event
    noise = [part for part in event.parts if part.mechanism == "histogram"]
    size = noise[0].scale * (math.sqrt(2.0) if noise[0].noise == "laplace" else 1.0)
    caption = (
        f"Released counts of {evaluation.n:,} rows, each with noise of standard deviation "
        f"{size:.3g}; counts below zero are drawn as zero. The bins are a function of the released "
        f"RMSE. The outermost hold all beyond {float(inner[-1]):.3g} on either side."
    )
    return Picture("Residuals", svg, caption)


Drawable = PrivateLinearClassifier | PrivateLinearRegressor
#: intervals in the picture
MOST = 25


def evaluation_section(evaluation: Evaluation) -> str:
    """One table with a picture of each interval; every word in it is escaped."""
    return rendered(
        "evaluation.html",
        room="privet.report",
        evaluation=evaluation,
        shown=[(one, *_on_a_line(one, evaluation)) for one in evaluation.measures],
        training=TRAINING,
        residuals=residual_picture(evaluation),
    )


def _on_a_line(measure: Measure, evaluation: Evaluation) -> tuple[float, float, float | None]:
    """Lower end, upper end and estimate on a line of 100: of a share, or of the widest error."""
    whole = 1.0
    if measure.measure in ERRORS:
        whole = float(evaluation.classes[1]) - float(evaluation.classes[0])

    def place(value: float) -> float:
        return 100.0 * min(max(value / whole, 0.0), 1.0)

    told = None if measure.estimate is None else place(measure.estimate)
    return place(measure.lower), place(measure.upper), told


def intervals_section(intervals: Intervals) -> str:
    """The forest plot and the table; ``intervals`` were released beside the model and paid for."""
    shown = intervals.clearest()[:MOST]
    which = f"The {MOST} clearest of {len(intervals)}" if len(intervals) > MOST else "All"
    caption = (
        f"{which} numbers with their {100.0 * intervals.level:.4g} % intervals, by their size in "
        "standard errors. Colored where the interval does not hold zero."
    )
    if any(intervals.units):
        caption += " Half range: from the middle of the declared range to the upper end."
    with axes_of(1.1 + 0.23 * len(shown)) as (figure, axes):
        intervals.draw(axes, shown, (COLORS["ink"], COLORS["accent"], COLORS["muted"]))
        svg = inline(figure, "intervals", "Estimates with their confidence intervals")
    return rendered(
        "intervals.html", room="privet.report", intervals=intervals, svg=svg, caption=caption
    )


def matching_intervals(intervals: Intervals, model: Drawable) -> Intervals:
    """``intervals``, refused where they are about another model."""
    layout, about = intervals.layout, intervals.uncertainty
    if model.coef_.shape == (len(layout.scores), len(layout.columns)):
        theta = layout.parameters(model.coef_, Released.of(model).moved)
        if abs(theta - about.theta).max() <= 1e-9 * (1.0 + abs(theta).max()):
            return intervals
    raise DataError("The intervals are about another model: their coefficients differ.")


def matching_evaluation(evaluation: Evaluation, model: Promised) -> Evaluation:
    """``evaluation``, refused where its classes are not the model's."""
    if [str(label) for label in evaluation.classes] != [str(label) for label in model.classes_]:
        raise DataError("The evaluation is of a model with other classes. Evaluate this model.")
    return evaluation


# -- the page ------------------------------------------------------------------------------------

TABLE_ROWS = 40
#: Sections of the statement that the report repeats; what the number means is drawn instead.
SECTIONS = ("promise", "making", "composition", "declared", "verification", "trust", "not_covered")


@dataclass(frozen=True)
class Tile:
    """One number of the headline with the words under it."""

    number: str
    words: str


def render(
    model: Promised | Pipeline,
    *,
    name: str = "",
    digest: str = "",
    intervals: Intervals | None = None,
    evaluation: Evaluation | None = None,
    recomputed: Sequence[RecomputedNumber] | None = None,
) -> str:
    """The report of a released model as a page that needs nothing else.

    Parameters
    ----------
    model : fitted model
        A released model, or a search that chose one: then the page is about that model.
    name, digest : str
        Which file it is about.
    intervals : Intervals, default None
        Released beside the model.
    evaluation : Evaluation, default None
        Released beside the model.
    recomputed : sequence of RecomputedNumber, default None
        The promise's numbers, computed a second time from the model file.

    Returns
    -------
    str
        HTML.
    """
    model = _drawable(last_of(model))
    released = ReportedModel(model, _schema(model))
    guarantee = model.guarantee_
    facts = statement_facts(
        guarantee,
        model=type(model).__name__,
        ledger=model.dataset,
        file=File(name, digest) if name and digest else None,
        trained=trained(model),
        recomputed=recomputed,
    )
    return rendered(
        "template.html",
        room="privet.report",
        title=f"Privacy report: {name or type(model).__name__}",
        private=guarantee.private,
        why_not=guarantee.event.why_not_private,
        convicted=convictions(recomputed),
        headline=str(released.promise).removesuffix(" (zero-concentrated)"),
        kind=say("headline.kind", kind=kind(released.promise), unit=guarantee.unit),
        in_words=in_words(released.promise, released.whom),
        shown_together=shown_together(guarantee, intervals, evaluation),
        tiles=_tiles(released),
        sections=[facts[key] for key in SECTIONS],
        target=released.target,
        pictures=drawn(released),
        coefficients=released.largest(TABLE_ROWS),
        in_units=released.in_table_units,
        score=released.score_name,
        noise=noise_words(released).removeprefix("Shaded: "),
        **_beside(model, intervals, evaluation),
        schema=getattr(model, "schema_", ""),
        version=__version__,
    )


def shown_together(
    guarantee: Guarantee, intervals: Intervals | None, evaluation: Evaluation | None
) -> str:
    """What the page as a whole costs, where it shows more from the model's rows than the model."""
    joint = intervals is not None and intervals.with_model  # a promise for the model, too
    events = [] if joint else [guarantee.event]
    events += [] if intervals is None else [intervals.guarantee.event]
    if evaluation is not None and evaluation.on_training_rows:
        events.append(evaluation.guarantee.event)
    if len(events) == 1 and not joint:
        return ""
    whole, k = Composition(tuple(events)), guarantee.group
    if math.isfinite(whole.pure()):
        cost = f"epsilon = {at_most(k * whole.pure(), 4)}"
    elif math.isfinite(whole.zcdp()):
        cost = f"rho = {at_most(k**2 * whole.zcdp(), 4)} (zero-concentrated)"
    else:
        cost = "the sum of the promises"
    return (
        "That is the model alone. This page shows more that was computed from the same rows and "
        f"paid for besides: for all of it together the promise to {guarantee.unit} is {cost}."
    )


def write(
    model: Promised | Pipeline,
    path: str | os.PathLike[str],
    *,
    name: str = "",
    digest: str = "",
    intervals: Intervals | None = None,
    evaluation: Evaluation | None = None,
) -> None:
    """Render the report into a file, all or nothing.

    Parameters
    ----------
    model : fitted model
        A released model, or a search that chose one: then the page is about that model.
    path : path-like
        Where to.
    name, digest : str
        Which file it is about.
    intervals : Intervals, default None
        Released beside the model.
    evaluation : Evaluation, default None
        Released beside the model.
    """
    page = render(model, name=name, digest=digest, intervals=intervals, evaluation=evaluation)
    write_page(page, path)


def _beside(
    model: Drawable, intervals: Intervals | None, evaluation: Evaluation | None
) -> dict[str, str]:
    """The sections on what was released beside the model."""
    sections = {"intervals": "", "evaluation": ""}
    if intervals is not None:
        sections["intervals"] = intervals_section(matching_intervals(intervals, model))
    if evaluation is not None:
        sections["evaluation"] = evaluation_section(matching_evaluation(evaluation, model))
    return sections


def _drawable(model: Promised) -> Drawable:
    if not isinstance(model, PrivateLinearClassifier | PrivateLinearRegressor):
        raise DeclarationError(
            f"There are no pages about a {type(model).__name__}: its privacy statement has all "
            "that is known of it (privet statement, model.statement())."
        )
    return model


def _schema(model: Promised) -> Schema | None:
    text = getattr(model, "schema_", None)
    if text is None:
        return None
    schema = Schema.from_text(text)
    if schema.width != model.n_features_in_:
        raise DataError("The schema in the model file does not fit its coefficients.")
    return schema


def _tiles(released: ReportedModel) -> list[Tile]:
    promise, n = released.promise, released.model.guarantee_.event.n
    epsilon, delta = sure_odds(promise)
    after = float(posterior(epsilon, np.array([0.01]))[0])
    rare = f", except in {rarely(delta)}" if delta else ""
    return [
        Tile(
            f"≤ {percent(attacker_accuracy(promise))}",
            f"of an attacker's guesses about {released.whom} are right, from even odds",
        ),
        Tile(f"≤ {_percent(after)}", f"is what a suspicion of 1 % can become{rare}"),
        Tile(f"{n:,}", "rows in the training table (public)"),
    ]


def _percent(share: float) -> str:
    return f"{at_most(100 * share, 2)} %" if share < 0.995 else "over 99 %"
