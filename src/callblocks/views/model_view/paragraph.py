"""One thing that a model is shown: a block, or a digest with its content.

What is hidden stands as its placeholder. What there is no room for stands as its header and its
path: never is half of a text shown.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from callblocks.model.blocks import Block, Entry
from callblocks.model.parts import Part, TextPart
from callblocks.timeline.stores.gaps import gap_of, missing_words
from callblocks.views.model_view.layout import (
    digest_of,
    header,
    labelled,
    placeholder,
    role_of,
    said,
    short,
    shown_json,
    word,
)
from callblocks.views.model_view.neutral import Neutral
from callblocks.views.model_view.pictures import binary_part

__all__ = ("Paragraph", "Rendered")

_CODE = 100
"""Characters of a code; a longer one is none of ours."""

_PATH = 1000
"""Characters of a path; no path that can be read is longer."""

_LABELS = {"react.tool.code": "code", "react.tool.call": "payload", "react.notice": "notice"}


class Rendered(NamedTuple):
    """What a paragraph says itself, and what it adds to the summary of its call."""

    parts: list[Part]
    summary: str


class Paragraph:
    """Made of its first entry; `attach` gives a digest its content.

    `left_out` is how many tokens it had, where there is no room for them.
    """

    def __init__(self, entry: Entry, neutral: Neutral) -> None:
        self.first = entry
        self._neutral = neutral
        self.digest = digest_of(entry.block)
        self.left_out = 0
        self._rendered: Rendered | None = None
        self._content: Entry | None = None if self.digest is not None else entry
        self._hidden: dict[int, str] = {}

    @property
    def path(self) -> str:
        """What it is called on the timeline."""
        if self.digest is not None:
            return self.digest["artifact_path"]
        return self.first.block.path

    @property
    def seqs(self) -> tuple[int, ...]:
        """The numbers of its entries: one, or those of a digest and its content."""
        content = self._content
        return (self.first.seq,) if content in (None, self.first) else (self.first.seq, content.seq)

    @property
    def is_report(self) -> bool:
        """Whether it tells of the other results: a status or a report."""
        return role_of(self.first.block) in ("status", "report")

    @property
    def is_artifact(self) -> bool:
        """Whether it is a file among the results of a call."""
        return self.first.block.type == "react.tool.result" and self.path.startswith("fi:")

    @property
    def error(self) -> str:
        """The code of the error that the digest tells of, if any."""
        error = (self.digest or {}).get("error")
        code: object = error
        if isinstance(error, dict):
            code = cast("dict[str, object]", error).get("code")
        return code[:_CODE] if isinstance(code, str) else ""

    def awaits(self, block: Block) -> bool:
        """Whether a block is the content of the digest."""
        if self._content is not None or block.path != self.path:
            return False
        return role_of(block) in ("", "content")

    def attach(self, entry: Entry) -> None:
        """Take the content that it awaits."""
        self._content, self._rendered = entry, None

    @property
    def is_whole(self) -> bool:
        """Whether all of it is shown: nothing hidden, nothing left out."""
        return not self._hidden and not self.left_out

    def hide(self, seq: int, text: str) -> None:
        """Lay a placeholder over the entry of that number."""
        self._hidden[seq], self._rendered = placeholder(text, self._neutral), None

    def leave_out(self, tokens: int) -> None:
        """Show only the header and the path of what costs so many tokens."""
        self.left_out, self._rendered = tokens, None

    def render(self) -> Rendered:
        """What it looks like; kept until it changes."""
        if self._rendered is None:
            if self.is_report:
                self._rendered = Rendered([], self._body("report"))
            else:
                self._rendered = Rendered(self._parts(), self._listing())
        return self._rendered

    @property
    def plain_text(self) -> str | None:
        """The text of a result that is text and nothing else, as shown; None for any other."""
        content = self._content and self._content.block
        if content is None or content.text is None or content.base64 is not None:
            return None
        is_file = self.is_report or self.is_artifact or bool(self._digest(self.first.block))
        if is_file or not self.is_whole:
            return None
        if content.mime.endswith("json"):
            return said(content, self._neutral)
        return self._neutral(content.text)

    def _listing(self) -> str:
        """The row of an artifact in the summary of its call."""
        if not self.is_artifact:
            return ""
        about = self.digest or {}
        mime, size = about.get("mime"), about.get("size_bytes")
        facts = (
            self.error,
            mime if isinstance(mime, str) else "",
            f"{size} bytes" if isinstance(size, int) else "",
        )
        told = word(short(", ".join(filter(None, facts))))
        return f"- {_path(self.path)} ({told})\n" if told else f"- {_path(self.path)}\n"

    def _parts(self) -> list[Part]:
        block = self.first.block
        match block.type:
            case "user.prompt" | "assistant.completion" | "react.notes":
                return [TextPart(f"{header(block)}{self._message(block)}\n")]
            case "react.tool.call" | "react.notice" | "react.tool.code":
                path = f"path: {_path(block.path)}\n" if block.type == "react.tool.code" else ""
                return [TextPart(f"{header(block)}\n{path}{self._body(_LABELS[block.type])}")]
            case "user.attachment" | "react.tool.result":
                return self._result(block)
            case "timeline.damaged":
                gap = gap_of(self.first)
                line = "it stands on the timeline, and can no longer be read"
                line = f"{missing_words(*gap)} from the timeline" if gap else line
                return [TextPart(f"[damaged block {self.first.seq}]: {line}\n")]
            case _:
                line = f"a block of the type {word(short(block.type))} is not shown"
                return [TextPart(f"[unknown block {self.first.seq}]: {line}\n")]

    def _result(self, block: Block) -> list[Part]:
        lines = [f"{header(block, 'artifact' if self.is_artifact else 'result')}\n"]
        lines.append(f"path: {_path(self.path)}\n")
        lines.append(self._digest(block))
        picture = None
        if self._content is not None:
            lines.append(self._body("content"))
            if not self._instead(self._content, self.path):
                picture = binary_part(self._content.block)
        if picture is not None and self._content is not None and self._content.block.text is None:
            lines.append(f"content: {picture.mime}\n")
        text = TextPart("".join(lines))
        return [text] if picture is None else [text, picture]

    def _digest(self, block: Block) -> str:
        """The physical path and the digest, where they say more than the content does."""
        if self.digest is None:
            return ""
        if (hidden := self._hidden.get(self.first.seq)) is not None:
            # A digest and a content at one path are hidden together, and said so once.
            twin = self._content is not None and self._content.seq in self._hidden
            return "" if twin else f"digest: {hidden}\n"
        if not (self.path.startswith("fi:") or self._content is None or self.error):
            return ""
        physical = self.digest.get("physical_path")
        line = f"physical: {_path(physical)}\n" if isinstance(physical, str) else ""
        return f"{line}digest: {shown_json(block.text or '', self._neutral)}\n"

    def _message(self, block: Block) -> str:
        return self._instead(self.first, block.path) or said(block, self._neutral)

    def _body(self, label: str) -> str:
        """The text of the content with its label, or what stands for it."""
        entry = self._content or self.first
        block = entry.block
        if instead := self._instead(entry, self.path):
            return f"{label}: {instead}\n"
        if label == "notice" or role_of(block) == "digest":
            return f"{label}: {shown_json(block.text or '', self._neutral)}\n"
        return "" if block.text is None else labelled(block, label, self._neutral)

    def _instead(self, entry: Entry, path: str) -> str:
        if (hidden := self._hidden.get(entry.seq)) is not None:
            return hidden
        if not self.left_out:
            return ""
        return f"(about {self.left_out} tokens, too many to show here: {_path(path)})"


def _path(path: str) -> str:
    return word(short(path, _PATH))
