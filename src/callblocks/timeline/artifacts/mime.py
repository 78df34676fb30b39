"""The MIME type of a file: by its content where that is certain, else by its name, else text or
not.

    mime_of("report.docx", …)    the type of a Word file, if it is one
    mime_of("evil.png", b"<!doctype html>…")    text/html: a name may lie
    mime_of("notes", b"hello")   text/plain
    mime_of("x", b"\\0\\1")        application/octet-stream
"""

from __future__ import annotations

import codecs
import re

import msgspec

from callblocks.timeline.artifacts.magic import TOLD_BY_CONTENT, content_type

__all__ = (
    "is_shown_binary",
    "is_text",
    "mime_of",
    "named_type",
    "said_mime",
)

# --- The MIME type that a file's name claims: a table of endings, the same on every machine ---

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"

_ENDINGS = {
    # Text.
    "text/plain": "txt text log cfg conf ini env diff patch",
    "text/markdown": "md markdown",
    "text/html": "html htm xhtml",
    "text/css": "css",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/javascript": "js mjs cjs",
    "text/x-typescript": "ts tsx",
    "text/x-python": "py pyi",
    "text/x-shellscript": "sh bash",
    "text/x-c": "c h",
    "text/x-c++": "cc cpp hpp",
    "text/x-java": "java",
    "text/x-go": "go",
    "text/x-rust": "rs",
    "text/x-ruby": "rb",
    "text/x-tex": "tex",
    "text/x-rst": "rst",
    "text/calendar": "ics",
    "text/vcard": "vcf",
    "text/vtt": "vtt",
    "application/json": "json ipynb webmanifest",
    "application/jsonl": "jsonl ndjson",
    "application/geo+json": "geojson",
    "application/xml": "xml xsd xsl xslt",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    "application/sql": "sql",
    "application/rtf": "rtf",
    "image/svg+xml": "svg",
    # Documents.
    "application/pdf": "pdf",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OPEN}.text": "odt",
    f"{_OPEN}.spreadsheet": "ods",
    f"{_OPEN}.presentation": "odp",
    "application/epub+zip": "epub",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    # Pictures.
    "image/png": "png",
    "image/jpeg": "jpg jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "image/tiff": "tif tiff",
    "image/x-icon": "ico",
    "image/avif": "avif",
    "image/heic": "heic",
    # Sound and film.
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/ogg": "ogg oga opus",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/midi": "mid midi",
    "video/mp4": "mp4 m4v",
    "video/webm": "webm",
    "video/ogg": "ogv",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
    "video/x-msvideo": "avi",
    # Archives and the like.
    "application/zip": "zip jar whl",
    "application/gzip": "gz tgz",
    "application/x-tar": "tar",
    "application/x-bzip2": "bz2",
    "application/x-xz": "xz",
    "application/zstd": "zst",
    "application/x-7z-compressed": "7z",
    "application/vnd.rar": "rar",
    "application/vnd.sqlite3": "sqlite sqlite3 db",
    "application/vnd.apache.parquet": "parquet",
    "application/wasm": "wasm",
    "font/ttf": "ttf",
    "font/otf": "otf",
    "font/woff": "woff",
    "font/woff2": "woff2",
}
_TYPES = {ending: mime for mime, endings in _ENDINGS.items() for ending in endings.split()}


def named_type(name: str) -> str:
    """Return the type that the ending of a name claims; "" if it claims none."""
    file = name.replace("\\", "/").rpartition("/")[2]
    stem, _, ending = file.rpartition(".")
    return _TYPES.get(ending.lower(), "") if stem else ""


# --- The MIME type of a file: by its content if certain, else by its name ---

_SAID = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}")
_BINARY = "application/octet-stream"
_PLAIN = "text/plain"
_SVG = "image/svg+xml"
_TEXTS = frozenset(
    {
        *("application/json", "application/jsonl", "application/geo+json", "application/xml"),
        *("application/yaml", "application/toml", "application/sql", "application/javascript"),
        *("application/rtf", "application/x-sh", "application/x-yaml", "application/ld+json"),
    }
)
# Bytes that no text has: all controls but tab, line ends, form feed and escape.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_PIECE = 1 << 20
_HEAD = 4096

