"""A stretch of the view that has one headline: a message, a call, or the results of a call.

    [TOOL RESULT abc].summary react.write
    status: ok
    artifacts:
    - fi:turn_1.files/report.md (text/markdown, 1234 bytes)

Results of one call that stand side by side are one section, and so are attachments; those that
are more than `_MOST` go on in the next. Only the last section of a view still grows. What a section
costs is added up as its blocks come.
"""

from __future__ import annotations

import binascii
import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import compress
from operator import not_
from typing import Any, NamedTuple, cast

from callblocks.core.blocks import Block, DocumentPart, Entry, ImagePart, Part, TextPart
from callblocks.core.json_values import json_text
from callblocks.dialects import dialects
from callblocks.timeline.log.transfer import gap_of, missing_words
from callblocks.timeline.timeline import CallKey, Tokens, call_key
from callblocks.views.model_view.neutral import HIDDEN, Neutral

__all__ = (
    "Owned",
    "Paragraph",
    "Rendered",
    "Scale",
    "Section",
    "binary_part",
    "digest_of",
    "header",
    "id_word",
    "labelled",
    "placeholder",
    "role_of",
    "said",
    "short",
    "shown_json",
    "word",
)

# --- Layout of blocks in the text that a model reads ---
#
#     [User say]: …                             a prompt
#     [AI Agent say]: …                         notes; an answer is `[AI Agent answer]: …`
#     [TOOL CALL abc].call react.write          then `payload: {…}`
#     [TOOL RESULT abc].result fetch            then `path: …`, and the content
#     [TOOL RESULT abc].artifact react.write    then `path: …`, `physical: …`, `digest: {…}`,
#                                               and the content: text, an image or a document
#
# Every word that is not of this layout is neutralised: texts for the tools at hand, ids, names and
# paths for any tools and dialects. Where a file is hosted is never shown, nor
# is `managed`. JSON begins behind its label: at the start of a line it would look like a call. No
# block makes this raise: blocks may come from anywhere.

_ID = re.compile(r"[\w.:/+~@ …-]+")
_NOT_SHOWN = frozenset(("hosted_uri", "rn", "key", "managed"))
_DEPTH = 200
"""Levels of JSON; `json_text` writes no more of them."""

_TOO_DEEP = {"left_out": "JSON that is nested too deeply"}
_DIGESTED = ("react.tool.result", "user.attachment")
_HEADERS = {
    "user.prompt": "[User say]: ",
    "user.attachment": "[User attachment]",
    "assistant.completion": "[AI Agent answer]: ",
    "react.notes": "[AI Agent say]: ",
    "react.tool.code": "[TOOL CALL {id}].code",
    "react.tool.call": "[TOOL CALL {id}].call {tool}",
    "react.notice": "[TOOL CALL {id}].notice",
    "react.tool.result": "[TOOL RESULT {id}].{part} {tool}",
    "timeline.damaged": "[damaged block]",
}
_NAME = 200
"""Characters of an id, a tool or a type in a header."""


def header(block: Block, part: str = "") -> str:
    """The line, or the start of it, that says what a block is."""
    line = _HEADERS.get(block.type, "[unknown block]")
    return line.format(id=id_word(short(block.call_id)), tool=word(short(block.tool_id)), part=part)


def short(text: str, size: int = _NAME) -> str:
    """A name of any length, in one that a line can hold."""
    return text if len(text) <= size else f"{text[:size]}…"


@lru_cache(maxsize=4096)
def id_word(text: str) -> str:
    """An id in the brackets of a header: one that could end them is quoted."""
    return word(text) if _ID.fullmatch(text) else _any_reader()(json.dumps(text), fresh=False)


@lru_cache(maxsize=4096)
def word(text: str) -> str:
    """An id, a name or a path on one line: one with controls in it, or a quote first, is quoted."""
    is_plain = text.isprintable() and not text.startswith('"')
    return _any_reader()(text if is_plain else json.dumps(text), fresh=False)


