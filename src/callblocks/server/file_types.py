"""How a kept file is sent, so that a browser shows it and does nothing else with it.

Pictures of pixels, PDF and plain text are shown; everything else is saved as a file. The type is
told by the content: neither its name nor whoever made it is believed.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from callblocks.timeline.keeping.mime import mime_of

__all__ = ("file_headers",)

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXTS = ("text/plain", "text/markdown", "text/csv", "application/json", "application/yaml")
_PDF = "application/pdf"
_ODD = re.compile(r"[^A-Za-z0-9 ._()+-]")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_LONGEST = 150
_NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"
# A browser's own viewer of PDF does not work in a sandbox.
_VIEWER = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'self'"


def file_headers(name: str, digest: str, content: bytes) -> dict[str, str]:
    """The headers of a file that is sent under a name."""
    shown = _shown_type(mime_of(name, content))
    kind = "inline" if shown else "attachment"
    return {
        "content-type": shown or "application/octet-stream",
        "content-disposition": f"{kind}; {_file_name(name or digest[:16])}",
        "content-security-policy": _VIEWER if shown == _PDF else _NO_SCRIPTS,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "accept-ranges": "bytes",
        "cache-control": "private, max-age=31536000, immutable",
        "etag": f'"{digest}"',
    }


def _shown_type(mime: str) -> str:
    if mime in _PICTURES or mime == _PDF:
        return mime
    return "text/plain; charset=utf-8" if mime in _TEXTS else ""


def _file_name(name: str) -> str:
    """The name for all browsers, and for those that know more than ASCII."""
    last = _UNSEEN.sub("", name.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
    stem, dot, ending = last.rpartition(".")
    if dot and stem and len(ending) <= 20:
        last = f"{stem[: _LONGEST - len(ending)]}.{ending}"
    last = last[:_LONGEST]
    plain = _ODD.sub("_", last)
    return f"filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"
