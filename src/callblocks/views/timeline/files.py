"""Files on a timeline: a digest that names one, and the content block at its path.

What is a digest is said by the meta of the block: a tool's own JSON that looks like one is not
taken for it.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.shown import format_size
from callblocks.views.safe import visible_line

__all__ = ("Files", "ShownFile", "read_digest", "read_object")


class ShownFile(msgspec.Struct):
    """A file that a call made, or that the person gave; `image` is its base64."""

    path: str
    mime: str
    size: int | None = None
    text: str = ""
    image: str = ""

    @property
    def about(self) -> str:
        """The path, the type and the size in one line."""
        size = "" if self.size is None else f", {format_size(self.size)}"
        return visible_line(f"{self.path} ({self.mime}{size})")


class Files:
    """Takes blocks in order; `all` are the files that they name, each once."""

    def __init__(self) -> None:
        self.all: list[ShownFile] = []
        self._known: dict[str, ShownFile] = {}

    def take(self, block: Block) -> None:
        """Take a block of a file: its digest or its content."""
        digest = read_digest(block)
        if digest is None:
            self.fill(block)
        else:
            self.name(digest)

    def name(self, digest: dict[str, Any]) -> None:
        """Take what a digest says."""
        size, mime = digest.get("size_bytes"), digest.get("mime")
        file = self._file(str(digest.get("artifact_path")))
        file.size = size if isinstance(size, int) else file.size
        file.mime = mime if isinstance(mime, str) else file.mime

    def fill(self, block: Block) -> None:
        """Take a content."""
        file = self._file(block.path)
        file.mime, file.text = block.mime, block.text or ""
        file.image = (block.base64 or "") if block.mime.startswith("image/") else ""

    def _file(self, path: str) -> ShownFile:
        if path not in self._known:
            self._known[path] = ShownFile(path, "application/octet-stream")
            self.all.append(self._known[path])
        return self._known[path]


def read_digest(block: Block) -> dict[str, Any] | None:
    """What a digest says; None where the block is none."""
    said = read_object(block) if block.meta.get("role") == "digest" else {}
    return said if isinstance(said.get("artifact_path"), str) else None


def read_object(block: Block) -> dict[str, Any]:
    """The JSON object that a block holds; an empty one where it holds none."""
    if block.mime != "application/json":
        return {}
    try:
        said = msgspec.json.decode(block.text or "")
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}
