"""Paths that may cross the border of a sandbox, in either direction.

src/main.py   🛠/x y.txt   a..b      plain: relative, no `..`, UTF-8, no control characters
/etc/passwd   ../x   a//b   a\\nb     not
"""

from __future__ import annotations

import re

__all__ = ("DEPTH", "fault_of_path")

# A lone surrogate stands for a byte that is not UTF-8.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_NAME_BYTES = 255
_PATH_BYTES = 4096
# The most segments of a path.
DEPTH = 128


def fault_of_path(path: str) -> str:
    """Return why a path may not cross, or "" when it may."""
    if _UNSHOWN.search(path):
        return "its name has control characters, or is not UTF-8"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "its path is not plain"
    if len(path.encode()) > _PATH_BYTES or len(parts) > DEPTH:
        return "its path is too long"
    if any(len(part.encode()) > _NAME_BYTES for part in parts):
        return "its name is too long"
    return ""
