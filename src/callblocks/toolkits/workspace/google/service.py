"""One of Google's services, asked through its published client.

    service = Service("gmail", "v1", credentials)
    service.call(lambda api: api.users().messages().list(userId="me", q="is:unread"))

The description of the service comes with the client: nothing is fetched but answers. A request
that failed in passing is sent again, at most four times in all; one that may change something
twice (POST, PATCH) only where Google surely did nothing.
"""

# The client library has no types, and its methods are made at run time.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from google.auth.credentials import Credentials

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.google.description import api_of
from callblocks.toolkits.workspace.google.faults import FAULTS, Fault, fault_of
from callblocks.toolkits.workspace.google.transport import Transport

__all__ = ("MEDIA_LIMIT", "Ask", "Service")

_Read = TypeVar("_Read")

# Makes a request of the client's object for the service.
Ask: TypeAlias = Callable[[Any], Any]

# The largest file that is fetched.
MEDIA_LIMIT = 25 * 1024 * 1024

# An attachment of the largest size, in base64, with its message.
_LIMIT = 40 * 1024 * 1024
_TRIES = 4
_PATIENCE = 30.0
_SIDE_BY_SIDE = 6
_REPEATABLE = ("GET", "PUT", "DELETE")
# How the client library says that a value is none that the service takes.
_REFUSED = re.compile(r'(?:Parameter|Missing required parameter) "')

_MAKING = threading.Lock()


class Service:
    """A service by its name and version; `base` is asked instead of Google's own server."""

    def __init__(
        self,
        name: str,
        version: str,
        credentials: Credentials,
        *,
        base: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name = name
        self._version = version
        self._base = base
        self._sleep = sleep
        self._transport = Transport(credentials, direct=bool(base))

    def call(self, ask: Ask, *, repeatable: bool | None = None) -> Json:
        """The answer to one request, {} where there is none.

        `repeatable` says that doing it twice is the same as doing it once; by itself that
        holds for GET, PUT and DELETE.
        """
        return self._run(ask, _resource, _LIMIT, repeatable)

    def calls(self, asks: Sequence[Ask]) -> list[Json]:
        """The answers to several requests that only read, in order; some run side by side."""
        from concurrent.futures import ThreadPoolExecutor

        if len(asks) < 2:
            return [self.call(ask) for ask in asks]
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return list(pool.map(self.call, asks))

    def media(self, ask: Ask) -> bytes:
        """What a file holds: for requests made with `get_media` and `export_media`."""
        try:
            return self._run(ask, _content, MEDIA_LIMIT)
        except ToolError as error:
            if error.code != "response_too_large":
                raise
            message = f"the file has more than {MEDIA_LIMIT} bytes, which is more than is fetched"
            raise ToolError("file_too_large", message) from error

    def upload(self, content: bytes, mime: str) -> Any:
        """What a request takes as its `media_body`."""
        from googleapiclient.http import MediaInMemoryUpload

        return MediaInMemoryUpload(content, mimetype=mime)

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._transport.close()

    def _run(
        self,
        ask: Ask,
        read: Callable[[str, Any], _Read],
        limit: int,
        repeatable: bool | None = None,
    ) -> _Read:
        request = self._request(ask)
        method = str(request.method)
        safe = method in _REPEATABLE if repeatable is None else repeatable
        http = self._transport.limited(limit)
        unsure = False
        for turn in range(1, _TRIES + 1):
            try:
                return read(method, request.execute(http=http))
            except FAULTS as error:
                fault = fault_of(error)
                if unsure and fault.gone and method == "DELETE":
                    return read(method, None)  # the request before this one did it
                unsure = unsure or not fault.undone
                if turn == _TRIES or not _worth(fault, safe):
                    raise fault.error(may_be_done=unsure and method != "GET") from error
                self._sleep(_pause(fault, turn))
        raise AssertionError("the last turn returns or raises")

    def _request(self, ask: Ask) -> Any:
        # The client completes its description of a method whenever it is used.
        with _MAKING:
            try:
                request = ask(api_of(self._name, self._version, self._base))
            except TypeError as error:
                if not _REFUSED.match(str(error)):
                    raise
                raise ToolError("invalid_input", f"Google takes no such value: {error}") from error
        _require_plain(str(request.uri))
        return request


def _resource(method: str, answer: Any) -> Json:
    """An answer as an object; where there is nothing to say, Google says nothing.

    The client gives what is no JSON as the text it is.
    """
    if isinstance(answer, dict):
        return answer
    if method == "DELETE" or (method != "GET" and not answer):
        return {}
    raise ValueError("no JSON object")


def _content(_method: str, answer: Any) -> bytes:
    return bytes(answer or b"")


def _worth(fault: Fault, safe: bool) -> bool:
    """Whether to ask again."""
    soon = fault.wait is None or fault.wait <= _PATIENCE
    return fault.passing and soon and (safe or fault.undone)


def _pause(fault: Fault, turn: int) -> float:
    """Seconds: as Google asks, else 1, 2, 4 and a little, so that many do not come at once."""
    if fault.wait is not None:
        return fault.wait
    return 2.0 ** (turn - 1) + random.random()


def _require_plain(uri: str) -> None:
    """An id such as `..` would lead to another method."""
    if not {".", ".."}.isdisjoint(urlsplit(uri).path.split("/")):
        raise ToolError("invalid_input", "`.` and `..` are no ids; give one that a list gave")
