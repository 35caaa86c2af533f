"""The old home of ``ConcentratedCurve``."""

from privet.privacy.curves import ConcentratedCurve

__all__ = ["ConcentratedCurve"]
