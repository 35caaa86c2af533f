"""A private evaluation as a fragment of a page: one table with a picture of each interval."""

from __future__ import annotations

from html import escape

from privet.evaluation import Evaluation, Measure
from privet.evaluation.released_evaluation import TRAINING

HEADER = "<tr><th>Measure</th><th>Of</th><th>Estimate</th><th>Interval</th><th></th></tr>"


def fragment(evaluation: Evaluation) -> str:
    """HTML without outside parts; every word in it is escaped."""
    guarantee = evaluation.guarantee
    stamp = f"<p><strong>{escape(TRAINING)}</strong></p>" if evaluation.on_training_rows else ""
    if not guarantee.private:
        stamp += f"<p><strong>Not private: {escape(guarantee.event.why_not_private)}.</strong></p>"
    rows = "".join(_row(each) for each in evaluation.measures)
    level = f"{100 * evaluation.level:g} %"
    return (
        '<section class="evaluation"><h2>Evaluation</h2>'
        f"{stamp}<p>{evaluation.n:,} rows (public). Each {level} interval is for the value on "
        f"fresh rows and counts both sampling error and noise. {escape(evaluation.note())}</p>"
        f"<p>{escape(str(guarantee))}. {escape(guarantee.numerics)}.</p>"
        f"<table><thead>{HEADER}</thead><tbody>{rows}</tbody></table></section>"
    )


def _row(measure: Measure) -> str:
    told = "lost in the noise" if measure.estimate is None else f"{measure.estimate:.3f}"
    interval = f"{measure.lower:.3f} to {measure.upper:.3f}"
    cells = (measure.measure, measure.of, told, interval)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + _picture(measure)


def _picture(measure: Measure) -> str:
    """The interval on a line from 0 to 1, with a mark at the estimate."""
    low, high = 100.0 * measure.lower, 100.0 * measure.upper
    mark = ""
    if measure.estimate is not None:
        mark = f'<circle cx="{100.0 * measure.estimate:.1f}" cy="5" r="2.5" fill="currentColor"/>'
    return (
        '<td><svg viewBox="0 0 100 10" width="100" height="10" role="img" '
        f'aria-label="{low:.1f} % to {high:.1f} %">'
        '<line x1="0" x2="100" y1="5" y2="5" stroke="currentColor" stroke-opacity="0.2"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="5" y2="5" stroke="currentColor" '
        f'stroke-width="3" stroke-opacity="0.6"/>{mark}</svg></td></tr>'
    )
