"""One block while a dialect reads it: the events that a reader may emit, and its verdict.

States of a block
    open      The opener is consumed, nothing is emitted. The reader may still `refuse`: the engine
              then rewinds and asks the next reader.
    started   `started` has emitted `CallStarted`. There is no way back: an event cannot be revoked.
    closed    `ready` or `malformed` ended the call. A reader may start another one: several calls
              can share one block.

A reader therefore delays `started` until the text cannot be another dialect's, or prose. A block
that turns out to be no call without having started ends with `prose`, `shown` or `markup`.

Methods that consume text are in `Asking`; the ones here emit events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, ClassVar, Protocol

from callblocks.core.calls import Call, Result, Span
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Malformed,
    Problem,
    Text,
)
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, alternatives, with_lf
from callblocks.parsing.engine.parse_state import (
    FOUND,
    Hurry,
    ParseState,
    Reading,
    Refusal,
    Search,
    Speak,
    end_of,
)
from callblocks.parsing.values.strict_json import ScanState

__all__ = (
    "Asking",
    "Block",
    "Reader",
    "Refused",
    "UnlikelyName",
)

# --- The methods with which a reader consumes the text of its block, each with `yield from` ---
#
#     until     consume up to a marker, and the marker; emit nothing
#     stream    the same, and emit the text as the call's input while it arrives
#     some      consume the text that has arrived, up to a marker
#     match     consume a marker at the current offset
#     stands    look ahead for a marker at the current offset
#     peek      consume blanks, and look ahead by one character
#     consume   consume one JSON (or Python) value
#
# Each suspends the reader while the text so far cannot decide. Invariant: `taken` holds all
# consumed text of the block in parts, so that a refusal can rewind and `text` is the block as
# written. Parts are appended and joined late: joining on each piece would be quadratic.

_BLANKS = " \t\r\n"
_find_solid = re.compile(rf"[^{_BLANKS}]").search


class Scan(Protocol):
    """An incremental scan for the end of a value: `JsonScan` or `PythonScan`."""

    state: ScanState
    halt: int

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; return the position up to which it belongs to the value."""
        ...

    def search(self, hurry: Hurry) -> Search:
        """Return a search that consumes a whole piece, or matches where the scan halts in it.

        When a faster search becomes possible, the scan passes it to `hurry`.
        """
        ...


