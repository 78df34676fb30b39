"""Everything that a text holds, as the playground and the command line show it.

    parse_text("Hi 🛠️[ls src]\n🛠️[/end]").calls         →  1
    find_hint(text, has_tools=False, in_fences=False)      →  Hint(way="tools", calls=("ls",))

A hint names calls that the text has and that were not read: those that stand in code fences, and
those that need the declaration of their tool, or a named dialect. Nothing here does I/O: the same
functions run in the server's process for processor work, and in a browser by Pyodide.

Offsets count characters. `at` is how many characters had arrived when an event was first known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from callblocks.core.calls import Span
from callblocks.core.events import CallReady, Malformed, Problem
from callblocks.core.outcomes import FAILURES
from callblocks.core.specs import ToolSpec, ToolSpecs
from callblocks.dialects import dialect_of
from callblocks.parser import AUTO, Parser
from callblocks.views.text.rewrite import Arrival, arrivals, guess, step_of

__all__ = ("Hint", "ParsedText", "ShownProblem", "find_hint", "parse_text", "unread_calls")

_UNENDED = "unended_call"
_MOST = 20_000
"""Events that are listed; the rest are counted."""
_MOST_NAMES = 50
"""Names in the text that are tried as tools."""
LONGEST = 1_000_000
"""Characters of a text that are looked through a second time."""
# Where the name of a tool stands in the calls that need declared tools: in JSON, tags and code.
_NAME = re.compile(
    r"[\"'](?:name|tool|tool_name|function|action)[\"']\s*:\s*[\"']([\w.-]{1,64})[\"']"
    r"|<function=([\w.-]{1,64})>|<invoke name=\"([\w.-]{1,64})\""
    r"|\bfunctions\.([\w-]{1,64})|[>\]]\s{0,9}([A-Za-z_][\w.-]{0,63})\s{0,9}[\[{(<]|^([A-Za-z_][\w.]{1,63})\(",
    re.MULTILINE,
)


class Hint(msgspec.Struct, frozen=True):
    """Calls that were not read, and the option that reads them.

    `dialect` is one that reads them where it is named, "" if there is none.
    """

    way: Literal["in_code_fences", "tools"]
    calls: tuple[str, ...]
    dialect: str = ""


class ShownProblem(msgspec.Struct, frozen=True):
    """A problem of a text: its span, and the offset `at` at which it was reported."""

    code: str
    detail: str
    span: Span
    at: int


class ParsedText(msgspec.Struct, frozen=True):
    """The result of parsing a text. `dialect` is the one that was found, "" if there is none.

    Each event has its `type`, its `span` and `at`. `step` is how many characters arrived at once,
    `more` how many events are not listed, and `first` the dialect that the model's name put first.
    """

    dialect: str
    why: str
    length: int
    step: int
    events: list[dict[str, Any]]
    problems: list[ShownProblem]
    calls: int
    more: int = 0
    first: str = ""
    hint: Hint | None = None


def parse_text(
    text: str,
    dialect: str = AUTO,
    *,
    model: str = "",
    tools: ToolSpecs = (),
    in_code_fences: bool | None = None,
) -> ParsedText:
    """Return what a text holds, and a hint where calls in it were not read."""
    parser = Parser(dialect, model=model, tools=tools, in_code_fences=in_code_fences)
    known = arrivals(text, parser)
    name, why = dialect, "it was chosen."
    if name == AUTO:
        name, why = guess(text, (one.event for one in known))
    problems = [problem for one in known[:_MOST] if (problem := _problem(one, text))]
    calls = sum(isinstance(one.event, CallReady) for one in known)
    hint = None
    if not calls and not problems and len(text) <= LONGEST:
        in_fences = in_code_fences is not None or dialect != AUTO
        hint = find_hint(text, dialect, model=model, has_tools=bool(tools), in_fences=in_fences)
    return ParsedText(
        dialect=name,
        why=why,
        length=len(text),
        step=step_of(text),
        events=[_as_json(one) for one in known[:_MOST]],
        problems=problems,
        calls=calls,
        more=max(0, len(known) - _MOST),
        first=(dialect == AUTO and dialect_of(model)) or "",
        hint=hint,
    )


def find_hint(
    text: str,
    dialect: str | Sequence[str] = AUTO,
    *,
    model: str = "",
    has_tools: bool,
    in_fences: bool,
    make: Callable[..., Parser] | None = None,
) -> Hint | None:
    """Look through a text without calls again, with an option more; None where that finds none.

    `in_fences` says that code fences were decided upon already. `make` makes a parser with some
    options changed, where a caller has more of them.
    """

    def standard(**more: Any) -> Parser:
        options: dict[str, Any] = {"model": model, **more}
        return Parser(dialect, **options)

    make = make or standard
    if not in_fences and (calls := unread_calls(text, make(in_code_fences=True))):
        return Hint("in_code_fences", tuple(name for name, _ in calls))
    if has_tools:
        return None
    names = dict.fromkeys(name for hit in _NAME.finditer(text) for name in hit.groups() if name)
    tools = tuple(ToolSpec(name) for name in list(names)[:_MOST_NAMES])
    calls = unread_calls(text, make(tools=tools)) if tools else []
    if not calls:
        return None
    named = next((one for _, one in calls if one and unread_calls(text, Parser(one))), "")
    return Hint("tools", tuple(name for name, _ in calls), named if dialect == AUTO else "")


def unread_calls(text: str, parser: Parser) -> list[tuple[str, str]]:
    """Return the calls that a parser finds in a text: the names of tool and dialect of each."""
    events = [*parser.feed(text), *parser.close()]
    return [(one.call.name, one.call.dialect) for one in events if isinstance(one, CallReady)]


def _as_json(arrival: Arrival) -> dict[str, Any]:
    return {**msgspec.to_builtins(arrival.event), "at": arrival.at}


def _problem(arrival: Arrival, text: str) -> ShownProblem | None:
    match arrival.event:
        case Malformed(code=code, detail=detail, span=span):
            return ShownProblem(code, detail, span, arrival.at)
        case Problem(code=code, detail=detail, place=place):
            return ShownProblem(code, detail, place, arrival.at)
        case CallReady(call=call) if not call.ended:
            place = _last_line(text, call.span)
            return ShownProblem(_UNENDED, FAILURES[_UNENDED], place, arrival.at)
        case _:
            return None


def _last_line(text: str, span: Span) -> Span:
    """Return the last line of a call that did not end: all of it would hide the other problems."""
    start, end = span
    solid = start + len(text[start:end].rstrip())
    return max(start, text.rfind("\n", 0, solid) + 1), end
