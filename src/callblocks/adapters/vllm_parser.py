"""vLLM: any dialect as `--tool-call-parser callblocks:DIALECT`.

The entry point `vllm.general_plugins` calls `register`, which names one parser for each dialect
that models write, and `callblocks` for all of them at once. Where plugins are not loaded, a file
that calls `register` does the same, as `--tool-parser-plugin`.

vLLM moved its base class, its values and the constructor between versions: a class is looked for in
the places it had, and the tools are taken from the constructor or from the request.

The end of a stream. Some dialects end a call with the text itself, so a reader that is never closed
would keep it. Newer versions ask parsers that call themselves engine based for what is left; older
ones say nothing, and the token that ends a reply is taken for it.
"""

# pyright: basic, reportMissingImports=false, reportUntypedBaseClass=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from callblocks.adapters.text_tools import (
    Reply,
    ReplyReader,
    TextTools,
    Words,
    functions_of,
    read_whole,
)
from callblocks.core.calls import Call
from callblocks.core.json_values import json_text
from callblocks.dialects import dialects

__all__ = ("parser_class", "register")

NAME = "callblocks"
_MANAGERS = (
    "vllm.tool_parsers",
    "vllm.entrypoints.openai.tool_parsers",
    "vllm.entrypoints.openai.tool_parsers.abstract_tool_parser",
)
_PROTOCOLS = (
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.openai.engine.protocol",
    "vllm.entrypoints.openai.protocol",
)


def register() -> None:
    """Name our parsers to vLLM; called once in each of its processes."""
    manager = _found(_MANAGERS, "ToolParserManager")
    for name in (NAME, *(f"{NAME}:{one.name}" for one in dialects.values() if one.rules)):
        dialect = name.partition(":")[2]
        manager.register_module(name=name, force=True, module=parser_class(dialect))


def _found(places: Sequence[str], name: str) -> Any:
    """Return a class of vLLM from where this version has it."""
    for place in places:
        try:
            return getattr(import_module(place), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"vLLM has no {name} where it is known: {', '.join(places)}")


def parser_class(dialect: str) -> type[Any]:
    """Return the parser of a dialect as vLLM wants it: a class of its own base."""
    base: Any = _found(_MANAGERS, "ToolParser")
    made: Callable[[str], Any] = lambda name: _found(_PROTOCOLS, name)  # noqa: E731

    class CallblocksParser(base):
        """Reads calls as the dialect has them; whole and streamed by the same reader."""

        engine_based_streaming = False

        def __init__(self, tokenizer: Any, *given: Any, **named: Any) -> None:
            try:
                super().__init__(tokenizer, *given, **named)
            except TypeError:
                # Older versions know of no tools here.
                super().__init__(tokenizer)
            self._given = named.get("tools") or (given[0] if given else None)
            self._reader: ReplyReader | None = None
            self._calls = 0

        def adjust_request(self, request: Any) -> Any:
            request = super().adjust_request(request)
            if request.tools and request.tool_choice != "none":
                # The markers of many dialects are special tokens, which else are left out.
                request.skip_special_tokens = False
            return request

        def extract_tool_calls(self, model_output: str, request: Any) -> Any:
            prose, _, calls = read_whole(self._tools(request), model_output, thoughts=False)
            return made("ExtractedToolCallInformation")(
                tools_called=bool(calls),
                tool_calls=[self._whole(call) for call in calls],
                content=(prose or None) if calls else model_output,
            )

        def extract_tool_calls_streaming(
            self,
            previous_text: str,
            current_text: str,
            delta_text: str,
            previous_token_ids: Sequence[int],
            current_token_ids: Sequence[int],
            delta_token_ids: Sequence[int],
            request: Any,
        ) -> Any:
            if not previous_text:
                # Older versions have one parser for all choices of a request.
                self._reader, self._calls = None, 0
                # Looked at again at the end of a stream. A parser that says so when it is made
                # gets no texts from before.
                self.engine_based_streaming = True
            if self._reader is None:
                self._reader = self._tools(request).reader(thoughts=False)
            found = self._reader.feed(delta_text)
            if getattr(self.model_tokenizer, "eos_token_id", None) in delta_token_ids:
                found += self._reader.close()
                self._reader = None
            return self._message(found)

        def finish_streaming(self) -> Any:
            """Return what a stream held until its end."""
            reader, self._reader = self._reader, None
            return None if reader is None else self._message(reader.close())

        def _message(self, found: Sequence[Reply]) -> Any:
            words = "".join(one.text for one in found if isinstance(one, Words))
            calls = [self._delta(one) for one in found if isinstance(one, Call)]
            if not words and not calls:
                return None
            fields = {"content": words} if words else {}
            return made("DeltaMessage")(**fields, **({"tool_calls": calls} if calls else {}))

        def _tools(self, request: Any) -> TextTools:
            given = getattr(request, "tools", None) or self._given or ()
            return TextTools(functions_of(given), dialect=dialect)

        def _whole(self, call: Call) -> Any:
            function = made("FunctionCall")(name=call.name, arguments=json_text(call.input))
            return made("ToolCall")(type="function", function=function)

        def _delta(self, call: Call) -> Any:
            index, self._calls = self._calls, self._calls + 1
            function = made("DeltaFunctionCall")(name=call.name, arguments=json_text(call.input))
            return made("DeltaToolCall")(
                index=index, id=call.id, type="function", function=function
            )

    CallblocksParser.__name__ = f"Callblocks_{dialect or 'auto'}"
    return CallblocksParser
