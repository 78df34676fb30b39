"""Whether a request that got no reply is tried again, and when.

Retry-After: 2                                2 s
Retry-After: Thu, 01 Jan 2026 00:00:00 GMT    until then
Retry-After: 3600                             not at all: nobody waits that long
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from time import time

from callblocks.model.errors import ModelError

__all__ = ("may_pass", "wait_before")

_LONGEST = 10.0


def may_pass(error: ModelError) -> bool:
    """Whether the same request may be answered in a moment."""
    return error.code == "model_unreachable" or error.details.get("status") in (429, 503)


def wait_before(header: str | None, default: float) -> float | None:
    """How many seconds to wait by a `Retry-After` header; `None` if that is too long."""
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
