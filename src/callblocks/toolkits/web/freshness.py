"""How long a page may be given again unasked, and by what it is known to be the same.

Cache-Control: max-age=600          ten minutes, without asking
ETag: "v1"                          then by If-None-Match: "v1"; 304 says it is the same
Last-Modified: …                    or by If-Modified-Since
Cache-Control: no-store             never kept
"""

from __future__ import annotations

import re

from callblocks.runtime.net.response import Response

__all__ = ("LONGEST", "conditions", "may_be_kept", "seconds_fresh")

# Seconds that no page is given unasked for longer than.
LONGEST = 24 * 3_600

_MAX_AGE = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?([0-9]{1,10})")
_AGE = re.compile(r"[0-9]{1,10}")
# As a server may have sent it, and as it may be sent back: one line of plain characters.
_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"')
_DATE = re.compile(r"[A-Za-z0-9 ,:+-]{1,40}")


def may_be_kept(response: Response) -> bool:
    """Whether an answer may be kept, and is of any use then."""
    said = response.header("cache-control").lower()
    if response.status != 200 or response.history or "no-store" in said:
        return False
    # `*` says that no two answers are for the same request.
    if response.header("vary").strip() == "*":
        return False
    return bool(conditions(response) or seconds_fresh(response))


def seconds_fresh(response: Response) -> int:
    """For how long it may be given again unasked."""
    said = response.header("cache-control").lower()
    age = _MAX_AGE.search(said)
    if age is None or "no-cache" in said:
        return 0
    old = response.header("age")
    passed = int(old) if _AGE.fullmatch(old) else 0
    return max(0, min(int(age[1]), LONGEST) - passed)


def conditions(response: Response) -> dict[str, str]:
    """The headers by which a server tells whether the page is still the same."""
    tag, date = response.header("etag").strip(), response.header("last-modified").strip()
    asked: dict[str, str] = {}
    if _TAG.fullmatch(tag):
        asked["If-None-Match"] = tag
    if _DATE.fullmatch(date):
        asked["If-Modified-Since"] = date
    return asked
