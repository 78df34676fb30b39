"""A source: a page or a file that an answer may cite by its number, the sid.

    Source(sid=1, url="https://example.com/rain", title="Rain", text="It rains.")

A source is known by the canonical form of its URL, and by its `fi:` path; one that has neither,
by its title and text. `merged` joins what two rows say of one source: nothing that is known is
lost, an empty field is filled, and a longer text replaces a shorter one (a page, the snippet of
a search).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from callblocks.model.canonical_url import canonical_url
from callblocks.model.errors import BadPath
from callblocks.model.paths import FilePath, parse_path, parse_physical

__all__ = ("Source", "merged", "rows_text", "source_of")

_HALF = re.compile("[\ud800-\udfff]")
# A password before the host is no part of a page, and is not written down.
_USER = re.compile(r"(?i:\A\s*(https?://))[^/?#@]*@")
# What tools call the fields of a row.
_NAMES = {
    "url": ("url", "link", "href"),
    "path": ("path", "artifact_path", "physical_path"),
    "title": ("title", "name"),
    "text": ("text", "content", "snippet", "description"),
    "date": ("date", "published", "published_date"),
}
_TAKEN = frozenset(name for names in _NAMES.values() for name in names) | {"sid", "meta"}
_TRUNCATED = "...[truncated]"


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the pool. `meta` holds what else a tool said, and is not for the model."""

    sid: int = 0
    url: str = ""
    path: str = ""
    title: str = ""
    text: str = ""
    date: str = ""
    meta: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """What it is known by before all else."""
        return self.keys[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """All that it is known by: its URL, its path; else its title and text."""
        keys = [f"url:{canonical_url(self.url)}"] if self.url else []
        if self.path:
            keys.append(self.path)
        return tuple(keys) or (f"text:{_digest(self.title, self.text)}",)


def source_of(row: Source | Mapping[str, Any]) -> Source:
    """A row as a source without a number; its own `sid` does not count.

    A row that a tool gave may say `link` for `url`, `snippet` for `text` and the like; fields
    that are none of these go to `meta`. A file may be named by its path on disk, and in `url`.
    """
    if isinstance(row, Source):
        row = msgspec.structs.asdict(row)
    said = {field: _first(row, names) for field, names in _NAMES.items()}
    said["url"] = _USER.sub(r"\1", said["url"]).strip()
    said["path"] = _file(said["path"]) or _file(said["url"])
    if said["path"] and _file(said["url"]):
        said["url"] = ""
    return msgspec.convert({**said, "meta": _meta(row)}, Source)


def merged(known: Source, row: Source) -> Source:
    """What both say of one source, under the number of the first."""
    return Source(
        sid=known.sid,
        url=known.url or row.url,
        path=known.path or row.path,
        title=known.title or row.title,
        text=row.text if len(row.text) > len(known.text) else known.text,
        date=known.date or row.date,
        meta={**row.meta, **known.meta},
    )


def rows_text(sources: Iterable[Source], limit: int | None = None) -> str:
    """The rows as a model reads them: JSON, nothing empty; each text cut after `limit`."""
    return msgspec.json.encode([_shown(source, limit) for source in sources]).decode()


def _shown(source: Source, limit: int | None) -> dict[str, Any]:
    cut = limit is not None and len(source.text) > limit
    fields = {
        "title": source.title,
        "url": source.url,
        "path": source.path,
        "date": source.date,
        "text": source.text[:limit] + _TRUNCATED if cut else source.text,
    }
    return {"sid": source.sid, **{name: value for name, value in fields.items() if value}}


def _first(row: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of these fields that says something, as text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return _HALF.sub("\ufffd", value)
    return ""


def _file(path: str) -> str:
    """The `fi:` path of a file of a turn; "" for what names none: no two pages share that."""
    for parse in (parse_path, parse_physical):
        try:
            read = parse(path)
        except BadPath:
            continue
        return str(read) if isinstance(read, FilePath) else ""
    return ""


def _meta(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the row says beside the fields, as far as JSON can say it."""
    inner = row.get("meta")
    extra = {name: value for name, value in row.items() if name not in _TAKEN}
    if isinstance(inner, Mapping):
        extra |= cast("Mapping[str, Any]", inner)
    kept: dict[str, Any] = {}
    for name, value in extra.items():
        try:
            kept.update(msgspec.json.decode(msgspec.json.encode({name: value})))
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
            continue
    return kept


def _digest(*texts: str) -> str:
    content = msgspec.json.encode([_HALF.sub("\ufffd", text) for text in texts])
    return hashlib.sha256(content).hexdigest()[:32]
