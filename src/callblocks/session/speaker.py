"""The model of a turn: in which form it is asked, and how its replies are read.

The form of a request follows the model's mode (`callblocks.models.model.CallMode`):

    text            the system prompt teaches a dialect, and the talk is written in it
    native, mixed   tools go to the server, and the talk has the API's own calls and results

In text and mixed, calls in every dialect are read, with the declared tools; the taught dialect, or
the one of the model's family, is tried first.

The dialect is the one that was named, else that of the model's family by its name. For a name that
nobody knows it is `DEFAULT_DIALECT`, until the model's first calls come in another one: the model
then knows that one better, and is taught it from the next request on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from functools import cache
from typing import TypeAlias

from msgspec.structs import replace

from callblocks.dialects import dialects
from callblocks.model.calls import Call
from callblocks.model.errors import ModelError, Unwritable
from callblocks.models.model import Model, Piece, Request, UsedMode, mode_of
from callblocks.models.native_names import NativeNames
from callblocks.models.scenario import scenarios_of
from callblocks.parser import AUTO, convert
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Engine
from callblocks.session.choosing import DEFAULT_DIALECT, Choice, Offered, is_taught, known_dialect
from callblocks.session.dialogue import (
    Dialogue,
    NativeDialogue,
    TextDialogue,
    WrittenMessages,
)
from callblocks.session.instructions import instructions
from callblocks.session.reply import NATIVE
from callblocks.session.settings import SessionSettings
from callblocks.tools.registry import Registry

__all__ = ("Speaker", "WrittenForms")

WrittenForms: TypeAlias = dict[str, WrittenMessages]
"""The messages of one conversation that were written before, by the form."""


class Speaker:
    """Speaks with one model for one turn.

    `learned` is the dialect of its first calls in this conversation, "" where there are none.
    """

    def __init__(
        self,
        offered: Offered,
        choice: Choice,
        tools: Registry,
        settings: SessionSettings,
        *,
        zone: str = "UTC",
        learned: str = "",
        written: WrittenForms | None = None,
    ) -> None:
        self.model: Model = offered.model
        self._tools = tools
        self._settings = settings
        self._zone = zone
        self._learned = learned
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
        """How the next request is written; a model may change it from reply to reply."""
        return mode_of(self.model) if self._tools.names else "text"

    @property
    def dialect(self) -> Dialect:
        """The dialect that the model is taught in text."""
        return dialects[self._known or self._learned or DEFAULT_DIALECT]

    @property
    def grammar(self) -> str:
        """The grammar that the next reply is held to; "" for none."""
        if not self._settings.grammar or self.mode != "text" or not self._tools.names:
            return ""
        return self.dialect.grammar(self._tools, "gbnf")

    def learn(self, calls: Iterable[Call]) -> None:
        """Take the dialect of a model's first calls for its own, where its family is not known."""
        if not self._known and not self._learned:
            self._learned = next((one.dialect for one in calls if is_taught(one.dialect)), "")

    def dialogue(self) -> Dialogue:
        """Return who writes the messages of the next request."""
        system = self._settings.system
        if self.mode == "text":
            dialect = self.dialect
            told = instructions(dialect, self._tools, system)
            written = self._written.setdefault(dialect.name, {})
            return TextDialogue(dialect, self._tools, told, self._zone, written)
        written = self._written.setdefault(NATIVE, {})
        told = instructions(None, self._tools, system)
        return NativeDialogue(self._native_names(), told, self._zone, written)

    def parser(self) -> Engine:
        """Return a new parser for one reply."""
        reasoning = self._settings.reasoning
        match self.mode:
            case "native":
                return Engine((), reasoning=reasoning)
            case "mixed":
                first, tools = self._known, self._native_names().read_specs
            case "text":
                first, tools = self.dialect.name, self._tools
        return Engine(
            _read_dialects(first),
            preferred=dialects[first] if first else None,
            tools=tools,
            in_code_fences=False,
            reasoning=reasoning,
        )

    def tool_name(self, name: str) -> str:
        """Return the name of the tool that a reply calls so."""
        return name if self.mode == "text" else self._native_names().own(name)

    async def pieces(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it comes; whatever the model raises is a `ModelError`."""
        own = replace(request, scenario=self._scenario, translate=self._translate)
        try:
            async with aclosing(self.model.reply(own)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelError:
            raise
        except Exception as error:  # a model of a caller may do anything
            words = f"{self.model.name}: {type(error).__name__}: {error}"
            raise ModelError("model_failed", words) from error

    def _native_names(self) -> NativeNames:
        if self._names is None:
            self._names = NativeNames(self._tools)
        return self._names


@cache
def _read_dialects(first: str) -> tuple[Dialect, ...]:
    """Return all dialects that `auto` reads and models write, the preferred one first."""
    known = [one for one in dialects.values() if one.in_auto and one.rules]
    preferred = [dialects[first]] if first else []
    return (*preferred, *(one for one in known if one not in preferred))


def _translator(
    target: Dialect, tools: Registry, settings: SessionSettings
) -> Callable[[str], str]:
    def translate(text: str) -> str:
        try:
            return convert(text, target=target, tools=tools, reasoning=settings.reasoning)
        except Unwritable:
            return text

    return translate
