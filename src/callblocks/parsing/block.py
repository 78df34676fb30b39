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
from collections.abc import Callable
from enum import Enum
from typing import Any

from callblocks.model.calls import Call, Result, Span
from callblocks.model.events import (
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Malformed,
    Problem,
    Text,
)
from callblocks.parsing.asking import Asking
from callblocks.parsing.attempts import FOUND, Refusal
from callblocks.parsing.codes import GENERAL_CODES
from callblocks.parsing.markers import alternatives
from callblocks.parsing.stage import Stage

__all__ = ("Block", "Refused", "UnlikelyName")


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

    def __init__(self, stage: Stage, dialect: str, opening: str) -> None:
        super().__init__(stage, opening)
        self.dialect = dialect
        self.barred = 0
        self.retired = False
        self.name = self.written_name = ""
        self.id: str | None = None
        self._expected, self._expected_at = "", self.start
        self._muted = False
        self._call_start = self.start
        self._last: int | None = None

    def started(
        self, name: str, id_: str | None = None, *, id_later: bool = False, end: int | None = None
    ) -> None:
        """Emit the start of a call. With `id_later` the block may still name its id."""
        self.written_name, name = name, self.known_name(name)
        self._check_name(name)
        self.name = name
        # Beyond the limit of calls the reader goes on without emitting: its text must still be
        # consumed up to the closing marker, and then becomes one `Malformed`.
        self._muted = self.stage.calls >= self.stage.limits.calls
        if self._muted:
            return
        self.index, self.id, self._call_start = self.stage.calls, None, self.stage.said
        self._last, self.stage.calls, self.stage.solid = self.index, self.stage.calls + 1, True
        duplicate = self._claim(id_) if id_ or not id_later else False
        self.stage.say(CallStarted(self.index, self.id, name, self.stage.span(end)))
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
        if stage.alone or not stage.quotes or self._last is not None or stage.said != self.start:
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
            self.stage.say(CallInput(self.index, text, self.stage.span(end)))

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
        duplicate = self._claim(id_) if self.id is None else False
        assert self.id is not None
        place = self.stage.span(end)
        call = Call(
            id=self.id,
            name=self.name,
            input=value,
            dialect=self.dialect,
            extra=extra or {},
            span=(self._call_start, place[1]),
            ended=ended,
        )
        self.stage.say(CallReady(self.index, call, place))
        self.stage.ready.append((self.id, self.index))
        if duplicate:
            self._note_duplicate(id_)
        self._check_keys(value)
        if self.name != self.written_name:
            self.problem("repaired-name", f"{self.written_name!r:.60} was read as {self.name!r}")
        self.index = None
        return call

    def _check_keys(self, value: dict[str, Any]) -> None:
        """Report keys that are no parameters of the tool and that damage may have made.

        Such a key has marks in it, which a tag or a quote left there, or it is a parameter of
        another declared tool, whose call may have lost its beginning.
        """
        tools = self.stage.tools
        tool = tools.get(self.name)
        known = tool.properties if tool else {}
        if not known or value.keys() <= known.keys():
            return
        others = {key for one in tools.values() for key in one.properties}
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
