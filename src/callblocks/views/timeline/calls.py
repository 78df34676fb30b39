"""A call on a timeline as a chat shows it: one line, and what came of it.

Result blocks and notices are taken in any order. The digest of a file is no result, and a failure
is told once.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.model.blocks import Block, Entry
from callblocks.model.outcomes import without_managed
from callblocks.model.shown import show_call
from callblocks.timeline.plain_json import json_text
from callblocks.views.timeline.files import Files, ShownFile, read_digest, read_object

__all__ = ("Results", "ShownCall", "read_call")

_ERRORS = ("tool_call_error", "tool_result_error")
_RUNTIME_ERROR, _NO_ERROR = "Runtime error: ", "Runtime error: none"


class ShownCall(msgspec.Struct):
    """A call in one line, and what came of it; `result` is None while nothing came.

    `approved` is whether it ran because a person said yes.
    """

    seq: int
    name: str
    line: str
    code: str = ""
    result: str | None = None
    failed: bool = False
    approved: bool = False
    granted: int = 0
    notices: list[str] = []
    files: list[ShownFile] = []


class Results:
    """Puts result blocks and notices where they belong in a shown call."""

    def __init__(self, call: ShownCall) -> None:
        self._call = call
        self._files = Files()
        call.files = self._files.all

    def take(self, block: Block) -> None:
        """Take a result, a digest or a notice of the call, or what a person answered about it."""
        if block.type == "timeline.approval":
            self._answered(block)
        elif block.type == "react.notice":
            self._notice(block)
        elif (digest := read_digest(block)) is not None:
            self._digest(digest)
        elif block.path.startswith("fi:"):
            self._files.fill(block)
        else:
            self._content(block.text or "")

    def _answered(self, block: Block) -> None:
        minutes, is_yes = block.meta.get("minutes"), block.meta.get("approved") is True
        if is_yes and isinstance(minutes, int):
            self._call.granted = minutes
        self._call.approved |= is_yes

    def _digest(self, digest: dict[str, Any]) -> None:
        if isinstance(digest.get("error"), dict):
            error = cast("dict[str, Any]", digest["error"])
            self._fail(f"{error.get('code', '')}: {error.get('message', '')}")
        elif digest["artifact_path"].startswith("fi:"):
            self._files.name(digest)

    def _content(self, text: str) -> None:
        call = self._call
        call.result = f"{call.result}\n{text}" if call.result else text
        call.failed |= text.startswith(_RUNTIME_ERROR) and not text.startswith(_NO_ERROR)

    def _notice(self, block: Block) -> None:
        said = read_object(block)
        words = str(said.get("message") or _words(said) or block.text or "")
        if said.get("code") not in _ERRORS:
            self._call.notices.append(words)
        elif not self._call.failed:
            self._fail(words)

    def _fail(self, words: str) -> None:
        self._call.failed, self._call.result = True, words


def _words(notice: dict[str, Any]) -> str:
    """A notice that has no message, as JSON."""
    return json_text(without_managed(notice)) if notice else ""


def read_call(entry: Entry) -> ShownCall:
    """The call of a block, without what came of it."""
    said = read_object(entry.block)
    name, params = said.get("tool_id"), said.get("params")
    name = name if isinstance(name, str) and name else entry.block.tool_id or "call"
    known = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
    return ShownCall(entry.seq, name, show_call(name, known)[0])
