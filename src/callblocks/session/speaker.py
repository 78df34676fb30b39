"""The model of a turn: the form of its requests and the reading of its replies.

The form follows the model's mode (`callblocks.models.model.CallMode`):

    text            the system prompt teaches a dialect, and the messages are written in it
    native, mixed   the request passes tools to the server; messages have native calls and results

In text and mixed mode the parser reads calls in every dialect, with the declared tools. It tries
the taught dialect, or that of the model's family, first.

Choice of the dialect: the one that was named, else that of the model's family. For an unknown
family it is `DEFAULT_DIALECT` until the model's first calls come in another dialect: the model
knows that one better and is taught it from the next request on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from callblocks.core.calls import Call
from callblocks.core.errors import ModelError, Unwritable
from callblocks.core.specs import ToolSpec, ToolSpecs
from callblocks.dialects import dialects, is_small
from callblocks.models.model import (
    Model,
    NativeNames,
    Piece,
    Request,
    UsedMode,
    mode_of,
    scenarios_of,
)
from callblocks.parser import AUTO, convert, reply_dialects, reply_parser
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.loop import Engine
from callblocks.parsing.teaching import compact_spec
from callblocks.session.model_choice import (
    DEFAULT_DIALECT,
    Choice,
    Offered,
    SessionSettings,
    known_dialect,
)
from callblocks.session.prompt import Dialogue, NativeDialogue, TextDialogue, WrittenMessages
from callblocks.session.reply import NATIVE
from callblocks.tools.registry import Registry
from callblocks.views.model_view.neutral import ESCAPE_NOTE

__all__ = (
    "Exchange",
    "Speaker",
    "WrittenForms",
    "instructions",
)

# --- The system prompt: the task, the tools, and the conventions of the messages ---

# Prompts that are cached.
_MOST = 100

_LAYOUT = (
    "Headings in square brackets, such as [User say], are put in by the program: never write one. "
    "A result that is long is shown in part, with a path by which it can be read."
)
_CALLING = (
    "Whenever a tool can give what the person asks for, call it, in each turn anew: you do not "
    "know what it gives. When you call tools, end your reply after the calls: the results come in "
    "the next message. Never write a result yourself. A call that failed says why; change it or do "
    "without. When nothing is left to do, answer the person without a call."
)


def instructions(
    dialect: Dialect | None, tools: Registry, system: str = "", *, compact: bool = False
) -> str:
    """Return the system prompt; without a dialect the server teaches the tools itself.

    The same tools give the same text, so that prompt caches hit.
    """
    taught = [_CALLING] if tools.names else []
    if dialect is not None and tools.names:
        taught.insert(0, _taught(dialect, tuple(tools), compact))
    return "\n\n".join([*filter(None, [system.strip()]), *taught, _LAYOUT, ESCAPE_NOTE])


_known: dict[tuple[str, bool, tuple[int, ...]], tuple[tuple[ToolSpec, ...], str]] = {}


def _taught(dialect: Dialect, tools: tuple[ToolSpec, ...], compact: bool) -> str:
    """Return the dialect's prompt; cached, because every turn teaches the same tools."""
    key = (dialect.name, compact, tuple(map(id, tools)))
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        # The key has the ids of objects. Keeping the tools alive keeps their ids from being reused.
        _known[key] = (tools, dialect.teach(tools, compact=compact))
    return _known[key][1]


# --- The model of a turn: the form of its requests and the reading of its replies ---

# Tokens of context below which the full schemas of the tools would take too much room.
_SHORT_CONTEXT = 16_384

# Servers default to 0.7 or more, at which a small model often misses the form of a call.
_SMALL_TEMPERATURE = 0.3

# The cached messages of one conversation, by the form in which they were written.
WrittenForms: TypeAlias = dict[str, WrittenMessages]


class Exchange(NamedTuple):
    """One request and its reply, in one mode: another turn may change that of the model meanwhile.

    `tool_name` gives a tool's name for the one that the model knows it by.
    """

    mode: UsedMode
    dialogue: Dialogue
    parser: Engine
    tool_name: Callable[[str], str]
    grammar: str = ""


