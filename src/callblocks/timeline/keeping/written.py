"""The check of a file that a tool was to write, before anybody is told that it exists.

    check_written("report.pdf", None)     error file_not_found
    check_written("report.pdf", b"")      error empty_file
    check_written("report.docx", b"hi")   error file_invalid, warning file_unusually_small

A name claims a type by its ending; where it claims no known one, the content decides.
"""

from __future__ import annotations

import msgspec

from callblocks.model.brief import brief
from callblocks.model.outcomes import Failure
from callblocks.timeline.keeping.mime import mime_of
from callblocks.timeline.keeping.mime_names import named_type
from callblocks.timeline.keeping.wholeness import fault_in

__all__ = ("UNUSUALLY_SMALL", "Written", "check_written")

# The warning: a file of that kind has more bytes, even with little in it.
UNUSUALLY_SMALL = "file_unusually_small"

_LEAST = {".pdf": 500, ".docx": 1_000, ".pptx": 2_000, ".xlsx": 1_000}


class Written(msgspec.Struct, frozen=True):
    """The file as found: its size and type, and its warning or error."""

    size: int
    mime: str
    warning: str = ""
    error: Failure | None = None


# Judged by the claimed type: a `.docx` that holds plain text is a failure of the tool, even though
# the text itself is readable.
def check_written(name: str, content: bytes | None) -> Written:
    """Check the file that a tool wrote as `name`; `None` is a file that does not exist."""
    mime = mime_of(name, content or b"")
    if content is None:
        return Written(0, mime, error=_failure("file_not_found", name, "was not written"))
    if not content:
        return Written(0, mime, error=_failure("empty_file", name, "was written with no content"))
    fault = fault_in(named_type(name) or mime, content)
    error = _failure("file_invalid", name, f"does not open: {fault}") if fault else None
    return Written(len(content), mime, _warning(name, len(content)), error)


def _warning(name: str, size: int) -> str:
    small = any(name.lower().endswith(end) and size < least for end, least in _LEAST.items())
    return UNUSUALLY_SMALL if small else ""


def _failure(code: str, name: str, problem: str) -> Failure:
    return Failure(code=code, message=f"{brief(name, 200)} {problem}; write it again")