@cache
def _any_reader() -> Neutral:
    """Return what neutralises a word for any tools and any dialect: few words have a marker."""
    return Neutral(None, dialects.values())


def said(block: Block, neutral: Neutral) -> str:
    """The text of a block behind a label, on the same line."""
    return neutral(block.text or "", fresh=False)


def labelled(block: Block, label: str, neutral: Neutral) -> str:
    """The text of a block behind its label: JSON on the same line, other text on the next."""
    if block.mime.endswith("json"):
        return f"{label}: {said(block, neutral)}\n"
    return f"{label}:\n{neutral(block.text or '')}\n"


def placeholder(text: str, neutral: Neutral) -> str:
    """Return the placeholder of a hidden block."""
    rest = text.removeprefix(HIDDEN)
    return HIDDEN + neutral(rest, fresh=False) if rest != text else neutral(text, fresh=False)


def role_of(block: Block) -> str:
    """Return the role of a result or an attachment: digest, content, status, report, or ""."""
    role = block.meta.get("role") if block.type in _DIGESTED else ""
    return role if isinstance(role, str) else ""


def digest_of(block: Block) -> dict[str, Any] | None:
    """The fields of a digest; `None` for a block that is none."""
    if role_of(block) != "digest":
        return None
    fields = _read(block.text or "")
    return fields if fields and isinstance(fields.get("artifact_path"), str) else None


def shown_json(text: str, neutral: Neutral) -> str:
    """JSON of a digest or a notice without what is not for the model, else the text itself."""
    if any(f'"{name}"' in text for name in _NOT_SHOWN) and (fields := _read(text)) is not None:
        text = json_text(_without(fields))
    return neutral(text, fresh=False)


def _read(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        return dict(_TOO_DEEP)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _without(value: Any, depth: int = 0) -> Any:
    if depth > _DEPTH:
        return value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {n: _without(one, depth + 1) for n, one in fields if n not in _NOT_SHOWN}
    if isinstance(value, list):
        return [_without(one, depth + 1) for one in cast("list[Any]", value)]
    return value


# --- A stretch of the view that has one headline: a message, a call, or the results of a call ---

# --- Blocks that are shown as images and documents: only types that every provider accepts ---
#
#     image/png, image/jpeg, image/gif, image/webp     if the content begins like one
#     application/pdf                                  if it begins with %PDF
#
# A provider refuses the whole conversation because of one invalid image, in every later request
# too. So the declared type is not trusted: the content must begin with the signature of the type.

_PDF = "application/pdf"
_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF[\s\S]{4}WEBP"),
    _PDF: re.compile(rb"%PDF"),
}


def binary_part(block: Block) -> ImagePart | DocumentPart | None:
    """Return an image or a PDF; nothing for other blocks, nor where type and content disagree."""
    beginning = _BEGINNINGS.get(block.mime)
    if beginning is None or not block.base64:
        return None
    content = _decoded(block.base64)
    if content is None or not beginning.match(content):
        return None
    part = DocumentPart if block.mime == _PDF else ImagePart
    return part(block.mime, block.base64)


def _decoded(base64: str) -> bytes | None:
    try:
        return binascii.a2b_base64(base64, strict_mode=True)
    except ValueError:
        return None


# --- One thing that a model is shown: a block, or a digest with its content ---
#
# A hidden block is shown as its placeholder. A block that does not fit is shown as its header and
# its path: a text is never shown in part.

_CODE = 100
"""Characters of a code; a longer one is none of ours."""

_PATH = 1000
"""Characters of a path; no path that can be read is longer."""

_LABELS = {"react.tool.code": "code", "react.tool.call": "payload", "react.notice": "notice"}


