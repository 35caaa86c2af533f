"""Private choice among candidates: by disjoint parts, by random stopping, by public rows."""

from privet.tuning.partition import PartitionSearch
from privet.tuning.private_search import TuningAdvice
from privet.tuning.public_validation import PublicSearch
from privet.tuning.random_stopping import RandomStoppingSearch

__all__ = ["PartitionSearch", "PublicSearch", "RandomStoppingSearch", "TuningAdvice"]
