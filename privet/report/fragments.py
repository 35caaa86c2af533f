"""What was released beside a model, as sections of its page: private intervals, an evaluation."""

from __future__ import annotations

from typing import Any

from privet.errors import DataError
from privet.evaluation import Evaluation
from privet.evaluation.released_evaluation import TRAINING
from privet.inference import Intervals
from privet.report.figures import COLORS, axes_of, inline
from privet.statement.writers import rendered

#: intervals in the picture
MOST = 25


def evaluation_section(evaluation: Evaluation) -> str:
    """One table with a picture of each interval; every word in it is escaped."""
    return rendered(
        "evaluation.html", room="privet.report", evaluation=evaluation, training=TRAINING
    )


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


def matching_intervals(intervals: Intervals, model: Any) -> Intervals:
    """``intervals``, refused where they are about another model."""
    layout, about = intervals.layout, intervals.uncertainty
    if model.coef_.shape == (len(layout.scores), len(layout.columns)):
        theta = layout.parameters(model.coef_, model.intercept_)
        if abs(theta - about.theta).max() <= 1e-9 * (1.0 + abs(theta).max()):
            return intervals
    raise DataError("The intervals are about another model: their coefficients differ.")


def matching_evaluation(evaluation: Evaluation, model: Any) -> Evaluation:
    """``evaluation``, refused where its classes are not the model's."""
    if [str(label) for label in evaluation.classes] != [str(label) for label in model.classes_]:
        raise DataError("The evaluation is of a model with other classes. Evaluate this model.")
    return evaluation