class Rendered(NamedTuple):
    """The parts of a paragraph, and its lines in the summary of its call."""

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
        """Its path on the timeline."""
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
        """True for a status or a report, which describe the other results."""
        return role_of(self.first.block) in ("status", "report")

    @property
    def is_artifact(self) -> bool:
        """True for a file among the results of a call."""
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
        """Return whether a block is the content of the digest."""
        if self._content is not None or block.path != self.path:
            return False
        return role_of(block) in ("", "content")

    def attach(self, entry: Entry) -> None:
        """Take the content that it awaits."""
        self._content, self._rendered = entry, None

    @property
    def is_whole(self) -> bool:
        """True if nothing of it is hidden or left out."""
        return not self._hidden and not self.left_out

    def hide(self, seq: int, text: str) -> None:
        """Lay a placeholder over the entry of that number."""
        self._hidden[seq], self._rendered = placeholder(text, self._neutral), None

    def leave_out(self, tokens: int) -> None:
        """Show only the header and the path of what costs so many tokens."""
        self.left_out, self._rendered = tokens, None

    def render(self) -> Rendered:
        """Return its parts and summary, cached until it changes."""
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


# --- A stretch of the view that has one headline: a message, a call, or the results of a call ---

_GROWING = ("react.tool.result", "user.attachment")
_MOST = 50
"""Things in a section, which is put together anew with each."""

_RUNTIME_ERROR = re.compile(r"Runtime error: (?!none\b)(\S{1,100})")
_FILE_ERRORS = "Runtime error: none\nFile errors:\n"


class Owned(NamedTuple):
    """A part, and the numbers of the entries that it shows."""

    seqs: tuple[int, ...]
    part: Part


