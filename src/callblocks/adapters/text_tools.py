"""Tools for a model that knows none: taught in the prompt, written in a dialect, read from text.

    tools = TextTools(specs, model="qwen2.5-coder")
    system = tools.system("You help.")          the prompt with the tools in it
    tools.said("I look.", [call])               an earlier reply with its calls, as the model writes
    tools.results([Result(…)])                  what came of them, with nothing in it that acts
    reader = tools.reader()
    reader.feed("<tool_call>…")                 Text, Thought and Call, as they come

This is what the adapters of frameworks share. The same history gives the same prompt; only the ids
of calls that are read are new each time.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.call_text import to_compact_text
from callblocks.core.calls import Call, Item
from callblocks.core.errors import Unsupported, Unwritable
from callblocks.core.events import CallReady, Event, Malformed, Reasoning, Text
from callblocks.core.specs import ToolSpecs, read_specs
from callblocks.dialects import dialect_of, dialects
from callblocks.parser import Parser
from callblocks.views.model_view.neutral import Neutral, restore_input, signed

__all__ = ("Reply", "ReplyReader", "TextTools", "Thought", "Words", "functions_of", "read_whole")

DEFAULT = "hermes"
_CALLING = (
    "Call a tool whenever it can give what is needed. When you call tools, end your reply after "
    "the calls: the results come in the next message. Never write a result yourself."
)
_THOUGHTS = (("<think>", "</think>"),)


class Words(msgspec.Struct, frozen=True):
    """Prose of a reply."""

    text: str


class Thought(msgspec.Struct, frozen=True):
    """What the model thought."""

    text: str


Reply: TypeAlias = Words | Thought | Call


class TextTools:
    """The tools of one request. `dialect` is what the model writes; by default that of its family.

    Names of tools stay as the framework has them: it allows no others.
    """

    def __init__(self, tools: ToolSpecs, *, dialect: str = "", model: str = "") -> None:
        self.specs = read_specs(tools)
        name = dialect or dialect_of(model) or DEFAULT
        self.dialect = dialects[name]
        if not self.dialect.rules:
            raise Unsupported(f"{name} has no prompt: it is not for models to write")
        self._neutral = Neutral(self.specs, [self.dialect])
        self._shown: list[str] = []

    def system(self, given: str) -> str:
        """Return a system prompt with the tools taught in it."""
        if not self.specs:
            return given
        taught = f"{self.dialect.teach(self.specs)}\n\n{_CALLING}"
        return f"{given}\n\n{taught}" if given.strip() else taught

    def said(self, text: str, calls: Sequence[Call]) -> str:
        """Return an earlier reply as the model writes it itself."""
        if not calls:
            return text
        items: list[Item] = [text.rstrip() + "\n\n"] if text.strip() else []
        for some in ([*items, *calls], [*calls]):
            try:
                return self.dialect.write(some, self.specs)
            except Unwritable:
                continue
        return "\n".join((text, *(f"{call.name}({to_compact_text(call.input)})" for call in calls)))

    def results(self, results: Iterable[tuple[str, str]]) -> str:
        """Return what came of calls, by the names of their tools, as a message of the person."""
        shown = [f"[Result of {name}]\n{self._harmless(text)}" for name, text in results]
        return "\n\n".join(shown)

    def _harmless(self, text: str) -> str:
        shown = self._neutral(text)
        self._shown.append(shown)
        return shown

    def reader(self, *, thoughts: bool = True) -> ReplyReader:
        """Return a reader of one reply; without `thoughts` they stay prose, between their tags."""
        return ReplyReader(self, thoughts=thoughts)

    @property
    def has_signs(self) -> bool:
        """Return whether a text was shown with signs, which are taken out of inputs."""
        return signed(self._shown)


class ReplyReader:
    """Reads a reply as it comes; `close` gives what was still open."""

    def __init__(self, tools: TextTools, *, thoughts: bool = True) -> None:
        self._restores = tools.has_signs
        self._tells_thoughts = thoughts
        self._in_thought = False
        known = [one for one in dialects.values() if one.in_auto and one.rules]
        names = dict.fromkeys((tools.dialect.name, *(one.name for one in known)))
        self._parser: Parser | None = None
        if tools.specs:
            self._parser = Parser(
                [*names], tools=tools.specs, in_code_fences=True, reasoning=_THOUGHTS
            )

    def feed(self, text: str) -> list[Reply]:
        """Read a piece."""
        if self._parser is None:
            return [Words(text)] if text else []
        return self._read(self._parser.feed(text))

    def close(self) -> list[Reply]:
        """Read the end."""
        found = [] if self._parser is None else self._read(self._parser.close())
        return [*found, *self._leave_thought()]

    def _read(self, events: Iterable[Event]) -> list[Reply]:
        found: list[Reply] = []
        for event in events:
            match event:
                case Text(text=text) | Malformed(text=text):
                    found += [*self._leave_thought(), Words(text)] if text else []
                case Reasoning(text=text):
                    found += self._thought(text) if text else []
                case CallReady(call=call):
                    found += [*self._leave_thought(), self._call(call)]
                case _:
                    pass
        return found

    def _thought(self, text: str) -> list[Reply]:
        if self._tells_thoughts:
            return [Thought(text)]
        begins, self._in_thought = not self._in_thought, True
        return [Words(_THOUGHTS[0][0] + text if begins else text)]

    def _leave_thought(self) -> list[Reply]:
        left, self._in_thought = self._in_thought, False
        return [Words(_THOUGHTS[0][1])] if left else []

    def _call(self, call: Call) -> Call:
        # Ids of a text are unique in it; a framework wants them unique in all of a talk.
        given = restore_input(call.input) if self._restores else call.input
        return msgspec.structs.replace(call, id=f"call_{secrets.token_hex(8)}", input=given)


def functions_of(tools: Iterable[Any]) -> list[Any]:
    """Return the tools of a request that a model calls by their name; not a server's own search."""
    return [one for one in tools if _kind(one) == "function"]


def _kind(tool: object) -> object:
    if isinstance(tool, dict):
        return cast("dict[str, object]", tool).get("type")
    return getattr(tool, "type", None)


def read_whole(
    tools: TextTools, text: str, *, thoughts: bool = True
) -> tuple[str, str, list[Call]]:
    """Return the prose, the thoughts and the calls of a whole reply."""
    reader = tools.reader(thoughts=thoughts)
    found = [*reader.feed(text), *reader.close()]
    prose = "".join(one.text for one in found if isinstance(one, Words))
    thought = "".join(one.text for one in found if isinstance(one, Thought))
    return prose.strip(), thought.strip(), [one for one in found if isinstance(one, Call)]