# Allowed before the first element: white space, an XML declaration, comments, a doctype.
_PROLOGUE = re.compile(
    r"\s+|<\?xml[^>]*>|<!--[\s\S]*?-->|<!doctype\s+svg[^>\[]*(?:\[[^\]]*\]\s*)?>"
)
_SVG_START = re.compile(r"<svg[\s>/:]")
_HTML_START = re.compile(
    r"<(?:!doctype\s+html|(?:html|head|body|script|iframe|style|title)(?=[\s>/]))"
)


def mime_of(name: str, content: bytes) -> str:
    """Return the MIME type of a file; never fails, and reads nothing but the content."""
    named = named_type(name)
    if not content:
        return named or _PLAIN
    # Content before name: a page that is served as `photo.png` must be treated as HTML.
    if told := content_type(content):
        return told
    if named == "application/pdf" and b"%PDF-" in content[:1024]:
        return named
    if _is_utf8(content):
        return _text_type(named, content)
    if named in TOLD_BY_CONTENT or (_is_text_type(named) and not _could_be_text(content)):
        return _BINARY
    return named or _BINARY


def said_mime(said: str, name: str, content: bytes) -> str:
    """Return a declared type, if it is valid and possible; otherwise `mime_of`.

    A web server declares what it likes: a type that content alone can prove is not accepted without
    that proof.
    """
    mime = said.partition(";")[0].strip().lower()
    if not _SAID.fullmatch(mime) or mime in TOLD_BY_CONTENT:
        return mime_of(name, content)
    return mime


def is_text(mime: str, content: bytes) -> bool:
    """Return whether a file of this type can stand in a block as text: UTF-8, and no image."""
    mime = mime.partition(";")[0].strip().lower()
    other = mime in TOLD_BY_CONTENT or mime.startswith(("image/", "audio/", "video/", "font/"))
    return (_is_text_type(mime) or not other) and _is_utf8(content)


def is_shown_binary(mime: str) -> bool:
    """Return whether a model is shown a file of this type as it is: a PDF, or a raster image."""
    return mime == "application/pdf" or (mime.startswith("image/") and mime != _SVG)


def _is_text_type(mime: str) -> bool:
    return mime.startswith("text/") or mime in _TEXTS or mime.endswith(("+json", "+xml"))


def _text_type(named: str, content: bytes) -> str:
    """Return the type of a text; a name may refine it, but an image must be visible in the
    content.
    """
    markup = _markup(content)
    if _is_text_type(named) and (named != _SVG or markup == _SVG):
        return named
    return markup or ("application/json" if _is_json(content) else _PLAIN)


def _markup(content: bytes) -> str:
    head = content[:_HEAD].decode(errors="ignore").removeprefix("\ufeff").lower()
    at = 0
    while skipped := _PROLOGUE.match(head, at):
        at = skipped.end()
    if _SVG_START.match(head, at):
        return _SVG
    if _HTML_START.match(head, at):
        return "text/html"
    return "application/xml" if head.lstrip().startswith("<?xml") else ""


def _is_json(content: bytes) -> bool:
    if not content[:_HEAD].lstrip().startswith((b"{", b"[")):
        return False
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _is_utf8(content: bytes) -> bool:
    """Return whether all of it is UTF-8 text without control characters."""
    if _CONTROL.search(content):
        return False
    if content.isascii():
        return True
    # Piece by piece, so that a large file is not held in memory a second time as text.
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for at in range(0, len(content), _PIECE):
            decode(content[at : at + _PIECE], at + _PIECE >= len(content))
    except UnicodeDecodeError:
        return False
    return True


def _could_be_text(content: bytes) -> bool:
    """Return whether it is text of another encoding."""
    return not _CONTROL.search(content) or content.startswith((b"\xff\xfe", b"\xfe\xff"))
