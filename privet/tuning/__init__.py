"""Private choice among candidates: by disjoint parts, by random stopping, by public rows."""

from privet.tuning._search import TuningAdvice
from privet.tuning.partition import PartitionSearch
from privet.tuning.public import PublicSearch
from privet.tuning.stopping import RandomStoppingSearch

__all__ = ["PartitionSearch", "PublicSearch", "RandomStoppingSearch", "TuningAdvice"]
