"""What a refusal says: a status, a code for programs, one or two sentences. Nothing is echoed.

400 malformed      no JSON, or not in the form that the description shows
401 token          no token, or a wrong one
403 role | site    the token is not for this; a page of another site asks without one
404 unknown        no such model or address
408 slow           the body did not arrive in time
409 limit | key    nothing is left of a release, or a key was used for another request
409 name | table   a model of this name is there; the table is not as it was looked through
413 size           too many bytes or rows
422 rows           a row that the schema does not describe
429 rate | busy    too many requests, with Retry-After
503 ledger         the ledger cannot be reached or believed: nothing was answered
500 internal       a fault of Privet's: its kind is logged, its text is not, it may quote rows
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from privet.errors import BudgetExceeded, DataError, LedgerError, PrivetError

JSON = b"application/json"
_GOT = re.compile(r"[,;] got .*", re.DOTALL)


class Refusal(Exception):
    """A request that is not answered."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, dict(headers or {})

    def body(self) -> bytes:
        """As JSON."""
        return json.dumps({"error": {"code": self.code, "message": str(self)}}).encode()


def internal() -> Refusal:
    """For what must not happen: nothing of the error itself is told."""
    return Refusal(
        500, "internal", "Something went wrong inside the service; its log has the kind."
    )


def refused(error: PrivetError) -> Refusal:
    """Privet's own refusals: their words quote no cell."""
    if isinstance(error, LedgerError):
        return Refusal(
            503, "ledger", "The ledger cannot be used at the moment, so nothing was answered."
        )
    if isinstance(error, BudgetExceeded):
        return Refusal(409, "limit", str(error))
    if isinstance(error, DataError):
        return Refusal(422, "rows", str(error))
    return Refusal(400, "malformed", without_values(str(error)))


def without_values(text: str) -> str:
    """A refusal of Privet's without the declared value that it repeats: ", got 17."."""
    return _GOT.sub(".", text)


def no_token() -> Refusal:
    """Nobody known."""
    return Refusal(
        401,
        "token",
        "This needs a token that is known here: send it as Authorization: Bearer TOKEN.",
        {"WWW-Authenticate": "Bearer"},
    )


def not_allowed(role: str) -> Refusal:
    """Somebody known, for something else."""
    return Refusal(403, "role", f"This needs a token with the role {role!r}.")


def other_site() -> Refusal:
    """A browser that was sent here by a page of somebody else's."""
    return Refusal(403, "site", "A page of another site may not ask here without a token.")


def too_many(seconds: float) -> Refusal:
    """The rate is used up."""
    wait = max(1, int(seconds + 0.999))
    return Refusal(
        429,
        "rate",
        f"Too many requests with this token; try again in {wait} s.",
        {"Retry-After": str(wait)},
    )


def busy() -> Refusal:
    """Too much at once."""
    return Refusal(429, "busy", "Too many requests at once.", {"Retry-After": "1"})
