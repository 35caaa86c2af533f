"""Confidence intervals for the coefficients of private classifiers."""

from privet.inference.confidence import confidence_intervals, fit_with_intervals
from privet.inference.files import load_intervals
from privet.inference.intervals import Intervals

__all__ = ["Intervals", "confidence_intervals", "fit_with_intervals", "load_intervals"]
