"""Asking a service from Python, with nothing but the standard library.

from privet.service.client import ServiceClient

client = ServiceClient("https://models.example.org", token)
client.predict([{"age": 41, "region": "north"}])["predictions"]
"""

from __future__ import annotations

import http.client
import json
import secrets
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from privet.errors import DataError, DeclarationError, PrivetError

LARGEST_ANSWER = 1 << 28


class ServiceRefused(PrivetError):
    """The service did not answer: ``status``, ``code`` and its own words.

    Parameters
    ----------
    status : int
        Of HTTP.
    code : str
        For programs; ``limit`` where nothing is left.
    message : str
        The service's own words.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class ServiceClient:
    """A service that ``privet serve`` runs.

    Parameters
    ----------
    url : str
        Where it is: ``https://...``; plain ``http://`` is for this machine only.
    token : str or None, default None
        The token; None for a service that needs none.
    model : str or None, default None
        Which of the served models; None where there is one.
    timeout : float, default 60.0
        Seconds to wait for an answer.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        model: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        local = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise DeclarationError(
                "The address of a service begins with https://: without TLS anybody on the way "
                "reads the token and the rows. http:// is for this machine only."
            )
        self.url, self.model, self.timeout = url.rstrip("/"), model, timeout
        self._token = token
        # on this machine no proxy, which would read the token
        near = [urllib.request.ProxyHandler({})] if parts.scheme == "http" else []
        self._opener = urllib.request.build_opener(_NoRedirect, *near)

    def predict(
        self, rows: Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> dict[str, Any]:
        """Predictions for rows in the schema's own columns.

        Parameters
        ----------
        rows : list of dict
            A cell for each column; None where it is missing.
        key : str or None, default None
            An idempotency key: the same request again, after a broken connection.

        Returns
        -------
        dict
            ``predictions``, with ``probabilities`` or ``scores``.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._ask("/predict", {"rows": [dict(row) for row in rows]}, headers)

    def describe(self) -> dict[str, Any]:
        """The statement and the card of the model.

        Returns
        -------
        dict
        """
        return self._ask("/model")

    def budget(self) -> dict[str, Any]:
        """What is promised, and what is left.

        Returns
        -------
        dict
        """
        return self._ask("/budget")

    def fit(
        self,
        table: str,
        name: str,
        budget: Mapping[str, float],
        *,
        key: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Have a model trained on a table that is already on the server.

        Parameters
        ----------
        table : str
            The table's file name there.
        name : str
            What the model will be called.
        budget : dict
            ``{"epsilon": 1.0}``, with ``"delta"`` or not, ``{"rho": 0.5}`` or ``{"mu": 1.0}``.
        key : str or None, default None
            An idempotency key: a request that is sent again charges once. None draws one.
        **more
            ``model``, ``schema`` (TOML) and ``options``.

        Returns
        -------
        dict
            The job: ``id``, ``state`` and ``words``.
        """
        body = {"table": table, "name": name, "budget": dict(budget), **more}
        return self._ask("/fit", body, {"Idempotency-Key": key or secrets.token_hex(16)})

    def job(self, name: str) -> dict[str, Any]:
        """How far a training job is.

        Parameters
        ----------
        name : str
            Its ``id``.

        Returns
        -------
        dict
            ``state`` is waiting, fitting, released, refused or stopped.
        """
        return self._ask(f"/fit/{urllib.parse.quote(name, safe='')}")

    def _ask(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        query = "" if self.model is None else f"?{urllib.parse.urlencode({'model': self.model})}"
        sent = {"Accept": "application/json", **(headers or {})}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        raw = None
        if body is not None:
            raw, sent["Content-Type"] = _written(body), "application/json"
        request = urllib.request.Request(f"{self.url}{path}{query}", raw, sent)
        try:
            with self._opener.open(request, timeout=self.timeout) as answer:
                return dict(json.loads(answer.read(LARGEST_ANSWER)))
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise PrivetError(f"There is no answer from {self.url}: {reason}") from error
        except ValueError:
            raise PrivetError(f"What answers at {self.url} is not this service.") from None

    def __repr__(self) -> str:
        return f"ServiceClient({self.url!r})"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: the token would be sent along, perhaps in the clear."""

    def redirect_request(self, *_: Any) -> None:
        """None: the answer with the other address is an error."""


def _written(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError):
        raise DataError(
            "A cell must be a finite number, a text, True, False or None, which is a missing cell; "
            "NaN and numpy's own types are none of them."
        ) from None


def _refusal(error: urllib.error.HTTPError) -> ServiceRefused:
    try:
        told = json.loads(error.read(1 << 16))["error"]
        return ServiceRefused(error.code, str(told["code"]), str(told["message"]))
    except (ValueError, KeyError, TypeError):
        return ServiceRefused(error.code, "unknown", f"The service answered {error.code}.")
