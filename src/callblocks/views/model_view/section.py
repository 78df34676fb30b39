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

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import compress
from operator import not_
from typing import NamedTuple

from callblocks.model.blocks import Block, Entry
from callblocks.model.parts import Part, TextPart
from callblocks.timeline.rounds import CallKey, call_key
from callblocks.timeline.tokens import Tokens
from callblocks.views.model_view.layout import header, word
from callblocks.views.model_view.neutral import Neutral
from callblocks.views.model_view.paragraph import Paragraph

__all__ = ("Owned", "Scale", "Section")

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
        """What a text costs."""
        return self._tokens.text(text) if self.limit is not None and text else 0

    def parts(self, parts: list[Part]) -> int:
        """What parts cost together."""
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
        """What it costs as it is shown now, and hardly more."""
        return self._total if self.line is None else self._line_cost

    @property
    def status(self) -> str:
        """`ok`, or `error` and its code; code that ran without its files is `file_errors`."""
        codes = (code for paragraph in self.paragraphs if (code := _error(paragraph)))
        code = next(codes, "")
        return f"error {word(code)}" if code else "ok"

    def takes(self, block: Block) -> bool:
        """Whether a block that comes next belongs to it."""
        if self.line is not None or not self.is_of(block) or block.type not in _GROWING:
            return False
        return len(self.paragraphs) < _MOST or self.paragraphs[-1].awaits(block)

    def is_of(self, block: Block) -> bool:
        """Whether a block is of the same kind, and of the same call."""
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
        """Whether all of it is shown: nothing hidden, nothing left out."""
        return self.line is None and all(one.is_whole for one in self.paragraphs)

    def shows(self, seq: int) -> bool:
        """Whether a block of it is shown whole, and not by a line or a header alone."""
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
        """Which paragraph an entry stands in."""
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
