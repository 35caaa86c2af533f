"""Tables for examples, tests and reproductions: one that is made up, four that the papers used.

``census_like`` and the raw ``census_table`` need no file and are about nobody. ``adult``,
``kddcup99``, ``covertype`` and ``mnist`` read public files from the folder that ``PRIVET_DATA``
names; ``encode`` turns their columns into rows of norm 1 by declared encodings.
"""

from privet.datasets.census import CENSUS_COLUMNS, census_like
from privet.datasets.census_table import census_schema, census_table
from privet.datasets.columns import Columns, encode, feature_names
from privet.datasets.encodings import (
    ADULT,
    ADULT_FULL,
    COVERTYPE,
    COVERTYPE_NUMBERS,
    KDDCUP99,
    KDDCUP99_FULL,
)
from privet.datasets.files import adult, covertype, kddcup99, mnist
from privet.datasets.histograms import orientation_histograms

__all__ = [
    "ADULT",
    "ADULT_FULL",
    "CENSUS_COLUMNS",
    "COVERTYPE",
    "COVERTYPE_NUMBERS",
    "KDDCUP99",
    "KDDCUP99_FULL",
    "Columns",
    "adult",
    "census_like",
    "census_schema",
    "census_table",
    "covertype",
    "encode",
    "feature_names",
    "kddcup99",
    "mnist",
    "orientation_histograms",
]
