"""A request: method, headers and body, checked before a connection is opened.

A caller sets neither headers that frame a message (`Host`, `Content-Length`, `Transfer-Encoding`
…), which would allow request smuggling, nor headers that make a server take one method for another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn, TypeAlias

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.net.limits import NetLimits
from callblocks.runtime.net.url import Url, read_url

__all__ = ("METHODS", "Headers", "Request", "read_request")

# Names in lower case with their values, in order.
Headers: TypeAlias = tuple[tuple[str, str], ...]

# The methods that can be sent.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x20-\x7e\t]*")
# Headers that frame the message, belong to one connection, or address a proxy.
_OURS = frozenset(
    (
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te"),
        *("trailer", "upgrade", "expect", "http2-settings", "accept-encoding"),
        # A policy may allow GET alone; these would turn a GET into another method.
        *("x-http-method", "x-http-method-override", "x-method-override"),
    )
)


class Request(msgspec.Struct, frozen=True):
    """One request, ready to be sent."""

    url: Url
    method: str = "GET"
    headers: Headers = ()
    body: bytes = b""


def read_request(
    url: str, method: str, headers: Mapping[str, str], body: bytes, limits: NetLimits
) -> Request:
    """Check a request; raise a `ToolError` that names the fault."""
    name = method.upper()
    if name not in METHODS:
        _refuse("method", f"{brief(method)} is no method; choose from: {', '.join(METHODS)}")
    if len(body) > limits.sent:
        _refuse("body", f"the body has {len(body)} bytes, and may have {limits.sent}")
    return Request(read_url(url), name, _read_headers(headers, limits), body)


def _read_headers(headers: Mapping[str, str], limits: NetLimits) -> Headers:
    read = {"user-agent": "callblocks", "accept": "*/*"}
    for name, value in headers.items():
        _check_header(name, value)
        read[name.lower()] = value.strip(" \t")
    size = sum(len(name) + len(value) for name, value in read.items())
    if len(read) > limits.headers or size > limits.header_bytes:
        _refuse(
            "headers",
            f"{len(read)} headers of {size} bytes are too many; "
            f"there may be {limits.headers} of {limits.header_bytes} bytes",
        )
    # Only encodings that can be decompressed incrementally, and so stopped at the limit.
    return (*read.items(), ("accept-encoding", "gzip, deflate"))


def _check_header(name: str, value: str) -> None:
    if not _NAME.fullmatch(name):
        _refuse("headers", f"{brief(name)} is no name of a header: letters, digits and - only")
    if name.lower() in _OURS or name.lower().startswith("proxy-"):
        _refuse("headers", f"the header {name} is set by the client itself; leave it out")
    if not _VALUE.fullmatch(value):
        _refuse(
            "headers",
            f"the value of {name} has a line break or a character that is not ASCII; "
            "leave it out, or encode it",
        )


def _refuse(field: str, why: str) -> NoReturn:
    raise ToolError("invalid_input", why, **{field: why})
