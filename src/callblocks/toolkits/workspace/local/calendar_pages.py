"""A page of events: occurrences of many series merged by start, and the token of the next page.

Occurrences are generated lazily and merged with a heap, so a page of fifty takes about fifty
occurrences, even from a series without an end. The token holds the start and the id of the last
event; the next page continues after it, whatever was added meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import heapq
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.occurrences import Counting
from callblocks.toolkits.workspace.local.reading_events import words_of
from callblocks.toolkits.workspace.local.series import Found, Series, Window, occurrences, order

__all__ = ("Asked", "page_of", "words_asked")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The request: the window, the words, expansion of series, and the page."""

    window: Window
    words: tuple[str, ...]
    single: bool
    zone: str
    limit: int
    page: str


def words_asked(query: str) -> tuple[str, ...]:
    """Return the words of a query; an event must contain all of them."""
    return tuple(query.casefold().replace('"', " ").split())


def page_of(series: list[Series], asked: Asked, counting: Counting) -> tuple[list[Json], str]:
    """Return the events of a page, and the token of the next page or ""."""
    after = _read_token(asked.page) if asked.page else None
    window = asked.window
    # With expansion, occurrences before the token's start need not be generated again.
    if after is not None and asked.single:
        window = Window(max(window.low, after[0]), window.high)
    each = (_readable(one, asked, window, counting) for one in series)
    # All inputs are sorted by start and id, so a heap merge yields the page in order, and
    # generators behind it are advanced only as far as the page needs.
    found = heapq.merge(*each, key=order)
    rest = (one for one in found if after is None or order(one) > after)
    items = list(islice(rest, asked.limit + 1))
    token = _token(items[asked.limit - 1]) if len(items) > asked.limit else ""
    return [one.event for one in items[: asked.limit]], token


def _events(series: Series, asked: Asked, window: Window, counting: Counting) -> Iterator[Found]:
    narrowed = _with_words(series, asked.words)
    if narrowed is None:
        return iter(())
    found = occurrences(narrowed, window, asked.zone, counting)
    return found if asked.single else iter(_unexpanded(narrowed, found))


def _readable(series: Series, asked: Asked, window: Window, counting: Counting) -> Iterator[Found]:
    """Yield the events of a series until one fails: a broken series must not hide the others."""
    try:
        yield from _events(series, asked, window, counting)
    except (ToolError, ArithmeticError, LookupError, TypeError, ValueError):
        counting.given_up.add(series.id)


def _unexpanded(series: Series, found: Iterator[Found]) -> list[Found]:
    """Return the series itself if any occurrence is in the window, and the differing ones."""
    first = next(found, None)
    if first is None:
        return []
    master = series.master
    if master is None or not master.get("recurrence"):
        return sorted([first, *found], key=order)
    own = {one["id"] for one in series.overrides}
    # A series may be infinite, so only as many occurrences are examined as could be overrides.
    some = [first, *islice(found, 2 * len(own))]
    differing = [one for one in some if one.id in own]
    return sorted([Found(first.start, series.id, master), *differing], key=order)


def _with_words(series: Series, words: tuple[str, ...]) -> Series | None:
    """Narrow a series to the parts that contain all words; `None` if nothing does."""
    if not words:
        return series
    matching = [_has(one, words) for one in series.overrides]
    if series.master is not None and _has(series.master, words):
        # Overrides that do not match still replace their occurrence, so they are hidden as
        # cancelled.
        hidden = [
            one if matches else one | {"status": "cancelled"}
            for one, matches in zip(series.overrides, matching, strict=True)
        ]
        return msgspec.structs.replace(series, overrides=hidden)
    left = [one for one, matches in zip(series.overrides, matching, strict=True) if matches]
    if not left or (series.master is not None and series.master["status"] == "cancelled"):
        return None
    return msgspec.structs.replace(series, master=None, overrides=left)


def _has(event: Json, words: tuple[str, ...]) -> bool:
    text = words_of(event)
    return all(word in text for word in words)


def _token(last: Found) -> str:
    said = f"{last.start.isoformat()} {last.id}"
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def _read_token(page: str) -> tuple[datetime, str]:
    try:
        padded = page + "=" * (-len(page) % 4)
        said = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        start, _, id = said.partition(" ")
        moment = datetime.fromisoformat(start)
        if moment.tzinfo is None or not id:
            raise ValueError("not of our making")
    except (ValueError, binascii.Error) as error:
        why = f"{brief(page)} is no token of a page; give the nextPageToken of a list, or none"
        raise ToolError("invalid_input", why, pageToken=why) from error
    return moment, id
