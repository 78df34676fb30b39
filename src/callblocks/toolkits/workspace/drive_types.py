"""File types with special treatment.

folder        holds files
document      a text; it has no bytes of its own and is exported, as Markdown by default
spreadsheet   tables; exported as CSV by default
"""

from __future__ import annotations

__all__ = ("DOCUMENT", "EXPORTS", "FOLDER", "LARGEST", "SPREADSHEET", "is_native")

# Size limit in bytes of a file that is read or written.
LARGEST = 25 * 1024 * 1024

_NATIVE = "application/vnd.google-apps."
FOLDER = f"{_NATIVE}folder"
DOCUMENT = f"{_NATIVE}document"
SPREADSHEET = f"{_NATIVE}spreadsheet"

# Default export types of files without bytes of their own.
EXPORTS = {
    DOCUMENT: "text/markdown",
    SPREADSHEET: "text/csv",
    f"{_NATIVE}presentation": "text/plain",
    f"{_NATIVE}drawing": "image/png",
    f"{_NATIVE}script": f"{_NATIVE}script+json",
}


def is_native(mime: str) -> bool:
    """Tell if files of this type have no bytes of their own and are exported."""
    return mime.startswith(_NATIVE)