class Scale:
    """Weighs parts in tokens; without a limit nothing is weighed. `neutral` shows their texts."""

    def __init__(self, tokens: Tokens, limit: int | None, neutral: Neutral) -> None:
        self._tokens = tokens
        self.limit = limit
        self.neutral = neutral

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._tokens.text(text) if self.limit is not None and text else 0

    def parts(self, parts: list[Part]) -> int:
        """Return the tokens of all parts."""
        return sum(map(self._part, parts))

    def _part(self, part: Part) -> int:
        if isinstance(part, TextPart):
            return self.text(part.text)
        return self._tokens.binary(len(part.base64) * 3 // 4, part.mime)


class Section:
    """Blocks under one headline. `line` stands for all of them once the section is folded.

    `files` are then those of all that the line stands for.
    """

    def __init__(self, entry: Entry, scale: Scale, before: Section | None = None) -> None:
        self._goes_on = before is not None and before.line is None and before.is_of(entry.block)
        self.block: Block = entry.block
        self.key: CallKey = call_key(entry.block)
        self.first = self.last = entry.seq
        self.line: str | None = None
        self.files: list[str] = []
        self.paragraphs: list[Paragraph] = []
        self._scale = scale
        self._costs: list[int] = []
        self._total = self._line_cost = 0
        self._is_headed = False
        self._parts: list[Part] | None = None
        self.add(entry)

    @property
    def cost(self) -> int:
        """The tokens of its current form, rounded up slightly."""
        return self._total if self.line is None else self._line_cost

    @property
    def status(self) -> str:
        """`ok`, or `error` and its code; code that ran without its files is `file_errors`."""
        codes = (code for paragraph in self.paragraphs if (code := _error(paragraph)))
        code = next(codes, "")
        return f"error {word(code)}" if code else "ok"

    def takes(self, block: Block) -> bool:
        """Return whether the next block belongs to this section."""
        if self.line is not None or not self.is_of(block) or block.type not in _GROWING:
            return False
        return len(self.paragraphs) < _MOST or self.paragraphs[-1].awaits(block)

    def is_of(self, block: Block) -> bool:
        """Return whether a block has the same type and the same call."""
        return block.type == self.block.type and call_key(block) == self.key

    def add(self, entry: Entry) -> None:
        """Take the next block."""
        self.last, self._parts = entry.seq, None
        if self.paragraphs and self.paragraphs[-1].awaits(entry.block):
            self.paragraphs[-1].attach(entry)
        else:
            self.paragraphs.append(Paragraph(entry, self._scale.neutral))
            self._costs.append(0)
        at = len(self.paragraphs) - 1
        self._weigh(at)
        if self._scale.limit is not None and self._costs[at] > self._scale.limit:
            self.leave_out(at)

    def hide(self, seq: int, text: str) -> None:
        """Lay a placeholder over a block."""
        at = self._place(seq)
        self.paragraphs[at].hide(seq, text)
        self._weigh(at)

    @property
    def is_whole(self) -> bool:
        """True if nothing of it is folded, hidden or left out."""
        return self.line is None and all(one.is_whole for one in self.paragraphs)

    def shows(self, seq: int) -> bool:
        """Return whether a block of it is shown in full, not as a line or a header."""
        return self.line is None and not self.paragraphs[self._place(seq)].left_out

    def leave_out(self, at: int) -> None:
        """Show of a paragraph only its header and its path, where that costs less."""
        paragraph, cost = self.paragraphs[at], self._costs[at]
        if paragraph.left_out:
            return
        paragraph.leave_out(cost)
        self._weigh(at)
        if self._costs[at] >= cost:
            paragraph.leave_out(0)
            self._weigh(at)

    def fold(self, line: str, files: list[str]) -> None:
        """Show this line for all of it, and for what these files are of."""
        self.line, self.files, self._parts = line, files, None
        self._line_cost = self._scale.text(line)

    def parts(self) -> list[Part]:
        """Its parts; there is always one, and they are kept until it changes."""
        if self._parts is None:
            self._parts = [one.part for one in self.owned()]
        return self._parts

    @property
    def plain_text(self) -> str | None:
        """The text of a result that is text and nothing else, as shown; None for any other."""
        is_one = self.line is None and len(self.paragraphs) == 1 and not self._goes_on
        return self.paragraphs[0].plain_text if is_one else None

    def owned(self) -> list[Owned]:
        """Its parts, each with the entries that it shows."""
        if self.line is None:
            return self._whole()
        return [Owned(_seqs(self.paragraphs), TextPart(self.line))]

    def _place(self, seq: int) -> int:
        """Return the index of the paragraph of an entry."""
        return bisect_right(self.paragraphs, seq, key=lambda one: one.first.seq) - 1

    def _whole(self) -> list[Owned]:
        told: list[str] = []
        parts: list[Owned] = []
        for paragraph in self.paragraphs:
            own, summary = paragraph.render()
            parts += [Owned(paragraph.seqs, part) for part in own]
            told.append(summary)
        kinds = [paragraph.is_report for paragraph in self.paragraphs]
        reports = "".join(compress(told, kinds))
        listing = "".join(compress(told, map(not_, kinds)))
        if not reports and not listing:
            return parts
        rows = f"artifacts:\n{listing}" if listing else ""
        status = self.status
        if self._goes_on and status == "ok":
            status = "as above"
        summary = TextPart(f"{self._headline(status)}{reports}{rows}")
        return [Owned(_seqs(compress(self.paragraphs, told)), summary), *parts]

    def _headline(self, status: str) -> str:
        return f"{header(self.block, 'summary')}\nstatus: {status}\n"

    def _weigh(self, at: int) -> None:
        self._parts = None
        if self._scale.limit is None:
            return
        paragraph = self.paragraphs[at]
        parts, summary = paragraph.render()
        cost = self._scale.parts(parts) + self._scale.text(summary + _error(paragraph))
        if summary and not self._is_headed:
            self._is_headed = True
            self._total += self._scale.text(self._headline("error \nartifacts:"))
        self._total += cost - self._costs[at]
        self._costs[at] = cost


def _seqs(paragraphs: Iterable[Paragraph]) -> tuple[int, ...]:
    return tuple(seq for paragraph in paragraphs for seq in paragraph.seqs)


def _error(paragraph: Paragraph) -> str:
    """The code of what went wrong, in a digest or in the report on code that ran."""
    report = (paragraph.first.block.text or "") if paragraph.is_report else ""
    if found := _RUNTIME_ERROR.match(report):
        return found[1]
    return "file_errors" if report.startswith(_FILE_ERRORS) else paragraph.error
