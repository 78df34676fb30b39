"""The output of any other tool: its digest, then the output itself, both at `tc:…result`.

A text stays text, everything else is JSON, also null. An output beside an error is shown too.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.json_values import json_text, plain, whole
from callblocks.core.outcomes import Artifact, Notice
from callblocks.core.paths import SourcesPath
from callblocks.core.redaction import without_secrets
from callblocks.core.selector import ranges_of
from callblocks.core.sources import Source, rows_text
from callblocks.timeline.artifacts.mime import mime_of
from callblocks.timeline.codec.call_stamp import (
    JSON,
    ROOM,
    TEXT,
    error_payload,
    notice_of_failure,
    shown,
)
from callblocks.timeline.codec.ended_call import Emitted, EndedCall, failed, whole_output
from callblocks.timeline.codec.file_blocks import digest_text

__all__ = (
    "MOST_ROWS",
    "PAGE_TEXT",
    "ROW_TEXT",
    "SOURCE_TEXT",
    "content_results",
    "fetch_results",
    "plain_results",
    "search_results",
)


def plain_results(ended: EndedCall) -> Emitted:
    """Return digest and content of an output."""
    output = ended.outcome.output
    if output is None and ended.outcome.error is not None:
        return failed(ended, ended.outcome.error, kind="file", visibility="internal")
    if isinstance(output, str):
        return content_results(ended, output, mime=_text_mime(output))
    return content_results(ended, output)


def content_results(ended: EndedCall, output: Any, *, mime: str = JSON, path: str = "") -> Emitted:
    """Return an output as the result: its digest, then its text without secrets, at `path`."""
    path = path or ended.stamp.path("result")
    error = ended.outcome.error
    told: tuple[Notice, ...] = () if error is None else (notice_of_failure(ended.stamp, error),)
    text, cut_short, kept = _fitting(ended, output, mime)
    fields: dict[str, Any] = {
        "artifact_path": path,
        "mime": mime,
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": ended.stamp.call,
        "error": error and error_payload(ended.stamp, error),
        "tokens": ended.holdings.tokens.text(text),
    }
    digest = ended.stamp.result("digest", digest_text(**fields))
    content = ended.stamp.result("content", text, mime=mime, path=path)
    return Emitted(notices=(*told, *cut_short), results=(digest, content), kept=kept)


def _text_mime(text: str) -> str:
    """Return Markdown where the text plainly is, else plain text: an output has no name."""
    return (
        "text/markdown"
        if mime_of("", text.encode(errors="replace")) == "text/markdown"
        else "text/plain"
    )


def _fitting(
    ended: EndedCall, output: Any, mime: str
) -> tuple[str, tuple[Notice, ...], tuple[Artifact, ...]]:
    """Return the output as text, or the start of one that is too long; all of it is kept then."""
    # The size is judged before redaction, which is expensive on a text that is not shown whole
    # anyway.
    raw = json_text(output) if mime == JSON else str(output)
    raw = raw if raw.isascii() else whole(raw)
    if len(raw) <= TEXT:
        safe = json_text(without_secrets(plain(output))) if mime == JSON else shown(raw)
        return safe, (), ()
    content = raw.encode()
    details = {"size_bytes": len(content)}
    try:
        artifact = ended.holdings.artifacts(
            f"{ended.stamp.call}.{'json' if mime == JSON else 'txt'}", content, mime
        )
    except OSError as error:
        words = f"the whole output could not be kept: {error.strerror or type(error).__name__}"
        return shown(raw), (Notice(code="not_kept", message=words, details=details),), ()
    words = "the output is too large to show; all of it is kept as a file"
    told = Notice(code="output_too_large", message=words, details=details)
    return shown(raw), (told,), (artifact,)


# --- Results of searches and fetches, which become sources ---
#
#     search   digest, then the rows with their numbers, at `so:sources_pool[…]`
#     fetch    digest, then the pages by URL with their numbers, at `tc:…result`
#
# Rows keep their order. A long text is cut in the block and stays longer in the pool, from where
# `react.read` brings it. New sources are a record, before all results.

# The most rows of one search that become sources; a notice counts the others.
MOST_ROWS = 1_000

# The most characters that a search result shows of its text.
ROW_TEXT = 4_000

# The most bytes that a fetched page shows of its content.
PAGE_TEXT = 20_000

# The most bytes of a text that stay in the pool.
SOURCE_TEXT = 100_000

_META = 10_000


def search_results(ended: EndedCall) -> Emitted:
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


def fetch_results(ended: EndedCall) -> Emitted:
    """Return the fetched pages; an output that is no object is shown like any other."""
    given = whole_output(ended)
    if not isinstance(given, dict):
        return plain_results(ended)
    pages = cast("dict[str, Any]", plain(given)).items()
    return _recorded(
        ended, content_results(ended, {url: _page(ended, url, page) for url, page in pages})
    )


def _page(ended: EndedCall, url: str, page: Any) -> Any:
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


def _recorded(ended: EndedCall, emitted: Emitted) -> Emitted:
    """Return the blocks with the records of what is new in the pool."""
    records = tuple(_record(ended, text) for text in _texts(ended.holdings.pool.record()))
    return msgspec.structs.replace(emitted, records=(*emitted.records, *records))


def _record(ended: EndedCall, text: str) -> Block:
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
