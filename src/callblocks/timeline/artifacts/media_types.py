"""The media type of a file: by its content where that is certain, else by its name."""

from __future__ import annotations

import codecs
import re
import struct
import zlib
from collections.abc import Iterator

import msgspec

__all__ = (
    "CONTENT_TYPES",
    "MAX_PARTS",
    "OFFICE_PARTS",
    "TOLD_BY_CONTENT",
    "Part",
    "Zip",
    "content_type",
    "is_shown_binary",
    "is_text",
    "mime_of",
    "named_type",
    "read_zip",
    "said_mime",
)

# --- The directory of a zip, and its parts, however hostile the file is ---
#
# Only requested parts are unpacked, a piece at a time and never beyond a limit; the directory is
# read up to `MAX_PARTS` rows. A file that is no zip gives `None`, never an exception. `zipfile` is
# not used, because it trusts sizes and raises many kinds of exceptions on damaged input.

MAX_PARTS = 20_000
_PIECE = 1 << 16
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1

_END = struct.Struct("<4sHHHHIIH")
_END64_PLACE = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_ROW = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
# The longest comment, which stands at the very end of the file.
_COMMENT = 0xFFFF


class Part(msgspec.Struct, frozen=True):
    """A row of the directory: compression, sizes, checksum, and the place of the part."""

    method: int
    flags: int
    crc: int
    packed: int
    size: int
    start: int

    @property
    def is_readable(self) -> bool:
        """Return whether it can be unpacked: not encrypted, and stored or deflated."""
        return not self.flags & _ENCRYPTED and self.method in (_STORED, _DEFLATED)


class Zip:
    """A zip with a readable directory."""

    def __init__(self, content: bytes, parts: dict[str, Part]) -> None:
        self.parts = parts
        self._content = content

    def read(self, name: str, limit: int) -> bytes | None:
        """Return a part, if it exists, is undamaged, and not longer than `limit`."""
        part = self.parts.get(name)
        if part is None or part.size > limit:
            return None
        pieces = list(self._pieces(part, limit))
        content = b"".join(piece for piece in pieces if piece is not None)
        return content if _is_whole(part, len(content), zlib.crc32(content), pieces) else None

    def measure(self, name: str, limit: int) -> int | None:
        """Return the unpacked size of a part, as far as `limit`; `None` if it is damaged.

        Beyond the limit nothing is checked, so such a part does not count as damaged.
        """
        part = self.parts.get(name)
        if part is None:
            return None
        size = crc = 0
        last: bytes | None = b""
        for last in self._pieces(part, limit):
            if last is not None:
                size, crc = size + len(last), zlib.crc32(last, crc)
        if size > limit or _is_whole(part, size, crc, [last]):
            return size
        return None

    def _pieces(self, part: Part, limit: int) -> Iterator[bytes | None]:
        """Yield the part piece by piece, until there are more than `limit` bytes; `None`:
        damaged.
        """
        packed = self._packed(part)
        if packed is None or not part.is_readable:
            yield None
        elif part.method == _STORED:
            stored = packed[: limit + 1]
            for at in range(0, len(stored), _PIECE):
                yield bytes(stored[at : at + _PIECE])
        else:
            yield from _inflate(packed, limit)

    def _packed(self, part: Part) -> memoryview | None:
        content = self._content
        if part.start < 0 or part.start + _LOCAL.size > len(content):
            return None
        # Only the lengths of name and extra field are read from the local header. Sizes and
        # checksum come from the directory: a file whose two copies differ is a known attack on
        # scanners.
        sign, *_, name, extra = _LOCAL.unpack_from(content, part.start)
        start = part.start + _LOCAL.size + name + extra
        if sign != b"PK\x03\x04" or start + part.packed > len(content):
            return None
        return memoryview(content)[start : start + part.packed]


def read_zip(content: bytes) -> Zip | None:
    """Open a zip; `None` if it is none, or its directory is damaged."""
    try:
        return Zip(content, dict(_rows(content)))
    except (struct.error, ValueError):
        return None


def _is_whole(part: Part, size: int, crc: int, pieces: list[bytes | None]) -> bool:
    return None not in pieces and (size, crc) == (part.size, part.crc)


