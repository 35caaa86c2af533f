"""Names for the arrays that pass between rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int_]
Flags = NDArray[np.bool_]
#: What a loss is given beside the scores: class codes or signs, one per row.
Targets = NDArray[Any]