class Speaker:
    """The connection to one model for one turn.

    `has_called` says that the model called a native tool in this conversation, and `learned` is the
    dialect of its first calls in text.
    """

    def __init__(
        self,
        offered: Offered,
        choice: Choice,
        tools: Registry,
        settings: SessionSettings,
        *,
        zone: str = "UTC",
        has_called: bool = False,
        learned: str = "",
        written: WrittenForms | None = None,
    ) -> None:
        self.model: Model = offered.model
        self._tools = tools
        self._settings = settings
        self._system = settings.system if offered.system is None else offered.system
        self._is_held = settings.grammar if offered.grammar is None else offered.grammar
        self._zone = zone
        self._has_called = has_called
        self._learned = learned
        # What the last reply is read in.
        self._readable: tuple[Dialect, ...] = ()
        self._written: WrittenForms = {} if written is None else written
        named = "" if offered.dialect == AUTO else offered.dialect
        self._known = known_dialect(offered)
        self._names: NativeNames | None = None
        self._scenario = choice.scenario
        plays_scripts = bool(scenarios_of(self.model))
        self._translate = (
            _translator(dialects[named], tools, settings) if named and plays_scripts else None
        )

    @property
    def mode(self) -> UsedMode:
        """Return the mode of the next request; a model may change it from reply to reply."""
        return mode_of(self.model) if self._tools.names else "text"

    @property
    def dialect(self) -> Dialect:
        """Return the dialect that the model is taught in text mode."""
        return dialects[self._known or self._learned or DEFAULT_DIALECT]

    @property
    def spoken(self) -> Dialect | None:
        """Return the dialect in which the next reply may write calls, if that is known.

        In mixed mode, calls that the server fails to recognise stand in the text.
        """
        if self.mode == "text":
            return self.dialect
        name = self._known or self._learned
        return dialects[name] if name and self.mode == "mixed" else None

    @property
    def facts(self) -> dict[str, str]:
        """Return the model and the dialect of the last reply, for the record of the turn."""
        return {"model": self.model.name, "dialect": self.spoken.name if self.spoken else ""}

    def learn(self, calls: Sequence[Call], mode: UsedMode) -> None:
        """Take the dialect of a model's first calls for its own, where its family is not known."""
        self._has_called = self._has_called or (bool(calls) and mode != "text")
        if not self._known and not self._learned:
            readable = {one.name for one in self._readable}
            self._learned = next((one.dialect for one in calls if one.dialect in readable), "")

    def give_up_tools(self) -> None:
        """Ask in text from now on, where the model can be asked so.

        A model that called a tool before has heard of them, whatever its server counts.
        """
        give_up: Callable[[], None] | None = getattr(self.model, "give_up_tools", None)
        if give_up is not None and not self._has_called:
            give_up()

    def exchange(self) -> Exchange:
        """Return how the next request is written and its reply read, all in one mode."""
        mode, tools = self.mode, self._tools
        if mode != "text":
            names = self._native_names()
            told = instructions(None, tools, self._system)
            spoken, is_compact = self.spoken, self._is_compact()
            tags = dialects[self._known or DEFAULT_DIALECT].result_tags
            form = f"{NATIVE} {spoken.name if spoken else ''} {tags} {is_compact}"
            written = self._written.setdefault(form, {})
            dialogue = NativeDialogue(
                names, told, self._zone, written, spoken, result_tags=tags, reminds=is_compact
            )
            parser = self._parser(mode, self._known, names.read_specs)
            return Exchange(mode, dialogue, parser, names.own)
        dialect = self.dialect
        told = instructions(dialect, tools, self._system, compact=self._is_compact())
        written = self._written.setdefault(dialect.name, {})
        has_grammar = self._is_held and bool(tools.names)
        return Exchange(
            mode,
            TextDialogue(dialect, tools, told, self._zone, written),
            self._parser(mode, dialect.name, tools),
            str,
            dialect.grammar(tools, "gbnf") if has_grammar else "",
        )

    def _parser(self, mode: UsedMode, first: str, tools: ToolSpecs) -> Engine:
        """Return a parser for one reply; in native mode only thoughts are told apart."""
        reasoning = self._settings.reasoning
        if mode == "native":
            return Engine((), reasoning=reasoning)
        self._readable = reply_dialects(first)
        return reply_parser(first, tools, reasoning=reasoning)

    async def pieces(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it comes; whatever the model raises is a `ModelError`."""
        is_small_caller = bool(self._tools.names) and is_small(self.model.name)
        own = replace(
            request,
            scenario=self._scenario,
            translate=self._translate,
            temperature=_SMALL_TEMPERATURE if is_small_caller else None,
        )
        try:
            async with aclosing(self.model.reply(own)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelError:
            raise
        except Exception as error:  # a model of a caller may do anything
            words = f"{self.model.name}: {type(error).__name__}: {error}"
            raise ModelError("model_failed", words) from error

    def _is_compact(self) -> bool:
        """Return whether tools are taught by signatures alone: as set, else for a small model."""
        if self._settings.compact is not None:
            return self._settings.compact
        context: int | None = getattr(self.model, "context", None)
        return is_small(self.model.name) or (context is not None and context < _SHORT_CONTEXT)

    def _native_names(self) -> NativeNames:
        if self._names is None:
            short = map(compact_spec, self._tools) if self._is_compact() else self._tools
            self._names = NativeNames(short)
        return self._names


def _translator(
    target: Dialect, tools: Registry, settings: SessionSettings
) -> Callable[[str], str]:
    def translate(text: str) -> str:
        try:
            return convert(text, target=target, tools=tools, reasoning=settings.reasoning)
        except Unwritable:
            return text

    return translate
