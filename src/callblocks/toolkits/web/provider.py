"""Requests to a search engine's server, with failures mapped to codes.

    rows = await Provider("brave", address, client).get(path, parameters, ("web", "results"))

Messages contain neither text of the server nor the key.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.net.client import Client
from callblocks.runtime.net.response import Response

__all__ = ("Provider", "first_words", "text_of")

_JSON = "application/json"
_CODES = {
    401: ("sign_in_needed", "does not take the key; a person must set a valid one"),
    402: ("quota_exceeded", "wants to be paid; a person must look at the account"),
    403: ("forbidden", "refuses to answer: the key may not search, or JSON is switched off there"),
    429: ("quota_exceeded", "takes no more queries for now"),
    # Tavily's own: the limit of a plan, and that of paying as you go.
    432: ("quota_exceeded", "takes no more queries: the limit of the plan is reached"),
    433: ("quota_exceeded", "takes no more queries: the limit of spending is reached"),
}


class Provider:
    """The server of one engine; the address has no trailing slash."""

    def __init__(self, name: str, address: str, client: Client) -> None:
        self.name = name
        self._address = address
        self._client = client

    async def get(
        self,
        path: str,
        parameters: Mapping[str, str | int],
        where: Sequence[str],
        headers: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the rows of the answer to a GET; `where` is the path of keys to them."""
        url = f"{self._address}{path}?{urlencode(parameters)}"
        given = {"Accept": _JSON, **(headers or {})}
        return self._rows(await self._client.request(url, headers=given), where)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        where: Sequence[str],
        headers: Mapping[str, str],
    ) -> list[dict[str, Any]]:
        """Return the rows of the answer to a POST of JSON."""
        given = {"Accept": _JSON, "Content-Type": _JSON, **headers}
        sent = msgspec.json.encode(body)
        response = await self._client.request(
            f"{self._address}{path}", "POST", headers=given, body=sent
        )
        return self._rows(response, where)

    def _rows(self, response: Response, where: Sequence[str]) -> list[dict[str, Any]]:
        if response.status != 200:
            raise self._refused(response)
        try:
            value = msgspec.json.decode(response.body)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._odd("with something that is no JSON") from error
        for name in where:
            if not isinstance(value, dict):
                raise self._odd("in a form that is not known")
            value = cast("dict[str, Any]", value).get(name)
            # Engines omit the list if nothing was found.
            if value is None:
                return []
        if not isinstance(value, list):
            raise self._odd("in a form that is not known")
        rows = cast("list[Any]", value)
        return [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]

    def _refused(self, response: Response) -> ToolError:
        code, words = _CODES.get(response.status, ("service_unavailable", ""))
        if not words:
            return self._odd(f"with status {response.status}")
        # Only a short number of seconds is repeated in the message; the header is text of the
        # server.
        wait = response.header("retry-after")
        later = f"; try again in {wait} seconds" if wait.isdecimal() and len(wait) < 6 else ""
        return ToolError(code, f"{self.name} {words}{later}", status=response.status)

    def _odd(self, how: str) -> ToolError:
        return ToolError("service_unavailable", f"{self.name} answered {how}")


def text_of(row: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is a string, with HTML entities decoded, or ""."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value:
            return html.unescape(value)
    return ""


def first_words(query: str, words: int, length: int) -> str:
    """Cut a query to the length that an engine accepts."""
    return " ".join(query.split()[:words])[:length].strip()
