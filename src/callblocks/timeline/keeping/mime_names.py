"""The MIME type that a file's name claims: a table of endings, the same on every machine."""

from __future__ import annotations

__all__ = ("named_type",)

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
