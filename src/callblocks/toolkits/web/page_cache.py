"""The cache of pages that were read.

    <folder>/3f9a…c1.json      named by a SHA-256 of the URL, so URLs need no escaping

The cache is optional: a file that is missing, damaged or of another version counts as a miss, and
write errors are ignored. The oldest files are deleted when the folder exceeds its limits.

Concurrency: several processes may share the folder. Writers create a temporary file and rename it,
so a reader sees an old or a new file and never a half.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from callblocks.guard.files.replace_file import replace_private
from callblocks.guard.net.http_messages import Response
from callblocks.toolkits.web.web_page import WebPage

__all__ = (
    "LONGEST",
    "Kept",
    "PageCache",
    "conditions",
    "may_be_kept",
    "seconds_fresh",
)

# --- HTTP freshness: the time a page may be reused without a request, and revalidation ---
#
#     Cache-Control: max-age=600          ten minutes, without asking
#     ETag: "v1"                          then by If-None-Match: "v1"; 304 says it is the same
#     Last-Modified: …                    or by If-Modified-Since
#     Cache-Control: no-store             never kept
#
# This is a private cache in the sense of RFC 9111, without heuristic freshness: a page without
# `max-age` is revalidated each time.

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


# --- The cache of pages that were read ---

_VERSION = 1
_ROOM = 64 * 1024 * 1024
_FILES = 2_000
# Evict down to this share of the limits, so that not every later write has to evict again.
_LEFT = 0.8
_ENDING = ".json"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A page, the time until which it is fresh, and headers for a conditional request."""

    page: WebPage
    fresh_until: float = 0.0
    conditions: dict[str, str] = {}
    version: int = _VERSION


class PageCache:
    """A folder of pages, or none; `clock` returns seconds since the epoch."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        room: int = _ROOM,
        files: int = _FILES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._room = room
        self._files = files
        self.clock = clock

    def get(self, url: str) -> Kept | None:
        """Return the kept page of a URL."""
        place = self._place(url)
        if place is None:
            return None
        try:
            with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                kept = msgspec.json.decode(file.read(), type=Kept)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return kept if kept.version == _VERSION else None

    def is_fresh(self, kept: Kept) -> bool:
        """Tell if a page may be used without a request. A clock that went back makes it stale."""
        return 0 < kept.fresh_until - self.clock() <= LONGEST

    def put(self, url: str, kept: Kept) -> None:
        """Store a page and replace an earlier one of the same URL."""
        place = self._place(url)
        if place is None:
            return
        # A cache is a help and no duty: a full disk must not lose the page itself.
        with suppress(OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_private(place, msgspec.json.encode(kept), synced=False)
            self._make_room(place.parent)

    def _place(self, url: str) -> Path | None:
        if self._folder is None:
            return None
        # `surrogatepass`: a URL with a lone surrogate must miss, not raise.
        digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest}{_ENDING}"

    def _make_room(self, folder: Path) -> None:
        """Delete the oldest files above the limits, including temporary files that a crash left."""
        with os.scandir(folder) as entries:
            files = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
        files.sort(key=lambda file: file[0].st_mtime, reverse=True)
        room, count = self._room, self._files
        if sum(stat.st_size for stat, _ in files) <= room and len(files) <= count:
            return
        used, left = 0, 0
        for stat, path in files:
            used, left = used + stat.st_size, left + 1
            if used > room * _LEFT or left > count * _LEFT:
                with suppress(OSError):
                    os.unlink(path)
