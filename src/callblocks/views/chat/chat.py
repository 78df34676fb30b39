"""The chat: events of a text or of a turn, as items that are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, cast

import msgspec

from callblocks.core.call_text import show_call, show_result, split_cut
from callblocks.core.calls import Call, Result
from callblocks.core.events import (
    CallAsked,
    CallEnded,
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    ModelWrote,
    Problem,
    Reasoning,
    RoundBegan,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Verdict, verdict_of

__all__ = (
    "LINES_BELOW",
    "BrokenBlock",
    "CallGroup",
    "Chat",
    "GroupedCall",
    "Item",
    "Line",
    "Part",
    "Shown",
    "Speaker",
    "Styled",
    "ThoughtLine",
    "TurnChat",
    "Validation",
    "call_line",
    "draw",
    "draw_lines",
    "group",
    "header",
)

# --- Consecutive tool calls drawn as one collapsible group ---
#
#     🔧 4 tool calls, 1 failed, 1 not run (hide details)
#       run_shell_command(args=["pwd"]) → /app
#       read_file(file_name=gone.toml) → ❌ no such file
#       write_file(file_name=b.md) → denied by you: not today
#       read_file(file_name=pyproject.toml)
#         [name]
#         version = "0.3.1"
#         ... (truncated, 2.3KB)
#
# A result stands inline when it is one line and the entry fits in the width with its indent
# of two, or when it has at most 20 characters; otherwise below, three lines at most. Columns
# are characters. A pending call ends in ⏳, one completed with an empty result in ✓.

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


# --- A text as a chat shows it: prose, and calls with their results in groups ---
#
# A chat is fed events. It holds back everything that a later event may change: an unfinished line,
# a group that the next call may join, and everything from a pending call on, whose result may come
# later. Items that no later event can change are settled, and are drawn once.

_VALIDATION = "chat-blocks.validation"
_DISPLAY = "chat-blocks"
# The input keys of a positional call whose tool is not declared; an empty value is not shown.
_RAW_INPUT = {"args", "body"}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class ThoughtLine(msgspec.Struct, frozen=True):
    """A line, or the part of one, that the model marked as thinking."""

    text: str


class BrokenBlock(msgspec.Struct, frozen=True):
    """Text that opened like a block but is not one."""

    text: str
    code: str
    detail: str


class Speaker(msgspec.Struct, frozen=True):
    """The speaker of the items that follow, in a team; "" is the team as a whole.

    `fault` is the reason why the speaker's turn failed.
    """

    name: str
    fault: str = ""


Item: TypeAlias = str | ThoughtLine | BrokenBlock | Speaker | CallGroup | Validation
"""What is drawn: a line of prose, or one of the others."""
Shown: TypeAlias = Event | CallEnded | BrokenBlock | Speaker | str
"""What a chat is fed: events of a text, outcomes, and what a turn is shown with between them."""
_Held: TypeAlias = Part | ThoughtLine | BrokenBlock | Speaker


class Chat:
    """Groups events into items; `settle` hands out the final ones, `items` returns the others."""

    def __init__(self) -> None:
        self._held: list[_Held] = []
        # Where the entry of a call is held; the entries that left without their result; the
        # calls of a display, whose results are shown as they were; and the last call of an id.
        self._places: dict[int, int] = {}
        self._left: dict[int, GroupedCall] = {}
        self._displayed: set[int] = set()
        self._indexes: dict[str, int] = {}

    @property
    def items(self) -> list[Item]:
        """Return the items that may still change, in their current state."""
        return _grouped(self._held)

    def feed(self, events: Iterable[Shown]) -> None:
        """Take more events."""
        for event in events:
            self._take(event)

    def settle(self) -> list[Item]:
        """Hand out the items that no later event can change."""
        end = len(self._held)
        while end and _is_open(self._held[end - 1]):
            end -= 1
        for at in range(end):
            if _is_pending(self._held[at]):
                end = _group_start(self._held, at)
                break
        return self._hand_out(end)

    def give_up(self) -> list[Item]:
        """Hand out the first item held, although it may still change."""
        end = 1
        while end < len(self._held) and _in_group(self._held[end]):
            end += 1
        return self._hand_out(end)

    def close(self) -> list[Item]:
        """Hand out all remaining items."""
        return self._hand_out(len(self._held))

    def _hand_out(self, count: int) -> list[Item]:
        if not count:
            return []
        leaving, self._held = self._held[:count], self._held[count:]
        places, self._places = self._places, {}
        for index, at in places.items():
            if at >= count:
                self._places[index] = at - count
            elif (entry := cast("GroupedCall", leaving[at])).pending:
                self._left[index] = entry
        return _grouped(leaving)

    def _take(self, event: Shown) -> None:
        match event:
            case Speaker() | BrokenBlock():
                self._held.append(event)
            case str(text) | Text(text=text):
                self._say(text)
            case Reasoning(text=text):
                self._think(text)
            case CallStarted(index=index, name=name, id=id_):
                self._places[index] = len(self._held)
                self._held.append(GroupedCall(f"{name}(…)", id=id_))
            case CallReady(index=index, call=call):
                self._ready(index, call)
            case CallResult(index=index, result=result):
                self._complete(index, result)
            case CallEnded():
                index = self._indexes.get(event.outcome.id)
                if index is not None:
                    self._complete(index, _result(event))
            case Malformed():
                self._break(event)
            case _:
                pass

    def _say(self, text: str) -> None:
        for line in _LINE.findall(text):
            last = self._held[-1] if self._held else None
            if isinstance(last, str) and not last.endswith("\n"):
                self._held[-1] = last + line
            else:
                self._held.append(line)

    def _think(self, text: str) -> None:
        for line in _LINE.findall(text):
            last = self._held[-1] if self._held else None
            if isinstance(last, ThoughtLine) and not last.text.endswith("\n"):
                self._held[-1] = ThoughtLine(last.text + line)
            else:
                self._held.append(ThoughtLine(line))

    def _ready(self, index: int, call: Call) -> None:
        self._indexes[call.id] = index
        if call.dialect == _DISPLAY:
            self._displayed.add(index)
        # The entry may have left the screen while its input still came.
        self._left.pop(index, None)
        at = self._places.setdefault(index, len(self._held))
        self._held[at : at + 1] = [GroupedCall(call_line(call), id=call.id)]

    def _complete(self, index: int, result: Result) -> None:
        if index in self._left:
            # Drawn for good without its result: it is shown once more, with it.
            self._places[index] = len(self._held)
            self._held.append(self._left.pop(index))
        if index not in self._places:
            return
        failed = result.error is not None
        given = result.error if failed else result.output
        shown = str(given) if index in self._displayed else show_result(given)[0]
        at = self._places[index]
        entry = cast("GroupedCall", self._held[at])
        self._held[at] = msgspec.structs.replace(entry, result=shown, failed=failed)

    def _break(self, event: Malformed) -> None:
        if event.index is not None:
            self._left.pop(event.index, None)
            self._drop(event.index)
        if event.code == _VALIDATION:
            inner = event.text.removeprefix("<validation>").removesuffix("</validation>")
            self._held.append(Validation(inner))
        else:
            self._held.append(BrokenBlock(event.text, event.code, event.detail))

    def _drop(self, index: int) -> None:
        at = self._places.pop(index, None)
        if at is not None:
            del self._held[at]
            self._places = {one: was - (was > at) for one, was in self._places.items()}


def _result(event: CallEnded) -> Result:
    """Return the result to show; an error that the text carried is shown without its code."""
    outcome = event.outcome
    if event.written and outcome.error is not None:
        return Result(id=outcome.id, error=outcome.error.message)
    return outcome.result() if outcome.error else Result(id=outcome.id, output=outcome.output)


def call_line(call: Call) -> str:
    """A call in one line, as a chat shows it; what a display showed stays as it was."""
    if call.dialect == _DISPLAY:
        return f"{call.name}({call.input.get('shown', '')})"
    said = {key: value for key, value in call.input.items() if value != ""}
    return show_call(call.name, said if call.input.keys() == _RAW_INPUT else call.input)[0]


def _is_pending(part: _Held) -> bool:
    return isinstance(part, GroupedCall) and part.pending


def _is_blank(part: _Held) -> bool:
    return isinstance(part, str) and not part.strip()


def _in_group(part: _Held) -> bool:
    return isinstance(part, GroupedCall) or _is_blank(part)


def _is_open(part: _Held) -> bool:
    """Return whether the last part held may still grow: a call in a group, or an unended line."""
    if isinstance(part, str | ThoughtLine):
        text = part if isinstance(part, str) else part.text
        return not text.endswith("\n") or not text.strip()
    return isinstance(part, GroupedCall)


def _group_start(held: Sequence[_Held], at: int) -> int:
    while at and _in_group(held[at - 1]):
        at -= 1
    return at


def _grouped(held: Sequence[_Held]) -> list[Item]:
    # `group` passes items of unknown types through, as it does with prose.
    return cast("list[Item]", group(cast("Sequence[Part]", held)))


# --- The events of a turn in the order in which a chat shows them ---
#
#     turn = TurnChat()
#     chat.feed(turn.feed(event))
#
# Members of a team write concurrently, but are shown one after the other, each below its name.


class TurnChat:
    """Takes the events of a turn, and gives those that are shown. Of several members, one has the
    floor.

    The events of the others are queued until that member is done, or until one of them has an
    approval question for the person.
    """

    def __init__(self) -> None:
        self._floor: str | None = None
        self._named = ""
        self._waiting: dict[str, list[Shown]] = {}
        self._done: set[str] = set()
        self._spoken: dict[str, type[Text | Reasoning]] = {}

    def feed(self, event: TurnEvent) -> list[Shown]:
        """Take an event; return the events that can be shown now."""
        if shown := _shown(event):
            self._waiting.setdefault(event.member, []).extend([*self._apart(event), *shown])
        match event:
            case TurnBegan(member=member):
                self._done.discard(member)
            case TurnEnded(member=""):
                self._done.update((self._floor or "", *self._waiting))
            case TurnEnded(member=member):
                self._done.add(member)
            case CallAsked(member=member) if member:
                self._floor = member
            case _:
                pass
        return self._flush()

    def _apart(self, event: TurnEvent) -> list[Shown]:
        """Return a paragraph break where a member changes between reasoning and text."""
        match event:
            case ModelWrote(event=Text() | Reasoning() as said):
                before = self._spoken.get(event.member)
                self._spoken[event.member] = type(said)
                return ["\n\n"] if before not in (None, type(said)) else []
            case _:
                self._spoken.pop(event.member, None)
                return []

    def _flush(self) -> list[Shown]:
        found: list[Shown] = []
        while (name := self._next()) is not None:
            found += self._turn_to(name)
            if self._floor is not None:
                break
        return found

    def _next(self) -> str | None:
        """Return the member to show now: the one that has the floor, or the first in the queue."""
        return next(iter(self._waiting), None) if self._floor is None else self._floor

    def _turn_to(self, name: str) -> list[Shown]:
        """All that one has to say; the floor is theirs until they are done."""
        self._floor = name if name and name not in self._done else None
        shown = self._waiting.pop(name, [])
        if not shown or name == self._named:
            return shown
        self._named = name
        return shown if isinstance(shown[0], Speaker) else [Speaker(name), *shown]


def _shown(event: TurnEvent) -> list[Shown]:
    match event:
        case ModelWrote(event=Problem(code=code, detail=detail)):
            return [BrokenBlock("", code, detail)]
        case ModelWrote():
            return [event.event]
        case CallEnded():
            return [event]
        case RoundBegan(number=number) if number > 1:
            # What the model says now begins a line of its own.
            return ["\n"]
        case TurnEnded(member=member) if member and event.status != "answered":
            why = event.message or event.code
            return [Speaker(member, f"{event.status}: {why}" if why else event.status)]
        case _:
            return []
