"""File system names for files of the drive.

    Plan            Plan.md              a document, whose name has no ending
    a/b             a_b                  no folder comes of a name
    .bashrc         _bashrc              nothing that steers other programs
    Plan (again)    Plan (2).md          two files of a folder may have one name

The given name is kept in the database; the stored name only says where the file lies. Given names
may come from a hostile model or mail, so a stored name can never leave its folder, be hidden, or be
one that other programs execute or obey.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from callblocks.model.errors import ToolError
from callblocks.runtime.files.names import MAX_NAME
from callblocks.runtime.files.protected import PROTECTED, refuse_protected
from callblocks.timeline.keeping.mime_names import named_type
from callblocks.toolkits.workspace.drive_types import DOCUMENT, SPREADSHEET

__all__ = ("SUFFIXES", "guessed_type", "shown_name", "stored_names")

# The suffixes of stored names that given names do not have.
SUFFIXES = {DOCUMENT: ".md", SPREADSHEET: ".sheet"}

# Characters that paths refuse, that lists hide, or that other systems treat specially.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f/\\\\\u2028\u2029\ud800-\udfff]")
_START = re.compile(r"\A(?:[.~]|(?=[A-Za-z]:))")
_END = re.compile(r"[. ]+\Z")
# Names of SQLite's files beside a spreadsheet. A file named like a journal would be replayed.
_BESIDE = re.compile(r"\.(?=sheet-(?:journal|wal|shm)\Z)")
_ROOM = len(" (99999)")


def guessed_type(stored: str) -> str:
    """Guess the type of a file that was added by hand."""
    is_sheet = stored.endswith(SUFFIXES[SPREADSHEET])
    return SPREADSHEET if is_sheet else named_type(stored) or "application/octet-stream"


def shown_name(stored: str, mime: str) -> str:
    """Return the given name of a stored file."""
    return stored.removesuffix(SUFFIXES.get(mime, "")) or stored


def stored_names(name: str, mime: str, folder: str) -> Iterator[str]:
    """Yield candidate names for a file; `folder` is the path of its folder."""
    suffix = SUFFIXES.get(mime, "")
    stem, ending = _split(_fit(name), suffix)
    stem = _BESIDE.sub("_", _shorten(stem, MAX_NAME - len(ending.encode()) - _ROOM))
    if _is_protected(f"{folder}/{stem}{ending}".lstrip("/")):
        stem = f"_{stem}"
    yield f"{stem}{ending}"
    number = 1
    while True:
        number += 1
        yield f"{stem} ({number}){ending}"


def _fit(name: str) -> str:
    plain = _UNFIT.sub("_", unicodedata.normalize("NFC", name))
    # Format characters are invisible: two names that look alike must not be two files, and a
    # right-to-left override could hide a suffix.
    seen = "".join("_" if unicodedata.category(char) == "Cf" else char for char in plain)
    return _BESIDE.sub("_", _END.sub("", _START.sub("_", seen))) or "_"


def _split(name: str, suffix: str) -> tuple[str, str]:
    if suffix:
        return name.removesuffix(suffix) or "_", suffix
    stem, dot, ending = name.rpartition(".")
    short = dot and stem and len(ending.encode()) <= MAX_NAME // 8
    return (stem, f".{ending}") if short else (name, "")


def _shorten(text: str, length: int) -> str:
    return text.encode()[:length].decode(errors="ignore").rstrip() or "_"


def _is_protected(path: str) -> bool:
    try:
        refuse_protected(path, PROTECTED)
    except ToolError:
        return True
    return False
