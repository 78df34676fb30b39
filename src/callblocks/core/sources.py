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

from callblocks.core.errors import BadPath
from callblocks.core.paths import FilePath, parse_path, parse_physical
from callblocks.core.redaction import redact

__all__ = (
    "HasFile",
    "Source",
    "canonical_url",
    "merged",
    "rows_text",
    "source_of",
)

# --- Canonical URLs: one spelling for each web page, so that a source is recognized again ---
#
#     HTTPS://Example.COM:443/a/../b/?utm_source=x&q=1#top   https://example.com/b?q=1
#     http://bücher.example                                  http://xn--bcher-kva.example/
#     https://me:pw@example.com/%7euser/%e4                  https://example.com/~user/%E4
#
# Scheme and host in lower case; no user, no default port, no tracking parameters, no dot segments,
# no trailing slash; `%XX` only where it is needed. The fragment is dropped, because it is a place
# on the page; only `#/…` and `#!…` stay, which single-page programs use as routes.
#
# Parameters keep their order, and http is not https: two numbers for one page do less harm than one
# number for two pages. Tabs and line breaks inside are dropped, as every client does. A URL with a
# backslash before its query stays as it is, because some clients read a slash there, and thus
# another host. So does any text that is no http or https URL; both without surrounding blanks.

# ASCII: with Unicode case folding the long s of `httpſ` would match an s.
_SHAPE = re.compile(
    r"(https?)://([^/?#\\]*)([^?#\\]*)(?:\?([^#]*))?(?:#(.*))?",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_DROPPED = re.compile(r"[\t\r\n]")
_ROUTES = ("/", "!")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{0,9}))?")
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?")
_PORTS = {"http": "80", "https": "443"}
_LONGEST_HOST = 255

# Parameters that identify where a reader came from, not what is read.
_TRACKING = re.compile(
    r"utm_.*|_?gcl(?:id|src)|[dg]clid|[gw]braid|fbclid|msclkid|ttclid|twclid|yclid|ysclid|igshid"
    r"|igsh|srsltid|mc_[ce]id|mkt_tok|_hs(?:enc|mi)|__hs(?:fp|sc|tc)|hsctatracking|_openstat"
    r"|oly_(?:anon|enc)_id|vero_id|wickedid|li_fat_id|_g[al]|rb_clickid|s_kwcid|epik|sc_cid",
    re.IGNORECASE | re.DOTALL,
)
_CODED = re.compile("%([0-9A-Fa-f]{2})|[^!$&'()+*,./:;=?@A-Za-z0-9_~-]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def canonical_url(text: str) -> str:
    """Return the canonical form of an http or https URL; any other text without surrounding
    blanks.
    """
    text = text.strip(_AROUND)
    shape = _SHAPE.fullmatch(_DROPPED.sub("", text))
    # An invalid host leaves the whole text as it is: a wrong guess could merge two pages into one.
    authority = _authority(shape[1].lower(), shape[2]) if shape else None
    if shape is None or authority is None:
        return text
    query = _query(shape[4] or "")
    fragment = shape[5] or ""
    # Single-page programs put the page into the fragment.
    route = f"#{_coded(fragment)}" if fragment.startswith(_ROUTES) else ""
    page = f"{shape[1].lower()}://{authority}{_path(shape[3])}"
    return f"{page}{'?' if query else ''}{query}{route}"


def _authority(scheme: str, text: str) -> str | None:
    """Return host and port without the user; `None` where the text is no host."""
    parts = _AUTHORITY.fullmatch(text.rpartition("@")[2])
    host = _host(parts[1]) if parts else None
    if parts is None or host is None:
        return None
    port = (parts[2] or "").lstrip("0")
    return host if port in ("", _PORTS[scheme]) else f"{host}:{port}"


def _host(text: str) -> str | None:
    if len(text) > _LONGEST_HOST:
        return None
    if text.startswith("["):
        return _v6(text)
    name = text.lower() if text.isascii() else _to_ascii(text)
    name = name.removesuffix(".")
    return name if _NAME.fullmatch(name) else None


def _v6(text: str) -> str | None:
    import ipaddress

    try:
        return f"[{ipaddress.IPv6Address(text[1:-1])}]"
    except ValueError:
        return None


def _to_ascii(name: str) -> str:
    import idna

    try:
        return idna.encode(name, uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        return ""


def _path(text: str) -> str:
    """Return the path without `.` and `..`, and without trailing slashes."""
    kept: list[str] = []
    for segment in _coded(text).split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept).rstrip("/")


def _query(text: str) -> str:
    parameters = (_coded(part) for part in text.split("&"))
    return "&".join(
        part for part in parameters if part and not _TRACKING.fullmatch(part.partition("=")[0])
    )


def _coded(text: str) -> str:
    """Return each character as it is where that is allowed, otherwise `%XX` of its bytes."""
    return _CODED.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    if match[1] is None:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
    byte = int(match[1], 16)
    return chr(byte) if byte in _UNRESERVED else match[0].upper()


# --- A source: a page or a file that an answer may cite by its number, the sid ---

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
