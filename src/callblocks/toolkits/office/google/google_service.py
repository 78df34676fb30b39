"""One Google service, accessed through the published client.

    service = Service("gmail", "v1", credentials)
    service.call(lambda api: api.users().messages().list(userId="me", q="is:unread"))

The service descriptions are part of the client package: nothing but answers is fetched. A request
that failed temporarily is repeated, at most four times in all; one that could change something
twice (POST, PATCH) only if Google certainly did nothing.

States of a request: sent and answered; failed and certainly undone; failed and unsure. Once a try
was unsure, the final failure says that the change may have been made, whatever the later tries
report.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import httplib2
import msgspec
from google.auth.credentials import Credentials
from googleapiclient.discovery import build_from_document
from googleapiclient.discovery_cache import get_static_doc

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.google.transport import FAULTS, GoogleFault, Transport, fault_of

__all__ = (
    "MEDIA_LIMIT",
    "Ask",
    "Service",
    "api_of",
)

# --- The client object of a service, built once from the description in the client package ---
#
# The client generates documentation for each method at each use from the schemas of all its inputs
# and outputs; for spreadsheets that takes longer than the request. Nobody reads it, so the schemas
# are reduced to field names.

# The client library has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


@cache
def api_of(name: str, version: str, base: str = "") -> Any:
    """Return the object whose methods create requests; `base` replaces Google's server."""
    document = get_static_doc(name, version)
    if document is None:
        raise LookupError(f"the client has no description of {name} {version}")
    described: dict[str, Any] = msgspec.json.decode(document)
    described["schemas"] = {name: _names(schema) for name, schema in described["schemas"].items()}
    if base:
        described["rootUrl"] = base.rstrip("/") + "/"
    # Each request is sent through a transport of its own; this one only satisfies the signature.
    return build_from_document(described, http=httplib2.Http())


def _names(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its field names, by which the client recognizes paged answers."""
    fields: dict[str, Any] = schema.get("properties", {})
    return {
        "id": schema["id"],
        "type": "object",
        "properties": {f: {"type": "any"} for f in fields},
    }


# --- One Google service, accessed through the published client ---

# The client library has no types, and its methods are made at run time.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


_Read = TypeVar("_Read")

# A function that creates a request from the client object.
Ask: TypeAlias = Callable[[Any], Any]

# Size limit in bytes of a fetched file.
MEDIA_LIMIT = 25 * 1024 * 1024

# Size limit of a JSON answer: an attachment of the maximum size in base64, with its message.
_LIMIT = 40 * 1024 * 1024
_TRIES = 4
_PATIENCE = 30.0
_SIDE_BY_SIDE = 6
_REPEATABLE = ("GET", "PUT", "DELETE")
# Messages of the client library for a parameter value that the service does not accept.
_REFUSED = re.compile(r'(?:Parameter|Missing required parameter) "')

_MAKING = threading.Lock()


class Service:
    """A service by name and version; `base` replaces Google's server."""

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
        """Send one request and return its answer, {} if there is none.

        `repeatable` says that doing it twice equals doing it once; by default that holds for GET,
        PUT and DELETE.
        """
        return self._run(ask, _resource, _LIMIT, repeatable)

    def calls(self, asks: Sequence[Ask]) -> list[Json]:
        """Send several read requests concurrently; return the answers in order."""
        from concurrent.futures import ThreadPoolExecutor

        if len(asks) < 2:
            return [self.call(ask) for ask in asks]
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return list(pool.map(self.call, asks))

    def media(self, ask: Ask) -> bytes:
        """Return the content of a file, for requests made with `get_media` and `export_media`."""
        try:
            return self._run(ask, _content, MEDIA_LIMIT)
        except ToolError as error:
            if error.code != "response_too_large":
                raise
            message = f"the file has more than {MEDIA_LIMIT} bytes, which is more than is fetched"
            raise ToolError("file_too_large", message) from error

    def upload(self, content: bytes, mime: str) -> Any:
        """Return the `media_body` of a request."""
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
                # An unsure DELETE followed by "not found": the first try has succeeded.
                if unsure and fault.gone and method == "DELETE":
                    return read(method, None)  # the request before this one did it
                unsure = unsure or not fault.undone
                if turn == _TRIES or not _worth(fault, safe):
                    raise fault.error(may_be_done=unsure and method != "GET") from error
                self._sleep(_pause(fault, turn))
        raise AssertionError("the last turn returns or raises")

    def _request(self, ask: Ask) -> Any:
        # The client's method objects are completed at each use and are not thread-safe, hence the
        # lock.
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
    """Return an answer as an object; where Google has nothing to say, the answer is empty.

    The client returns answers that are no JSON as text.
    """
    if isinstance(answer, dict):
        return answer
    if method == "DELETE" or (method != "GET" and not answer):
        return {}
    raise ValueError("no JSON object")


def _content(_method: str, answer: Any) -> bytes:
    return bytes(answer or b"")


def _worth(fault: GoogleFault, safe: bool) -> bool:
    """Tell if a request is worth repeating."""
    # A longer wait is left to the model, which is told the seconds; the call should not block.
    soon = fault.wait is None or fault.wait <= _PATIENCE
    return fault.passing and soon and (safe or fault.undone)


def _pause(fault: GoogleFault, turn: int) -> float:
    """Return the seconds to wait: as Google asks, else 1, 2, 4 with jitter."""
    if fault.wait is not None:
        return fault.wait
    return 2.0 ** (turn - 1) + random.random()


def _require_plain(uri: str) -> None:
    """Refuse `.` and `..` as ids, which would change the URL's path to another method."""
    if not {".", ".."}.isdisjoint(urlsplit(uri).path.split("/")):
        raise ToolError("invalid_input", "`.` and `..` are no ids; give one that a list gave")
