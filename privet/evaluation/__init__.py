"""How good a released model is, told privately: measures with intervals, and a threshold."""

from privet.evaluation.result import Evaluation, Measure
from privet.evaluation.run import evaluate
from privet.evaluation.threshold import Threshold, choose_threshold

__all__ = ["Evaluation", "Measure", "Threshold", "choose_threshold", "evaluate"]
