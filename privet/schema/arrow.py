"""Arrow, which reads files; an extra."""

from __future__ import annotations

from typing import Any

from privet.errors import MissingExtra


def pyarrow() -> Any:
    """Arrow with its readers, or the extra that brings it."""
    try:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Reading files needs pyarrow, the extra 'parquet'.") from None
    return pa