class Asking:
    """The text of a block; `taken` is the consumed text in parts.

    `opening` is the opener as written, `marker` the same with each CRLF as LF, which a dialect can
    compare with its literals. `before` is the text in front of the block (see `Scanner.before`).
    """

    index: int | None = None
    # The markers that did not match at the offset `missed_at`; filled if attempts are kept.
    missed: tuple[Markers | str, ...] = ()

    def __init__(self, stage: ParseState, dialect: str, opening: str) -> None:
        self.stage = stage
        self.dialect = dialect
        self.scan = scan = stage.scan
        self.opening = opening
        self.marker = with_lf(opening) if "\r" in opening else opening
        self.start: int = stage.said
        self.missed_at = self.start
        self.at_start = not stage.solid
        self.fresh = scan.fresh
        self.before = scan.before if scan.looks_back else ""
        self.taken: list[str] = [opening]
        if opening:
            scan.pos += len(opening)
            scan.fresh = False

    @property
    def offset(self) -> int:
        """The current offset in the whole input."""
        return self.scan.base + self.scan.pos

    @property
    def text(self) -> str:
        """The consumed text of the block, as written."""
        return "".join(self.taken)

    def until(self, markers: Markers) -> Reading[tuple[str, str]]:
        """Consume text and the marker behind it; the marker is `""` where the input ended."""
        return self._read(markers, None)

    def some(self, markers: Markers) -> Reading[tuple[str, str | None]]:
        """Consume the text that has arrived, up to a marker, and the marker.

        The marker is `""` where the input ended, and None where more text may come before one.
        """
        scan = self.scan
        while True:
            end, hit = scan.find(markers)
            text = self._take(end) if end > scan.pos else ""
            if hit:
                return text, self._take(hit.end())
            if text or scan.closed:
                return text, "" if scan.closed else None
            yield

    def stream(self, markers: Markers) -> Reading[tuple[str, str]]:
        """Like `until`, but emit the text as the call's input while it arrives."""
        return self._read(markers, self._speak(live=True))

    def match(self, markers: Markers) -> Reading[str]:
        """Consume the marker at the current offset, and return it, or `""`."""
        scan = self.scan
        while True:
            marker, certain = scan.match(markers)
            if certain:
                if marker is None:
                    return self._miss(markers)
                scan.pos += len(marker)
                scan.fresh = scan.fresh and not marker
                self.taken.append(marker)
                return marker
            if scan.fresh:
                yield
                continue
            self.stage.settle(markers.here.match, None, None)
            yield
            # `markers.here` also matches the empty text, so a hit on an empty piece decides
            # nothing. With text it decides: an empty match means that no marker stands here.
            if (hit := self.stage.hit) is not None and scan.text:
                return self._take(end) if (end := hit.end()) else self._miss(markers)

    def stands(self, markers: Markers) -> Reading[bool]:
        """Return whether a marker stands at the current offset, without consuming it."""
        found = yield from self.match(markers)
        if found:
            self.give_back(self.offset - len(found))
        return bool(found)

    def peek(self) -> Reading[str]:
        """Consume blanks; return the next character without consuming it, or `""` at the end."""
        scan = self.scan
        char = scan.text[scan.pos : scan.pos + 1]
        if char not in _BLANKS:
            return char
        while True:
            solid = _find_solid(scan.text, scan.pos)
            end = solid.start() if solid else len(scan.text)
            if end > scan.pos:
                self._take(end)
            if solid:
                return solid[0]
            if scan.closed:
                return ""
            yield

    def step(self) -> None:
        """Consume the character that `peek` returned."""
        scan = self.scan
        at = scan.pos
        self.taken.append(scan.text[at])
        scan.pos, scan.fresh = at + 1, False

    def consume(self, json: Scan, *, live: bool = False) -> Reading[None]:
        """Consume one value; with `live`, emit it as the call's input while it arrives.

        Blanks behind the value are consumed too, unless the scan is `exact`. The scan's state says
        afterwards whether the value is complete, broken, or cut off by the end of the text.
        """
        scan, speak = self.scan, self._speak(live)
        while json.state in (ScanState.OPEN, ScanState.CLOSED):
            if scan.pos < len(scan.text):
                self._pass(self._take(json.feed(scan.text, scan.pos)), speak)
            elif scan.closed:
                self._miss("the end of the value")
                return
            else:
                json.halt = 0
                self.stage.settle(json.search(self.stage.hurry), speak, self.taken.append)
                yield
                self._pass(self._take(scan.pos + json.halt), speak)
        if json.state is ScanState.BROKEN:
            self._miss("the rest of the value")

    def stops_within(self, text: str) -> bool:
        """Consume the rest of the input if that is a proper prefix of `text`; return whether."""
        scan = self.scan
        left = with_lf(scan.text[scan.pos : scan.pos + 2 * len(text)])
        # The input may end between CR and LF.
        begun = left[:-1] + "\n" if left.endswith("\r") else left
        stops = scan.closed and len(left) < len(text) and text.startswith(begun)
        if stops:
            self._take(len(scan.text))
        return stops

    @property
    def rest(self) -> str:
        """The text that has arrived and is not consumed."""
        scan = self.scan
        return scan.text[scan.pos :]

    def ends_within(self, markers: Markers) -> bool:
        """Consume the rest of the input if it is the beginning of a marker; return whether."""
        scan = self.scan
        hit = markers.growing.match(scan.text, scan.pos) if scan.closed else None
        if hit is None or hit.lastindex:
            return False
        self._take(len(scan.text))
        return True

    def give_back(self, offset: int) -> None:
        """Return the text behind `offset` to the scanner; the block ends there for now."""
        first, at = self.part_at(offset)
        text, keep = "".join(self.taken[first:]), offset - at
        self.taken[first:] = [text[:keep]]
        looks_back = self.scan.looks_back
        before = end_of((*reversed(self.taken), self.before)) if looks_back else ""
        self.scan.rewind(offset, [text[keep:]], fresh=False, before=before)

    def give_back_bracket(self) -> None:
        """Return the opener's last character, a bracket, to the scanner: the value begins with it.

        An opener such as `<tool_call>{` contains the bracket only because it is the lookahead that
        makes the opener certain.
        """
        self.opening = self.opening[:-1]
        self.marker = with_lf(self.opening)
        self.give_back(self.start + len(self.opening))

    def pack(self, offset: int) -> str:
        """Join the parts that were consumed since `offset` into one, and return it.

        A value of many pieces that is read again and again is then joined once.
        """
        first, at = self.part_at(offset)
        text, keep = "".join(self.taken[first:]), offset - at
        self.taken[first:] = [text[:keep], text[keep:]] if keep else [text]
        return text[keep:]

    def part_at(self, offset: int) -> tuple[int, int]:
        """Return the index of the part that begins at or before `offset`, and where it begins.

        The search goes backwards: offsets that are asked for lie near the end.
        """
        taken, first, at = self.taken, len(self.taken), self.offset
        while at > offset:
            first -= 1
            at -= len(taken[first])
        return first, at

    def _read(self, markers: Markers, speak: Speak | None) -> Reading[tuple[str, str]]:
        taken = self.taken
        first = len(taken)
        end = yield from self.stage.stream(markers, speak, taken.append)
        text = taken[first] if len(taken) == first + 1 else "".join(taken[first:])
        return text, self._take(end) if end is not None else self._miss(markers)

    def _miss(self, wanted: Markers | str) -> str:
        """Record that the wanted text is missing here, for `refusal`; return `""`."""
        if self.stage.attempts is not None:
            at = self.offset
            self.missed = (*self.missed, wanted) if at == self.missed_at else (wanted,)
            self.missed_at = at
        return ""

    def _speak(self, live: bool) -> Speak | None:
        return partial(CallInput, self.index) if live and self.index is not None else None

    def _pass(self, text: str, speak: Speak | None) -> None:
        """Emit consumed text as an event, unless it is empty or nothing is to be emitted."""
        if text and speak:
            self.stage.say(speak(text, self.stage.span()))

    def _take(self, end: int) -> str:
        scan = self.scan
        text = scan.text[scan.pos : end]
        scan.pos, scan.fresh = end, scan.fresh and not text
        self.taken.append(text)
        return text


