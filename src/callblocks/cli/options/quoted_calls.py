"""A hint where a text has calls only where they do not count by default.

callblocks: 2 calls are quoted in code fences; --in-code-fences reads them
callblocks: a call of get_weather would be read with --tools
"""

from __future__ import annotations

import re

from callblocks.cli.exits import say
from callblocks.cli.options.read_options import AUTO, Read, ReadingOptions, make_parser
from callblocks.core.events import CallReady, Malformed, Problem
from callblocks.core.specs import ToolSpec
from callblocks.views.rows import visible_line

__all__ = ("QuotedCalls",)

_LONGEST = 1_000_000
"""Characters of a text that are looked through a second time."""
_MOST_NAMES = 50
"""Names in the text that are tried as tools."""
_SHOWN = 3
"""Calls that the hint names."""
# Where the name of a tool stands in the calls that need declared tools: in JSON, tags and code.
_NAME = re.compile(
    r"[\"'](?:name|tool|tool_name|function|action)[\"']\s*:\s*[\"']([\w.-]{1,64})[\"']"
    r"|<function=([\w.-]{1,64})>|<invoke name=\"([\w.-]{1,64})\""
    r"|\bfunctions\.([\w-]{1,64})|[>\]]\s{0,9}([A-Za-z_][\w.-]{0,63})\s{0,9}[\[{(<]|^([A-Za-z_][\w.]{1,63})\(",
    re.MULTILINE,
)


class QuotedCalls:
    """Watches a text as it is read; at its end it is looked through again, if no call was found."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._pieces: list[str] = []
        self._room = _LONGEST
        self._fences = options["in_code_fences"] is None and AUTO in options["dialect"]
        self._over = not self._fences and bool(options["tools"])

    def feed(self, read: Read) -> None:
        """Take a piece and its events."""
        piece, events = read
        self._room -= len(piece)
        found = any(isinstance(event, CallReady | Malformed | Problem) for event in events)
        self._over = self._over or found or self._room < 0
        if self._over:
            self._pieces.clear()
        else:
            self._pieces.append(piece)

    def tell(self) -> None:
        """Say how many calls are in code fences, or would be read with declared tools."""
        if self._over:
            return
        fenced = self._calls({**self._options, "in_code_fences": True}) if self._fences else []
        if len(fenced) == 1:
            say("a call is quoted in a code fence; --in-code-fences reads it")
        elif fenced:
            say(f"{len(fenced)} calls are quoted in code fences; --in-code-fences reads them")
        elif not self._options["tools"]:
            self._tell_of_tools()

    def _tell_of_tools(self) -> None:
        """Say which calls would be read if their tools were declared, as in open thoughts."""
        hits = _NAME.finditer("".join(self._pieces))
        names = dict.fromkeys(name for hit in hits for name in hit.groups() if name)
        tools = tuple(ToolSpec(name) for name in list(names)[:_MOST_NAMES])
        calls = self._calls({**self._options, "tools": tools}) if tools else []
        if calls:
            count = "a call" if len(calls) == 1 else f"{len(calls)} calls"
            called = ", ".join(map(visible_line, dict.fromkeys(calls[:_SHOWN])))
            say(f"{count} of {called} would be read with --tools")

    def _calls(self, options: ReadingOptions) -> list[str]:
        """Return the tools that are called in the text, read with other options."""
        parser = make_parser(options)
        events = [*parser.feed("".join(self._pieces)), *parser.close()]
        return [event.call.name for event in events if isinstance(event, CallReady)]
