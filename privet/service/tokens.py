"""Tokens: who may ask, see the ledger, have models trained. Only their hashes are kept.

A token is 256 random bits, so one SHA-256 is enough: there is nothing to guess. A token that comes
in is compared with every known one in constant time, and always with all of them: how long it takes
tells neither how much of a token was right nor whose it is.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from privet._files import write_whole
from privet._names import is_safe
from privet._untrusted import MEGABYTE, parsed_json, read_whole
from privet.errors import DataError, DeclarationError

#: What each kind of token lets its holder do. ask: predictions and what is left. curate: also the
#: ledger and metrics. fit: also training jobs, which no other token lets in.
ROLES = {"ask": ("ask",), "curate": ("ask", "curate"), "fit": ("ask", "fit")}
FORMAT = "privet-tokens-1"
_LEAD = "privet_"


@dataclass(frozen=True)
class Holder:
    """Somebody who has a token, by the name that the curator gave, and what they may do."""

    name: str
    role: str
    sha256: str

    def may(self, role: str) -> bool:
        """Whether the token is for this."""
        return role in ROLES[self.role]


def drawn_token() -> str:
    """A new token; it is shown once and never stored."""
    return _LEAD + secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def holder(name: str, role: str, token: str) -> Holder:
    """The holder of a new token."""
    if role not in ROLES:
        raise DeclarationError(f"A role must be one of {', '.join(ROLES)}.")
    if not name or len(name) > 100 or not is_safe(name):
        raise DeclarationError(
            "The name of a token must be plain text of at most 100 letters: who it is for."
        )
    return Holder(name, role, hashed(token))


@dataclass(frozen=True)
class Tokens:
    """All holders; nobody is let in who is not among them."""

    holders: tuple[Holder, ...] = ()

    def of(self, header: str | None) -> Holder | None:
        """Who sent ``Authorization: Bearer TOKEN``; None where nobody known did."""
        scheme, _, token = (header or "").partition(" ")
        given = hashed(token.strip()).encode()
        found = None
        for each in self.holders:  # all of them, whichever it is
            if hmac.compare_digest(each.sha256.encode(), given):
                found = each
        return found if scheme.lower() == "bearer" else None

    def text(self) -> str:
        """The file of them."""
        listed = [{"name": h.name, "role": h.role, "sha256": h.sha256} for h in self.holders]
        return json.dumps({"format": FORMAT, "tokens": listed}, indent=2) + "\n"


def from_another_site(headers: Mapping[str, str]) -> bool:
    """Whether a browser asks on behalf of a page that is somebody else's.

    Where no token is needed, any page could use up what an interactive release answers, or learn
    who asks it. Browsers say where a request comes from, and no script can change that; programs
    say nothing.
    """
    told = headers.get("sec-fetch-site")
    if told is not None:
        return told not in ("same-origin", "none")
    origin = headers.get("origin")  # older browsers, and addresses without TLS
    return origin is not None and origin.partition("://")[2] != headers.get("host")


def read_tokens(path: str | os.PathLike[str]) -> Tokens:
    """The holders in a file that ``privet token`` wrote."""
    try:
        record = parsed_json(read_whole(path, MEGABYTE))
        if record["format"] != FORMAT:
            raise ValueError
        return Tokens(tuple(_holder(each) for each in record["tokens"]))
    except (ValueError, KeyError, TypeError):
        raise DataError(
            f"{Path(path).name} is not a file of tokens. Write one with `privet token`."
        ) from None


def _holder(record: dict[str, str]) -> Holder:
    if record["role"] not in ROLES or len(record["sha256"]) != 64:
        raise ValueError
    return Holder(str(record["name"]), record["role"], record["sha256"])


def write_tokens(path: str | os.PathLike[str], holders: Iterable[Holder]) -> None:
    """The file of hashes, for its owner alone."""
    write_whole(path, Tokens(tuple(holders)).text(), mode=0o600)
