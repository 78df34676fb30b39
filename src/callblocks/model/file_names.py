r"""Names of files below a folder of a turn: `report.md`, `charts/rain 2030.png`.

    ./charts//a.png     charts/a.png    empty and `.` segments are dropped
    ..  a/../b  /etc/x  a\b             refused: unsafe_path
    a line break, a control, an invisible character, a surrogate, a trailing blank: refused

A name is otherwise kept as written, also its Unicode form: `é` in one character and in two are two
files on disk, and the existing one must be found. The limits are those of a disk.
"""

from __future__ import annotations

import re
import unicodedata

from callblocks.model.errors import BadPath

__all__ = ("MAX_LENGTH", "MAX_NAMES", "MAX_SEGMENT", "normal_name")

# The most bytes between two slashes that file systems accept.
MAX_SEGMENT = 255

# The most bytes in all: with the turn and its folder, still a path that the kernel accepts.
MAX_LENGTH = 3900

# The most segments: deeper trees are hard to copy and to remove.
MAX_NAMES = 120

# Controls, line ends, surrogates, and the separator of other systems.
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\\\\]")


def normal_name(text: str, name: str) -> str:
    """Return the normal form of `name`; raise `unsafe_path` naming `text` for an invalid one."""
    segments = [segment for segment in name.split("/") if segment not in ("", ".")]
    fault = _fault(name, segments)
    if fault:
        raise BadPath(text, fault, code="unsafe_path")
    return "/".join(segments)


def _fault(name: str, segments: list[str]) -> str:
    """Return why this is no name of a file, in words; "" if it is one."""
    # All conditions are cheap, so the table is evaluated whole; the first fault in its order is
    # reported.
    faults = (
        (name.startswith("/"), "is absolute; write it from the folder on, without a leading /"),
        (".." in segments, "leaves its folder; write it without .."),
        (not segments, "names no file; write a name, such as report.md"),
        (_is_long(segments), f"is too long; a name has at most {MAX_SEGMENT} bytes"),
        (_ODD.search(name), "has a control character or a backslash; leave it out"),
        (_is_invisible(name), "has an invisible character; leave it out"),
        (any(part.endswith(" ") for part in segments), "has a name with a blank at its end"),
    )
    return next((words for is_fault, words in faults if is_fault), "")


def _is_long(segments: list[str]) -> bool:
    sizes = [len(segment.encode("utf-8", "surrogatepass")) for segment in segments]
    return len(sizes) > MAX_NAMES or sum(sizes) > MAX_LENGTH or max(sizes, default=0) > MAX_SEGMENT


def _is_invisible(name: str) -> bool:
    return not name.isascii() and any(unicodedata.category(char) == "Cf" for char in name)
