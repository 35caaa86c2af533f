"""The ledger as a timeline, for curators: what was charged, when, and whether it was released."""

from __future__ import annotations

from typing import Any

from privet.ledger.entry import Entry
from privet.ledger.fits import charged_words
from privet.privacy.guarantee import mechanism_words
from privet.service.refusals import Refusal
from privet.service.served_model import Served

#: Charges that are shown, the newest.
MOST = 200


def time_line(served: Served) -> dict[str, Any]:
    """The newest charges to the data set of a release, oldest first."""
    if served.ledger is None or served.dataset is None:
        raise Refusal(
            404, "unknown", "No ledger goes with this model: start the service with --ledger."
        )
    terms = served.ledger.terms(served.dataset)
    charges = [
        {
            "entry": found.charged.sequence,
            "time": found.charged.time,
            "price": _price(found.charged, terms.group),
            "mechanism": mechanism_words(str(found.charged.told.get("mechanism", ""))),
            "part": found.charged.part,
            "released": found.settled,
        }
        for found in served.ledger.releases(served.dataset, last=MOST)
    ]
    opened = served.ledger.opened(served.dataset)
    return {"opened": opened, "account": served.account(), "charges": charges}


def _price(entry: Entry, group: int) -> str:
    return "cannot be read" if entry.claim is None else charged_words(entry.claim, group)
