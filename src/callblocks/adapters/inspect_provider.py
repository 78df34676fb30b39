"""inspect_ai: `callblocks/MODEL` gives any model of it tools, as `--model callblocks/openai/m`.

An entry point of this module (group `inspect_ai`) registers the provider. The model behind it is
asked without tools: they are taught in its prompt, and its calls are read from what it writes. Of
inspect_ai's own emulation it differs in the dialect, which is that of the model's family, and in
all that the parser repairs. `-M dialect=…` names one.
"""

# pyright: basic, reportMissingImports=false, reportUntypedBaseClass=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolCall

from callblocks.adapters.text_tools import TextTools, read_whole
from callblocks.core.calls import Call

__all__ = ("CallblocksAPI", "callblocks")


class CallblocksAPI(ModelAPI):
    """Asks the model behind `callblocks/` in text."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        dialect: str = "",
        **model_args: Any,
    ) -> None:
        known = config or GenerateConfig()
        super().__init__(model_name, base_url, api_key, [], known)
        self._dialect = dialect
        given = {"base_url": base_url, "api_key": api_key, **model_args}
        used = {name: value for name, value in given.items() if value is not None}
        self._inner = get_model(model_name, config=known, **used)

    async def generate(
        self, input: list[Any], tools: list[Any], tool_choice: Any, config: Any
    ) -> ModelOutput:
        specs = [] if tool_choice == "none" else [_spec(one) for one in tools]
        text_tools = TextTools(specs, dialect=self._dialect, model=self.model_name)
        output = await self._inner.generate(_asked(input, text_tools), config=config)
        if specs:
            for choice in output.choices:
                _read(choice, text_tools)
        return output


@modelapi(name="callblocks")
def callblocks() -> type[ModelAPI]:
    """Return the provider."""
    return CallblocksAPI


def _spec(tool: Any) -> dict[str, Any]:
    parameters = tool.parameters.model_dump(exclude_none=True)
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def _asked(messages: Sequence[Any], tools: TextTools) -> list[Any]:
    if not tools.specs:
        return list(messages)
    systems = [one.text for one in messages if isinstance(one, ChatMessageSystem)]
    asked: list[Any] = [ChatMessageSystem(content=tools.system("\n\n".join(systems)))]
    for one in messages:
        if isinstance(one, ChatMessageSystem):
            continue
        if isinstance(one, ChatMessageAssistant) and one.tool_calls:
            calls = [Call(id=c.id, name=c.function, input=c.arguments) for c in one.tool_calls]
            asked.append(ChatMessageAssistant(content=tools.said(one.text, calls)))
        elif isinstance(one, ChatMessageTool):
            text = one.error.message if one.error is not None else one.text
            asked.append(ChatMessageUser(content=tools.results([(one.function or "a tool", text)])))
        else:
            asked.append(one)
    return asked


def _read(choice: Any, tools: TextTools) -> None:
    """Put the calls of a reply where inspect_ai looks for them."""
    prose, thought, calls = read_whole(tools, choice.message.text)
    parts: list[Any] = [ContentReasoning(reasoning=thought)] if thought else []
    choice.message.content = [*parts, ContentText(text=prose)]
    if calls:
        choice.message.tool_calls = [
            ToolCall(id=call.id, function=call.name, arguments=call.input) for call in calls
        ]
        choice.stop_reason = "tool_calls"
