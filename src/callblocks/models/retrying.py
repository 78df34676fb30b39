"""Retrying: whether a request without a reply is sent again, and when.

    Retry-After: 2                                2 s
    Retry-After: Thu, 01 Jan 2026 00:00:00 GMT    until then
    Retry-After: 3600                             not at all: nobody waits that long

Only faults before the first byte of a reply get here (see `http_stream`), so a retry can repeat
nothing that a person saw or a tool did.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from time import time

from callblocks.model.errors import ModelError

__all__ = ("may_pass", "wait_before")

_LONGEST = 10.0


def may_pass(error: ModelError) -> bool:
    """Return whether the same request may succeed in a moment."""
    return error.code == "model_unreachable" or error.details.get("status") in (429, 503)


# The server's own word has precedence over our default: it knows when its limit resets.
def wait_before(header: str | None, default: float) -> float | None:
    """Return the seconds to wait by a `Retry-After` header; `None` if that is too long."""
    if header is None:
        return default
    try:
        seconds = _seconds(header)
    except (ValueError, OverflowError):
        return default
    return max(seconds, 0.0) if seconds <= _LONGEST else None


def _seconds(header: str) -> float:
    try:
        return float(header)
    except ValueError:
        return parsedate_to_datetime(header).timestamp() - time()
