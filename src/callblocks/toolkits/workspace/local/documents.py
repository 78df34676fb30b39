"""Documents of a local office: text files of the drive, `<Title>.md`.

A document is shown in the shape of Google Docs: one paragraph per line, with Google's indexes,
which count UTF-16 units from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.docs_text import replaced
from callblocks.toolkits.workspace.drive_types import DOCUMENT
from callblocks.toolkits.workspace.local.drive import LocalDrive

__all__ = ("LocalDocuments",)

_MOST_LINES = 100_000
_TEXTS = ("text/", "application/json", "application/yaml", "application/xml", DOCUMENT)


class LocalDocuments:
    """The texts of a drive."""

    def __init__(self, drive: LocalDrive) -> None:
        self._drive = drive

    def document(self, document_id: str) -> Json:
        """Return a document with its paragraphs."""
        file = self._file(document_id)
        content, _ = self._drive.content(document_id, "text/markdown")
        text = _decode(content, file["name"])
        _require_lines(text, file["name"])
        return {
            "documentId": file["id"],
            "title": file["name"],
            "revisionId": file["modifiedTime"],
            "body": {"content": list(_paragraphs(text))},
        }

    def create(self, title: str, text: str) -> Json:
        """Make a document."""
        metadata = {"name": title, "mimeType": DOCUMENT}
        file = self._drive.create(metadata, _ended(text).encode())
        return self.document(file["id"])

    def append(self, document_id: str, text: str) -> None:
        """Append text before the end of the last line, as Google does."""
        self._edit(document_id, lambda old: _ended(old.removesuffix("\n") + text))

    def replace(self, document_id: str, find: str, new: str, *, match_case: bool) -> int:
        """Replace each match; return their number."""
        count = 0

        def edit(old: str) -> str:
            nonlocal count
            body = old.removesuffix("\n")
            changed, count = replaced(body, find, new, match_case=match_case)
            return changed + old[len(body) :]

        self._edit(document_id, edit)
        return count

    def _file(self, document_id: str) -> Json:
        file = self._drive.file(document_id)
        if not file["mimeType"].startswith(_TEXTS):
            why = f"{brief(file['name'])} is {file['mimeType']}, not a document"
            raise ToolError("invalid_input", f"{why}; read it with drive_read", documentId=why)
        return file

    def _edit(self, document_id: str, edit: Callable[[str], str]) -> None:
        name = self._file(document_id)["name"]
        self._drive.edit(document_id, lambda old: edit(_decode(old, name)).encode())


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"the document {brief(name)} is damaged: it is not UTF-8 text"
        raise ToolError("workspace_damaged", message) from error


def _require_lines(text: str, name: str) -> None:
    """Refuse documents with too many lines: a paragraph takes a thousand times its memory."""
    lines = text.count("\n")
    if lines > _MOST_LINES:
        raise ToolError(
            "file_too_large",
            f"{brief(name)} has {lines} lines; a document is read up to {_MOST_LINES}; read it "
            "with drive_read",
        )


def _ended(text: str) -> str:
    return f"{text}\n" if text and not text.endswith("\n") else text


def _paragraphs(text: str) -> Iterator[Json]:
    start = 1
    for line in text.removesuffix("\n").split("\n"):
        end = start + len(f"{line}\n".encode("utf-16-le")) // 2
        run: Json = {"content": f"{line}\n", "textStyle": {}}
        element: Json = {"startIndex": start, "endIndex": end, "textRun": run}
        yield {"startIndex": start, "endIndex": end, "paragraph": {"elements": [element]}}
        start = end
