"""Which part of a file is asked for: one range of bytes.

    bytes=0-99      the first hundred
    bytes=100-      all from there
    bytes=-100      the last hundred

What is no such range, or several, is as if none was asked for. One that begins behind the end is
an error.
"""

from __future__ import annotations

import re

from callblocks.server.faults import ApiFault

__all__ = ("range_of",)

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
