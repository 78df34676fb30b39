"""Results of searches and fetches, which become sources.

    search   digest, then the rows with their numbers, at `so:sources_pool[…]`
    fetch    digest, then the pages by URL with their numbers, at `tc:…result`

Rows keep their order. A long text is cut in the block and stays longer in the pool, from where
`react.read` brings it. New sources are a record, before all results.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.outcomes import Notice
from callblocks.model.paths import SourcesPath
from callblocks.model.secret_values import without_secrets
from callblocks.model.selector import ranges_of
from callblocks.model.sources import Source, rows_text
from callblocks.timeline.emitting.ended import Emitted, Ended
from callblocks.timeline.emitting.fitting import ROOM, shown
from callblocks.timeline.emitting.plain_results import content_results, plain_results
from callblocks.timeline.emitting.spilled import whole_output
from callblocks.timeline.plain_json import json_text, plain
from callblocks.timeline.stamp import JSON

__all__ = ("MOST_ROWS", "PAGE_TEXT", "ROW_TEXT", "SOURCE_TEXT", "fetch_results", "search_results")

# The most rows of one search that become sources; a notice counts the others.
MOST_ROWS = 1_000

# The most characters that a search result shows of its text.
ROW_TEXT = 4_000

# The most bytes that a fetched page shows of its content.
PAGE_TEXT = 20_000

# The most bytes of a text that stay in the pool.
SOURCE_TEXT = 100_000

_META = 10_000


def search_results(ended: Ended) -> Emitted:
    """Return the rows of a search; an output that is no list is shown like any other."""
    given = whole_output(ended)
    if not isinstance(given, list):
        return plain_results(ended)
    pool = ended.holdings.pool
    given_rows = _rows(given)
    # Bounded before they enter the pool: the pool is a record on the timeline, which is read at
    # every start.
    sids = pool.add(_bounded(pool.read(row)) for row in given_rows[:MOST_ROWS])
    if not sids:
        return content_results(ended, given)
    found = [ended.holdings.pool.get(sid) for sid in dict.fromkeys(sids)]
    rows = [_row(source) for source in found if source is not None]
    path = str(SourcesPath(ranges_of(sids)))
    emitted = content_results(ended, rows, path=path)
    told = (*emitted.notices, *_left_out(len(given_rows)))
    return _recorded(ended, msgspec.structs.replace(emitted, notices=told))


def fetch_results(ended: Ended) -> Emitted:
    """Return the fetched pages; an output that is no object is shown like any other."""
    given = whole_output(ended)
    if not isinstance(given, dict):
        return plain_results(ended)
    pages = cast("dict[str, Any]", plain(given)).items()
    return _recorded(
        ended, content_results(ended, {url: _page(ended, url, page) for url, page in pages})
    )


def _page(ended: Ended, url: str, page: Any) -> Any:
    """Return a page with its number; one that could not be fetched gets none."""
    if isinstance(page, str):
        page = {"content": page}
    if not isinstance(page, dict):
        return page
    said = cast("dict[str, Any]", page)
    cut_short = {name: _cut(value) for name, value in said.items()}
    source = ended.holdings.pool.read({**said, "url": url})
    if said.get("error") or not (source.text or source.title):
        return cut_short
    (sid,) = ended.holdings.pool.add((_bounded(source),))
    return {"sid": sid, **cut_short}


def _cut(value: Any) -> Any:
    return shown(value, PAGE_TEXT) if isinstance(value, str) else value


def _rows(given: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", row) for row in plain(given) if isinstance(row, dict)]


def _left_out(count: int) -> list[Notice]:
    if count <= MOST_ROWS:
        return []
    words = f"the search found {count} rows; only the first {MOST_ROWS} are sources: ask for less"
    return [Notice(code="rows_left_out", message=words, details={"count": count - MOST_ROWS})]


def _row(source: Source) -> dict[str, Any]:
    """Return a row as the model reads it."""
    (row,) = msgspec.json.decode(rows_text((source,), ROW_TEXT))
    return row


def _bounded(source: Source) -> Source:
    """Return a source without secrets, small enough that many fit into one block."""
    meta = source.meta if len(json_text(source.meta)) <= _META else {}
    return Source(
        url=source.url,
        digest=source.digest,
        path=source.path[:_META],
        title=shown(source.title, _META),
        text=shown(source.text, SOURCE_TEXT),
        date=shown(source.date, _META),
        meta=without_secrets(meta),
    )


def _recorded(ended: Ended, emitted: Emitted) -> Emitted:
    """Return the blocks with the records of what is new in the pool."""
    records = tuple(_record(ended, text) for text in _texts(ended.holdings.pool.record()))
    return msgspec.structs.replace(emitted, records=(*emitted.records, *records))


def _record(ended: Ended, text: str) -> Block:
    return ended.stamp.block("timeline.sources", mime=JSON, text=text, author="timeline")


def _texts(record: str) -> list[str]:
    """Return the record, or its rows in several, where one block cannot hold them."""
    if not record:
        return []
    if len(record) * 2 <= ROOM:
        return [record]
    groups: list[list[msgspec.Raw]] = [[]]
    size = 0
    # Rows are moved as raw JSON: decoding and encoding them again could change their bytes.
    for row in msgspec.json.decode(record, type=list[msgspec.Raw]):
        if size + len(bytes(row)) > ROOM // 2:
            groups.append([])
            size = 0
        groups[-1].append(row)
        size += len(bytes(row))
    return [msgspec.json.encode(group).decode() for group in groups if group]
