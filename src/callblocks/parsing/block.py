"""One block while it is read, and what a dialect may say of it.

A dialect's reader is a generator over a block. It asks for text (see `Asking`), and it ends by
saying that the block is `ready`, `malformed` or `prose` after all, or by `refuse`. Until it has
`started`, nothing of the block has been said and it may still refuse.
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
    """The text was no block of this owner; it is given back."""

    REFUSED = "refused"


_UNLIKELY = re.compile(r"""['"`<>{}()\[\]|=+\\$\r\n]""")
_MARKED_KEY = re.compile(r"""[<>=:"'|{}\[\](),]""")
_MARKS = " \t\r\n|/=:\"'`*"
_NAMESPACE = re.compile(r"(?:functions?|tools?|default_api)[.:/]")


class UnlikelyName(Exception):
    """No tool has such a name: this ends the reading of a block in a guessed dialect."""


class Block(Asking):
    """A block that a marker opened, and the call it holds."""

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
        """Say that a call has begun. With `id_later` the block may still name its id."""
        self.written_name, name = name, self.known_name(name)
        self._check_name(name)
        self.name = name
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
        """Return the declared tool that a name is, without marks or a namespace around it."""
        tools = self.stage.tools
        if name in tools or self.stage.strict:
            return name
        bare = name.strip(_MARKS)
        inner = _NAMESPACE.sub("", bare, count=1) if _NAMESPACE.match(bare) else bare
        return next((one for one in (bare, inner) if one in tools), name)

    def _check_name(self, name: str) -> None:
        """Refuse a block that a template wrote: its first name is an expression or a placeholder.

        Nothing of the block has been said then, so its text can still be given back.
        """
        stage = self.stage
        if stage.alone or not stage.quotes or self._last is not None or stage.said != self.start:
            return
        if name not in stage.tools and not _is_likely_name(name):
            raise UnlikelyName(f"{name!r:.60} is no name of a tool")

    def lead(self, size: int) -> None:
        """Say that this much of the opening is prose, and that the block begins after it."""
        before, self.taken[0] = self.taken[0][:size], self.taken[0][size:]
        self.start += size
        if before:
            self.stage.prose(before)

    def input(self, text: str, end: int | None = None) -> None:
        """Say input that was taken without being said; `text` may leave markup out."""
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
        """Say that the call can be used, unless it passes a limit. `size` is its input's length."""
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
        """Say that a parameter is none of the tool's, where damage may have made it one.

        It has marks in it, which a tag or a quote left there, or it belongs to another tool, whose
        call may have lost its beginning.
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
        """Say an outcome that the text carried; it owns what was taken and not yet said."""
        self.stage.solid = True
        self.stage.say(CallResult(index, result.id, result, self.stage.span()))

    def malformed(
        self,
        code: str,
        detail: str = "",
        end: int | None = None,
        text: str | Callable[[], str] | None = None,
    ) -> None:
        """Say that this, or the part that `text` gives, opened like a block but is not one."""
        self.stage.solid = True
        if code.startswith("repaired-"):  # nothing was: the parser is strict
            code, detail = "unrepaired", GENERAL_CODES[code]
        whole = self.text if text is None else text if isinstance(text, str) else text()
        self.stage.say(Malformed(code, whole, self.stage.span(end), detail, self.index))
        self.index = None

    def prose(self, code: str = "", detail: str = "") -> None:
        """Say that all of it is prose, with a problem if a code is given."""
        place = self.stage.span()
        self.stage.prose(self.text)
        if code:
            self.problem(code, detail, place)

    def problem(self, code: str, detail: str = "", place: Span | None = None) -> None:
        """Say something worth knowing about the block, or about a place in it."""
        said = self.stage.said
        self.stage.say(Problem(code, detail, (said, said), place or (self.start, said), self._last))

    def shown(self, text: str) -> None:
        """Say that all of it is prose that stands for `text`."""
        self.stage.solid = True
        self.stage.say(Text(text, self.stage.span()))

    def markup(self) -> None:
        """Say text that carries nothing to show."""
        self.stage.solid = True
        if self.offset > self.stage.said:
            self.stage.say(Text("", self.stage.span()))

    def refuse(
        self, until: int = 0, *, forever: bool = False, expected: str = "", at: int | None = None
    ) -> Refused:
        """Give the text back. This owner opens nothing before `until`, or nothing any more.

        `expected` says what should stand at the offset `at`, or right here. It is needed where
        the text has what was asked for, and is no call for another reason.
        """
        self.barred, self.retired = until, forever
        self._expected, self._expected_at = expected, self.offset if at is None else at
        return Refused.REFUSED

    def refusal(self) -> Refusal:
        """Return why the block was refused: by what its reader said, or last asked for in vain."""
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
