"""What a model releases before its fit, by its declarations: each stage is a part of its event.

standardize="private"    means and mean squares of the columns          center_, scale_
standardize="whiten"     second moments of the rows, unless rows that are public say them
                                                                        whitening_
components > 1           three rounds of cell means, unless centers are declared
                                                                        centers_
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.certificate.balls import ball
from privet.certificate.file_facts import FileFacts
from privet.certificate.mean_numbers import MeanQuery, column_means

#: Rounds of noisy k-means that place centers.
ROUNDS = 3
Shapes = dict[str, list[int]]


@dataclass(frozen=True)
class DeclaredStage:
    """A release before a fit: its name in the event, its query, its rounds, its arrays."""

    name: str
    query: MeanQuery
    rounds: int
    arrays: Shapes


def declared_stages(facts: FileFacts) -> list[DeclaredStage]:
    """The stages that a model's declarations ask for, in the order of their release."""
    return list(_stages(facts))


def _stages(facts: FileFacts) -> Iterator[DeclaredStage]:
    p, d = facts.parameters, int(facts.header["n_features"])
    if p.get("standardize") == "private":
        arrays = {"center_": [d], "scale_": [d]}
        yield DeclaredStage("private standardization", column_means(d), 1, arrays)
    if p.get("standardize") == "whiten" and p.get("public_rows") is None:
        side = d + bool(p["fit_intercept"])
        query = MeanQuery(ball(2).sqrt(), ball(1), side * (side + 1) // 2, side)
        yield DeclaredStage("private whitening", query, 1, {"whitening_": [side, side]})
    components = int(p.get("components", 1))
    if components > 1 and p.get("centers") is None:
        classes = len(facts.header["classes"]["values"])
        query = MeanQuery(ball(2), ball(2).sqrt(), classes * components * (d + 1), d)
        yield DeclaredStage(
            "private centers", query, ROUNDS, {"centers_": [classes, components, d]}
        )
