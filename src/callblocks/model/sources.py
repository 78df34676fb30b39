"""A source: a page or a file that an answer may cite by its number, the sid.

    Source(sid=1, url="https://example.com/rain", title="Rain", text="It rains.")

Identity: a page is identified by its canonical URL and nothing else, a file by its `fi:` path,
anything else by its title and text. Of a URL that holds a secret, or is very long, only a part is
shown, and a digest of all of it identifies the page.

`merged` joins two rows about one source: nothing known is lost, an empty field is filled, and a
longer text of a page replaces a shorter one (the snippet of a search).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.model.canonical_url import canonical_url
from callblocks.model.errors import BadPath
from callblocks.model.paths import FilePath, parse_path, parse_physical
from callblocks.model.redaction import redact

__all__ = ("HasFile", "Source", "merged", "rows_text", "source_of")

# Return whether there is a file at a `fi:` path.
HasFile: TypeAlias = Callable[[str], bool]

_HALF = re.compile("[\ud800-\udfff]")
# A password before the host is not part of a page, and is never stored.
_USER = re.compile(r"(?i:\A(https?://))[^/?#\\]*@")
_AROUND = "".join(map(chr, range(0x21)))
_LONGEST_URL = 10_000
# The names that tools use for the fields of a row.
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
    """One row of the pool. `meta` holds other fields of a tool's row, and is not for the model.

    `digest` is of the whole canonical URL, where `url` is not all of it.
    """

    sid: int = 0
    url: str = ""
    digest: str = ""
    path: str = ""
    title: str = ""
    text: str = ""
    date: str = ""
    meta: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """Return the identity: the URL, else the path, else the title and text."""
        if self.url:
            return f"url:{self.digest or canonical_url(self.url)}"
        return f"file:{self.path}" if self.path else f"text:{_digest(self.title, self.text)}"


def source_of(row: Source | Mapping[str, Any], has_file: HasFile | None = None) -> Source:
    """Return a row as a source without a number; its own `sid` does not count.

    A tool's row may say `link` for `url`, `snippet` for `text` and the like; unknown fields go to
    `meta`. The row is about a file only if `has_file` confirms that, because a page may claim
    anything of itself. A file may be named by its path on disk, and in `url`. For a person's
    attachment, title and text of a row do not count: the attachment itself is there to be read.
    """
    if isinstance(row, Source):
        return msgspec.structs.replace(row, sid=0, **({} if row.digest else _url(row.url)))
    said = {field: _first(row, names) for field, names in _NAMES.items()}
    url = said["url"].strip(_AROUND)
    # A path in `url` counts as a file, too: many tools have only one field for both.
    files = (_file(said["path"]), _file(url))
    url = "" if files[1] else url
    file = None if url else next((one for one in files if one and _has(has_file, one)), None)
    said |= {"path": str(file or ""), **_url(url)}
    if file is not None and file.place == "attachments":
        said |= {"title": "", "text": ""}
    return msgspec.convert({**said, "meta": _meta(row)}, Source)


def merged(known: Source, row: Source) -> Source:
    """Merge two rows with the same key, under the number of the first."""
    # The first description of a file stays, because the file itself can be read.
    is_longer = len(row.text) > len(known.text) and not (known.text and known.path)
    return msgspec.structs.replace(
        known,
        title=known.title or row.title,
        text=row.text if is_longer else known.text,
        date=known.date or row.date,
        meta={**row.meta, **known.meta},
    )


def rows_text(sources: Iterable[Source], limit: int | None = None) -> str:
    """Return the rows as a model reads them: JSON, nothing empty; each text cut after `limit`."""
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
    """Return the first of these fields that is not empty, as text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return _HALF.sub("\ufffd", value)
    return ""


def _url(text: str) -> dict[str, str]:
    """Return a URL as it may be shown, and its digest, if that is not all of it."""
    whole = _USER.sub(r"\1", text.strip(_AROUND))
    shown = redact(whole[:_LONGEST_URL])
    return {"url": shown, "digest": "" if shown == whole else _digest(canonical_url(whole))}


def _has(has_file: HasFile | None, file: FilePath) -> bool:
    return has_file is not None and has_file(str(file))


def _file(path: str) -> FilePath | None:
    """Return the file of a turn that a path names, by its `fi:` path or its path on disk."""
    for parse in (parse_path, parse_physical):
        try:
            read = parse(path)
        except BadPath:
            continue
        return read if isinstance(read, FilePath) else None
    return None


def _meta(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the other fields of the row, as far as JSON can express them."""
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
