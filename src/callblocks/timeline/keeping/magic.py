"""MIME types by unambiguous content: the first bytes, and the parts of a zip."""

from __future__ import annotations

from callblocks.timeline.keeping.zips import Zip, read_zip

__all__ = ("CONTENT_TYPES", "OFFICE_PARTS", "TOLD_BY_CONTENT", "content_type")

_OFFICE = "application/vnd.openxmlformats-officedocument"

# The part without which an office document is invalid.
OFFICE_PARTS = {
    f"{_OFFICE}.wordprocessingml.document": "word/document.xml",
    f"{_OFFICE}.spreadsheetml.sheet": "xl/workbook.xml",
    f"{_OFFICE}.presentationml.presentation": "ppt/presentation.xml",
}

# The part that every office document has.
CONTENT_TYPES = "[Content_Types].xml"

_SELF_NAMED = "application/vnd.oasis.opendocument", "application/epub+zip"

_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
    b"\0\0\1\0": "image/x-icon",
    b"{\\rtf": "application/rtf",
    b"\x1f\x8b\x08": "application/gzip",
    b"\xfd7zXZ\0": "application/x-xz",
    b"\x28\xb5\x2f\xfd": "application/zstd",
    b"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
    b"Rar!\x1a\x07": "application/vnd.rar",
    b"SQLite format 3\0": "application/vnd.sqlite3",
    b"\0asm": "application/wasm",
    b"wOFF\0": "font/woff",
    b"wOF2\0": "font/woff2",
    b"ID3\x03": "audio/mpeg",
    b"ID3\x04": "audio/mpeg",
    b"fLaC\0": "audio/flac",
    b"MThd\0": "audio/midi",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"M4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"avif": "image/avif",
    b"heic": "image/heic",
    b"mif1": "image/heic",
}

# The types that content alone can prove: a name that claims one of them proves nothing.
TOLD_BY_CONTENT = frozenset(
    {
        *_STARTS.values(),
        *_RIFF.values(),
        *_BRANDS.values(),
        *OFFICE_PARTS,
        "application/pdf",
        "application/zip",
        "application/epub+zip",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.spreadsheet",
        "application/vnd.oasis.opendocument.presentation",
    }
    # These types have other beginnings, too.
    - {"audio/mpeg", "video/quicktime", "image/heic"}
)


def content_type(content: bytes) -> str:
    """Return the type that the content has beyond doubt; "" if there is doubt."""
    head = content[:64]
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(content)
    for start, mime in _STARTS.items():
        if head.startswith(start):
            return mime
    return _pdf(content) or _in_boxes(head) or _by_size(content)


def _zip_type(content: bytes) -> str:
    """Return the type of a zip by its parts: an office document, a book, or just a zip."""
    opened = read_zip(content)
    if opened is None:
        return ""
    if CONTENT_TYPES in opened.parts:
        for mime, part in OFFICE_PARTS.items():
            if part in opened.parts:
                return mime
    return _self_named(opened) or "application/zip"


def _self_named(opened: Zip) -> str:
    """Return the type that an OpenDocument file or a book declares in its part `mimetype`."""
    said = opened.read("mimetype", 100)
    mime = said.decode("ascii", "replace").strip() if said else ""
    return mime if mime.startswith(_SELF_NAMED) and mime.isprintable() else ""


def _pdf(content: bytes) -> str:
    head = content[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()
    return "application/pdf" if head.startswith(b"%PDF-") else ""


def _in_boxes(head: bytes) -> str:
    """Return the type of a container that declares its kind some bytes in."""
    # RIFF, ISO media, Ogg and Matroska are containers: the outer signature alone does not tell
    # sound from film or image.
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "")
    if head[:1] == b"\0" and head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head.startswith(b"OggS\0"):
        return "video/ogg" if b"theora" in head else "audio/ogg"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm" if b"webm" in head else "video/x-matroska"
    return ""


def _by_size(content: bytes) -> str:
    """Return the type of a file that begins with letters a text could begin with; more must
    match.
    """
    if content.startswith(b"BM") and content[2:6] == len(content).to_bytes(8, "little")[:4]:
        return "image/bmp"
    if content.startswith(b"BZh") and content[4:10] == b"1AY&SY":
        return "application/x-bzip2"
    if content.startswith(b"PAR1") and content.endswith(b"PAR1"):
        return "application/vnd.apache.parquet"
    return "application/x-tar" if content[257:263] in (b"ustar\0", b"ustar ") else ""
