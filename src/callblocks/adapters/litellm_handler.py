"""LiteLLM: a custom handler, `callblocks/MODEL`, for any model that LiteLLM reaches.

    litellm.custom_provider_map = [{"provider": "callblocks", "custom_handler": CallblocksLLM()}]
    litellm.completion("callblocks/ollama/qwen2.5-coder", messages=[…], tools=[…])

In the proxy's config: `custom_handler: callblocks.adapters.litellm_handler.handler`. The model is
asked without tools; they are taught in the prompt, and its calls are read from the text. A stream
comes when the reply is whole: LiteLLM's own chunks of a custom handler hold one call each.
"""

# pyright: basic, reportMissingImports=false, reportUntypedBaseClass=false
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import litellm
from litellm import CustomLLM

from callblocks.adapters.text_tools import TextTools, message_with_calls, without_tools

__all__ = ("CallblocksLLM", "handler")

_OURS = "callblocks/"
_TAKEN = ("tools", "tool_choice", "parallel_tool_calls", "stream")


class CallblocksLLM(CustomLLM):
    """Asks the model behind `callblocks/` in text; `options` go with each request."""

    def __init__(self, *, dialect: str = "", **options: Any) -> None:
        super().__init__()
        self._dialect = dialect
        self._options = options

    def completion(self, model: str, messages: list[Any], *args: Any, **given: Any) -> Any:
        request, tools = self._request(model, messages, given)
        return _read(litellm.completion(**request), tools)

    async def acompletion(self, model: str, messages: list[Any], *args: Any, **given: Any) -> Any:
        request, tools = self._request(model, messages, given)
        return _read(await litellm.acompletion(**request), tools)

    def streaming(self, model: str, messages: list[Any], *args: Any, **given: Any) -> Iterator[Any]:
        yield from _chunks(self.completion(model, messages, **given))

    async def astreaming(
        self, model: str, messages: list[Any], *args: Any, **given: Any
    ) -> AsyncIterator[Any]:
        for chunk in _chunks(await self.acompletion(model, messages, **given)):
            yield chunk

    def _request(
        self, model: str, messages: list[Any], given: dict[str, Any]
    ) -> tuple[dict[str, Any], TextTools]:
        options = dict(given.get("optional_params") or {})
        name = model.removeprefix(_OURS)
        asked, tools = without_tools(
            messages, options.get("tools"), dialect=self._dialect, model=name
        )
        rest = {key: value for key, value in options.items() if key not in _TAKEN}
        return {"model": name, "messages": asked, **rest, **self._options}, tools


def _read(answer: Any, tools: TextTools) -> Any:
    if not tools.specs:
        return answer
    for choice in answer.choices:
        message = message_with_calls(choice.message.content or "", tools)
        choice.message = litellm.Message(**message)
        if message.get("tool_calls"):
            choice.finish_reason = "tool_calls"
    return answer


def _chunks(answer: Any) -> Iterator[dict[str, Any]]:
    message = answer.choices[0].message
    calls = list(message.tool_calls or ())
    usage = None
    if message.content:
        yield _chunk(text=message.content)
    for at, call in enumerate(calls):
        function = {"name": call.function.name, "arguments": call.function.arguments}
        used = {"id": call.id, "type": "function", "function": function, "index": at}
        yield _chunk(tool_use=used)
    yield _chunk(is_finished=True, finish_reason="tool_calls" if calls else "stop", usage=usage)


def _chunk(**given: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "text": "",
        "tool_use": None,
        "is_finished": False,
        "finish_reason": "",
        "usage": None,
        "index": 0,
    }
    return {**empty, **given}


handler = CallblocksLLM()