def _inflate(packed: memoryview, limit: int) -> Iterator[bytes | None]:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    at, left = 0, limit + 1
    try:
        while left > 0 and not inflate.eof:
            waiting = inflate.unconsumed_tail or bytes(packed[at : at + _PIECE])
            at += 0 if inflate.unconsumed_tail else len(waiting)
            piece = inflate.decompress(waiting, min(_PIECE, left))
            if not piece and not waiting:
                yield None  # it is cut off
                return
            left -= len(piece)
            yield piece
    except zlib.error:
        yield None


def _rows(content: bytes) -> Iterator[tuple[str, Part]]:
    count, start, shift = _table(content)
    for _ in range(min(count, MAX_PARTS)):
        row = _ROW.unpack_from(content, start)
        sign, flags, method = row[0], row[3], row[4]
        crc, packed, size, name, extra, comment = row[7:13]
        if sign != b"PK\x01\x02":
            raise ValueError("the table of contents is damaged")
        start += _ROW.size
        label = content[start : start + name].decode("utf-8", "replace")
        fields = content[start + name : start + name + extra]
        size, packed, place = _large(fields, size, packed, row[16])
        yield label, Part(method, flags, crc, packed, size, place + shift)
        start += name + extra + comment


def _table(content: bytes) -> tuple[int, int, int]:
    """Return the number of rows, the place of the first, and the offset of prepended data."""
    # The last one within the longest possible comment, as all programs do; a comment may contain
    # another signature.
    end = content.rfind(b"PK\x05\x06", max(0, len(content) - _END.size - _COMMENT))
    if end < 0:
        raise ValueError("no end of a table of contents")
    _, _, _, _, count, size, start, _ = _END.unpack_from(content, end)
    place = end - _END64_PLACE.size
    if place >= 0 and content.startswith(b"PK\x06\x07", place):
        end = _END64_PLACE.unpack_from(content, place)[2]
        row = _END64.unpack_from(content, min(end, len(content)))
        if row[0] != b"PK\x06\x06":
            raise ValueError("the end of the table of contents is damaged")
        count, size, start = row[7:10]
    # Data before the zip (a self-extracting program) shifts every offset by the same amount.
    shift = end - size - start
    if shift < 0 or size > len(content):
        raise ValueError("the table of contents is cut off")
    return count, start + shift, shift


def _large(fields: bytes, size: int, packed: int, place: int) -> tuple[int, int, int]:
    """Return sizes of more than 32 bits, which stand in a field of their own, in this order."""
    values = [size, packed, place]
    at = 0
    while at + 4 <= len(fields):
        kind, length = struct.unpack_from("<HH", fields, at)
        at += 4
        if kind == 1:
            for number, value in enumerate(values):
                if value == 0xFFFFFFFF:
                    (values[number],) = struct.unpack_from("<Q", fields, at)
                    at += 8
            break
        at += length
    return values[0], values[1], values[2]


# --- MIME types by unambiguous content: the first bytes, and the parts of a zip ---

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


# The MIME type of a file: by its content where that is certain, else by its name, else text or
# not.
#
#     mime_of("report.docx", …)    the type of a Word file, if it is one
#     mime_of("evil.png", b"<!doctype html>…")    text/html: a name may lie
#     mime_of("notes", b"hello")   text/plain
#     mime_of("x", b"\0\1")        application/octet-stream

# --- The MIME type that a file's name claims: a table of endings, the same on every machine ---

_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"
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
    f"{_OFFICE_TYPE}.wordprocessingml.document": "docx",
    f"{_OFFICE_TYPE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE_TYPE}.presentationml.presentation": "pptx",
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
_TEXT_PIECE = 1 << 20
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
        for at in range(0, len(content), _TEXT_PIECE):
            decode(content[at : at + _TEXT_PIECE], at + _TEXT_PIECE >= len(content))
    except UnicodeDecodeError:
        return False
    return True


def _could_be_text(content: bytes) -> bool:
    """Return whether it is text of another encoding."""
    return not _CONTROL.search(content) or content.startswith((b"\xff\xfe", b"\xfe\xff"))
