"""The papers' tables: loaders of public files, and encodings written down from their documentation.

``adult``, ``kddcup99``, ``covertype`` and ``mnist`` read files from the folder that ``PRIVET_DATA``
names; ``encode`` turns their columns into rows of norm 1 by declared encodings.
"""

from .columns import Columns, encode, feature_names
from .encodings import (
    ADULT,
    ADULT_FULL,
    COVERTYPE,
    COVERTYPE_NUMBERS,
    KDDCUP99,
    KDDCUP99_FULL,
)
from .files import adult, covertype, kddcup99, mnist
from .histograms import orientation_histograms

__all__ = [
    "ADULT",
    "ADULT_FULL",
    "COVERTYPE",
    "COVERTYPE_NUMBERS",
    "KDDCUP99",
    "KDDCUP99_FULL",
    "Columns",
    "adult",
    "covertype",
    "encode",
    "feature_names",
    "kddcup99",
    "mnist",
    "orientation_histograms",
]