# --- One block while a dialect reads it: the events that a reader may emit, and its verdict ---


class Refused(Enum):
    """The verdict that the text is no block of this reader; the engine rewinds."""

    REFUSED = "refused"


# Characters that no tool's name has, but that templates and documentation put in its place:
# `{{name}}`, `<tool_name>`, `$tool`, `getattr(tool, "name")`.
_UNLIKELY = re.compile(r"""['"`<>{}()\[\]|=+\\$\r\n]""")
# Characters that damaged markup leaves in the name of a parameter: `path"`, `<path`, `a=b`.
_MARKED_KEY = re.compile(r"""[<>=:"'|{}\[\](),]""")
# Characters that models add around a declared name: `"read_file"`, `read_file:`, `**read_file**`.
_MARKS = " \t\r\n|/=:\"'`*"
_NAMESPACE = re.compile(r"(?:functions?|tools?|default_api)[.:/]")


class UnlikelyName(Exception):
    """A name that no tool can have. It ends the reading of a block in a guessed dialect."""


class Block(Asking):
    """A block that an opener began, and the call in it."""

    barred = 0
    retired = False
    name = written_name = ""
    id: str | None = None
    _expected = ""
    _expected_at = 0
    _call_start = 0
    _muted = False
    _last: int | None = None
    _spec: ToolSpec | None = None

    def started(
        self, name: str, id_: str | None = None, *, id_later: bool = False, end: int | None = None
    ) -> None:
        """Emit the start of a call. With `id_later` the block may still name its id."""
        stage = self.stage
        self.written_name = name
        if stage.tools:
            name = self.known_name(name)
            self._spec = stage.tools.get(name)
        if stage.quotes and not stage.alone:
            self._check_name(name)
        self.name = name
        # Beyond the limit of calls the reader goes on without emitting: its text must still be
        # consumed up to the closing marker, and then becomes one `Malformed`.
        self._muted = stage.calls >= stage.limits.calls
        if self._muted:
            return
        self.index = self._last = index = stage.calls
        self.id, self._call_start = None, stage.said
        stage.calls, stage.solid = index + 1, True
        stage.call_dialects[index] = self.dialect
        duplicate = self._claim(id_) if id_ or not id_later else False
        stage.say(CallStarted(index, self.id, name, stage.span(end)))
        if duplicate:
            self._note_duplicate(id_)

    def known_name(self, name: str) -> str:
        """Return the declared tool that a written name stands for, or the name itself.

        `functions.read_file`, `"read_file"` and `read_file:` are read as `read_file`, but only if
        a tool of that name is declared.
        """
        tools = self.stage.tools
        if name in tools or self.stage.strict:
            return name
        bare = name.strip(_MARKS)
        inner = _NAMESPACE.sub("", bare, count=1) if _NAMESPACE.match(bare) else bare
        return next((one for one in (bare, inner) if one in tools), name)

    def _check_name(self, name: str) -> None:
        """Raise `UnlikelyName` if the first name is an expression or a placeholder of a template.

        It is checked only before the block's first event, because the text can still be returned
        then. A dialect that the caller named is not checked.
        """
        stage = self.stage
        if self._last is not None or stage.said != self.start:
            return
        if name not in stage.tools and not _is_likely_name(name):
            raise UnlikelyName(f"{name!r:.60} is no name of a tool")

    def lead(self, size: int) -> None:
        """Emit the first `size` characters of the opening as prose; the block begins after them."""
        before, self.taken[0] = self.taken[0][:size], self.taken[0][size:]
        self.start += size
        if before:
            self.stage.prose(before)

    def input(self, text: str, end: int | None = None) -> None:
        """Emit consumed input as a `CallInput`; `text` may omit the markup in it."""
        if self.index is not None:
            stage = self.stage
            stage.say(CallInput(self.index, text, stage.span(end)))

    def ready(
        self,
        value: dict[str, Any],
        *,
        size: int,
        id_: str | None = None,
        extra: dict[str, Any] | None = None,
        ended: bool = True,
        end: int | None = None,
        text: str | Callable[[], str] | None = None,
    ) -> Call | None:
        """Emit the complete call, or `Malformed` if it exceeds a limit.

        `size` is the length of the input as written.
        """
        if size > self.stage.limits.input_size:
            return self.malformed("too-large", f"the input has {size} characters", end, text)
        if self._muted or self.index is None:
            return self.malformed(
                "too-many-calls", f"more than {self.stage.limits.calls}", end, text
            )
        stage, duplicate = self.stage, self._claim(id_) if self.id is None else False
        assert self.id is not None
        place = stage.span(end)
        call = Call(
            id=self.id,
            name=self.name,
            input=value,
            dialect=self.dialect,
            extra=extra or {},
            span=(self._call_start, place[1]),
            ended=ended,
        )
        stage.say(CallReady(self.index, call, place))
        stage.ready.append((self.id, self.index))
        if duplicate:
            self._note_duplicate(id_)
        if self._spec is not None:
            self._check_keys(value, self._spec.properties)
        if self.name != self.written_name:
            self.problem("repaired-name", f"{self.written_name!r:.60} was read as {self.name!r}")
        self.index = None
        return call

    def _check_keys(self, value: dict[str, Any], known: Mapping[str, Any]) -> None:
        """Report keys that are no parameters of the tool and that damage may have made.

        Such a key has marks in it, which a tag or a quote left there, or it is a parameter of
        another declared tool, whose call may have lost its beginning.
        """
        if not known or value.keys() <= known.keys():
            return
        others = {key for one in self.stage.tools.values() for key in one.properties}
        for key in value:
            if key not in known and (key in others or _MARKED_KEY.search(key)):
                self.problem("unlikely-key", f"{self.name} has no parameter {key!r:.60}")

    def result(self, result: Result, index: int) -> None:
        """Emit a result that the text carried; its span is the consumed text without an event."""
        self.stage.solid = True
        self.stage.say(CallResult(index, result.id, result, self.stage.span()))

    def malformed(
        self,
        code: str,
        detail: str = "",
        end: int | None = None,
        text: str | Callable[[], str] | None = None,
    ) -> None:
        """Emit the block, or the part in `text`, as malformed: it opens like a call but is none."""
        self.stage.solid = True
        if code.startswith("repaired-"):  # a repair that a strict parser does not make
            code, detail = "unrepaired", GENERAL_CODES[code]
        whole = self.text if text is None else text if isinstance(text, str) else text()
        self.stage.say(Malformed(code, whole, self.stage.span(end), detail, self.index))
        self.index = None

    def prose(self, code: str = "", detail: str = "") -> None:
        """Emit the whole block as prose, and a problem if a code is given."""
        place = self.stage.span()
        self.stage.prose(self.text)
        if code:
            self.problem(code, detail, place)

    def problem(self, code: str, detail: str = "", place: Span | None = None) -> None:
        """Emit a problem about the block, or about a place in it."""
        said = self.stage.said
        self.stage.say(Problem(code, detail, (said, said), place or (self.start, said), self._last))

    def shown(self, text: str) -> None:
        """Emit the block as prose that displays as `text`."""
        self.stage.solid = True
        self.stage.say(Text(text, self.stage.span()))

    def markup(self) -> None:
        """Emit consumed markup as an event without text, so that the spans still tile."""
        self.stage.solid = True
        if self.offset > self.stage.said:
            self.stage.say(Text("", self.stage.span()))

    def refuse(
        self, until: int = 0, *, forever: bool = False, expected: str = "", at: int | None = None
    ) -> Refused:
        """Return the verdict that this is no block, so that the engine rewinds.

        This reader opens nothing before the offset `until`; with `forever`, nothing at all any
        more. A reader that consumed much text before it refused must pass `until`, or the engine
        asks it again at each opener in that text, which is quadratic.

        `expected` describes the text that was expected at the offset `at` (default: here), for
        people who ask why a text is no call. Without it the last marker that did not match is
        reported.
        """
        self.barred, self.retired = until, forever
        self._expected, self._expected_at = expected, self.offset if at is None else at
        return Refused.REFUSED

    def refusal(self) -> Refusal:
        """Return the reason of a refusal: the reader's own, or the last marker that was missing."""
        expected, at, text = self._expected, self._expected_at, self.text
        if not expected and not text[max(0, self.missed_at - self.start) :].strip():
            expected, at = alternatives(self.missed), self.missed_at
        if not expected:
            expected, at = f"a call of {self.dialect}", self.start
        ahead = text + self.scan.text[self.scan.pos : self.scan.pos + FOUND]
        found = ahead[at - self.start :][:FOUND]
        return Refusal(expected, found, at)

    def _claim(self, written: str | None) -> bool:
        ids = self.stage.ids
        self.id = ids.claim(written) if written else ids.make()
        return written is not None and self.id != written

    def _note_duplicate(self, written: str | None) -> None:
        self.problem("duplicate-id", f"{written!r} was used before: renamed to {self.id!r}")


def _is_likely_name(name: str) -> bool:
    """Return whether a tool could have this name."""
    return _UNLIKELY.search(name) is None and any(map(str.isalnum, name))


# --- The protocol of readers, which may own a block of text ---


class Reader(Protocol):
    """A reader of blocks: a dialect, a code fence, reasoning, the end of a turn."""

    # The name of the reader in events.
    name: ClassVar[str]

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read the block that a marker opened, or refuse it."""
        ...
