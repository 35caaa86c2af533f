"""Answers with a kernel: three models that need no list of features.

interactive        the curator keeps the rows and answers queries, any number of them
semi_interactive   weights on public points
non_interactive    weights on points that are drawn privately
"""

from privet.answers.interactive import InteractivePredictor
from privet.answers.non_interactive import NonInteractiveClassifier
from privet.answers.semi_interactive import SemiInteractiveClassifier
from privet.answers.transcript import Transcript, load_transcript

__all__ = [
    "InteractivePredictor",
    "NonInteractiveClassifier",
    "SemiInteractiveClassifier",
    "Transcript",
    "load_transcript",
]
