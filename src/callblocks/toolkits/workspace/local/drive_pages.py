"""Page tokens: an offset, and a checksum of the query that it belongs to."""

from __future__ import annotations

import re
import zlib

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError

__all__ = ("read_token", "write_token")

_TOKEN = re.compile(r"([0-9]{1,9})-([0-9a-f]{8})")


def write_token(start: int, *question: str) -> str:
    """Return the token of the page that starts at an offset."""
    return f"{start}-{_sign(question)}"


def read_token(token: str, *question: str) -> int:
    """Return the offset of a page; 0 without a token, `invalid_input` for another query's token."""
    if not token:
        return 0
    found = _TOKEN.fullmatch(token)
    if found is None or found[2] != _sign(question):
        why = f"{brief(token)} is no page of this list; ask again without pageToken"
        raise ToolError("invalid_input", why, pageToken=why)
    return int(found[1])


def _sign(question: tuple[str, ...]) -> str:
    return f"{zlib.crc32(repr(question).encode()):08x}"
