"""HTTP freshness: how long a page may be reused without a request, and how it is revalidated.

    Cache-Control: max-age=600          ten minutes, without asking
    ETag: "v1"                          then by If-None-Match: "v1"; 304 says it is the same
    Last-Modified: …                    or by If-Modified-Since
    Cache-Control: no-store             never kept

This is a private cache in the sense of RFC 9111, without heuristic freshness: a page without
`max-age` is revalidated each time.
"""

from __future__ import annotations

import re

from callblocks.runtime.net.response import Response

__all__ = ("LONGEST", "conditions", "may_be_kept", "seconds_fresh")

# Upper bound in seconds for reuse without a request, whatever the server says.
LONGEST = 24 * 3_600

_MAX_AGE = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?([0-9]{1,10})")
_AGE = re.compile(r"[0-9]{1,10}")
# These values are echoed in a request, so only one line of plain characters is accepted: a server
# must not be able to inject headers.
_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"')
_DATE = re.compile(r"[A-Za-z0-9 ,:+-]{1,40}")


def may_be_kept(response: Response) -> bool:
    """Tell if an answer may be kept and could be reused."""
    said = response.header("cache-control").lower()
    if response.status != 200 or response.history or "no-store" in said:
        return False
    # `Vary: *` says that no stored answer fits another request (RFC 9111, 4.1).
    if response.header("vary").strip() == "*":
        return False
    return bool(conditions(response) or seconds_fresh(response))


def seconds_fresh(response: Response) -> int:
    """Return the seconds for which an answer may be reused without a request."""
    said = response.header("cache-control").lower()
    age = _MAX_AGE.search(said)
    if age is None or "no-cache" in said:
        return 0
    old = response.header("age")
    passed = int(old) if _AGE.fullmatch(old) else 0
    return max(0, min(int(age[1]), LONGEST) - passed)


def conditions(response: Response) -> dict[str, str]:
    """Return the headers of a conditional request for this answer."""
    tag, date = response.header("etag").strip(), response.header("last-modified").strip()
    asked: dict[str, str] = {}
    if _TAG.fullmatch(tag):
        asked["If-None-Match"] = tag
    if _DATE.fullmatch(date):
        asked["If-Modified-Since"] = date
    return asked
