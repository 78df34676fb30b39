"""The types of files that a drive treats in a way of their own.

folder        holds files
document      a text; it has no bytes of its own and is exported, as Markdown by default
spreadsheet   tables; exported as CSV by default
"""

from __future__ import annotations

__all__ = ("DOCUMENT", "EXPORTS", "FOLDER", "LARGEST", "SPREADSHEET", "is_native")

# The most bytes of one file that are read or written.
LARGEST = 25 * 1024 * 1024

_NATIVE = "application/vnd.google-apps."
FOLDER = f"{_NATIVE}folder"
DOCUMENT = f"{_NATIVE}document"
SPREADSHEET = f"{_NATIVE}spreadsheet"

# What a file without bytes of its own is read as, where nothing else is asked for.
EXPORTS = {
    DOCUMENT: "text/markdown",
    SPREADSHEET: "text/csv",
    f"{_NATIVE}presentation": "text/plain",
    f"{_NATIVE}drawing": "image/png",
    f"{_NATIVE}script": f"{_NATIVE}script+json",
}


def is_native(mime: str) -> bool:
    """Whether files of this type have no bytes of their own: they are exported."""
    return mime.startswith(_NATIVE)
