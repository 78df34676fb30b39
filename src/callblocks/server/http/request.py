"""Reading what a client asks: the query, the body, and headers, each by its declared shape.

A body is JSON, sent as such: a form of a foreign page cannot send it. Where there is none, no type
needs to be said. It is counted as it arrives, with or without a length said before, and must arrive
in time.
"""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from starlette.requests import Request

from callblocks.server.http.faults import ApiFault
from callblocks.server.settings import ServerSettings

__all__ = (
    "MAX_NUMBER",
    "Number",
    "event_number",
    "range_of",
    "read_body",
    "read_query",
)

T = TypeVar("T")

MAX_NUMBER = 2**53 - 1
"""The last whole number that every reader of JSON has."""

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
"""The number of a block; 0 stands before the first."""

_NO_VALUE = re.compile(r"Invalid enum value (?P<given>.*) - at `\$\.(?P<field>\w+)`", re.DOTALL)
_EVENT = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,15}))?")


def read_query(request: Request, shape: type[T]) -> T:
    """The query of the address; numbers are written as text there."""
    pairs = request.query_params.multi_items()
    given = dict(pairs)
    if len(given) != len(pairs):
        raise ApiFault("invalid_request", "a name stands twice in the query; give it once")
    try:
        return msgspec.convert(given, shape, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise _unlike("the query", error, shape) from error


def event_number(request: Request, after: str | None = None) -> tuple[int, int] | None:
    """The number of the last event that a client has, as `12` or `12.3`; None for none.

    `after` comes before what the header says.
    """
    said = request.headers.get("last-event-id") if after is None else after
    if said is None:
        return None
    found = _EVENT.fullmatch(said)
    if found is None:
        raise ApiFault("bad_header", "Last-Event-ID is the id of an event of this stream")
    return int(found[1]), int(found[2] or 0)


async def read_body(request: Request, shape: type[T], settings: ServerSettings) -> T:
    """The body as a value of that shape; none is an empty object."""
    if "content-type" in request.headers:
        _check_type(request)
    content = await _content(request, settings)
    if content:
        _check_type(request)
    try:
        return msgspec.json.decode(content or b"{}", type=shape)
    except msgspec.ValidationError as error:
        raise _unlike("the body", error, shape) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiFault("bad_json", f"the body is no JSON: {error}") from error
    except RecursionError as error:
        raise ApiFault("bad_json", "the body is nested too deeply") from error


def _unlike(what: str, error: Exception, shape: type[Any]) -> ApiFault:
    """Describe a request of the wrong shape; list the values of a field that takes a few."""
    found = _NO_VALUE.fullmatch(str(error))
    values = _values(get_type_hints(shape).get(found["field"])) if found else []
    if found is None or not values:
        return ApiFault("invalid_request", f"{what} is not as it should be: {error}")
    *others, last = map(str, values)
    known = f"{', '.join(others)} or {last}" if others else last
    return ApiFault("invalid_request", f"{found['field']} is {known}, not {found['given']}")


def _values(hint: Any) -> list[Any]:
    """The values that a type names."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [value for one in get_args(hint) for value in _values(one)]


def _check_type(request: Request) -> None:
    given = request.headers.getlist("content-type")
    mime = given[0].partition(";")[0].strip().lower() if len(given) == 1 else ""
    if mime != "application/json":
        raise ApiFault("wrong_content_type")


async def _content(request: Request, settings: ServerSettings) -> bytes:
    limit = settings.max_body
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said[:20]) > limit:
        raise _too_large(limit)
    content = bytearray()
    stream = request.stream()
    try:
        while True:
            async with asyncio.timeout(settings.read_timeout):
                piece = await anext(stream, None)
            if piece is None:
                return bytes(content)
            content += piece
            if len(content) > limit:
                raise _too_large(limit)
    except TimeoutError as error:
        raise ApiFault("read_timeout", headers={"connection": "close"}) from error
    finally:
        await stream.aclose()


def _too_large(limit: int) -> ApiFault:
    words = f"the body is larger than {limit} bytes, which is the limit here"
    # What else comes of it is not read.
    return ApiFault("body_too_large", words, {"connection": "close"})


# --- The requested part of a file: one range of bytes ---
#
#     bytes=0-99      the first hundred
#     bytes=100-      all from there
#     bytes=-100      the last hundred
#
# Any other header, also one with several ranges, is ignored. A range that begins behind the end of
# the file is an error.

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.I)


def range_of(header: str, size: int) -> range | None:
    """The bytes that are asked for; None for all of them."""
    found = _RANGE.fullmatch(header.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if found[1]:
        first, last = int(found[1]), int(found[2]) if found[2] else size
        if found[2] and last < first:
            return None
    else:
        first, last = max(size - int(found[2]), 0), size if int(found[2]) else -1
    asked = range(first, min(last + 1, size))
    if not asked:
        words = f"the file has {size} bytes, and none of them is in the range"
        raise ApiFault("bad_range", words, {"content-range": f"bytes */{size}"})
    return asked
