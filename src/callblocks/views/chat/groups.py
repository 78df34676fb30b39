"""Consecutive tool calls drawn as one collapsible group.

    🔧 4 tool calls, 1 failed, 1 not run (hide details)
      run_shell_command(args=["pwd"]) → /app
      read_file(file_name=gone.toml) → ❌ no such file
      write_file(file_name=b.md) → denied by you: not today
      read_file(file_name=pyproject.toml)
        [name]
        version = "0.3.1"
        ... (truncated, 2.3KB)

A result stands inline when it is one line and the entry fits in the width with its indent
of two, or when it has at most 20 characters; otherwise below, three lines at most. Columns
are characters. A pending call ends in ⏳, one completed with an empty result in ✓.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.call_text import split_cut
from callblocks.core.outcomes import Verdict, verdict_of

__all__ = (
    "LINES_BELOW",
    "CallGroup",
    "GroupedCall",
    "Line",
    "Part",
    "Styled",
    "Validation",
    "draw",
    "draw_lines",
    "group",
    "header",
)

_SHORT = 20
LINES_BELOW = 3
"""How many lines of a result stand below its call."""

_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_COLOUR = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")
# Shown text comes from tools: it must not steer a terminal or turn the reading direction.
_UNSAFE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class GroupedCall(msgspec.Struct, frozen=True):
    """A call as shown, and its result as shown: `None` while it is pending."""

    call: str
    result: str | None = None
    failed: bool = False
    id: str | None = None

    @property
    def name(self) -> str:
        """The name of the tool: what stands before the first `(`."""
        return _plain(self.call).partition("(")[0]

    @property
    def verdict(self) -> Verdict | None:
        """The person or the rule that kept the call from running, and the reason."""
        return verdict_of(self.result or "") if self.failed else None

    @property
    def pending(self) -> bool:
        """True while the call has neither a result nor a failure."""
        return self.result is None and not self.failed


class Validation(msgspec.Struct, frozen=True):
    """A `<validation>` of an older message: a collapsible of its own, never in a group."""

    text: str


class CallGroup(msgspec.Struct, frozen=True):
    """Calls with nothing but blank text between them."""

    entries: list[GroupedCall]


Part: TypeAlias = str | GroupedCall | Validation
"""What chat text is made of: prose, calls, and validations of older messages."""


class Styled(msgspec.Struct, frozen=True):
    """Text of one kind within a line, for a renderer to colour."""

    kind: Literal["header", "indent", "call", "mark", "result", "error", "more"]
    text: str


Line: TypeAlias = tuple[Styled, ...]


def group(parts: Iterable[Part]) -> list[str | CallGroup | Validation]:
    """Merge consecutive calls; blank text between two calls of a group disappears."""
    merged: list[str | CallGroup | Validation] = []
    blanks: list[str] = []
    for part in parts:
        if isinstance(part, str) and not part.strip():
            blanks.append(part)
            continue
        if isinstance(part, GroupedCall) and merged and isinstance(last := merged[-1], CallGroup):
            last.entries.append(part)
        else:
            merged += blanks
            merged.append(CallGroup([part]) if isinstance(part, GroupedCall) else part)
        blanks.clear()
    return merged + blanks


def header(part: CallGroup | Validation, expanded: bool = False) -> str:
    """Say what is inside, how many failed or did not run, and which call runs while collapsed."""
    hint = "(hide details)" if expanded else "(show details)"
    if isinstance(part, Validation):
        return f"✅ Validation {hint}"
    notes = [_label(part.entries), *_failures(part.entries)]
    if not expanded:
        notes += _running(part.entries)
    return f"🔧 {', '.join(notes)} {hint}"


def draw(part: CallGroup | Validation, expanded: bool = True, width: int = 80) -> list[str]:
    """Draw a group, or a validation, as plain lines."""
    lines = draw_lines(part, expanded, width)
    return ["".join(styled.text for styled in line) for line in lines]


def draw_lines(part: CallGroup | Validation, expanded: bool = True, width: int = 80) -> list[Line]:
    """Draw a group, or a validation, as lines whose parts say what they are."""
    lines: list[Line] = [(Styled("header", header(part, expanded)),)]
    if not expanded:
        return lines
    if isinstance(part, Validation):
        return lines + [_indented(2, "result", text) for text in _split(part.text)]
    for entry in part.entries:
        lines += _draw_entry(entry, width)
    return lines


def _label(entries: list[GroupedCall]) -> str:
    return entries[0].name if len(entries) == 1 else f"{len(entries)} tool calls"


def _failures(entries: list[GroupedCall]) -> list[str]:
    failed = [entry.verdict for entry in entries if entry.failed]
    unrun = sum(verdict is not None for verdict in failed)
    counts = ((len(failed) - unrun, "failed"), (unrun, "not run"))
    is_one = len(entries) == 1
    return [word if is_one else f"{count} {word}" for count, word in counts if count]


def _running(entries: list[GroupedCall]) -> list[str]:
    names = [entry.name for entry in entries if entry.pending]
    if not names:
        return []
    if len(entries) == 1:
        return ["running"]
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [f"running {names[-1]}{others}"]


def _draw_entry(entry: GroupedCall, width: int) -> list[Line]:
    call = _indented(2, "call", _plain(entry.call))
    if entry.pending:
        return [(*call, Styled("mark", " ⏳"))]
    verdict = entry.verdict
    shown, size = (verdict.text if verdict else entry.result or ""), None
    if shown.endswith(")"):
        shown, size = split_cut(shown)
    texts = _split(shown)
    if not texts and size is None:
        return [(*call, Styled("error", " ❌") if entry.failed else Styled("mark", " ✓"))]
    if entry.failed and verdict is None:
        texts[:1] = [f"❌ {''.join(texts[:1])}".rstrip()]
    kind = "error" if entry.failed and verdict is None else "result"
    if size is None and len(texts) == 1 and _fits(entry, texts[0], width):
        return [(*call, Styled("mark", " → "), Styled(kind, texts[0]))]
    return [call, *_below(kind, texts, size)]


def _fits(entry: GroupedCall, text: str, width: int) -> bool:
    return len(text) <= _SHORT or len(f"  {_plain(entry.call)} → {text}") <= width


def _below(kind: Literal["result", "error"], texts: list[str], size: str | None) -> list[Line]:
    lines = [_indented(4, kind, text) for text in texts[:LINES_BELOW]]
    more = len(texts) - LINES_BELOW
    if size is not None:
        lines.append(_indented(4, "more", f"... (truncated, {size})"))
    elif more > 0:
        lines.append(_indented(4, "more", f"... ({more} more line{'s' if more > 1 else ''})"))
    return lines


def _indented(columns: int, kind: Literal["call", "result", "error", "more"], text: str) -> Line:
    return (Styled("indent", " " * columns), Styled(kind, text)) if text else ()


def _split(text: str) -> list[str]:
    """Take text apart into safe lines, without the blank ones around it."""
    lines = [_plain(line).rstrip() for line in _BREAK.split(text)]
    while lines and not lines[-1]:
        lines.pop()
    start = next((at for at, line in enumerate(lines) if line), 0)
    return lines[start:]


def _plain(line: str) -> str:
    """Make text safe to draw on one line."""
    flat = _BREAK.sub(" ", _COLOUR.sub("", line)).replace("\t", "    ")
    return _UNSAFE.sub("\ufffd", flat)
