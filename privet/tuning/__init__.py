"""Private choice among candidates: by disjoint parts, by random stopping, by public rows."""

from privet.tuning.candidates import TuningAdvice
from privet.tuning.searches import PartitionSearch, PublicSearch, RandomStoppingSearch

__all__ = ["PartitionSearch", "PublicSearch", "RandomStoppingSearch", "TuningAdvice"]
