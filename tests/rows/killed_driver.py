"""A fit whose driver is killed in its third pass; run with a folder and a ledger's address."""

from __future__ import annotations

import os
import signal
import sys

from privet import Ledger, LogisticRegression, fit_table
from privet.rows.threads import Progress, watched
from tests.rows.tables import schema


def tell(progress: Progress) -> None:
    """End this process where the third pass begins."""
    if progress.passes == 3:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    model = LogisticRegression(1.0, ledger=Ledger(sys.argv[2]), dataset="people")
    with watched(tell):
        fit_table(model, schema(), sys.argv[1])
